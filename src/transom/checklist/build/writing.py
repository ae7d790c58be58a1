"""The roles of a build at work: each writes its artifact once, and mends it where the gates object."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from transom.agent import call
from transom.checklist.build.artifacts import ATOM_B, ATOM_C, CHECKER, route, tree_of
from transom.checklist.build.inputs import BuildInputs, BuildSettings
from transom.checklist.build.overview import FileOverview
from transom.checklist.build.parse_tools import PARSER_TOOLS, parser_tools
from transom.checklist.build.reading import Answers, LogicReply, read_answers, read_atom_a, read_logic
from transom.checklist.build.state import BuildState, hinted
from transom.checklist.roles import make_role
from transom.formats.yaml_files import dump_yaml
from transom.llm import Block, Tier
from transom.llm.turns import Trust
from transom.runs import Artifact, Run, Stage, model_file, text_file
from transom.telemetry import Redactor
from transom.tools import Toolbox

ATOM_A_FILE = "atom_a.py"
LOGIC_FILE = "logic.json"
ANSWERS_FILE = "answers.json"
RESPONSE_FILE = "response.md"

_NOTHING_YET = "(no reply could be read yet)"


@dataclass(frozen=True)
class Writers:
    """The parser and the logic role of one run, and those who repair after them."""

    run: Run
    settings: BuildSettings

    async def parser(self, state: BuildState) -> Artifact[str]:
        """Atom A, from Sections 1 and 4.1 and what was seen of the files.

        Raises:
            NeedsModel: the embedded rules do not understand the sections.
            ReplyError: no code could be read, twice.
        """
        role = make_role("checklist.parser", self.settings.parser, PARSER_TOOLS)

        async def step(stage: Stage, section_1: str, section_4_1: str, seen: FileOverview, *hints: str) -> str:
            blocks = [*_parser_blocks(section_1, section_4_1, seen), *_hint_blocks(hints)]
            answer = await call(stage, role, blocks, read_atom_a, tools=self.tools_for(state.inputs))
            stage.note(RESPONSE_FILE, answer.reply.text)
            return answer.value

        declared = [*_sections(state, "1", "4.1"), state.overview, *_hints(state)]
        return await self.run.stage("build/parser", step, *declared, out=text_file(ATOM_A_FILE), uses=[role])

    async def logic(self, state: BuildState) -> Artifact[LogicReply]:
        """The checker's YAML, from Sections 2, 3 and 4.2 and the parser's code.

        Raises:
            NeedsModel, ReplyError: as for the parser.
        """
        role = make_role("checklist.logic", self.settings.logic)

        async def step(
            stage: Stage, section_2: str, section_3: str, section_4_2: str, code: str, *hints: str
        ) -> LogicReply:
            blocks = [*_logic_blocks(section_2, section_3, section_4_2, code), *_hint_blocks(hints)]
            answer = await call(stage, role, blocks, read_logic)
            stage.note(RESPONSE_FILE, answer.reply.text)
            return answer.value

        declared = [*_sections(state, "2", "3", "4.2"), state.atom_a, *_hints(state)]
        out = model_file(LOGIC_FILE, LogicReply)
        return await self.run.stage(numbered("build/logic", state.iteration), step, *declared, out=out, uses=[role])

    async def repair_a(self, state: BuildState) -> Artifact[str]:
        """Atom A again: what was written, what is wrong with it, what was tried.

        Raises:
            NeedsModel: nobody in the chain can repair.
            ReplyError: no code could be read, twice.
        """
        role = make_role("checklist.repair_a", self.settings.repair, PARSER_TOOLS)

        async def step(
            stage: Stage, section_1: str, section_4_1: str, seen: FileOverview, code: str, *rest: str
        ) -> str:
            blocks = [*_parser_blocks(section_1, section_4_1, seen), _session("previous_code", code, "untrusted")]
            blocks += _reflection(*rest)
            answer = await call(stage, role, blocks, read_atom_a, tools=self.tools_for(state.inputs))
            stage.note(RESPONSE_FILE, answer.reply.text)
            return answer.value

        code = state.atom_a or _NOTHING_YET
        declared = [*_sections(state, "1", "4.1"), state.overview, code, *_so_far(state), *_hints(state)]
        name = numbered("build/repair_a", state.iteration + 1)
        return await self.run.stage(name, step, *declared, out=text_file(ATOM_A_FILE), uses=[role])

    async def repair_b(self, state: BuildState) -> Artifact[LogicReply]:
        """The YAML and own atoms again; what the findings do not name keeps its bytes, whatever the reply says.

        Raises:
            NeedsModel, ReplyError: as for `repair_a`.
        """
        role = make_role("checklist.repair_b", self.settings.repair)
        named = frozenset(route(state.findings))

        async def step(
            stage: Stage, section_2: str, section_3: str, section_4_2: str, code: str, was: LogicReply | str, *rest: str
        ) -> LogicReply:
            before = was if isinstance(was, LogicReply) else None
            shown = _session("previous_checker", _shown(before), "untrusted")
            blocks = [*_logic_blocks(section_2, section_3, section_4_2, code), shown]
            answer = await call(stage, role, [*blocks, *_reflection(*rest)], read_logic)
            stage.note(RESPONSE_FILE, answer.reply.text)
            return keeping(before, answer.value, named) if before else answer.value

        was = state.logic or _NOTHING_YET
        declared = [*_sections(state, "2", "3", "4.2"), state.atom_a, was, *_so_far(state), *_hints(state)]
        name = numbered("build/repair_b", state.iteration + 1)
        return await self.run.stage(name, step, *declared, out=model_file(LOGIC_FILE, LogicReply), uses=[role])

    async def answers(self, state: BuildState, questions: Sequence[str]) -> Artifact[Answers]:
        """What the writer of atom A says to the gates' questions.

        Raises:
            NeedsModel: nobody in the chain answers.
            ReplyError: no answers could be read, twice.
        """
        role = make_role("checklist.answers", self.settings.parser)

        async def step(stage: Stage, section_1: str, section_4_1: str, code: str, asked: str) -> Answers:
            blocks = [
                _session("section_1", section_1),
                _session("section_4_1", section_4_1),
                _session("previous_code", code, "untrusted"),
                _session("questions", asked, "untrusted"),
            ]
            answer = await call(stage, role, blocks, lambda reply: read_answers(reply, questions))
            stage.note(RESPONSE_FILE, answer.reply.text)
            return answer.value

        asked = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        declared = [*_sections(state, "1", "4.1"), state.atom_a, asked]
        out = model_file(ANSWERS_FILE, Answers)
        return await self.run.stage(numbered("build/answers", state.iteration), step, *declared, out=out, uses=[role])

    def tools_for(self, inputs: BuildInputs) -> Toolbox:
        """A new session of looking at files, for one attempt of a role."""
        limits, turns, redact = self.settings.tools, self.settings.max_turns, Redactor(secrets=self.run.chain.secrets)
        return parser_tools(inputs.files, inputs.roots, inputs.variables, limits, max_turns=turns, redact=redact)


def numbered(stage: str, iteration: int) -> str:
    """The name of a stage in an iteration; the first draft's has no number."""
    return f"{stage}#{iteration}" if iteration else stage


