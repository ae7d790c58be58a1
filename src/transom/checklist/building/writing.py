"""The roles of a build at work: each writes its artifact once, and mends it where the gates
object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from transom.agent import call
from transom.checklist.building.artifacts import ATOM_B, ATOM_C, CHECKER, route
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.overview import FileOverview, present_files
from transom.checklist.building.reading import (
    Answers,
    LogicReply,
    read_answers,
    read_atom_a,
    read_logic,
)
from transom.checklist.building.settings import BuildSettings
from transom.checklist.building.state import BuildState, hinted
from transom.checklist.writing.views import make_role
from transom.formats.yaml_files import dump_yaml
from transom.llm import Block, Role, Tier, ToolSpec
from transom.llm.rules import RULES
from transom.llm.turns import Trust
from transom.runs import Artifact, ArtifactFile, Run, Stage, model_file, text_file
from transom.telemetry import Redactor
from transom.tools import Toolbox
from transom.tools.catalogue import ReadablePlaces
from transom.tools.constrained import FileSession
from transom.tools.file_specs import FILE_TOOLS

ATOM_A_FILE = "atom_a.py"
LOGIC_FILE = "logic.json"
ANSWERS_FILE = "answers.json"
RESPONSE_FILE = "response.md"

T = TypeVar("T")

_NOTHING_YET = "(no reply could be read yet)"


@dataclass(frozen=True)
class _Given:
    """Contents of a block that a role sees; it is an input of the role's stage. An empty text is
    no block.
    """

    block: str
    value: object
    trust: Trust = "ours"

    def blocks(self, value: object) -> list[Block]:
        """Return the blocks of the value, the same over all turns of a conversation."""
        texts = {self.block: value}
        if isinstance(value, FileOverview):
            texts = {"available_files": value.listing(), "log_snippets": value.snippets}
        elif isinstance(value, LogicReply):
            texts = {self.block: _reply_text(value)}
        blocks: list[Block] = []
        for name, text in texts.items():
            if text:
                blocks.append(Block(name, str(text), Tier.SESSION, self.trust))
        return blocks


@dataclass(frozen=True)
class Writers:
    """The parser and the logic role of one run, and those who repair after them.

    Each of them raises:
        NeedsModel: nobody in the chain answers, or the embedded rules do not understand the
            sections.
        ReplyError: nothing could be read of the reply, twice.
    """

    run: Run
    settings: BuildSettings

    def _tools(self, role: str) -> tuple[ToolSpec, ...]:
        """Return the tools of a role's chain.

        The embedded rules call none, and checking them against schemas takes a tenth of a second.
        """
        if self.run.chain.of(role).name == RULES:
            return ()
        return FILE_TOOLS

    async def parser(self, state: BuildState) -> Artifact[str]:
        """Write atom A, from Sections 1 and 4.1 and what was seen of the files."""
        role = make_role(
            "checklist.parser",
            self.settings.parser,
            self._tools("checklist.parser"),
            prompts=self.settings.prompts,
        )
        blocks = [*_parser_sections(state), *_hints(state)]
        return await self._write(
            "build/parser", role, blocks, read_atom_a, text_file(ATOM_A_FILE), state
        )

    async def logic(self, state: BuildState) -> Artifact[LogicReply]:
        """Write the checker's YAML, from Sections 2, 3 and 4.2 and the parser's code."""
        role = make_role("checklist.logic", self.settings.logic, prompts=self.settings.prompts)
        blocks = [*_logic_sections(state), *_hints(state)]
        name, output = numbered("build/logic", state.iteration), model_file(LOGIC_FILE, LogicReply)
        return await self._write(name, role, blocks, read_logic, output, state)

    async def repair_a(self, state: BuildState) -> Artifact[str]:
        """Write atom A again, from what was written, what is wrong with it, and what was tried."""
        role = make_role(
            "checklist.repair_a",
            self.settings.repair,
            self._tools("checklist.repair_a"),
            prompts=self.settings.prompts,
        )
        before = _Given("previous_code", state.atom_a or _NOTHING_YET, "untrusted")
        blocks = [*_parser_sections(state), before, *_so_far(state), *_hints(state)]
        name = numbered("build/repair_a", state.iteration + 1)
        return await self._write(name, role, blocks, read_atom_a, text_file(ATOM_A_FILE), state)

    async def repair_b(self, state: BuildState) -> Artifact[LogicReply]:
        """Write the YAML and own atoms again.

        What the findings do not name keeps its bytes, whatever the reply says.
        """
        role = make_role("checklist.repair_b", self.settings.repair, prompts=self.settings.prompts)
        artifacts = frozenset(route(state.findings))
        before = _Given("previous_checker", state.logic or _NOTHING_YET, "untrusted")
        blocks = [*_logic_sections(state), before, *_so_far(state), *_hints(state)]

        def read(reply: str) -> LogicReply:
            answer = read_logic(reply)
            if state.logic:
                return keeping(state.logic.value, answer, artifacts)
            return answer

        name, output = (
            numbered("build/repair_b", state.iteration + 1),
            model_file(LOGIC_FILE, LogicReply),
        )
        return await self._write(name, role, blocks, read, output, state)

    async def answers(self, state: BuildState, questions: Sequence[str]) -> Artifact[Answers]:
        """Answer the gates' questions as atom A's writer."""
        role = make_role("checklist.answers", self.settings.parser, prompts=self.settings.prompts)
        question_list = "\n".join(
            f"{number}. {question}" for number, question in enumerate(questions, 1)
        )
        code = _Given("previous_code", state.atom_a, "untrusted")
        blocks = [
            *_sections(state, "1", "4.1"),
            code,
            _Given("questions", question_list, "untrusted"),
        ]
        name, output = numbered("build/answers", state.iteration), model_file(ANSWERS_FILE, Answers)
        return await self._write(
            name, role, blocks, lambda reply: read_answers(reply, questions), output, state
        )

    async def _write(
        self,
        name: str,
        role: Role,
        given_blocks: Sequence[_Given],
        read: Callable[[str], T],
        output: ArtifactFile[T],
        state: BuildState,
    ) -> Artifact[T]:
        """Run one stage in which a role is asked once; its blocks are the stage's inputs."""

        async def step(stage: Stage, *values: object) -> T:
            blocks = []
            for given_block, value in zip(given_blocks, values, strict=True):
                blocks.extend(given_block.blocks(value))
            tools = self.tools_for(state.inputs, state.overview) if role.tools else None
            answer = await call(stage, role, blocks, read, tools=tools)
            stage.note(RESPONSE_FILE, answer.reply.text)
            return answer.value

        # The blocks' values are the stage's inputs, so a changed section asks the role again.
        return await self.run.stage(
            name, step, *(block.value for block in given_blocks), out=output, uses=[role]
        )

    def tools_for(
        self, inputs: BuildInputs, overview: Artifact[FileOverview] | None = None
    ) -> Toolbox:
        """Return a new session of looking at files, for one attempt of a role.

        It can read what its window lists.
        """
        # A session of its own for each attempt, since it counts how much was read.
        listed = [
            *inputs.files,
            *(present_files(overview.value.listed(), inputs.roots) if overview else ()),
        ]
        places = ReadablePlaces(tuple(inputs.roots), tuple(inputs.files), dict(inputs.variables))
        tools = FileSession(places, self.settings.tools, listed).tools()
        redact = Redactor(secrets=self.run.chain.secrets)
        return Toolbox(tools, max_turns=self.settings.max_turns, redact=redact)


