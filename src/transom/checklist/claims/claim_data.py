"""The shape of `claims.yaml`: claims, what proves and what breaks them, and their words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.checklist.atoms import ClaimRow
from transom.evidence.number_limits import NumberLimit, read_bound
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

CLAIMS_FILE: Final = Path(__file__).with_name("claims.yaml")

SCRIPT_COMMANDS: Final = ("source", "sourcing", "include")
"""How a log runs a script, of which it need not show the commands."""

ASKED: Final = "asked"
"""The parameter that lists what a description asks of taught lines, and the key of their scope."""

PART_SEPARATOR: Final = "; "
"""What stands between the parts of `asked`."""

_SHORTEST_STEM: Final = 3


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactPattern(_Part):
    """The measurements that a claim speaks of.

    Attributes:
        name: name of the measurement; `$measure` stands for the parameter.
        check: the check that its scope must say.
        below, above: bounds that a bad number breaks.
        text: the status that is bad; `text_contains`: a part of it, in lower case.
        scope: what the scope of the measurement must say, if it says anything.
        breaks_limit: a number is bad if it breaks the claim's limit.
        whole: the key of the scope by which a report splits the measurement; one of the whole must
            have been measured, since the parts that are shown need not be all.
        last: only the measurements of the last line that has one.
    """

    name: str
    check: str | None = None
    scope: dict[str, str] = {}
    below: float | None = None
    above: float | None = None
    text: str | None = None
    text_contains: str | None = None
    breaks_limit: bool = False
    whole: str | None = None
    last: bool = False


class HeaderWaiver(_Part):
    """A situation in which a missing file, or an incomplete head, is acceptable.

    Attributes:
        name: name of the situation.
        of: the items that it waives: that the file is loaded, or what its head says.
        situation: when it occurs.
        reason: the sentence that a person would write into the waiver.
        keywords: words by which a waiver may name it.
        stages: those keywords that name a stage of the design.
        justification: why accepting it does no harm.
    """

    name: str
    of: tuple[Literal["loading", "version"], ...]
    situation: str
    reason: str
    keywords: tuple[str, ...]
    stages: tuple[str, ...] = ()
    justification: str


class HeaderPart(_Part):
    """A kind of file that a log reads, and what its head must say.

    Attributes:
        kind: the kind of the file, which is the category of its entries.
        title: what it is called in a verdict.
        read_as: words of the log's read commands, such as `verilog` of `read_verilog`.
        files: globs of the names of such files.
        fields: for each field that the head must say, the key of the scope that holds it; none if
            it is enough that the file was loaded.
        is_any: whether one loaded file is enough, whatever became of others.
        called: what it is called in a description, in lower case.
        waivable_loading: whether a keyword may waive that the file was not loaded.
        waivers: the situations in which a waiver is right.
    """

    kind: str
    title: str
    read_as: tuple[str, ...]
    files: tuple[str, ...] = ()
    fields: dict[str, str] = {}
    called: tuple[str, ...] = ()
    is_any: bool = False
    waivable_loading: bool = True
    waivers: tuple[HeaderWaiver, ...] = ()

    @property
    def stems(self) -> tuple[str, ...]:
        """The texts, in lower case, of lines that may read one in other words."""
        # `parasitics` stands in lines as "parasitic" too; a short word, `def`, in other words.
        words = (word if len(word) > _SHORTEST_STEM else f".{word}" for word in self.read_as)
        return tuple(word.rstrip("s") for word in words)

    def keywords_of(self, item: Literal["loading", "version"]) -> tuple[str, ...]:
        """Return the keywords that waive one of the two items, each once."""
        words: list[str] = []
        for waiver in self.waivers:
            if item in waiver.of:
                words += waiver.keywords
        return tuple(dict.fromkeys(words))

    def stages_of(self, item: Literal["loading", "version"]) -> tuple[str, ...]:
        """Return those of its keywords that name a stage of the design."""
        words: list[str] = []
        for waiver in self.waivers:
            if item in waiver.of:
                words += waiver.stages
        return tuple(dict.fromkeys(words))


class Claim(_Part):
    """A claim; the head of `claims.yaml` says what its keys mean."""

    title: str
    says: tuple[str, ...]
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()
    fixed: dict[str, str] = {}
    parameters: tuple[str, ...] = ()
    group_by: str | None = None
    list: Literal["each", "allowed", "forbidden"] | None = None
    value: str = "value"
    match: Literal["exact", "words"] = "words"
    first: bool = False
    last: bool = False
    ended_by: tuple[FactPattern, ...] = ()
    headers: tuple[HeaderPart, ...] = ()
    optional: tuple[str, ...] = ()
    proof: tuple[tuple[FactPattern, ...], ...]
    looked_at: tuple[FactPattern, ...] = ()
    bad: tuple[FactPattern, ...] = ()
    alarming: tuple[FactPattern, ...] = ()


class LimitedMeasure(_Part):
    """A measure that a limit may be about; the head of its list in `claims.yaml` says more."""

    name: str
    says: tuple[str, ...]
    check: str | None = None
    quantity: str = ""
    negative_part: str | None = None
    proven_by: tuple[FactPattern, ...] = ()
    contradicted_by: tuple[FactPattern, ...] = ()


class ClaimsFile(_Part):
    """All of `claims.yaml`."""

    schema_: Literal["transom.claims/1"] = Field(alias="schema")
    claims: dict[str, Claim]
    measures: tuple[LimitedMeasure, ...]
    steps: dict[str, tuple[str, ...]]
    grammar: tuple[str, ...]
    denials: tuple[str, ...]
    bad_news: tuple[str, ...]
    same_as_met: tuple[str, ...]
    good_news: tuple[str, ...]
    reporting: tuple[str, ...]


@lru_cache(maxsize=1)
def shipped_claims() -> ClaimsFile:
    """Return the claims that Transom ships."""
    return validate_yaml(ClaimsFile, load_yaml(CLAIMS_FILE))


def limited_measure(parameters: Mapping[str, str]) -> LimitedMeasure | None:
    """Return the measure that the parameters of a limit name, or None if there is none."""
    name = parameters.get("measure")
    # Several measures have one name, such as the worst slack of setup and that of hold.
    measures = [measure for measure in shipped_claims().measures if measure.name == name]
    for measure in measures:
        if measure.check == parameters.get("check"):
            return measure
    return measures[0] if measures else None


def proof_facts(claim: Claim, parameters: Mapping[str, str]) -> tuple[tuple[FactPattern, ...], ...]:
    """Return the groups of measurements that prove a claim with its parameters."""
    measure = limited_measure(parameters) if "measure" in claim.parameters else None
    if measure is not None:
        return tuple((*group, *measure.proven_by) for group in claim.proof)
    if ASKED not in parameters or ASKED not in claim.parameters:
        return claim.proof
    groups = list[tuple[FactPattern, ...]]()
    # One line that is good says nothing of the other parts.
    for part, group in itertools.product(parameters[ASKED].split(PART_SEPARATOR), claim.proof):
        scope = {"scope": {ASKED: part}}
        groups.append(tuple(pattern.model_copy(update=scope) for pattern in group))
    return tuple(groups)


def scope_of_claim(claim: Claim, parameters: dict[str, str]) -> dict[str, str]:
    """Return the scope that a claim's measurements must have, if they have any."""
    scope = dict(claim.fixed)
    if "check" in claim.parameters and "check" in parameters:
        scope["check"] = parameters["check"]
    if "object" in claim.parameters and "object" in parameters:
        scope["object"] = parameters["object"]
    return scope


