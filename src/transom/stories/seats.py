"""The four roles of a story (SM, PO, Dev, QA): the blocks that each sees, its tools and its
caps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from transom.agent import RETRY, Budget, call
from transom.canonical import Json
from transom.errors import CapReached, OutOfTurns, ReplyError
from transom.formats.yaml_files import dump_yaml
from transom.learning import InsightSource, OptimizationOutcome, Reflector, cited_in, shown_in
from transom.llm import Block, Role, Tier, ToolSpec, Usage
from transom.runs import Artifact, Question, Stage, model_file
from transom.stories.byproducts import DevAttempt, work_without_byproducts
from transom.stories.decisions import Seat, read_reply
from transom.stories.handoff import StoryHandoff, timestamp
from transom.stories.merge import tested
from transom.stories.shared import Baseline, Epic, Outside, SeatReply, Stopped
from transom.stories.story import Story
from transom.stories.testrun import readable
from transom.stories.workers import CommandWorker
from transom.tools import Toolbox
from transom.tools.editing import editing_tools, reading_tools
from transom.tools.shell import command_tool

_MOST_NAMED: Final = 5
_CHECKOUT_SECONDS: Final = (0.0, 0.5, 1.0)
PROMPTS: Final = Path(__file__).with_name("prompts")

VIEWS: Final[Mapping[str, tuple[str, ...]]] = {
    "sm": ("story", "feedback"),
    "po": ("story", "sm_summary"),
    "dev": ("story", "playbook", "po_decision", "po_summary", "findings"),
    "qa": ("story", "dev_summary", "files", "diff", "tests"),
}
"""Seat -> blocks that it sees beside its own prompt and `workplace`. The story is whole;
summaries are truncated.
"""
# Blocks of the hand-over and the run that hold no text of others, so that nothing in them can give
# orders. The story is the task itself.
_OURS = ("workplace", "po_decision", "tests")


def make_role(seat: str, tools: tuple[ToolSpec, ...] = ()) -> Role:
    """Return the role `stories.SEAT`. An unreadable reply of Dev is not asked for again: its
    work counts.
    """
    prompt = Block(
        "instructions", (PROMPTS / f"{seat}.md").read_text(encoding="utf-8"), Tier.STABLE
    )
    # Dev's work counts even if its reply is odd: the files are in git.
    retry_blocks = () if seat == "dev" else (RETRY,)
    return Role(
        f"stories.{seat}",
        (prompt,),
        frozenset(("instructions", "workplace", *VIEWS[seat], *retry_blocks)),
        tools,
    )


def blocks_for(
    seat: str, story: Story, handoff: StoryHandoff, context: Mapping[str, Json] | None = None
) -> list[Block]:
    """Return a seat's blocks: the whole story, what the hand-over has, and `context`: texts or
    data of the run.

    Empty blocks are left out, and blocks that the seat does not see.
    """
    # Fields that are empty, or that only the orchestrator needs, would cost tokens.
    data = story.model_dump(mode="json")
    unseen = ("text", "line", "owns_file", "status_text")
    fields = {key: value for key, value in data.items() if value and key not in unseen}
    if story.criteria:
        fields["criteria"] = {f"AC {number}": text for number, text in enumerate(story.criteria, 1)}
    blocks = [Block("story", f"{dump_yaml(fields)}\n{story.text}", Tier.SESSION, data=data)]
    for name, value in {**handoff.get_context_for_stage(seat), **(context or {})}.items():
        if value and name in (*VIEWS[seat], "workplace"):
            text, structure = (
                (value, None) if isinstance(value, str) else (dump_yaml(value).strip(), value)
            )
            blocks.append(
                Block(name, text, trust="ours" if name in _OURS else "untrusted", data=structure)
            )
    return blocks


class Seats:
    """The seats of one story, whose stages begin with `name`.

    `usage` is the sum of their tokens; `leftovers` are the paths that the test run before Dev left.
    """

    def __init__(self, epic: Epic, name: str, base: Baseline, handoff: StoryHandoff) -> None:
        self.epic, self.run, self.places, self.name = epic, epic.run, epic.places, name
        self.base, self.handoff, self.usage = base, handoff, Usage()
        self.leftovers: tuple[str, ...] = ()
        self._hints: Artifact[str] | None = None

    async def ask(
        self, seat: Seat, number: int, story: Story, context: Mapping[str, Json], commit: str
    ) -> Artifact[SeatReply]:
        """Ask a seat for the `number`th time, with `commit` in the worktree and `context` blocks
        beside the hand-over's.

        Changes by Dev are committed; changes by another seat are parked.
        """
        name, branch, kind = (
            f"{self.name}/{seat}#{number}",
            self.base.branch,
            self.epic.settings.kinds[seat],
        )
        tools = self._tools(seat, self.places.git(branch).folder) if kind == "model" else Toolbox()
        role, merges = make_role(seat, tools.specs), self.epic.merges
        workplace: Json = {"story": story.id, "branch": branch, "commit": commit, "attempt": number}
        blocks = blocks_for(seat, story, self.handoff, {**context, "workplace": workplace})

        # The state before Dev, recorded: a resumed run must not take its own view for it.
        async def look(_: Stage, __: str) -> Outside:
            return Outside(await self.places.project.state())

        def read(text: str) -> str:
            if seat != "dev" and (problem := read_reply(text, seat).problem):
                raise ReplyError(problem)
            return text

        async def step(stage: Stage, _: Json, outside: Outside | None = None) -> SeatReply:
            # A model reads and edits files, so it needs the worktree; agents make it themselves.
            if tools.specs or seat == "dev":
                await self.places.ensure(branch, commit)
            reply = await self._reply(stage, story, role, blocks, read, tools)
            if outside is not None:
                seat_reply = await self._commit(reply, number, story, commit)
                # After a merge of this run, the whole checkout has changed.
                must_look = merges == self.epic.merges and self._may_reach_outside(seat)
                changed = await self._changed_outside(outside.root) if must_look else ()
                return seat_reply.model_copy(update={"outside": changed})
            parked = "" if kind in ("model", "rules") else await self.places.restore(branch, commit)
            return SeatReply(reply=reply, at=timestamp(), kept=parked)

        inputs: list[object] = [[block.to_json() for block in blocks]]
        if seat == "dev":
            inputs.append(
                await self.run.stage(
                    f"{name}/begin", look, commit, out=model_file("outside.json", Outside)
                )
            )
        seat_reply = await self.run.stage(
            name, step, *inputs, out=model_file("reply.json", SeatReply), uses=[role]
        )
        self.usage += seat_reply.usage
        self._report(seat, story, seat_reply.value)
        return seat_reply

    def _may_reach_outside(self, seat: Seat) -> bool:
        """Whether the worker of a seat can change what lies outside its worktree."""
        project = self.places.project.folder
        chain = self.run.chain.of(f"stories.{seat}")
        return any(
            isinstance(worker, CommandWorker) and worker.may_change(project)
            for worker in chain.providers
        )

    async def _changed_outside(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """Return what changed outside the worktree, as far as Dev may have done it."""
        project = self.places.project
        changed: list[str] = []
        # A checkout takes a moment in which its files and its head differ.
        for seconds in _CHECKOUT_SECONDS:
            await asyncio.sleep(seconds)
            state = await project.state()
            changed = []
            for key in sorted({**before, **state}):
                old, new = before.get(key), state.get(key)
                is_ref = key.startswith("refs/")
                # A new ref is Dev's own; a ref that another epic's merge moved is not.
                if old == new or (is_ref and old is None):
                    continue
                if is_ref and old and new and await project.has_only_merges(old, new):
                    continue
                changed.append(key)
            # While another epic merges, the files of the checkout are between two commits.
            if not changed:
                break
        return tuple(changed)

    def _report(self, seat: Seat, story: Story, seat_reply: SeatReply) -> None:
        """Say which files were not committed, and where they are kept."""
        if seat_reply.left_out:
            names = ", ".join(seat_reply.left_out[:_MOST_NAMED])
            unnamed = len(seat_reply.left_out) - _MOST_NAMED
            names += f" and {unnamed} more" if unnamed > 0 else ""
            self.run.progress(f"{story.id}: not committed, since tests or tools make it: {names}")
        if seat_reply.kept and seat == "dev":
            self.run.progress(
                f"{story.id}: Dev's own commits hold such files: see {seat_reply.kept}"
            )
        elif seat_reply.kept:
            self.run.progress(
                f"{story.id}: {seat} changed files; they are kept on {seat_reply.kept}"
            )

    async def recall(self, story: Story) -> str:
        """Return the playbook's insights for the story, recalled once, so that a resumed run
        reads the same text.
        """
        # One recall for all attempts, so that outcomes count for the same insights.
        if self._hints is None and (playbook := self.epic.playbook):
            self._hints = await playbook.recall(
                self.run, f"{self.name}/recall", f"{story.title} {story.goal}"
            )
        return self._hints.value if self._hints else ""

    def learn(self, number: int, reply: str, findings: Sequence[str]) -> None:
        """Count an attempt for the insights that Dev cited, and add its findings as insights."""
        if self.epic.playbook and self._hints:
            reflector = Reflector(self.epic.playbook)
            cited = cited_in(reply, shown_in(self._hints.value))
            source = InsightSource(self.run.id, f"{self.name}/dev", by="stories")
            outcome = OptimizationOutcome(None, not findings, solver_errors=findings, source=source)
            reflector.learn(outcome, cited, number)
            reflector.commit_insights()

    def _tools(self, seat: str, folder: Path) -> Toolbox:
        """Return a model's tools: all seats may read, Dev may edit and run commands in the
        sandbox.
        """
        tools = reading_tools(folder)
        tests = self.epic.settings.tests
        if seat == "dev":
            run = command_tool(
                folder,
                readable=readable(tests, self.epic.project),
                seconds=tests.seconds,
                environment=tests.environment,
            )
            tools += [*editing_tools(folder), run]
        return Toolbox(tools)

    async def _reply(
        self,
        stage: Stage,
        story: Story,
        role: Role,
        blocks: Sequence[Block],
        read: Callable[[str], str],
        tools: Toolbox,
    ) -> str:
        """Return a reply within the caps. A person is asked when a cap is reached; after a yes
        the call goes on.
        """
        settings = self.epic.settings.stories
        place = stage.name.removeprefix(f"{self.name}/")
        # Both caps are read before the call: a person's answer raised them since.
        tokens, ask_tokens = self._granted(
            "tokens", f"{story.label} used its {{}} tokens", settings.max_tokens or 0
        )
        reached = f"{story.label} used its {{}} turns in {place}"
        turns, ask_turns = self._granted(f"{place}/turns", reached, settings.max_turns)
        remaining = (
            max(tokens - self.usage.input_tokens - self.usage.output_tokens, 0)
            if settings.max_tokens
            else None
        )
        try:
            return (
                await call(stage, role, blocks, read, tools=tools, budget=Budget(turns, remaining))
            ).reply.text
        except (CapReached, OutOfTurns) as cap:
            # Other caps, such as that on cost, are of the run and asked there.
            if isinstance(cap, CapReached) and cap.cap != "tokens":
                raise
            question = ask_tokens if isinstance(cap, CapReached) else ask_turns
            await self.epic.ask(question.name, question.prompt, question.options)
            raise

    def _granted(self, cap: str, reached: str, each: int) -> tuple[int, Question]:
        """Return a cap, including what a person granted in this run, and the question that asks for
        more.

        Raises:
            Stopped: a person gave up.
        """
        times = 1
        # Each "go on" grants as many again, so the questions are numbered.
        while True:
            prompt = f"{reached.format(each * times)}; may it go on?"
            question = Question(
                f"{self.name}/cap/{cap}#{times}", prompt, ("go on with as many again", "give up")
            )
            answer = self.run.answer(question.name, question.fingerprint)
            if answer is None:
                return each * times, question
            if answer.text == "give up":
                raise Stopped("failed", reached.format(each * times))
            times += 1

    async def _commit(self, reply: str, number: int, story: Story, start: str) -> SeatReply:
        """Commit Dev's changes on the story's branch; `strayed` tells what Dev did to the branch
        itself.
        """
        worktree, strayed = self.places.git(self.base.branch), ""
        # In this order: each next question means something only if the one before holds.
        if not await self.places.is_linked(worktree):
            strayed = "Dev removed its worktree, or put a repository of its own in its place"
        elif (branch := await worktree.branch()) != self.base.branch:
            strayed = f"Dev left its branch for {branch or 'no branch'}"
        elif (await worktree.attempt("merge-base", "--is-ancestor", start, "HEAD"))[0]:
            strayed = "Dev rewrote commits that were there before"
        if strayed and (parked := await self.places.restore(self.base.branch, start)):
            strayed += f"; what it left is kept on {parked}"
        message = f"{story.label.capitalize()}: {story.title}\n\nAttempt {number} of Dev.\n"
        # What Dev lists as its work is not left out as a by-product.
        listed = read_reply(reply).files
        attempt = DevAttempt(start, listed, self.leftovers)
        tree, left_out = await work_without_byproducts(worktree, attempt, self._left_by_tests)
        if not left_out:
            head = await worktree.commit_all(message)
            return SeatReply(reply=reply, at=timestamp(), head=head, strayed=strayed)
        parent, parked = await worktree("rev-parse", "HEAD"), ""
        committed = await worktree.changes(start, parent)
        if not {change.path for change in committed}.isdisjoint(left_out):
            # Dev committed by-products itself: its work becomes one commit without them.
            parked = await worktree.keep(parent, story.slug)
            self.places.parked.append(parked)
            parent = start
        head = parent
        # No empty commit if Dev committed all of it already.
        if await worktree("rev-parse", f"{parent}^{{tree}}") != tree:
            head = await worktree.commit_tree(tree, message, parent)
        await worktree.take(head)
        return SeatReply(
            reply=reply, at=timestamp(), head=head, strayed=strayed, kept=parked, left_out=left_out
        )

    async def _left_by_tests(self, commit: str) -> tuple[str, ...]:
        """Run the tests on a commit, beside Dev's worktree; returns what they leave."""
        async with self.places.probe(self.base.branch, commit) as worktree:
            return (await tested(self.epic, worktree)).left
