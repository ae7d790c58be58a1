"""Names with which a question narrows what a report must be of: tool, stage, corner.

narrowing_of("Calibre DRC is clean in the routed design")
    -> tool Calibre, stage post route
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.evidence.identity import IdentityRequirement
from transom.evidence.subject_names import Facet, Synonyms
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

NarrowingFacet = Literal["tool", "stage", "corner"]
NARROWING_FACETS: Final[tuple[NarrowingFacet, ...]] = ("tool", "stage", "corner")
_FILE: Final = Path(__file__).with_name("narrowing.yaml")
# A process corner with its voltage or temperature, such as `ss_m25C_0v81`.
_PVT: Final = re.compile(r"(?<![A-Za-z0-9])(?:ss|tt|ff|sf|fs)_[\w.]*\w", re.IGNORECASE)


class NarrowingNames(BaseModel):
    """The shape of `narrowing.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal["transom.narrowing/1"] = Field(alias="schema")
    tool: tuple[tuple[str, ...], ...]
    stage: tuple[tuple[str, ...], ...]
    corner: tuple[tuple[str, ...], ...]
    file_names: dict[str, tuple[str, ...]]
    formats_of_stage: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class NarrowingWord:
    """A name in a question.

    Attributes:
        name: the first name of its group.
        words: the name as the question has it.
    """

    facet: NarrowingFacet
    name: str
    words: str


@lru_cache(maxsize=1)
def _names() -> NarrowingNames:
    return validate_yaml(NarrowingNames, load_yaml(_FILE))


@lru_cache(maxsize=1)
def _groups() -> dict[NarrowingFacet, tuple[tuple[str, ...], ...]]:
    """Return the groups of names that mean the same, by facet."""
    names = _names()
    return {"tool": names.tool, "stage": names.stage, "corner": names.corner}


def synonyms() -> Mapping[Facet, Synonyms]:
    """Return the groups of names that mean the same, as identities compare them."""
    groups = _groups()
    return {"tool": groups["tool"], "stage": groups["stage"], "corner": groups["corner"]}


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[NarrowingFacet, str, re.Pattern[str]], ...]:
    """Return facet, first name and pattern of each name, longest names first."""
    patterns = list[tuple[int, NarrowingFacet, str, re.Pattern[str]]]()
    for facet, groups in _groups().items():
        for group in groups:
            for name in group:
                if facet == "corner" and len(name) == 2:
                    continue  # "ss" alone may be anything
                # Tools write names with a hyphen, an underscore or a blank.
                parts = r"[\s_-]*".join(re.escape(part) for part in name.split())
                pattern = re.compile(rf"(?<![\w-]){parts}(?![\w-])", re.IGNORECASE)
                patterns.append((len(name), facet, group[0], pattern))
    patterns.sort(key=lambda entry: -entry[0])
    return tuple(entry[1:] for entry in patterns)


def narrowing_of(question: str) -> tuple[NarrowingWord, ...]:
    """Return the tools, stages and corners that a question names, in its order."""
    occurrences = list[tuple[int, NarrowingWord]]()
    remainder = question
    for facet, name, pattern in _patterns():
        match = pattern.search(remainder)
        if match is None:
            continue
        # A long name is taken out, so that a shorter one in it is not found as well.
        remainder = pattern.sub(lambda found_name: "\0" * len(found_name[0]), remainder)
        occurrences.append((match.start(), NarrowingWord(facet, name, match[0])))
    # Corners follow a form rather than a list.
    for match in _PVT.finditer(remainder):
        if any(character.isdigit() for character in match[0]):
            occurrences.append((match.start(), NarrowingWord("corner", match[0], match[0])))
    occurrences.sort(key=lambda entry: entry[0])
    unique = dict[tuple[str, str], NarrowingWord]()
    for _, word in occurrences:
        unique.setdefault((word.facet, word.name), word)
    return tuple(unique.values())


def stages_of_file_name(name: str) -> tuple[str, ...]:
    """Return the stages that a file's name states: `4_cts_setup.rpt` is of post CTS.

    A whole name such as `pre_route` outranks the word in it.
    """
    words = " ".join(re.split(r"[\W_]+", name))
    stages = []
    for word in narrowing_of(words):
        if word.facet == "stage":
            stages.append(word.name)
    # Short words such as `cts` count only as whole words of a name.
    if not stages:
        padded = f" {words.casefold()} "
        for stage, stage_names in _names().file_names.items():
            if any(f" {name} " in padded for name in stage_names):
                stages.append(stage)
    return tuple(stages)


def stage_of_format(name: str) -> str | None:
    """Return the one stage that each report of a format is of, such as synthesis; else None."""
    for stage, formats in _names().formats_of_stage.items():
        if name in formats:
            return stage
    return None


def requirements_of(question: str) -> tuple[IdentityRequirement, ...]:
    """Return what a question asks of the identity of its reports.

    A question that names two tools or stages means either of them, so neither is required alone.
    """
    words = narrowing_of(question)
    requirements = list[IdentityRequirement]()
    for facet in NARROWING_FACETS:
        names = []
        for word in words:
            if word.facet == facet:
                names.append(word.name)
        if len(names) == 1:
            requirements.append(IdentityRequirement(facet, names[0], "the description"))
    return tuple(requirements)


@lru_cache(maxsize=1)
def _banner() -> re.Pattern[str]:
    """Return a pattern of a line in which a tool names itself with its version."""
    names = []
    for group in _groups()["tool"]:
        for name in group:
            names.append(re.escape(name))
    alternatives = "|".join(sorted(names, key=len, reverse=True))
    return re.compile(
        rf"^[#*/|\s-]*(?:\w+ by:?\s+)?(?:\w+ )?(?P<tool>{alternatives})[\s,(]+"
        r"(?:version |release |v|\(?)?\d",
        re.IGNORECASE,
    )


def banner_tool(line: str) -> str | None:
    """Return the tool that names itself, with its version, at the beginning of a line."""
    match = _banner().search(line)
    if match:
        return match["tool"]
    return None
