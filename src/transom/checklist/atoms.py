"""Contract of a checker: the atoms' signatures and the shapes of `checker.yaml`.

A checker folder holds `atoms.py` (generated, untrusted, runs only in the sandbox), `checker.yaml`
(this file's
`CheckerConfig`), `build.json` (how it came to be) and a copy of the item. Atom A reads text and
emits entries; atoms B and C compare and count; what must hold is data in `checker.yaml`, so that
the same code serves every item.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from transom.canonical import Json

ENTRY_KEYS = ("value", "source_file", "line_number", "matched_content", "parsed_fields")
REFERENCE_FIELD = "reference"

TYPE_NAMES = {
    1: "Boolean check",
    2: "Value check",
    3: "Value check with waivers",
    4: "Boolean check with waivers",
}

# Closes Atom A, word for word: whatever stands above it, an entry leaves with these five keys and a
# string value.
LOCKED_LAYER = """\
    # [Locked] Standardization Layer
    standardized_output = []
    for item in results:
        standardized_output.append(
            {
                "value": str(item.get("value", "")),
                "source_file": source_file,
                "line_number": item.get("line_number"),
                "matched_content": str(item.get("matched_content", "")),
                "parsed_fields": item.get("parsed_fields", {}),
            }
        )
    return standardized_output
"""

SIGNATURES = {
    "extract_context": "def extract_context(text: str, source_file: str) -> List[Dict]",
    "validate_logic": (
        'def validate_logic(text, pattern, parsed_fields=None, default_match="contains",'
        ' regex_mode="search")'
    ),
    "check_existence": "def check_existence(items: List[Dict]) -> Dict",
}

Rank = Literal["primary", "secondary", "fallback"]
# The atom's module-level `SCOPE`: what `extract_context` is given at a time. A record begins at a
# line in which the regular expression `RECORD_START` is found and ends before the next; what stands
# before the first is one as well. Atoms of "line" whose lines hang together define
# `begin_context(source_file)` beside it: of what that returns, the runtime calls `feed(text)` with
# piece after piece of whole lines and then `finish()`. Each gives the results that are certain by
# then, with their lines counted from the head of the file; together they are those of
# `extract_context`, which only begins, feeds and finishes. One that does more, by a person's hand,
# is given its files whole. Atoms of "report" get what the report formats measured in the file
# instead of its text: one JSON object a line, as `measured_lines` of the runner writes them.
Unit = Literal["file", "line", "record", "report"]
DottedField = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]


class Shape(BaseModel):
    """Base of every shape that is read from or written to a file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


class Entry(Shape):
    """One thing that Atom A saw.

    Attributes:
        value: the text that patterns and waivers are compared with.
        source_file: the file it stands in, as it was handed to the atom.
        line_number: 1-based line, None where no single line applies.
        matched_content: that line's text.
        parsed_fields: `{category: {field: value}}`; a top-level `reference` names another file. A
            category's `name` is what the entry is called: waivers may say it, and keywords are
            looked for in it instead of in `value`.
    """

    value: str
    source_file: str
    line_number: Annotated[int, Field(ge=1)] | None
    matched_content: str
    parsed_fields: dict[str, Json]


class Reference(Shape):
    """`parsed_fields["reference"]`: a file named by this one, to be read by the runtime, never
    by an atom.

    Attributes:
        kind: what kind of file it is.
        path: the path as it is written.
        command_path: the path in the command after which a tool printed `path`; where no file is
            at `path`, because the run was moved, it is the file of the command.
    """

    kind: str
    path: str
    command_path: str = ""


class Source(Shape):
    """One kind of file and where it stands in the order of trust; the atom's module-level `SOURCES`
    is a list of these.

    Attributes:
        kind: e.g. `sta_log`, `netlist`; equals a category's name where the file is that category.
        rank: whose word counts when several sources speak of the same file.
        files: name globs (`*` and `?` only), compared with the base name without a `.gz` ending.
    """

    kind: str
    rank: Rank
    files: tuple[str, ...]


