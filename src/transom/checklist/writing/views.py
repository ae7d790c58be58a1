"""The checklist's seats at a model, and the table of which role sees which blocks, as data.

A prompt file holds one named block. Blocks that differ from run to run are listed by name; whoever
assembles a call supplies them. A role is never given a block that is not in its row. The common
blocks come first and in one order, so that the rounds share the longest possible prefix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from transom.errors import InputError
from transom.formats.yaml_files import read_text
from transom.formats.yaml_models import nearest_key
from transom.llm import Block, CallSettings, Role, Tier, ToolSpec

PROMPTS_DIR: Final = Path(__file__).resolve().parent.parent / "prompts"


class Prompt(NamedTuple):
    """A block of our own: its name, and the file that holds it (`prompts/<file>.md`)."""

    block: str
    file: str


@dataclass(frozen=True)
class View:
    """Blocks that one role sees, ours and those of the run, and its answer's tags; the first tag
    is mandatory.
    """

    prompt: tuple[Prompt, ...]
    dynamic: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def sees(self) -> frozenset[str]:
        return frozenset((*(block for block, _ in self.prompt), *self.dynamic))


@cache
def load_prompt(name: str) -> str:
    """Return the text of `prompts/<name>.md`, without its final line end."""
    return (PROMPTS_DIR / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def own_prompt(name: str, folder: Path | None) -> str:
    """Return the text of `<name>.md` from a person's folder of prompts, or else the shipped one."""
    if folder is not None and (path := folder / f"{name}.md").is_file():
        return read_text(path).rstrip("\n")
    return load_prompt(name)


def shipped_prompts() -> dict[str, str]:
    """Return the texts of the prompts that a person's folder may replace, by name."""
    names = sorted({prompt.file for view in VIEWS.values() for prompt in view.prompt})
    return {name: load_prompt(name) for name in names}


def check_prompts(folder: Path) -> None:
    """Check a person's folder of prompts.

    Raises:
        InputError: it does not exist, or holds a file that no role reads.
    """
    if not folder.is_dir():
        raise InputError("no such folder", place=f"paths.prompts_dir: {folder}")
    prompt_names = [*shipped_prompts()]
    # A misspelt name would silently leave the shipped prompt in place.
    for path in sorted(folder.glob("*.md")):
        if path.stem not in prompt_names:
            near = nearest_key(path.stem, prompt_names)
            hint = (
                f"did you mean {near}.md?"
                if near
                else "transom init --prompts writes the shipped ones"
            )
            raise InputError("no role reads this prompt", place=str(path), hint=hint)


def _view(files: str, dynamic: str, *tags: str) -> View:
    return View(
        tuple(Prompt(_block(file), file) for file in files.split()), tuple(dynamic.split()), tags
    )


def _block(file: str) -> str:
    """Return the name of a file's block: `task_round3` is a block `task`."""
    short = re.match("(task|instructions|worked_answer)_|(template_section)", file)
    if short:
        return short[short.lastindex or 0]
    return file


_COMMON: Final = "role principles type_system data_structure important_notes"

ROUND_VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "checklist.analysis": _view(
            f"{_COMMON} description_patterns example_reasoning many_questions task_round1"
            " instructions_round1",
            "configuration similar_items retry",
            "analysis",
        ),
        "checklist.section1": _view(
            f"{_COMMON} output_format parsing_rules task_round2 template_section1"
            " worked_answer_round2 instructions_round2",
            "configuration previous_analysis retry",
            "section1",
        ),
        "checklist.section2": _view(
            f"{_COMMON} output_format check_rules task_round3 template_section2"
            " worked_answer_round3 instructions_round3",
            "configuration section1_parsing_logic analysis_reference retry",
            "section2",
        ),
        "checklist.section3": _view(
            f"{_COMMON} output_format waiver_rules task_round4 template_section3"
            " worked_answer_round4 instructions_round4",
            "configuration previous_sections analysis_reference retry",
            "section3",
        ),
        "checklist.section4": _view(
            f"{_COMMON} output_format parsing_rules quality_criteria quality_checklist"
            " task_round5 template_section4 worked_answer_round5 instructions_round5",
            "configuration previous_sections_summary previous_section observed retry",
            "section4",
        ),
    }
)

BUILD_VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "checklist.parser": _view(
            "parser_role data_structure parsing_rules parser_contract parser_tools"
            " parser_instructions",
            "section_1 section_4_1 available_files log_snippets playbook retry",
            "atom_a",
        ),
        "checklist.logic": _view(
            "logic_role type_system logic_contract yaml_template logic_instructions",
            "section_2 section_3 section_4_2 atom_a_code playbook retry",
            "checker",
            "atoms",
        ),
        # A repair sees what the writer of the artifact saw, and beside it what was written and what
        # is wrong with it.
        "checklist.repair_a": _view(
            "parser_role data_structure parsing_rules parser_contract parser_tools"
            " instructions_repair_a",
            "section_1 section_4_1 available_files log_snippets previous_code findings tried"
            " guidance playbook retry",
            "atom_a",
        ),
        "checklist.answers": _view(
            "parser_role parser_contract instructions_answers",
            "section_1 section_4_1 previous_code questions retry",
            "answers",
        ),
        "checklist.repair_b": _view(
            "logic_role type_system logic_contract yaml_template instructions_repair_b",
            "section_2 section_3 section_4_2 atom_a_code previous_checker findings tried guidance"
            " playbook retry",
            "checker",
            "atoms",
        ),
    }
)

VIEWS: Final[Mapping[str, View]] = MappingProxyType({**ROUND_VIEWS, **BUILD_VIEWS})


def make_role(
    name: str,
    settings: CallSettings | None = None,
    tools: tuple[ToolSpec, ...] = (),
    beyond: Collection[str] = (),
    prompts: Path | None = None,
) -> Role:
    """Return the role of a name of `VIEWS` without the prompt blocks `beyond` it.

    Files in the folder `prompts` replace shipped ones of the same name.
    """
    view = VIEWS[name]
    prompt = tuple(
        Block(prompt.block, own_prompt(prompt.file, prompts), Tier.STABLE)
        for prompt in view.prompt
        if prompt.block not in beyond
    )
    return Role(name, prompt, view.sees, tools, settings or CallSettings())
