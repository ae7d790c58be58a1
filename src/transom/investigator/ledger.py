"""The evidence ledger: everything that an answer may cite, each entry with its file and place."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from transom.errors import InputError
from transom.evidence.claims import CheckedText, Relation, Support, check_claims
from transom.evidence.facts import Fact, FactSource, facts_of
from transom.formats.measurements import MeasurementShape, Observation, Reading
from transom.formats.places import stands_in
from transom.investigator.measures import words_of
from transom.investigator.reading.quoting import plain_number
from transom.investigator.source_texts import SourceTexts
from transom.tools.calculator import names_in

CALCULATED = "calculator"
UNCHECKED = "unchecked figure"
"""The mark of a sentence with a figure that nothing that it cites shows."""
UNCHECKED_STATE = "unchecked state"
"""The mark of a sentence on a state that is not the one that it cites; the state follows."""
UNCHECKED_CLAIM = "unchecked claim"
"""The mark of a sentence that states a trend, a cause or the like; the kind follows."""
# The two forms in which a reader is told to write a place: a line, and a JSON pointer.
_PLACE = re.compile(r"(\s?)\[(lines?:\d+(?:-\d+)?|/(?:[^\[\]\s]|\[\d+\]){0,300})\]")
_LONE_NUMBER = re.compile(r"(?:\"[^\"]{1,60}\":\s?)?\d[\d.]{0,20}")
_MOST_STATE = 3  # words of a value that is a status
# A reader quotes what the source says, not what the program took it for.
_NORMALISED = ("pass", "fail", "conditional", "pending", "progress", "skipped")


class Evidence(MeasurementShape):
    """An entry that can be cited.

    Attributes:
        id: `E1`, `E2`, ...
        source: the file's name, or `calculator`.
        locator: the place in it (see `Observation.locator`); for a calculated value the ids of its
            operands.
        value: the value as text.
        quote: the passage at that place.
        sha256: digest of the file.
        formula: the formula of a calculated value.
        measure, unit, label: meaning of the value.
    """

    id: str
    source: str
    locator: str
    value: str
    quote: str = ""
    sha256: str = ""
    formula: str | None = None
    measure: str = ""
    unit: str = ""
    label: str = ""

    @property
    def fact(self) -> str:
        """The entry in words, with its id: `UAT pass rate 91.3 % [E41]`."""
        name = (
            self.label
            if self.measure.startswith("performance.") and self.label
            else words_of(self.measure)
        )
        try:
            number = float(self.value)
            # 0.002 must not be shown as 0; "?" is the unit of a figure that names none.
            rounded = round(number, 2) or float(f"{number:.2g}")
            unit = "" if self.unit in ("", "?") else f" {self.unit}"
            value_text = f"{plain_number(rounded)}{unit}"
        except ValueError:
            text = self.label if self.label and "{" in self.value else self.value
            if self.label and text != self.label and not self.measure.startswith("performance."):
                name = f"{name} of {self.label}"
            excerpt = textwrap.shorten(text.replace('"', ""), 160, placeholder="…")
            value_text = f'"{excerpt}"'
        return f"{name} {value_text} [{self.id}]"


class Ledger:
    """Evidence by id; equal observations share an id.

    Args:
        read: returns the bytes of a source by its name, to look passages up.
        rows: entries of an earlier ledger, which keep their ids.
    """

    def __init__(self, read: Callable[[str], bytes], rows: Iterable[Evidence] = ()) -> None:
        self._texts = SourceTexts(read)
        self._rows = {row.id: row for row in rows}
        self._ids = {
            (row.source, row.locator, row.value, row.measure): row.id for row in self._rows.values()
        }
        self._last = max((int(entry[1:]) for entry in self._rows), default=0)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self._rows.values())

    def __getitem__(self, evidence_id: str) -> Evidence:
        return self._rows[evidence_id]

    def __contains__(self, evidence_id: object) -> bool:
        return evidence_id in self._rows

    def add(self, observation: Observation, reading: Reading) -> str:
        """Add an observation; returns its id."""
        value = observation.value
        if value in _NORMALISED:
            value = observation.said or observation.quote
        return self._put(
            source=reading.source,
            locator=observation.locator,
            value=plain_number(value) if isinstance(value, float) else value,
            quote=observation.quote,
            sha256=reading.sha256,
            formula=observation.formula or None,
            measure=observation.measure,
            unit=observation.unit,
            label=observation.label,
        )

    def take(self, row: Evidence) -> str:
        """Add an entry of another ledger; returns its id in this one."""
        fields = row.model_dump(exclude={"id"})
        return self._put(**fields)

    def add_limit(self, observation: Observation, reading: Reading) -> str | None:
        """Add the target that the source states for an observation; returns its id, or None."""
        if observation.limit is None:
            return None
        measure, unit = f"{observation.measure}.limit", observation.unit
        value = plain_number(observation.limit)
        quote = self._texts.passage(reading.source, observation.limit_at)[:240]
        return self._put(
            source=reading.source,
            locator=observation.limit_at,
            value=value,
            quote=quote,
            sha256=reading.sha256,
            measure=measure,
            unit=unit,
            label=f"{observation.label} target".strip(),
        )

    def add_passage(self, reading: Reading, locator: str, quote: str, measure: str) -> str:
        """Add a passage as it is; without a quotation the whole text at the locator."""
        text = (quote or self._texts.passage(reading.source, locator))[:240]
        return self._put(
            source=reading.source,
            locator=locator,
            value=text,
            quote=text,
            sha256=reading.sha256,
            measure=measure,
        )

    def cited(self, reading: Reading, locator: str, value: str) -> str:
        """Add a passage that a model cites, after a check that it contains the value.

        Raises:
            InputError: the source or place is unknown, or the value is not there.
        """
        text = self._texts.at(reading.source, locator)
        # A citation that does not hold what it is cited for is worse than none.
        if not stands_in(value, text):
            problem = f"{value!r:.80} was not found at {reading.source}#{locator}"
            raise InputError(
                problem,
                place="cite",
                hint="give the exact place, and the value exactly as written there",
            )
        return self._put(
            source=reading.source,
            locator=locator,
            value=value,
            quote=text[:240],
            sha256=reading.sha256,
            measure="cited",
        )

    def with_places_cited(self, text: str, reading: Reading) -> str:
        """Return a text in which each place of its source, such as `[line:12]`, is a citation.

        A place that does not exist, or that does not hold a figure of the words before it, is
        taken out, so that its sentence counts as one without a citation.
        """

        def cite(match: re.Match[str]) -> str:
            space, place = match[1], match[2]
            passage = self._texts.passage(reading.source, place)
            # The words since the last citation or sentence are what the place is to show.
            words = re.split(r"[.!?]\s|\]|\n", text[: match.start()])[-1]
            phrases = [fact.text for fact in facts_of(words)] + re.findall(r'"([^"]+)"', words)
            row = f"{passage} {self._texts.row_at(reading.source, place)}"
            # A lone number may be told in another unit: 742000, of a build of 12 minutes.
            is_number = _LONE_NUMBER.fullmatch(passage) is not None
            is_shown = not phrases or is_number or any(stands_in(part, row) for part in phrases)
            if not passage or not is_shown:
                return ""
            return f"{space}[{self.add_passage(reading, place, passage[:240], 'cited')}]"

        return _PLACE.sub(cite, text)

    def calculated(
        self, expression: str, value: Decimal, measure: str = "", unit: str = "", label: str = ""
    ) -> str:
        """Add a value that was calculated from other entries."""
        operands = names_in(expression)
        units = set()
        for operand in operands:
            if operand in self._rows:
                units.add(self._rows[operand].unit)
        # The unit of a result follows from its formula, and from its operands if they agree.
        if "percent(" in expression or expression.replace(" ", "").startswith("100*"):
            unit = "%"
        elif not unit and len(units) == 1 and not set("*/") & set(expression):
            unit = units.pop()
        return self._put(
            source=CALCULATED,
            locator=",".join(operands),
            value=f"{value.normalize():f}",
            formula=expression,
            measure=measure,
            unit=unit,
            label=label,
        )

    def value_of(self, evidence_id: str) -> Decimal | None:
        """Return the number of an entry, for the calculator."""
        row = self._rows.get(evidence_id)
        try:
            if row is not None:
                return Decimal(row.value.rstrip("%"))
            return None
        except InvalidOperation:
            return None

    def check(
        self,
        text: str,
        *,
        names: Iterable[str] = (),
        sources: Iterable[str] = (),
        relation: Relation | None = None,
    ) -> CheckedText:
        """Remove the sentences that the evidence contradicts (see `transom.evidence.claims`).

        Sentences that stay although nothing that they cite shows a figure are marked.

        Args:
            names: texts whose numbers are names, not claims.
            sources: files whose numbers count, too, beside those of the entries. If there is one,
                it contradicts sentences that cite nothing, as well.
            relation: tells which relation of a sentence the rows of that one file do not show.
        """
        own_files = list(sources)
        files = dict.fromkeys([*own_files, *(row.source for row in self)])
        # With several sources nobody knows which of them a sentence without a citation is about.
        source = self._texts.whole(own_files[0]) if len(own_files) == 1 else None
        return check_claims(
            text,
            _Supports(self),
            names=[*names, *files],
            in_sources=lambda fact: self._has(fact, files),
            source=source,
            rows=self._texts.rows(own_files[0]) if source is not None else (),
            entries=self._entries_of(own_files[0]) if source is not None else (),
            mark=UNCHECKED,
            relation=relation,
            relation_mark=UNCHECKED_CLAIM,
        )

    def _entries_of(self, source: str) -> tuple[str, ...]:
        """Return the entries of a file as rows, with the units that it may not print itself."""
        entries = []
        for row in self:
            if row.source == source and row.unit not in ("", "?"):
                name = " ".join((row.measure.replace(".", " "), row.label))
                entries.append(f'"{name.strip()}": {row.value} {row.unit},')
        return tuple(entries)

    def _has(self, fact: Fact, files: Iterable[str]) -> bool:
        """Return whether an entry or one of these files has a number, an id or a passage."""
        for row in self:
            texts = (row.value, row.quote, row.label, row.formula or "")
            if FactSource("\n".join(texts)).has(fact):
                return True
        return any(self._texts.has(name, fact) for name in files if name != CALCULATED)

    def support(self, evidence_id: str) -> Support:
        """Return an entry in the form that claims are checked against, with the passage at its
        locator.
        """
        row = self._rows[evidence_id]
        about = " ".join(
            (
                row.measure.replace(".", " "),
                row.label,
                row.locator.replace("/", " "),
                row.formula or "",
            )
        )
        # People speak of tests where the measure says scenarios.
        if row.measure.startswith("uat.") and not row.measure.startswith("uat.issues"):
            about += " tests"
        unit, value = row.unit, self.value_of(evidence_id)
        text = row.quote
        # A count without a quotation, such as the words of a document, was made by a program. No
        # place shows it, and the other numbers of its place have nothing to do with it.
        is_shown = row.source != CALCULATED and (value is None or bool(row.quote))
        if is_shown:
            text = f"{row.quote}\n{self._texts.passage(row.source, row.locator)}"
        if row.formula and row.source == CALCULATED:
            about += " " + " ".join(
                self._rows[part].measure for part in row.locator.split(",") if part in self._rows
            )
        # A bare 0.82 supports "82 %".
        if value is not None and not unit and 0 < value < 1:
            unit = "ratio"
        return Support(
            value,
            unit,
            about.replace("vulnerabilities", "vulnerability"),
            text,
            row.label,
            self._row_of(row) if is_shown or row.source == CALCULATED else "",
            state=row.value if value is None and len(row.value.split()) <= _MOST_STATE else "",
        )

    def _row_of(self, row: Evidence) -> str:
        """Return the row of the document that holds an entry, with the target stated for it."""
        texts = list[str]()
        for other in self:
            is_limit = other.measure == f"{row.measure}.limit"
            if is_limit and (other.source, other.label) == (
                row.source,
                f"{row.label} target".strip(),
            ):
                texts.append(f"target {other.value} {other.unit}")
        if row.source != CALCULATED:
            texts.append(self._texts.row_at(row.source, row.locator))
        return "\n".join(filter(None, texts))

    def rows(self, ids: Sequence[str]) -> list[Evidence]:
        """Return the entries of these ids; unknown ids are skipped."""
        return [self._rows[identifier] for identifier in ids if identifier in self._rows]

    def _put(
        self, *, source: str, locator: str, value: str, measure: str, **more: str | None
    ) -> str:
        key = (source, locator, value, measure)
        if key not in self._ids:
            self._last += 1
            self._ids[key] = f"E{self._last}"
            row = {}
            for name, text in more.items():
                if text is not None:
                    row[name] = text
            self._rows[self._ids[key]] = Evidence(
                id=self._ids[key],
                source=source,
                locator=locator,
                value=value,
                measure=measure,
                **row,
            )
        return self._ids[key]


class _Supports(dict[str, Support]):
    """Supports by evidence id, created on first use."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def __contains__(self, key: object) -> bool:
        return key in self._ledger

    def __missing__(self, key: str) -> Support:
        self[key] = self._ledger.support(key)
        return self[key]