def bad_facts(claim: Claim, parameters: Mapping[str, str]) -> tuple[FactPattern, ...]:
    """Return the measurements that break a claim with its parameters."""
    measure = limited_measure(parameters) if "measure" in claim.parameters else None
    if measure is None:
        return claim.bad
    bad = list(claim.bad)
    # A report may print the violated part alone, such as the total negative slack.
    if measure.negative_part is not None:
        bad.append(FactPattern(name=measure.negative_part, below=0, breaks_limit=True))
    for pattern in measure.contradicted_by:
        # A violated path contradicts "at least 0", but not "at least -0.1 ns".
        if pattern.breaks_limit or _is_at_least_zero(parameters):
            bad.append(pattern)
    return tuple(bad)


def _is_at_least_zero(parameters: Mapping[str, str]) -> bool:
    """Return whether the limit is a lower bound that is not negative."""
    bound = read_bound(parameters.get("limit", ""), decimal_mark=".")
    if not isinstance(bound, NumberLimit):
        return False
    return bound.comparator in (">", ">=") and bound.number.value >= 0


def is_in_scope(scope: Mapping[str, str], claim_scope: Mapping[str, str]) -> bool:
    """Return whether a measurement may be of what a claim asks about.

    A scope that the report leaves out fits, apart from the check: a slack of an unnamed check is no
    slack of setup.
    """
    for key, word in claim_scope.items():
        default = "" if key == "check" else word
        # Without a word for the check nobody knows which one it is, so it does not fit.
        if scope.get(key, default) != word:
            return False
    return True


def measure_name(pattern: FactPattern, parameters: dict[str, str]) -> str:
    """Return the name of the measurements that a pattern speaks of."""
    return parameters.get("measure", "") if pattern.name == "$measure" else pattern.name


def fact_words(pattern: FactPattern, row: ClaimRow) -> str:
    """Return a pattern in words: `worst slack below 0`."""
    words = [measure_name(pattern, row.parameters).replace("_", " ")]
    if pattern.check:
        words.append(f"of {pattern.check}")
    if pattern.below is not None:
        words.append(f"below {pattern.below:g}")
    if pattern.above is not None:
        words.append(f"above {pattern.above:g}")
    if pattern.text or pattern.text_contains:
        words.append(f'"{pattern.text or pattern.text_contains}"')
    if pattern.breaks_limit:
        words.append(f"that is not {row.parameters.get('limit', '')}")
    return " ".join(words)