class Operator(StrEnum):
    """How a condition compares a field."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    MATCHES = "matches"
    EXISTS = "exists"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


OPERATORS: Final[Mapping[str, Operator]] = MappingProxyType(
    {
        "==": Operator.EQUALS,
        "=": Operator.EQUALS,
        "is": Operator.EQUALS,
        "equals": Operator.EQUALS,
        "!=": Operator.NOT_EQUALS,
        "is not": Operator.NOT_EQUALS,
        "<": Operator.LT,
        "<=": Operator.LE,
        ">": Operator.GT,
        ">=": Operator.GE,
        "in": Operator.IN,
        "matches": Operator.MATCHES,
        "exists": Operator.EXISTS,
    }
)
"""The signs and words of Section 2 for the operators."""


def _operator(value: object) -> object:
    if isinstance(value, str):
        return OPERATORS.get(value.strip().casefold(), value)
    return value


# Section 2 says `existence check` and `per file`; the configuration may use the same words.
_SECTION_2_WORDS: Final = {"existence_check": "existence", "pattern_match": "pattern"}


def _word(value: object) -> object:
    """Return the configuration's word for a word of Section 2, in any case."""
    if not isinstance(value, str):
        return value
    word = re.sub(r"[\s_-]+", "_", value.strip().casefold())
    return _SECTION_2_WORDS.get(word, word)


class Condition(Shape):
    """What a field's value must be. A field that is absent or empty never holds."""

    field: DottedField
    op: Annotated[Operator, BeforeValidator(_operator)]
    value: Json = None


class Count(Shape):
    """How many entries there must be, e.g. `{op: le, value: 5}`: at most five."""

    op: Annotated[
        Literal[
            Operator.EQUALS, Operator.NOT_EQUALS, Operator.LT, Operator.LE, Operator.GT, Operator.GE
        ],
        BeforeValidator(_operator),
    ]
    value: Annotated[int, Field(ge=0, strict=True)]


def selection_problem(
    take: str | None,
    count: Count | None,
    quantifier: str | None,
    mode: str | None,
    check: str | None,
) -> str | None:
    """Return why `take` or `count` does not go with the rest of an item, or None."""
    if take and quantifier not in ("per_file", None):
        return "take goes with the quantifier per file only"
    # A count looks at all entries, `take` at one, a pattern at each.
    if count and (take or mode == "forbid" or check == "pattern" or quantifier == "each"):
        return (
            "count goes with an existence check that is required, quantifier exists or per file,"
            " and without take"
        )
    return None


class ValidationItem(Shape):
    """One line of Section 2, in the form that the runtime evaluates.

    Attributes:
        id: `2.1`, `2.2`, ...
        check: `pattern` items are compared with `pattern_items` in run types 2 and 3; `existence`
            items never are.
        select: the entries that carry this field belong to this item; its first part is the
            category.
        condition: what an entry must fulfil beside its required fields.
        required: fields that must be there and not blank.
        mode: `forbid` turns each match into a violation; with `allow`, patterns name what may
            appear, and one that nothing matches is satisfied.
        quantifier: one entry suffices, each entry is judged, or each file is, by all of its
            entries.
        take: with `per_file`, judge a file by its first or its last entry alone.
        count: how many entries must fulfil the item, in each file with `per_file`, else in all
            files together.
        only_with: a kind of file without which the item is not asked, as long as another item is.
        waivable: whether Section 3 lets a keyword waive it; a waiver that names the very text still
            does.
        keywords: texts of Section 3's scenarios that a keyword waiver may name.
        stages: those keywords that name a design stage; they count only where a log shows the
            stage.
        hints: texts or `regex:` patterns by which the nearest line is found when nothing matched.
    """

    id: Annotated[str, StringConstraints(pattern=r"^2\.\d+$")]
    name: str
    check: Annotated[Literal["existence", "pattern"], BeforeValidator(_word)] = "existence"
    select: DottedField
    condition: Condition | None = None
    required: tuple[DottedField, ...] = ()
    mode: Annotated[Literal["require", "forbid", "allow"], BeforeValidator(_word)] = "require"
    quantifier: Annotated[Literal["exists", "each", "per_file"], BeforeValidator(_word)] = (
        "per_file"
    )
    take: Annotated[Literal["first", "last"] | None, BeforeValidator(_word)] = None
    count: Count | None = None
    only_with: str | None = None
    waivable: bool = True
    keywords: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        return self.select.split(".", 1)[0]

    @model_validator(mode="after")
    def _fits_together(self) -> ValidationItem:
        problem = selection_problem(self.take, self.count, self.quantifier, self.mode, self.check)
        if problem:
            raise ValueError(problem)
        return self


