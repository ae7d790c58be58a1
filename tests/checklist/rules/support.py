"""What the tests of the rules share: asking a role as the runs do, and running a generated atom."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.checklist.atoms import Source
from transom.checklist.rules import Knowledge, load_knowledge, rule_table
from transom.checklist.rules.extract import Wanted, make_atom
from transom.checklist.writing.document import assemble, parse_spec
from transom.checklist.writing.earlier import earlier_blocks
from transom.checklist.writing.gate import check_analysis, check_spec
from transom.evidence.findings import Finding
from transom.formats.tags import read_tag
from transom.llm import Block, Reply, Request, Window

SHARED = Path(__file__).parents[4] / "shared"
Extract = Callable[[str, str], list[dict[str, Any]]]


@functools.cache
def shipped() -> Knowledge:
    return load_knowledge()


def ask(role: str, knowledge: Knowledge | None = None, /, **blocks: str) -> Reply:
    name = f"checklist.{role}"
    window = Window(tuple(Block(block, text) for block, text in blocks.items()))
    return rule_table(knowledge or shipped())[name](Request(name, window))


def tagged(reply: Reply, tag: str) -> str:
    return read_tag(reply.text, tag).text.strip("\n") + "\n"


def configuration(description: str, requirements: object = "N/A", waivers: object = "N/A") -> str:
    quoted = description.replace("'", "''")
    return (
        f"description: '{quoted}'\nrequirements:\n  value: {requirements}\n  pattern_items: []\n"
        f"input_files: 1 file configured\nwaivers:\n  value: {waivers}\n  waive_items: []\n"
    )


@dataclass(frozen=True)
class Rounds:
    """The five texts."""

    analysis: str
    section1: str
    section2: str
    section3: str
    section4: str

    def document(
        self, item_id: str = "ITEM", description: str = "Something is to be confirmed."
    ) -> str:
        sections = dict(
            zip("1234", (self.section1, self.section2, self.section3, self.section4), strict=True)
        )
        return assemble(item_id, description, sections)

    def findings(self) -> list[Finding]:
        return [*check_analysis(self.analysis), *check_spec(parse_spec(self.document()))]


def rounds(
    description: str,
    requirements: object = "N/A",
    waivers: object = "N/A",
    knowledge: Knowledge | None = None,
) -> Rounds:
    config = configuration(description, requirements, waivers)
    analysis = tagged(ask("analysis", knowledge, configuration=config), "analysis")
    return rounds_after(analysis, config, knowledge)


def rounds_after(analysis: str, config: str, knowledge: Knowledge | None = None) -> Rounds:
    """The rounds that follow an analysis."""
    one = tagged(
        ask("section1", knowledge, configuration=config, previous_analysis=analysis), "section1"
    )
    two = tagged(
        ask("section2", knowledge, section1_parsing_logic=one, analysis_reference=analysis),
        "section2",
    )
    three = tagged(
        ask("section3", knowledge, previous_sections=f"{one}\n{two}", analysis_reference=analysis),
        "section3",
    )
    summary = summary_of(one, two, three)
    four = tagged(ask("section4", knowledge, previous_sections_summary=summary), "section4")
    return Rounds(analysis, one, two, three, four)


def summary_of(one: str, two: str, three: str) -> str:
    """What the last round sees of the earlier ones."""
    (block,) = earlier_blocks(
        "checklist.section4", {"section1": one, "section2": two, "section3": three}
    )
    return block.text


def load_atom(code: str) -> Extract:
    names: dict[str, Any] = {}
    exec(compile(code, "atoms.py", "exec"), names)  # our own code, made from our own rules
    found: Extract = names["extract_context"]
    return found


def atom_of(
    domain: str, narrow: dict[str, str] | None = None, *, only: tuple[str, ...] = ()
) -> Extract:
    """A domain's atom with everything that it knows by default."""
    return load_atom(atom_code(domain, narrow, only=only))


def atom_code(
    domain: str,
    narrow: dict[str, str] | None = None,
    *,
    only: tuple[str, ...] = (),
    optional: bool = False,
) -> str:
    """Its source, with what it reads only where a spec names it, or without."""
    known = shipped().domain(domain)
    assert known is not None
    fields = {
        c.key: [f.name for f in c.fields if optional or not f.optional]
        for c in known.categories
        if not only or c.key in only
    }
    sources = [Source(kind=s.kind, rank=s.rank, files=s.files) for s in known.sources]
    return make_atom(known, Wanted(fields, sources, narrow or {}))


def snippet(name: str, text: str, shown: range | None = None) -> str:
    """A file as the Parser sees it."""
    lines = text.split("\n")
    numbers = [n for n in range(1, len(lines) + 1) if shown is None or n in shown]
    rows = [f"{n:>6}| {lines[n - 1]}" for n in numbers]
    return "\n".join([f"### FILE {name} ({len(text)} bytes, {len(lines)} lines)", *rows])
