"""Asking the four seats of one story: each in a stage of its own, with its window, its tools and its caps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from transom.agent import Budget, call
from transom.canonical import Json
from transom.errors import CapReached, OutOfTurns, ReplyError
from transom.learning import OptimizationOutcome, Reflector, Source, cited_in, ids_in
from transom.llm import Block, Role, Usage
from transom.runs import Artifact, Question, Stage, model_file
from transom.stories.decisions import read_reply
from transom.stories.git import Git
from transom.stories.handoff import StoryHandoff, now
from transom.stories.records import Baseline, Begun, Said, Worked
from transom.stories.roles import blocks_for, listed, make_role
from transom.stories.shared import Epic, Stopped
from transom.stories.story import Story
from transom.tools import Toolbox

T = TypeVar("T")


class _Capped(Exception):
    """A stage reached its cap of tokens, or of turns; what it did so far is in the journal."""

    def __init__(self, *, tokens: bool) -> None:
        super().__init__(tokens)
        self.tokens = tokens


class Seats:
    """The seats of one story.

    Args:
        epic: what it shares with the other stories.
        name: of the story's stages.
        base: where the story begins.
        handoff: what the seats leave each other.

    Attributes:
        usage: what all stages took.
        last, by: what the last one took, and who answered in it.
    """

    def __init__(self, epic: Epic, name: str, base: Baseline, handoff: StoryHandoff) -> None:
        self.epic, self.run, self.settings, self.name = epic, epic.run, epic.settings, name
        self.base, self.handoff = base, handoff
        self.usage, self.last, self.by = Usage(), Usage(), ""

        self._hints: Artifact[str] | None = None

    async def ask(self, seat: str, number: int, story: Story, more: Mapping[str, Json], commit: str) -> Said:
        """Ask SM, PO or QA. Whatever it changed in the worktree is parked: only Dev changes files."""
        kind, places, branch = self.settings.kinds[seat], self.epic.places, self.base.branch
        role, tools, blocks = self._prepare(seat, number, story, more, commit)

        def read(text: str) -> str:
            if seat in ("po", "qa") and (problem := read_reply(text, "po" if seat == "po" else "qa").problem):
                raise ReplyError(problem)
            return text

        async def ask(budget: Budget) -> Artifact[Said]:
            async def step(stage: Stage, *_: object) -> Said:
                if tools.specs:
                    await places.ensure(branch, commit)
                reply = await _reply(stage, role, blocks, read, tools, budget)
                kept = await places.restore(branch, commit) if kind in ("command", "replay") else ""
                return Said(reply=reply, at=now(), kept=kept)

            told, out = [block.to_json() for block in blocks], model_file("reply.json", Said)
            return await self.run.stage(f"{self.name}/{seat}#{number}", step, told, out=out, uses=[role])

        said = await self._capped(f"{seat}#{number}", story, ask)
        if said.kept:
            self.run.progress(f"{story.id}: {seat} changed files; they are kept on {said.kept}")
        return said

    async def develop(self, number: int, story: Story, start: str, findings: Sequence[str]) -> Worked:
        """One attempt of Dev: what it leaves is committed on the story's branch."""
        project, places, branch = Git(self.epic.project), self.epic.places, self.base.branch
        merges, name = self.epic.merges, f"{self.name}/dev#{number}"

        async def begin(_: Stage, start: str) -> Begun:
            return Begun(start=start, outside=await project.state())

        begun = await self.run.stage(f"{name}/begin", begin, start, out=model_file("begin.json", Begun))
        more: dict[str, Json] = {"findings": listed(findings), "playbook": await self._recall(story)}
        role, tools, blocks = self._prepare("dev", number, story, more, start)

        async def ask(budget: Budget) -> Artifact[Worked]:
            async def step(stage: Stage, *_: object) -> Worked:
                here = await places.ensure(branch, start)
                reply = await _reply(stage, role, blocks, str, tools, budget)
                strayed = await self._strayed(here, start)
                if strayed and (kept := await places.restore(branch, start)):
                    strayed += f"; what it left is kept on {kept}"
                title = f"{story.label.capitalize()}: {story.title}"
                head = await here.commit_all(f"{title}\n\nAttempt {number} of Dev.\n")
                differing = _differing(begun.value.outside, await project.state())
                outside = () if merges != self.epic.merges else differing
                return Worked(reply=reply, at=now(), head=head, strayed=strayed, outside=outside)

            told, out = [block.to_json() for block in blocks], model_file("work.json", Worked)
            return await self.run.stage(name, step, told, begun, out=out, uses=[role])

        worked = await self._capped(f"dev#{number}", story, ask)
        if worked.outside:
            await self._ask_who(number, story, worked)
        return worked

    def learn(self, number: int, worked: Worked, findings: Sequence[str]) -> None:
        """Count an attempt for or against the insights that Dev named, and add what was found as insights."""
        if self.epic.playbook and self._hints:
            playbook, place = self.epic.playbook, f"{self.name}/dev"
            cited = cited_in(worked.reply, ids_in(self._hints.value))
            reflector, source = Reflector(playbook), Source(self.run.id, place, by="stories")
            outcome = OptimizationOutcome(None, not findings, solver_errors=findings, source=source)
            reflector.learn(outcome, cited, number)
            reflector.commit_insights()

    def _prepare(
        self, seat: str, number: int, story: Story, more: Mapping[str, Json], commit: str
    ) -> tuple[Role, Toolbox, list[Block]]:
        """Role, tools and blocks of a seat."""
        folder, model = self.epic.places.git(self.base.branch).folder, self.settings.kinds[seat] == "model"
        tools = self.epic.tools(seat, folder) if model and self.epic.tools else Toolbox()
        at: Json = {"story": story.id, "branch": self.base.branch, "commit": commit, "attempt": number}
        return make_role(seat, tools.specs), tools, blocks_for(seat, story, self.handoff, {**more, "workplace": at})

    async def _capped(self, stage: str, story: Story, ask: Callable[[Budget], Awaitable[Artifact[T]]]) -> T:
        """A stage within its caps. Where one is reached a person is asked; given again, it goes on where it was."""
        settings, whole = self.settings, self.usage
        used = whole.input_tokens + whole.output_tokens
        tokens, more_tokens = self._granted("tokens", f"{story.label} used its {{}} tokens", settings.tokens or 0)
        turns, more_turns = self._granted(
            f"{stage}/turns", f"{story.label} used its {{}} turns in {stage}", settings.turns
        )
        left = None if settings.tokens is None else max(tokens - used, 0)
        try:
            found = await ask(Budget(turns, left))
        except _Capped as cap:
            question = more_tokens if cap.tokens else more_turns
            await self.run.ask(question.name, question.prompt, options=question.options)
            raise AssertionError("an answer would have been granted before") from cap
        self.usage, self.last, self.by = whole + found.usage, found.usage, found.by
        return found.value

    def _granted(self, cap: str, reached: str, each: int) -> tuple[int, Question]:
        """How much a cap is, with what a person granted in this run; and the question that asks for more.

        Raises:
            Stopped: a person gave up.
        """
        times = 1
        while True:
            prompt = f"{reached.format(each * times)}; may it go on?"
            question = Question(f"{self.name}/cap/{cap}#{times}", prompt, ("go on with as many again", "give up"))
            answer = self.run.state.answers.get(question.fingerprint)
            if answer is None:
                return each * times, question
            if answer["text"] == "give up":
                raise Stopped("failed", reached.format(each * times))
            times += 1

    async def _recall(self, story: Story) -> str:
        """What the playbook has for the story; it is recalled once, so that a resumed story is told the same."""
        if self._hints is None and (playbook := self.epic.playbook):
            self._hints = await playbook.recall(self.run, f"{self.name}/recall", f"{story.title} {story.goal}")
        return self._hints.value if self._hints else ""

    async def _strayed(self, here: Git, start: str) -> str:
        """What Dev did to the branch itself; "" where nothing."""
        if not await self.epic.places.is_linked(here):
            return "Dev removed its worktree, or put a repository of its own in its place"
        if (branch := await here.branch()) != self.base.branch:
            return f"Dev left its branch for {branch or 'no branch'}"
        head = await here.commit_of("HEAD")
        return "" if head and await here.is_ancestor(start, head) else "Dev rewrote commits that were there before"

    async def _ask_who(self, number: int, story: Story, worked: Worked) -> None:
        """Something changed outside the worktree while Dev worked: a person says whose work that is."""
        where = ", ".join(worked.outside[:5])
        prompt = f"While Dev worked on {story.label}, this changed outside its worktree: {where}; who did that?"
        options = ["a person did; go on", "Dev did; refuse its work"]
        answer = await self.run.ask(f"{self.name}/dev#{number}/outside", prompt, options=options)
        if answer.text != options[0]:
            raise Stopped("failed", f"Dev changed what lies outside its worktree: {where}")


def _differing(was: Mapping[str, str], is_: Mapping[str, str]) -> tuple[str, ...]:
    """What is not as it was; new refs are of Dev's own commits."""
    new_refs = {key for key in is_ if key.startswith("refs/") and key not in was}
    return tuple(sorted(key for key in {**was, **is_}.keys() - new_refs if was.get(key) != is_.get(key)))


async def _reply(
    stage: Stage, role: Role, blocks: Sequence[Block], read: Callable[[str], str], tools: Toolbox, budget: Budget
) -> str:
    """A role's answer within a budget. A cap of the whole run pauses the run, as everywhere."""
    try:
        return (await call(stage, role, blocks, read, tools=tools, budget=budget)).reply.text
    except CapReached as cap:
        if cap.cap != "tokens":
            raise
        raise _Capped(tokens=True) from cap
    except OutOfTurns as cap:
        raise _Capped(tokens=False) from cap
