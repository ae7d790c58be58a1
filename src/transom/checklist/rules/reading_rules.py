"""The extraction language, as data: the rules that become Atom A (fragments/)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from transom.canonical import Json
from transom.checklist.atoms import Shape
from transom.checklist.rules.saying import Key, Line, Regex, WholeRegex


class Made(Shape):
    """What entries of a category are made of.

    Attributes:
        maps: field -> what stands there -> what is meant.
        value: the entry's text; `{line}` is the line, its blanks collapsed.
    """

    category: Key
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    value: Line = "{line}"


class Read(Shape):
    """A rule for a kind of file.

    Attributes:
        about: what its patterns mean, in Section 4.1's words.
        must_be_read, may_be_skipped: as at the kind of file, where this rule is used.
    """

    file: Key
    about: Line = "what is read"
    must_be_read: tuple[Regex, ...] = ()
    may_be_skipped: tuple[Regex, ...] = ()


class Row(Shape):
    """A line that is read: groups of `match` are fields, and so is what it `says` beside them.

    Attributes:
        error: why nothing can be told where such a line stands.
        denies: the line is no entry; it says that there is a violation, so that one number must be
            negative.
    """

    match: Regex
    says: dict[Key, Json] = Field(default_factory=dict)
    error: Line | None = None
    denies: bool = False

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, told: object) -> object:
        return {"match": told} if isinstance(told, str) else told


class Stretch(Shape):
    """The lines between two, both counted; without `from` from the first one, without `to` up to
    the last one.
    """

    from_: Annotated[Regex | None, Field(alias="from")] = None
    to: Regex | None = None


class Block(Stretch):
    """Lines that make one entry.

    Attributes:
        to: the last line, where the entry stands; a block without it is an error.
        before: in its place, the line behind the last one, or the file's end; the entry stands at
            the first line.
        says: fields that the entry has where no row says otherwise.
    """

    before: Regex | None = None
    says: dict[Key, Json] = Field(default_factory=dict)


class Table(Shape):
    """A table by its head, with bars or wide blanks between its columns, up to a blank line.

    Attributes:
        head: a regex of the line that names the columns; `row` of the lines below that count.
        columns: field -> column, for an entry a row.
        cells: in its place, field -> `row`, `column` or `cell`, for an entry a cell that says
            something.
    """

    head: Regex
    row: Regex = "."
    columns: dict[Key, Line] = Field(default_factory=dict)
    cells: dict[Key, Literal["row", "column", "cell"]] = Field(default_factory=dict)


class Unit(Shape):
    """A field that is brought to its own unit: by the unit in the field `of`, through its power
    of ten.
    """

    field: Key
    of: Key
    powers: Annotated[dict[str, int], Field(min_length=1)]


class Flag(Shape):
    """A field that is MET or VIOLATED, by the sign of the number in the field `of` where the
    line does not say it.
    """

    field: Key
    of: Key
    bad: Literal["negative", "positive"] = "negative"


class Reduce(Shape):
    """One entry for all of a group, at the end of the file: the fields of the first, with one that
    is made of all.

    Attributes:
        by: the fields that tell the groups; without any there is one.
        count, sum: the field for how many there were, or for their sum.
        min, max: the entry with the least or largest such field.
        first, last: the first or the last entry.
        same: the first entry, where all have the same such field; else an error, since nobody knows
            which one counts.
        merge: the first entry, with fields that it lacks from those behind it that lack this one.
    """

    by: tuple[Key, ...] = ()
    count: Key | None = None
    sum: Key | None = None
    min: Key | None = None
    max: Key | None = None
    first: Literal[True] | None = None
    last: Literal[True] | None = None
    same: Key | None = None
    merge: Key | None = None

    @model_validator(mode="after")
    def _one(self) -> Reduce:
        if len(self.model_dump(exclude={"by"}, exclude_none=True)) != 1:
            raise ValueError("needs one of count, sum, min, max, first, last, same and merge")
        return self


class Follow(Shape):
    """The field that names another file, and of which kind that is."""

    field: Key
    kind: Key


class Rows(Made, Read):
    """What lines say. Exactly one of `rows`, `block` with `rows`, `table` and `keys` tells what an
    entry is.

    Attributes:
        rows: the first one that fits a line tells its fields; a list among them stands for its
            rows.
        keys: regexes of keys of JSON (dotted) or of `key: value`; the fields are `key` and `value`.
        interim: regex of a key that holds as of a step only -> its place in the key of the final
            figure, which alone is an entry; a file without that one is an error.
        inside: where lines count.
        above: headings, whose groups hold for what follows, up to a line of `until`.
        join: a line that goes on in the next one; `goes_on` one that goes on with the line before.
        strip: what is taken off a line before it is read, such as stamps and prompts.
        where: fields that must have a text, else the line is no entry; a line that does not tell is
            an error.
        steps: lines that begin another step of a flow; entries of two steps are an error, since
            either may count.
        numbers: fields that are made numbers; one that is none, or `-0.00`, is an error.
        omits: fields of the category that this kind of file cannot tell.
        error_if_nothing_read: the error where this very rule read nothing.
    """

    kind: Literal["rows"] = "rows"
    rows: tuple[Row, ...] = ()
    block: Block | None = None
    table: Table | None = None
    keys: tuple[WholeRegex, ...] = ()
    interim: dict[Regex, str] = Field(default_factory=dict)
    inside: Stretch | None = None
    above: tuple[Regex, ...] = ()
    until: Regex | None = None
    join: Regex | None = None
    goes_on: Regex | None = None
    strip: Regex | None = None
    where: dict[Key, Line] = Field(default_factory=dict)
    steps: Regex | None = None
    numbers: tuple[Key, ...] = ()
    unit: Unit | None = None
    flag: Flag | None = None
    reduce: Reduce | None = None
    follow: Follow | None = None
    omits: tuple[Key, ...] = ()
    error_if_nothing_read: Line | None = None

    @field_validator("rows", mode="before")
    @classmethod
    def _spliced(cls, told: object) -> object:
        """Rows that several rules share are one list in the file."""
        if not isinstance(told, list):
            return told
        return [row for one in told for row in (one if isinstance(one, list) else [one])]

    @model_validator(mode="after")
    def _one(self) -> Rows:
        if sum(map(bool, (self.rows, self.table, self.keys))) != 1 or (
            self.block and not self.rows
        ):
            raise ValueError("needs one of rows, table and keys; a block has rows")
        if self.block and (not self.block.from_ or bool(self.block.to) == bool(self.block.before)):
            raise ValueError("a block has from, and one of to and before")
        return self

    def categories(self) -> tuple[str, ...]:
        """Categories that it yields."""
        return (self.category,)

    def watched(self) -> list[str]:
        """Regexes of lines that change something where nothing goes on from the lines before; of
        keys each line may.
        """
        ends = [self.inside, self.block]
        told = [
            *(row.match for row in self.rows),
            *self.above,
            self.until,
            self.steps,
            "" if self.keys else None,
        ]
        told += [self.join, self.goes_on, self.strip]
        told += [regex for one in ends if one for regex in (one.from_, one.to)]
        told += [self.block.before if self.block else None, self.table.head if self.table else None]
        return [regex for regex in told if regex is not None]

    def shown(self, category: str) -> list[str]:
        """The regexes that a person would want to see in Section 4.1."""
        return [*self.above, *(row.match for row in self.rows)] if self.category == category else []
