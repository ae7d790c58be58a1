"""The first half of a story's pipeline: SM drafts the story, and PO decides whether it is built."""

from __future__ import annotations

from typing import Any

from transom.errors import ReplyError
from transom.formats.tags import read_tag
from transom.llm import Usage
from transom.runs import Artifact
from transom.stories.decisions import Read, Seat, read_reply
from transom.stories.handoff import AgentValidator, StoryHandoff
from transom.stories.markdown_story import read_story_file
from transom.stories.results import StageRow, StoryResult, score_summary
from transom.stories.seats import Seats
from transom.stories.shared import Baseline, Epic, SeatReply, Stopped
from transom.stories.story import Story

_BUILD = "build it unchanged"
_REDRAFT = "draft it again with my reason"


class ApprovalFlow:
    """The state of one story's pipeline, and its steps up to PO's approval.

    After an unsuccessful result `before`, its stages get new names.
    """

    base: Baseline
    seats: Seats

    def __init__(self, epic: Epic, story: Story, before: StoryResult | None = None) -> None:
        self.epic, self.run, self.story = epic, epic.run, story
        self.settings = epic.settings.stories
        rounds = before.rounds + (before.status in ("failed", "blocked")) if before else 0
        self.name = f"{story.slug}/again{rounds}" if rounds else story.slug
        blocked = before is not None and before.was_blocked
        self.result = StoryResult(
            id=story.id,
            title=story.title,
            rounds=rounds,
            was_blocked=blocked,
            seconds=before.seconds if before else 0.0,
        )
        self.handoff = StoryHandoff(story.id, limits=epic.settings.handoff)

    async def ready(self) -> None:
        """Run SM and PO until the story is approved."""
        feedback = ""
        # The first draft, and one more for each review that may be answered.
        for number in range(1, self.settings.reviews + 2):
            artifact = await self.seats.ask(
                "sm", number, self.story, {"feedback": feedback}, self.base.base
            )
            self.story = _drafted(self.story, artifact.value.reply)
            self.handoff.set_acceptance_criteria(self.story.criteria)
            self._record("sm", number, read_reply(artifact.value.reply, "sm"), artifact)
            # An incomplete story goes back to SM; PO is not paid to say the same.
            valid, feedback = AgentValidator.validate_sm_output(self.story, self.handoff)
            if not valid:
                continue
            artifact = await self.seats.ask("po", number, self.story, {}, self.base.base)
            read = read_reply(artifact.value.reply, "po")
            self._record("po", number, read, artifact)
            valid, decision = AgentValidator.validate_po_output(artifact.value.reply, self.handoff)
            if not valid:
                raise Stopped("failed", decision)
            if decision == "APPROVED":
                break
            feedback = "\n".join(read.reasons)
            if decision == "BLOCKED":
                reason = "; ".join(read.reasons)
                answer, advice = await self._after_block(number, reason)
                if answer == _BUILD:
                    break
                if answer != _REDRAFT:
                    raise Stopped("blocked", f"PO blocked it: {reason}")
                # PO's reasons and the person's: SM sees both.
                feedback = "\n".join(filter(None, (feedback, advice)))
        else:
            prompt = f"{self.story.label} is not ready after {number} reviews: {feedback}"
            answer, reason = await self._ask("review", prompt, _BUILD, "leave it")
            if answer == "leave it":
                raise Stopped("blocked", prompt)
            self.handoff.add_stage_summary(
                "po", f"A person decided: {reason or answer}", "APPROVED"
            )
        if self.story.spec_checkpoint:
            prompt = f"{self.story.label} is approved; may Dev begin?"
            if (await self._ask("checkpoint", prompt, "begin", "leave it"))[0] != "begin":
                raise Stopped("blocked", "a person said to leave it")

    async def _after_block(self, number: int, reason: str) -> tuple[str, str]:
        """Return what is to become of a blocked story, and a person's reason.

        The first block ends the story. After a second one a person is offered ways on.
        """
        if not self.result.was_blocked:
            return "", ""
        name = "blocked" if number == 1 else f"blocked#{number}"
        prompt = f"PO blocked {self.story.label} again: {reason}"
        answer, advice = await self._ask(name, prompt, _BUILD, _REDRAFT, "leave it blocked")
        if answer == _BUILD:
            self.handoff.add_stage_summary(
                "po", f"A person decided: {advice or answer}", "APPROVED"
            )
        return answer, advice

    def _record(
        self,
        seat: Seat,
        number: int,
        read: Read,
        artifact: Artifact[SeatReply],
        evidence: dict[str, Any] | None = None,
    ) -> StageRow:
        """Write an attempt to the hand-over and to the result."""
        decision = read.decision or None
        self.handoff.add_stage_summary(seat, read.summary, decision, at=artifact.value.at)
        self.handoff.save()
        summary, usage = self.handoff.stages[seat]["summary"], token_counts(artifact.usage)
        row = StageRow(
            stage=seat,
            decision=decision,
            attempt=number,
            summary=summary,
            by=artifact.by,
            usage=usage,
        )
        row.evidence = evidence or {}
        row.rate(score_summary(read.summary, self.story))
        self.result.stages.append(row)
        return row

    async def _ask(
        self, name: str, prompt: str, *options: str, evidence: str = ""
    ) -> tuple[str, str]:
        """Ask a person, and pause the story until there is an answer; returns the option and the
        reason.
        """
        answer = await self.epic.ask(f"{self.name}/{name}", prompt, options, evidence)
        return answer.text, answer.reason


def token_counts(usage: Usage) -> dict[str, int]:
    """Return the counts of tokens by the names of their fields."""
    return {
        name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "cached_tokens")
    }


def _drafted(story: Story, reply: str) -> Story:
    """Return the story as SM rewrote it, else unchanged. Its files and dependencies stay the
    backlog's.
    """
    try:
        # SM may leave the story unchanged; then its reply has no such block.
        text = read_tag(reply, "story").text
    except ReplyError:
        return story
    new = read_story_file(f"{text}\n", story.source)
    changes = {
        "text": new.text,
        "goal": new.goal,
        "criteria": new.criteria,
        "tasks": new.tasks or story.tasks,
    }
    return story.model_copy(update=changes)