def keeping(before: LogicReply, after: LogicReply, named: frozenset[str]) -> LogicReply:
    """A repair in which only what the findings name has changed.

    Args:
        before, after: what was tried, and the answer.
        named: the artifacts that the findings name.
    """
    checker = after.checker if CHECKER in named else before.checker
    atoms = _kept_atoms(before.atoms, after.atoms, named)
    if atoms != before.atoms:
        checker = {**checker, "atoms": "own" if atoms else "standard"}
    return LogicReply(checker=checker, atoms=atoms)


def _kept_atoms(before: str, after: str, named: frozenset[str]) -> str:
    """Atoms B and C; each from the answer only where a finding names it."""
    if not named & {ATOM_B, ATOM_C}:
        return before
    old, new = _halves(before), _halves(after)
    if named >= {ATOM_B, ATOM_C} or old is None or new is None:
        return after
    b = new[0] if ATOM_B in named else old[0]
    c = new[1] if ATOM_C in named else old[1]
    return f"{b}\n\n\n{c}\n"


def _halves(code: str) -> tuple[str, str] | None:
    """Atom B with its helpers, and atom C; None where the code does not parse or has no atom C."""
    body = tree.body if (tree := tree_of(code)) else []
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check_existence"]
    if not found:
        return None
    node, lines = found[-1], code.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    own = lines[first : node.end_lineno]
    rest = lines[:first] + lines[node.end_lineno :]
    return "\n".join(rest).strip("\n"), "\n".join(own)


def _sections(state: BuildState, *numbers: str) -> list[Artifact[str] | str]:
    assert state.sections is not None
    return [state.sections[number] for number in numbers]


def _parser_blocks(section_1: str, section_4_1: str, seen: FileOverview) -> list[Block]:
    return [
        _session("section_1", section_1),
        _session("section_4_1", section_4_1),
        _session("available_files", seen.listing(), "untrusted"),
        _session("log_snippets", seen.snippets, "untrusted"),
    ]


def _logic_blocks(section_2: str, section_3: str, section_4_2: str, code: str) -> list[Block]:
    return [
        _session("section_2", section_2),
        _session("section_3", section_3),
        _session("section_4_2", section_4_2),
        _session("atom_a_code", code),
    ]


def _so_far(state: BuildState) -> tuple[str, str, str]:
    """Findings, what was tried, a person's words: inputs of a repair like any other."""
    return hinted(state.findings), state.summary, state.budget.words(state.iteration + 1)


def _hints(state: BuildState) -> list[Artifact[str]]:
    """What the playbook has, as an input of a draft; none where it has nothing, so that nothing is redone for that."""
    return [state.hints] if state.hints else []


def _hint_blocks(hints: Sequence[str]) -> list[Block]:
    return [_session("playbook", text, "untrusted") for text in hints]


def _reflection(findings: str, tried: str, guidance: str, *hints: str) -> list[Block]:
    """The blocks that make a request a repair. Findings may quote a log, so they are data."""
    blocks = [_session("findings", findings, "untrusted")]
    if tried:
        blocks.append(_session("tried", tried, "untrusted"))
    if guidance:
        blocks.append(_session("guidance", guidance))
    return [*blocks, *_hint_blocks(hints)]


def _session(name: str, text: str, trust: Trust = "ours") -> Block:
    """A block that stays the same over all turns of a conversation, so that it stands before them."""
    return Block(name, text, Tier.SESSION, trust)


def _shown(logic: LogicReply | None) -> str:
    """What a Logic role wrote, as it wrote it."""
    if logic is None:
        return _NOTHING_YET
    own = f"\n```python\n{logic.atoms.strip()}\n```" if logic.atoms else ""
    return f"```yaml\n{dump_yaml(logic.checker).strip()}\n```{own}"


def inputs_of(inputs: BuildInputs) -> dict[str, Artifact[str] | str]:
    """The sections of an ItemSpec that a build reads.

    Raises:
        InputError: it lacks one.
    """
    return {number: inputs.section(number) for number in ("1", "2", "3", "4.1", "4.2")}
