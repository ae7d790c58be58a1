"""Description -> ItemSpec, in five rounds. Each round is one stage and one call that sees its
own slice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.agent import call
from transom.canonical import digest
from transom.checklist.complexity import BEYOND, complexity_of
from transom.checklist.item import Item
from transom.checklist.writing.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    parse_section4,
)
from transom.checklist.writing.earlier import earlier_blocks
from transom.checklist.writing.gate import (
    check_analysis,
    check_section1,
    check_section2,
    check_section3,
    check_section4,
)
from transom.checklist.writing.round_inputs import input_details, simplified
from transom.checklist.writing.similar import SIMILAR, recall_similar
from transom.checklist.writing.views import make_role
from transom.errors import EgressError, NeedsModel, ReplyError, TransomError
from transom.evidence.findings import Finding
from transom.formats.tags import read_tag
from transom.formats.yaml_files import parse_yaml
from transom.llm import Block, CallSettings, Role, Tier, render
from transom.memory import Memory
from transom.runs import Artifact, Run, Stage, text_file

_QUOTED = 200
OBSERVED = "_observed"
DRAFT = "_draft"
_FIRST_SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Round:
    """One round.

    Attributes:
        number: 1..5.
        tag: the reply's tag, and what later rounds know its text by.
        inputs: what its blocks are made from: `config`, `files`, `similar` or the tags of earlier
            rounds. `earlier.py` says what of an earlier text it sees.
        gate: the text written, texts of the inputs by name -> what the substance gate holds against
            it.
        accept: whether a reply without any tag is nevertheless what was asked for.
    """

    number: int
    tag: str
    inputs: tuple[str, ...]
    gate: Callable[[str, Mapping[str, str]], list[Finding]]
    accept: Callable[[str], bool]

    def findings(self, written: str, texts: Sequence[str]) -> list[Finding]:
        """Return the gate's findings on the text, given the texts of the inputs."""
        return self.gate(written, dict(zip(self.inputs, texts, strict=True)))

    @property
    def role(self) -> str:
        return f"checklist.{self.tag}"

    @property
    def stem(self) -> str:
        return f"round{self.number}"

    @property
    def file(self) -> str:
        return f"{self.stem}_{self.tag}.md"

    @property
    def stage(self) -> str:
        return f"spec/{self.stem}_{self.tag}"


async def write_sections(
    run: Run,
    item: Item,
    sizes: Mapping[str, int],
    settings: Mapping[str, CallSettings] | None = None,
    memory: Memory | None = None,
    *,
    parallel: bool = False,
    prompts: Path | None = None,
) -> dict[str, Artifact[str]]:
    """Walk the five rounds, and return their texts by tag: `analysis`, `section1` to `section4`.

    With `parallel`, sections 2 and 3 are drafted from the analysis alone while section 1 is
    written. A draft that the gate objects to, beside the sections before it, is written again.

    Raises:
        NeedsModel: the embedded rules do not understand a round.
        ReplyError: a model's replies cannot be read.
    """

    async def details(stage: Stage, item_text: str) -> str:
        del stage, item_text
        return input_details(item, sizes)

    # Kept as it was at first: a log that grew is no reason to write the ItemSpec again.
    files = await run.stage("spec/inputs", details, item.text, out=text_file("input_files.yaml"))
    similar = await recall_similar(run, memory, item.item_id, item.description) if memory else ""
    material: dict[str, object] = {"config": simplified(item), "files": files, "similar": similar}
    # A simple description needs fewer rules in the prompt.
    beyond = BEYOND[complexity_of(item.description)]
    roles = {}
    for each in ROUNDS:
        roles[each.tag] = make_role(
            each.role, (settings or {}).get(each.tag), beyond=beyond, prompts=prompts
        )
    written: dict[str, Artifact[str]] = {}
    drafts: dict[str, Artifact[str]] = {}
    for each in ROUNDS:
        inputs = [material[name] if name in material else written[name] for name in each.inputs]
        if parallel and each.number == _FIRST_SIDE_BY_SIDE:
            # Section 1 needs the analysis alone anyway.
            section, drafts = await _side_by_side(run, each, roles, inputs)
            written[each.tag] = section
            continue
        written[each.tag] = await _walk(run, each, roles[each.tag], inputs, drafts.get(each.tag))
    section4 = written["section4"]
    observed = observed_file(run, section4.value)
    # Left by a build that found the real files to differ from Section 4.
    if observed.is_file():
        last = ROUNDS[-1]
        inputs = [material[name] if name in material else written[name] for name in last.inputs]
        written["section4"] = await _once_more(
            run, last, roles[last.tag], inputs, section4, observed.read_text("utf-8")
        )
    return written