def numbered(stage: str, iteration: int) -> str:
    """Return the name of a stage in an iteration; the first draft's has no number."""
    if iteration:
        return f"{stage}#{iteration}"
    return stage


def keeping(before: LogicReply, after: LogicReply, artifacts: frozenset[str]) -> LogicReply:
    """Return a repair in which only the artifacts named by the findings have changed."""
    checker = after.checker if CHECKER in artifacts else before.checker
    atoms = after.atoms if artifacts & {ATOM_B, ATOM_C} else before.atoms
    # Which atoms there are is decided by the code, not by what the YAML says of it.
    if atoms != before.atoms:
        checker = {**checker, "atoms": "own" if atoms else "standard"}
    return LogicReply(checker=checker, atoms=atoms)


def _sections(state: BuildState, *numbers: str) -> list[_Given]:
    assert state.sections is not None
    blocks: list[_Given] = []
    for number in numbers:
        blocks.append(_Given(f"section_{number.replace('.', '_')}", state.sections[number]))
    return blocks


def _parser_sections(state: BuildState) -> list[_Given]:
    return [*_sections(state, "1", "4.1"), _Given("files", state.overview, "untrusted")]


def _logic_sections(state: BuildState) -> list[_Given]:
    return [*_sections(state, "2", "3", "4.2"), _Given("atom_a_code", state.atom_a)]


def _so_far(state: BuildState) -> list[_Given]:
    """Return the blocks that make a request a repair.

    Findings may quote a log, so they are data.
    """
    return [
        _Given("findings", hinted(state.findings), "untrusted"),
        _Given("tried", state.summary, "untrusted"),
        _Given("guidance", state.guidance),
    ]


def _hints(state: BuildState) -> list[_Given]:
    """Return the hints of the playbook, or none, so that nothing is redone for that."""
    if state.hints:
        return [_Given("playbook", state.hints, "untrusted")]
    return []


def _reply_text(logic: LogicReply) -> str:
    """Return the reply of a Logic role, as it wrote it."""
    own = f"\n```python\n{logic.atoms.strip()}\n```" if logic.atoms else ""
    return f"```yaml\n{dump_yaml(logic.checker).strip()}\n```{own}"


def inputs_of(inputs: BuildInputs) -> dict[str, Artifact[str] | str]:
    """Return the sections of an ItemSpec that a build reads.

    Raises:
        InputError: it lacks one.
    """
    return {number: inputs.section(number) for number in ("1", "2", "3", "4.1", "4.2")}
