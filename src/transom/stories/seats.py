"""Asking the four seats of one story: each in a stage of its own, with its window, its tools and its caps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from transom.agent import Budget, call
from transom.canonical import Json
from transom.errors import CapReached, OutOfTurns, ReplyError
from transom.learning import OptimizationOutcome, Outcome, Reflector, Source, cited_in, ids_in
from transom.learning.reader import PLAYBOOK_TOKENS
from transom.llm import Block, Role, Usage
from transom.runs import Artifact, Question, Stage, model_file, text_file
from transom.stories.decisions import Seat, read_reply
from transom.stories.git import Git
from transom.stories.handoff import StoryHandoff, now
from transom.stories.roles import blocks_for, listed, make_role
from transom.stories.shared import Baseline, Begun, Epic, Said, Stopped
from transom.stories.story import Story
from transom.tools import Toolbox


class Seats:
    """The seats of one story.

    Args:
        epic: what it shares with the other stories.
        name: of the story's stages.
        base: where the story begins.
        handoff: what the seats leave each other.

    Attributes:
        usage: what all stages took.
    """

    def __init__(self, epic: Epic, name: str, base: Baseline, handoff: StoryHandoff) -> None:
        self.epic, self.run, self.places, self.name = epic, epic.run, epic.places, name
        self.base, self.handoff, self.usage = base, handoff, Usage()
        self._hints: Artifact[str] | None = None

    async def ask(self, seat: Seat, number: int, story: Story, more: Mapping[str, Json], commit: str) -> Artifact[Said]:
        """Ask SM, PO or QA. Whatever it changed in the worktree is parked: only Dev changes files."""
        acts = self.epic.settings.kinds[seat] in ("command", "replay")

        def read(text: str) -> str:
            if seat != "sm" and (problem := read_reply(text, seat).problem):
                raise ReplyError(problem)
            return text

        async def left(reply: str) -> Said:
            kept = await self.places.restore(self.base.branch, commit) if acts else ""
            return Said(reply=reply, at=now(), kept=kept)

        said = await self._stage(seat, number, story, more, commit, read, left)
        if kept := said.value.kept:
            self.run.progress(f"{story.id}: {seat} changed files; they are kept on {kept}")
        return said

    async def develop(self, number: int, story: Story, start: str, findings: Sequence[str]) -> Artifact[Said]:
        """One attempt of Dev: what it leaves is committed on the story's branch."""
        project, here, merges = self.places.project, self.places.git(self.base.branch), self.epic.merges

        async def begin(_: Stage, start: str) -> Begun:
            return Begun(start=start, outside=await project.state())

        begun = await self.run.stage(
            f"{self.name}/dev#{number}/begin", begin, start, out=model_file("begin.json", Begun)
        )

        async def left(reply: str) -> Said:
            strayed = await self._strayed(here, start)
            if strayed and (kept := await self.places.restore(self.base.branch, start)):
                strayed += f"; what it left is kept on {kept}"
            title = f"{story.label.capitalize()}: {story.title}"
            head = await here.commit_all(f"{title}\n\nAttempt {number} of Dev.\n")
            differing = _differing(begun.value.outside, await project.state())
            outside = () if merges != self.epic.merges else differing
            return Said(reply=reply, at=now(), head=head, strayed=strayed, outside=outside)

        more: dict[str, Json] = {"findings": listed(findings), "playbook": await self._recall(story)}
        return await self._stage("dev", number, story, more, start, str, left, begun)

    def learn(self, number: int, reply: str, findings: Sequence[str]) -> None:
        """Count an attempt for or against the insights that Dev named, and add what was found as insights."""
        if self.epic.playbook and self._hints:
            playbook, place = self.epic.playbook, f"{self.name}/dev"
            cited = cited_in(reply, ids_in(self._hints.value))
            playbook.record(Outcome(not findings, self.run.id, place, number), cited)
            reflector, source = Reflector(playbook), Source(self.run.id, place, by="stories")
            reflector.analyze_trial(OptimizationOutcome(None, not findings, solver_errors=findings, source=source))
            reflector.commit_insights()

    async def _stage(
        self,
        seat: str,
        number: int,
        story: Story,
        more: Mapping[str, Json],
        commit: str,
        read: Callable[[str], str],
        left: Callable[[str], Awaitable[Said]],
        *inputs: object,
    ) -> Artifact[Said]:
        """Have a seat answer: `read` refuses a reply, `left` looks at what it left."""
        epic, branch = self.epic, self.base.branch
        makes = epic.tools if epic.settings.kinds[seat] == "model" else None
        tools = makes(seat, self.places.git(branch).folder) if makes else Toolbox()
        at: Json = {"story": story.id, "branch": branch, "commit": commit, "attempt": number}
        role = make_role(seat, tools.specs)
        blocks = blocks_for(seat, story, self.handoff, {**more, "workplace": at})

        async def step(stage: Stage, *_: object) -> Said:
            if tools.specs or seat == "dev":
                await self.places.ensure(branch, commit)
            return await left(await self._reply(stage, story, role, blocks, read, tools))

        name, told = f"{self.name}/{seat}#{number}", [block.to_json() for block in blocks]
        said = await self.run.stage(name, step, told, *inputs, out=model_file("reply.json", Said), uses=[role])
        self.usage += said.usage
        return said

    async def _reply(
        self,
        stage: Stage,
        story: Story,
        role: Role,
        blocks: Sequence[Block],
        read: Callable[[str], str],
        tools: Toolbox,
    ) -> str:
        """An answer within the caps. Where one is reached a person is asked; given again, it goes on where it was."""
        settings, used = self.epic.settings, self.usage.input_tokens + self.usage.output_tokens
        place = stage.name.removeprefix(f"{self.name}/")
        tokens, more_tokens = self._granted("tokens", f"{story.label} used its {{}} tokens", settings.tokens or 0)
        turns, more_turns = self._granted(
            f"{place}/turns", f"{story.label} used its {{}} turns in {place}", settings.turns
        )
        budget = Budget(turns, None if settings.tokens is None else max(tokens - used, 0))
        try:
            return (await call(stage, role, blocks, read, tools=tools, budget=budget)).reply.text
        except (CapReached, OutOfTurns) as cap:
            if isinstance(cap, CapReached) and cap.cap != "tokens":
                raise
            question = more_tokens if isinstance(cap, CapReached) else more_turns
            await self.run.ask(question.name, question.prompt, options=question.options)
            raise

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
        playbook = self.epic.playbook
        if playbook is None:
            return ""

        async def step(_: Stage, query: str) -> str:
            return "\n".join([one.text for one in await playbook.snapshot(local=False).blocks(query, PLAYBOOK_TOKENS)])

        if self._hints is None:
            name, query = f"{self.name}/recall", f"{story.title} {story.goal}"
            self._hints = await self.run.stage(name, step, query, out=text_file("playbook.txt"))
        return self._hints.value

    async def _strayed(self, here: Git, start: str) -> str:
        """What Dev did to the branch itself; "" where nothing."""
        if not await self.places.is_linked(here):
            return "Dev removed its worktree, or put a repository of its own in its place"
        if (branch := await here.branch()) != self.base.branch:
            return f"Dev left its branch for {branch or 'no branch'}"
        head = await here.commit_of("HEAD")
        return "" if head and await here.is_ancestor(start, head) else "Dev rewrote commits that were there before"


def _differing(was: Mapping[str, str], is_: Mapping[str, str]) -> tuple[str, ...]:
    """What is not as it was; new refs are of Dev's own commits."""
    new_refs = {key for key in is_ if key.startswith("refs/") and key not in was}
    return tuple(sorted(key for key in {**was, **is_}.keys() - new_refs if was.get(key) != is_.get(key)))