def observed_file(run: Run, section4: str) -> Path:
    """Return the file that says what the real files showed against this text of Section 4."""
    return run.folder / "spec" / "observed" / f"{digest(section4)[:16]}.md"


async def _once_more(
    run: Run,
    each: Round,
    role: Role,
    inputs: Sequence[object],
    before: Artifact[str],
    observed: str,
) -> Artifact[str]:
    """Correct Section 4 by what real files showed, or keep it if the answer is worse or none."""

    async def step(stage: Stage, before: str, observed: str, *texts: str) -> str:
        def read(reply: str) -> str:
            return read_tag(reply, each.tag, accept=each.accept).text.strip("\n") + "\n"

        blocks = [Block("previous_section", before), Block("observed", observed, trust="untrusted")]
        try:
            answer = await call(stage, role, [*_blocks(each, texts), *blocks], read)
        except (EgressError, NeedsModel, ReplyError) as error:
            run.progress(f"{stage.name}: unchanged: {error.problem}")
            return before
        stage.note(f"{each.stem}_observed_response.md", answer.reply.text)
        # A correction that breaks the section is worse than the section.
        if each.findings(answer.value, texts):
            return before
        return answer.value

    run.progress(f"{each.stage}: the real files show something else; it is asked once more")
    output = text_file(each.file)
    return await run.stage(
        f"{each.stage}{OBSERVED}", step, before, observed, *inputs, out=output, uses=[role]
    )


async def _side_by_side(
    run: Run, first: Round, roles: Mapping[str, Role], inputs: Sequence[object]
) -> tuple[Artifact[str], dict[str, Artifact[str]]]:
    """Write section 1, and draft sections 2 and 3 meanwhile.

    Returns:
        Section 1, and the drafts by tag; a draft that could not be written is empty.
    """
    parallel_rounds = ROUNDS[first.number : first.number + 2]
    section, *drafts = await asyncio.gather(
        _walk(run, first, roles[first.tag], inputs),
        *(_draft(run, each, roles[each.tag], inputs) for each in parallel_rounds),
    )
    return section, {each.tag: draft for each, draft in zip(parallel_rounds, drafts, strict=True)}


async def _draft(run: Run, each: Round, role: Role, inputs: Sequence[object]) -> Artifact[str]:
    """Draft a section from the configuration and the whole analysis."""

    async def step(stage: Stage, config: str, analysis: str) -> str:
        def read(text: str) -> str:
            return read_tag(text, each.tag, accept=each.accept).text.strip("\n") + "\n"

        blocks = [
            Block("configuration", config, Tier.SESSION),
            Block("analysis_reference", analysis),
        ]
        try:
            answer = await call(stage, role, blocks, read)
        # The section is written in its turn, as if there were no draft.
        except (EgressError, NeedsModel, ReplyError) as error:
            run.progress(f"{stage.name}: no draft: {error.problem}")
            return ""
        stage.note(f"{each.stem}_draft_response.md", answer.reply.text)
        return answer.value

    output = text_file(f"{each.stem}_draft.md")
    return await run.stage(f"{each.stage}{DRAFT}", step, *inputs, out=output, uses=[role])