def _not_applicable(value: object) -> object:
    # People write it in several ways, and an empty cell of a spreadsheet means it too.
    if isinstance(value, str) and value.strip().upper() in ("N/A", "NA", ""):
        return None
    return value


# `N/A`, as people write it, is None.
NotApplicable = Annotated[
    None, BeforeValidator(_not_applicable, json_schema_input_type=Literal["N/A"] | None)
]


class AnyOf(Shape):
    """Alternatives that keep their meaning (`regex:`, wildcards), which the parts of `a|b` lose."""

    any_of: Annotated[tuple[str, ...], Field(min_length=1)]

    def __str__(self) -> str:
        return f"any_of: [{', '.join(self.any_of)}]"


class Requirements(Shape):
    """`value` decides the type, the list its contents. None is the file's `N/A`."""

    value: Annotated[int, Field(ge=1)] | NotApplicable = None
    pattern_items: tuple[str | AnyOf, ...] = ()


class Waiver(Shape):
    """One waiver, or with `waivers.value: 0` one comment."""

    pattern: str
    reason: str | None = None
    owner: str | None = None
    expires: str | None = None


def _as_written(schema: dict[str, Any]) -> None:
    """Add plain texts with their reasons beside them to the JSON Schema, as files may hold them."""
    properties = schema["properties"]
    properties["waive_items"]["items"] = {
        "anyOf": [{"type": "string"}, properties["waive_items"]["items"]]
    }
    reason = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    properties["waive_reasons"] = {
        "type": "array",
        "items": reason,
        "default": [],
        "title": "Waive Reasons",
    }


class Waivers(Shape):
    """`value` None (no waivers), 0 (everything is waived) or > 0 (those that match)."""

    value: Annotated[int, Field(ge=0)] | NotApplicable = None
    waive_items: tuple[Waiver, ...] = ()

    model_config = ConfigDict(json_schema_extra=_as_written)

    @model_validator(mode="before")
    @classmethod
    def _parallel_reasons(cls, data: object) -> object:
        """Take plain texts with `waive_reasons` beside them, as items write waivers."""
        if not isinstance(data, dict) or not isinstance(data.get("waive_items"), list):
            return data
        # A copy, since the caller's mapping must not change.
        data = dict(data)
        reasons = data.pop("waive_reasons", None) or []
        # A text would be taken letter by letter.
        if not isinstance(reasons, list | tuple):
            message = "waive_reasons must be a list of reasons"
            raise ValueError(message)
        padded = [*reasons, *([None] * len(data["waive_items"]))]
        rows = []
        for row, reason in zip(data["waive_items"], padded, strict=False):
            rows.append({"pattern": row, "reason": reason or None} if isinstance(row, str) else row)
        data["waive_items"] = rows
        return data


class ClaimRow(Shape):
    """The claim that a checker was written from.

    Attributes:
        parameters: what the description narrows: check, severity, limit, ...
        left_out: words of the description that the claim does not check.
        format: path of the item's own report format, from the item's folder; empty if the shipped
            formats read its files.
        stated_check: the check of the values of which the reports name none, and who stated it.
    """

    name: str
    parameters: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    format: str = Field(default="", exclude_if=operator.not_)
    stated_check: str = Field(default="", exclude_if=operator.not_)
    stated_by: str = Field(default="", exclude_if=operator.not_)


class CheckerConfig(Shape):
    """`checker.yaml`. Requirements and waivers here are inferred defaults; the item's own win at
    run time.
    """

    schema_: Literal["transom.checker/1"] = Field(default="transom.checker/1", alias="schema")
    item_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    description: str
    capability_type: Literal[1, 2, 3, 4]
    requirements: Requirements = Requirements()
    waivers: Waivers = Waivers()
    atoms: Literal["standard", "own"] = "standard"
    matching: Literal["any", "ordered", "one_to_one"] = "any"
    keyword_waivers: bool = True
    claim: ClaimRow | None = None
    report_format: dict[str, Json] | None = Field(default=None, exclude_if=operator.not_)
    items: Annotated[tuple[ValidationItem, ...], Field(min_length=1, max_length=6)]


def checker_type(requirements: int | None, waivers: int | None) -> int:
    """Return the run type 1 to 4, from whether the run has patterns and waivers."""
    if requirements is None:
        if waivers is None:
            return 1
        return 4
    if waivers is None:
        return 2
    return 3
