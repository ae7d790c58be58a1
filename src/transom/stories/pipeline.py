"""One story's way: SM drafts, PO decides, Dev works, the orchestrator looks, QA judges, the work is merged.

    baseline > sm > po > dev > tests > evidence > qa > merge
                ^    |    ^                 |       |
                +----+    +-----------------+-------+      bounded; the same findings twice, and a person is asked

Each step is a stage of the run: what was paid for or done once is not done again. Before each act stands a record of
where it begins, so that after a kill git tells how far it came.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transom.canonical import Json
from transom.errors import InputError, NeedsModel, Paused, ProviderError, ReplyError, WindowOverflow
from transom.formats.tags import read_tag
from transom.llm import Usage
from transom.runs import PersonAnswer, Stage, model_file
from transom.stories.decisions import Read, read_reply
from transom.stories.evidence import Evidence, judge
from transom.stories.git import Git
from transom.stories.handoff import StoryHandoff, now
from transom.stories.markdown_story import read_story_file
from transom.stories.merge import merge
from transom.stories.records import Baseline, Merged, Worked
from transom.stories.results import StageRow, StoryResult, quality
from transom.stories.roles import listed
from transom.stories.seats import Seats
from transom.stories.shared import Epic, Stopped
from transom.stories.story import Story
from transom.stories.testrun import Comparison, TestRun, compare, run_tests
from transom.stories.validators import AgentValidator


class StoryFlow:
    """One story on its way.

    Args:
        epic: what it shares with the others.
        story: the story, as the backlog has it.
        again: how many times it ended without being done before; its stages have other names then.
        blocked_before: whether it was blocked then.
    """

    def __init__(self, epic: Epic, story: Story, again: int = 0, *, blocked_before: bool = False) -> None:
        self.epic, self.run, self.settings, self.story = epic, epic.run, epic.settings, story
        self.name = story.slug if not again else f"{story.slug}/again{again}"
        self.blocked_before = blocked_before
        self.result = StoryResult(id=story.id, title=story.title, rounds=again, was_blocked=blocked_before)
        self.base: Baseline
        self.handoff: StoryHandoff
        self.seats: Seats

    async def work(self) -> StoryResult:
        """Go the whole way, or as far as it goes.

        Raises:
            InputError, SandboxError: nothing can be done for any story.
        """
        result = self.result
        try:
            await self._begin()
            await self._ready()
            await self._build()
            result.status = "done"
            self.handoff.cleanup(self.settings.retention)
        except Stopped as stop:
            result.status, result.reason = stop.status, stop.reason
            result.was_blocked = result.was_blocked or stop.status == "blocked"
        except (Paused, NeedsModel) as pause:
            result.status, result.reason = "paused", str(pause)
        except (ProviderError, ReplyError, WindowOverflow) as error:
            result.status, result.reason = ("failed" if isinstance(error, ReplyError) else "paused"), str(error)
        seats: Seats | None = getattr(self, "seats", None)  # none where it did not even begin
        if result.status != "done":
            result.blockers.append(result.reason)
            if result.status != "paused":
                self.handoff.add_blocker(result.reason, result.stages[-1].stage if result.stages else "sm")
            self.handoff.save()
            if seats:
                await self.epic.places.remove(self.base.branch, unless_beyond=self.base.base)
        result.truncations = self.handoff.truncations
        result.parked = [one for one in self.epic.places.parked if f"/{self.story.slug}" in one]
        result.usage = _tokens(seats.usage if seats else Usage())
        return result

    async def _begin(self) -> None:
        """Record the baseline; the worktree is made when somebody first needs it."""
        project = Git(self.epic.project)
        await self._reclaim(project)

        async def step(_: Stage, story: Story, target: str) -> Baseline:
            branch = target or await project.branch()
            base = await project.commit_of(f"refs/heads/{branch}") if branch else None
            if base is None:
                what = f"there is no branch {branch!r}" if branch else "no branch is checked out"
                hint = "check out a branch with a commit, or set stories.target"
                raise InputError(what, where=str(self.epic.project), hint=hint)
            number, name = 1, f"transom/{story.slug}"
            while await project.commit_of(f"refs/heads/{name}"):
                number += 1
                name = f"transom/{story.slug}-{number}"
            return Baseline(base=base, branch=name, target=branch, at=now())

        out = model_file("baseline.json", Baseline)
        found = await self.run.stage(f"{self.name}/baseline", step, self.story, self.settings.target, out=out)
        self.base = found.value
        path = self.run.folder / "handoffs" / f"{self.story.slug}.yaml"
        self.handoff = StoryHandoff(self.story.id, path, limits=self.settings.limits, created_at=self.base.at)
        self.handoff.set_acceptance_criteria([one.text for one in self.story.criteria])
        self.seats = Seats(self.epic, self.name, self.base, self.handoff)

    async def _reclaim(self, project: Git) -> None:
        """Worktrees of this story that other runs left: a person says what becomes of them."""
        self.handoff = StoryHandoff(self.story.id, None, limits=self.settings.limits)
        async with self.epic.places.lock:
            rows = await project("worktree", "list", "--porcelain")
        options = ["remove it, and keep its work on a branch", "leave it"]
        for row in rows.split("\n\n"):
            told = dict(line.partition(" ")[::2] for line in row.splitlines())
            folder = Path(told.get("worktree", ""))
            mine = folder.is_relative_to(self.epic.places.root.resolve())
            if told.get("branch") != f"refs/heads/transom/{self.story.slug}" or mine or not folder.is_dir():
                continue
            prompt = f"An earlier run left the worktree {folder} for {self.story.label}; may it be removed?"
            if (await self._ask("reclaim", prompt, *options)).text == options[0]:
                await Git(folder).park(self.story.slug, "Kept by Transom before the worktree was removed\n")
                async with self.epic.places.lock:
                    await project("worktree", "remove", "--force", str(folder))

    async def _ready(self) -> None:
        """SM and PO, until the story may be built."""
        feedback = ""
        for number in range(1, self.settings.reviews + 2):
            said = await self.seats.ask("sm", number, self.story, {"feedback": feedback}, self.base.base)
            self.story = _drafted(self.story, said.reply)
            self.handoff.set_acceptance_criteria([one.text for one in self.story.criteria])
            self._record("sm", number, read_reply(said.reply), said.at, None)
            valid, feedback = AgentValidator.validate_sm_output(self.story, self.handoff)
            if not valid:
                continue
            said = await self.seats.ask("po", number, self.story, {}, self.base.base)
            read = read_reply(said.reply, "po")
            self._record("po", number, read, said.at, read.decision or None)
            valid, decision = AgentValidator.validate_po_output(said.reply, self.handoff)
            if not valid:
                raise Stopped("failed", decision)
            if decision == "APPROVED":
                break
            feedback = listed(read.reasons)
            if decision == "BLOCKED":
                await self._blocked("; ".join(read.reasons))
        else:
            prompt = f"{self.story.label} is not ready after {number} reviews: {feedback}"
            answer = await self._ask("review", prompt, "build it as it is", "leave it")
            if answer.text == "leave it":
                raise Stopped("blocked", prompt)
            self.handoff.add_stage_summary("po", f"A person decided: {answer.reason or answer.text}", "APPROVED")
        if self.story.spec_checkpoint:
            prompt = f"{self.story.label} is approved; may Dev begin?"
            if (await self._ask("checkpoint", prompt, "begin", "leave it")).text != "begin":
                raise Stopped("blocked", "a person said to leave it")

    async def _blocked(self, reason: str) -> None:
        """BLOCKED ends the story's way; the second time a person is asked as well."""
        if self.blocked_before:
            prompt = f"PO blocked {self.story.label} again: {reason}"
            await self._ask("blocked", prompt, "leave it blocked")
        raise Stopped("blocked", f"PO blocked it: {reason}")

    async def _build(self) -> None:
        """Dev and QA, until the work may be merged."""
        start = self.base.base
        findings: tuple[str, ...] = ()
        before = await self._tests("tests-before", start)
        if before.problem:
            raise Stopped("paused", f"before Dev begins, {before.problem}; correct stories.tests, and come again")
        for number in range(1, self.settings.attempts + 1):
            worked = await self.seats.develop(number, self.story, start, findings)
            evidence, tests = await self._look(number, start, worked, before)
            start, seen = worked.head, findings
            findings = evidence.findings
            if not findings:
                findings = await self._inspect(number, worked, evidence, tests)
            self.seats.learn(number, worked, findings)
            if not findings:
                await self._merge(number, worked.head, before)
                return
            if same := [one for one in findings if one in seen]:
                prompt = f"{self.story.label}: the same finding came twice: {same[0]}"
                answer = await self._ask(f"same#{number}", prompt, "let Dev try again", "give up")
                if answer.text == "give up":
                    break
                findings = (*findings, *([f"A person says: {answer.reason}"] if answer.reason else []))
        raise Stopped("failed", f"after {number} attempts: {findings[0]}")

    async def _tests(self, name: str, commit: str) -> TestRun:
        """Run the tests on a commit; what they leave behind goes."""

        async def step(stage: Stage, commit: str, branch: str, argv: list[str]) -> TestRun:
            del argv  # another command makes another run
            await self.epic.places.restore(branch, commit)
            here = self.epic.places.git(branch)
            await here.clear()
            found = await run_tests(self.settings.tests, here.folder, self.epic.project)
            await here.clear()
            stage.memoise = not found.problem or name != "tests-before"
            return found

        out = model_file("tests.json", TestRun)
        inputs = (commit, self.base.branch, list(self.settings.tests.argv))
        return (await self.run.stage(f"{self.name}/{name}", step, *inputs, out=out)).value

    async def _look(self, number: int, start: str, worked: Worked, before: TestRun) -> tuple[Evidence, Comparison]:
        """The evidence of an attempt: tests, diff, claims."""
        tests = compare(before, await self._tests(f"tests#{number}", worked.head))
        read = read_reply(worked.reply)
        commits = (self.base.base, start, worked.head)
        evidence = await judge(Git(self.epic.project), self.story, self.settings.rules, commits, read, tests)
        if worked.strayed:
            evidence = evidence.model_copy(update={"findings": (worked.strayed, *evidence.findings)})
        for change in evidence.changes:
            self.handoff.add_file_modified(change.path, change.action, at=worked.at)
        self.result.files_modified = [*evidence.changes]
        self.result.tests = tests.after.counts
        told = {"findings": list(evidence.findings), "covered": evidence.covered, "uncovered": list(evidence.uncovered)}
        row = self._record("dev", number, read, worked.at, None, evidence=told)
        changed = {one.path: one.action for one in evidence.changes}
        row.quality = quality(row.summary, self.story, changed, tests.problems)
        return evidence, tests

    async def _inspect(self, number: int, worked: Worked, evidence: Evidence, tests: Comparison) -> tuple[str, ...]:
        """QA's word on work that the evidence does not refuse; what it holds against it."""
        told: Json = {
            **tests.after.counts,
            "failed_before_as_well": list(tests.old_failures),
            "covered": {str(key): list(value) for key, value in evidence.covered.items()},
            "uncovered": list(evidence.uncovered),
        }
        diff = await Git(self.epic.project).diff(self.base.base, worked.head)
        diff = self.handoff.cut(diff, self.settings.limits.diff, "diff for qa")
        said = await self.seats.ask("qa", number, self.story, {"tests": told, "diff": diff}, worked.head)
        read = read_reply(said.reply, "qa")
        valid, decision = AgentValidator.validate_qa_output(said.reply, self.handoff, tests)
        self._record("qa", number, read, said.at, read.decision or None, evidence={"tests": tests.after.counts})
        if not valid:
            raise Stopped("failed", decision)
        return () if decision == "PASS" else tuple(f"QA: {reason}" for reason in read.reasons)

    async def _merge(self, number: int, head: str, before: TestRun) -> None:
        """Bring the work into the target; what keeps it from that waits for a person."""

        async def step(stage: Stage, head: str) -> Merged:
            merged = await merge(self.epic, self.story, self.base, head, before)
            stage.memoise = not merged.problem
            return merged

        async with self.epic.merging:
            name = f"{self.name}/merge#{number}"
            self.epic.merges += 1  # before and after: who looks at the project meanwhile sees either
            found = (await self.run.stage(name, step, head, out=model_file("merge.json", Merged))).value
            self.epic.merges += 1
        if found.problem:
            raise Stopped("paused", f"the work is done and not merged: {found.problem}")
        await self.epic.places.remove(self.base.branch)
        self.result.commits = [head, found.commit]

    def _record(
        self, seat: Any, number: int, read: Read, at: str, decision: str | None, evidence: dict[str, Any] | None = None
    ) -> StageRow:
        """Into the hand-over and the result."""
        self.handoff.add_stage_summary(seat, read.summary, decision, at=at)
        self.handoff.save()
        summary = self.handoff.stages[seat]["summary"]
        row = StageRow(stage=seat, decision=decision, attempt=number, summary=summary, evidence=evidence or {})
        row.usage, row.by = _tokens(self.seats.last), self.seats.by
        self.result.stages.append(row)
        return row

    async def _ask(self, name: str, prompt: str, *options: str) -> PersonAnswer:
        """Ask a person; the story is paused until there is an answer."""
        return await self.run.ask(f"{self.name}/{name}", prompt, options=options)


def _tokens(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "cached_tokens")}


def _drafted(story: Story, reply: str) -> Story:
    """The story as SM rewrote it; as it was, where SM left it so. What the backlog says of files and order stays."""
    try:
        text = read_tag(reply, "story").text
    except ReplyError:
        return story
    new = read_story_file(f"{text}\n", story.source)
    told = {"text": new.text, "goal": new.goal, "criteria": new.criteria, "tasks": new.tasks or story.tasks}
    return story.model_copy(update=told)