async def _walk(
    run: Run,
    each: Round,
    role: Role,
    inputs: Sequence[object],
    draft: Artifact[str] | None = None,
) -> Artifact[str]:
    last = ""

    # The reply is remembered, so that an unreadable one can be shown to a person.
    def read(text: str) -> tuple[str, tuple[str, ...]]:
        nonlocal last
        last = text
        tagged = read_tag(text, each.tag, accept=each.accept)
        return tagged.text.strip("\n") + "\n", tuple(tagged.warnings)

    async def step(stage: Stage, *texts: str) -> str:
        if draft is not None:
            texts, drafted = texts[:-1], texts[-1]
            # A draft that the gate accepts saves the call.
            if drafted and not each.findings(drafted, texts):
                return drafted

        def review(written: tuple[str, tuple[str, ...]]) -> list[str]:
            remarks: list[str] = []
            for finding in each.findings(written[0], texts):
                remarks.append(f"line {finding.line}: {finding.message}")
            return remarks

        try:
            answer = await call(stage, role, _blocks(each, texts), read, review=review)
        except ReplyError as error:
            unreadable = stage.note("unreadable.md", last)
            excerpt = " ".join(last.split())
            if len(excerpt) > _QUOTED:
                excerpt = f"{excerpt[:_QUOTED]}..."
            quoted = f'; it says: "{excerpt}" (whole in {unreadable})'
            hint = "ask again, or ask another model with --model"
            raise ReplyError(
                f"{error.problem}{quoted}", place=stage.name, hint=hint, bare=error.bare
            ) from error
        prompt = render(answer.request)
        stage.note(f"{each.stem}_system_prompt.md", prompt.system)
        stage.note(
            f"{each.stem}_prompt.md",
            "\n\n".join(text for text in (prompt.user, prompt.tail) if text),
        )
        stage.note(f"{each.stem}_response.md", answer.reply.text)
        text, warnings = answer.value
        for warning in warnings:
            run.progress(f"{stage.name}: {warning}")
        return text

    drafts = [] if draft is None else [draft]
    output = text_file(each.file)
    return await run.stage(each.stage, step, *inputs, *drafts, out=output, uses=[role])


def _blocks(each: Round, texts: Sequence[str]) -> list[Block]:
    """Return the blocks that a round is given."""
    texts_by_tag = dict(zip(each.inputs, texts, strict=True))
    config = Block(
        "configuration", texts_by_tag["config"] + texts_by_tag.get("files", ""), Tier.SESSION
    )
    if texts_by_tag.get("similar"):
        similar = [Block(SIMILAR, texts_by_tag["similar"], trust="untrusted")]
    else:
        similar = []
    return [config, *similar, *earlier_blocks(each.role, texts_by_tag)]


def _check_waivers(text: str, inputs: Mapping[str, str]) -> list[Finding]:
    """Check Section 3, which cannot do without waivers if the item has some."""
    # Only here is the item's configuration at hand; the gate for a file has none.
    check = parse_section2(inputs["section2"])
    config: Any = parse_yaml(inputs["config"], Path("configuration")).data
    if (
        parse_section3(text, check.item_ids()).supported is False
        and config["waivers"]["value"] != "N/A"
    ):
        return [
            Finding(
                "spec.waiver.support",
                "section3",
                1,
                "the item has waivers; Waiver support must be yes",
            )
        ]
    return check_section3(text, check)


def _accepts(parse: Callable[[str], object], part: str) -> Callable[[str], bool]:
    """Accept a text whose Markdown parses as the section, i.e. holds the section's main part."""

    def accept(text: str) -> bool:
        try:
            return bool(getattr(parse(text), part))
        except TransomError:
            return False

    return accept


ROUNDS = (
    Round(
        1,
        "analysis",
        ("config", "similar"),
        lambda text, _: check_analysis(text),
        _accepts(parse_analysis, "steps"),
    ),
    Round(
        2,
        "section1",
        ("config", "analysis"),
        lambda text, _: check_section1(text),
        _accepts(parse_section1, "categories"),
    ),
    Round(
        3,
        "section2",
        ("config", "section1", "analysis"),
        lambda text, inputs: check_section2(text, parse_section1(inputs["section1"])),
        _accepts(parse_section2, "items"),
    ),
    Round(
        4,
        "section3",
        ("config", "section1", "section2", "analysis"),
        _check_waivers,
        _accepts(parse_section3, "decisions"),
    ),
    Round(
        5,
        "section4",
        ("config", "files", "section1", "section2", "section3"),
        lambda text, inputs: check_section4(
            text, parse_section1(inputs["section1"]), parse_section2(inputs["section2"])
        ),
        _accepts(parse_section4, "sources"),
    ),
)
