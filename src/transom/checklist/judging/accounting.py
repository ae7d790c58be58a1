"""Account for what a check rests on: each file, its identity, and lines that nothing explains.

A checker says what it found; this module says what it did not look at. It reads each file with the
shipped report formats, takes out the lines that a validation item judged, and returns what is left:
trouble, unknown lines of a report of which each line must be known, reports without their end, and
names of the question (tool, stage, corner) that the file does not state. A checker need not know
the vocabulary of trouble.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transom.canonical import Json
from transom.checklist.atoms import ClaimRow, Entry, ValidationItem
from transom.checklist.judging.claim_account import (
    ClaimAccount,
    account_for_claim,
    caps_of_words,
    excused_lines,
)
from transom.checklist.judging.claim_view import UnreadMatter
from transom.checklist.judging.entries import subjects
from transom.checklist.judging.gather import File, GatheredEvidence
from transom.checklist.judging.named_parts import may_be_of_other_parts
from transom.checklist.narrowing import (
    banner_tool,
    requirements_of,
    stage_of_format,
    stages_of_file_name,
    synonyms,
)
from transom.checklist.waiver_clauses import without_waiver_clauses
from transom.evidence.account import (
    Account,
    FileUse,
    LineUse,
    file_could_matter,
    shape_of,
)
from transom.evidence.caps import Cap, caps_of_identity
from transom.evidence.identity import (
    Identity,
    IdentityFact,
    IdentityMatch,
    IdentityRequirement,
    compare_identity,
    wrong_file,
)
from transom.evidence.trouble import TroubleFinder
from transom.formats.reports import (
    FileReading,
    SectionReading,
    UnexplainedShape,
    holds_commands_alone,
    read_report_pieces,
    shipped_formats,
)

# A tool names itself at the beginning of what it prints.
_BANNER_LINES = 200
_OTHER_VIEW = re.compile(r"corner|scene|scenario|view|mode|design|delay", re.IGNORECASE)
UNKNOWN_LINE = "this report is read line by line, and this line is not known"
_REASONS = {
    "trouble": "no rule explains {words}",
    "unknown": UNKNOWN_LINE,
    "topic": "it speaks of the matter ({words}), and no rule reads it",
    "not_a_number": "{words} is no number",
    "narrowed": "the report of this command shows only a part of the design ({words})",
    "printed": "it may have printed {words}, which would be no command and no result then",
}


@dataclass(frozen=True)
class FileAccount:
    """What was read of one file.

    Attributes:
        formats: the report formats that it was recognised by; none if it is unknown.
        identity: what it says of its tool, design, stage, ...
        wrong: why it is the wrong file for the question, or None.
        unread: what stands in it instead of a measurement of the claim.
        unseen_formats: titles of its formats that nobody saw from the tool.
        stated: what a person states of its values, or "".
        unlisted: number of its values that hold and that the verdict does not list.
    """

    path: str
    formats: tuple[str, ...]
    identity: Identity
    account: Account
    caps: tuple[Cap, ...]
    wrong: str | None = None
    unread: tuple[UnreadMatter, ...] = ()
    unseen_formats: tuple[str, ...] = ()
    stated: str = ""
    unlisted: int = 0


@dataclass(frozen=True)
class CheckAccount:
    """The account of all files of a check.

    Attributes:
        words: caps for words of the description that nothing checks.
        may_be_of_other_parts: whether what breaks the claim may be of parts that those words do
            not mean.
    """

    files: tuple[FileAccount, ...] = ()
    words: tuple[Cap, ...] = ()
    may_be_of_other_parts: bool = False

    @property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        """Return what a reader must know of each file, as pairs of path and sentence."""
        remarks = list[tuple[str, str]]()
        for file in self.files:
            if file.stated:
                remarks.append((file.path, file.stated))
            if file.unlisted:
                text = f"{file.unlisted:,} more values hold, and are not listed one by one"
                remarks.append((file.path, text))
            for title in file.unseen_formats:
                text = f"{title}: the format is known from documentation, not from the tool"
                remarks.append((file.path, text))
        return tuple(remarks)

    @property
    def account(self) -> Account:
        """Return the accounts of all files as one."""
        together = Account()
        for file in self.files:
            together = together.with_account(file.account)
        return together

    @property
    def unread(self) -> tuple[UnreadMatter, ...]:
        """Return what stands in place of the claim's measurements, if no file has one."""
        if any(not file.unread for file in self.files):
            return ()
        matters: list[UnreadMatter] = []
        for file in self.files:
            matters.extend(file.unread)
        return tuple(matters)

    @property
    def caps(self) -> tuple[Cap, ...]:
        """Return everything that holds a positive verdict back."""
        caps: list[Cap] = []
        for file in self.files:
            caps.extend(file.caps)
        return (*self.words, *self.account.caps(), *caps)


@dataclass
class _JudgedLines:
    """The lines of a file that validation items judged, with the text that was read of each."""

    texts: dict[int, str] = field(default_factory=dict)
    values: dict[int, set[str]] = field(default_factory=dict)
    """The values that were read of a line, as texts."""

    def add(self, entry: Entry) -> None:
        """Add the line of an entry; the text of a record covers several lines."""
        if entry.line_number is None:
            return
        for number, text in enumerate(entry.matched_content.split("\n"), entry.line_number):
            self.texts[number] = f"{self.texts.get(number, '')}\n{text}".strip("\n")
            self.values.setdefault(number, set()).update(_values_of(entry.parsed_fields))

    def first_unexplained(self, shape: UnexplainedShape, finder: TroubleFinder) -> int | None:
        """Return the first line of a shape that no item judged as a whole, or None."""
        # A line that no item judged needs no closer look.
        for number in shape.lines:
            if number not in self.texts:
                return number
        # Only the first lines of a frequent shape have their numbers kept.
        if shape.count > len(shape.lines):
            judged = sum(shape_of(text) == shape.shape for text in self.texts.values())
            if judged < shape.count:
                return shape.lines[-1]
        # An item that reads a part of a line explains that part only.
        remainder = shape.text
        texts = [text.strip() for text in self.texts[shape.lines[0]].split("\n")]
        if not any(text in remainder or remainder in text for text in texts if text):
            # A leaf of XML or JSON is listed as `PATH = VALUE`: the value itself must be read.
            _, _, value = remainder.rpartition(" = ")
            is_read = value in self.values.get(shape.lines[0], ())
            if is_read:
                return None
            return shape.lines[0]
        # What is left of the line must not hold trouble; a separator keeps words from joining.
        for text in texts:
            remainder = remainder.replace(text.strip(), " ; ")
        if remainder != shape.text and finder.in_line(remainder):
            return shape.lines[0]
        return None


def _values_of(fields: Json) -> Iterator[str]:
    """Yield the texts and numbers that the fields of an entry hold, as texts."""
    # Fields may nest, as in a leaf of JSON; its names explain nothing, its values do.
    if isinstance(fields, dict):
        for value in fields.values():
            yield from _values_of(value)
    elif isinstance(fields, str | int | float):
        yield str(fields)


def account_for(
    question: str,
    items: Iterable[ValidationItem],
    evidence: GatheredEvidence,
    claim: ClaimRow | None = None,
) -> CheckAccount:
    """Return the account of every file that a check read.

    Args:
        question: the item's description.
        items: the validation items that were asked.
        evidence: the files and entries of the run.
        claim: the claim that the checker was written from, if it was.

    Raises:
        InputError: a file changed since it was read.
    """
    judged = _judged_lines(items, evidence)
    requirements = requirements_of(without_waiver_clauses(question))
    accounts = list[FileAccount]()
    for file in evidence.files:
        if file.absent is None:
            lines = judged.get(file.shown_name, _JudgedLines())
            # A file that another one names is not what the question speaks of.
            judged_requirements = requirements if file.is_input else ()
            accounts.append(_account_of(file, lines, judged_requirements, claim, evidence.readings))
    if claim is None:
        return CheckAccount(tuple(accounts))
    readings = [*evidence.readings.values()]
    words = caps_of_words(claim, readings)
    is_open = bool(words) and may_be_of_other_parts(claim, readings)
    return CheckAccount(tuple(accounts), words, is_open)


def _judged_lines(
    items: Iterable[ValidationItem], evidence: GatheredEvidence
) -> dict[str, _JudgedLines]:
    """Return the lines that items judged, by file."""
    judged = dict[str, _JudgedLines]()
    for item in items:
        for subject in subjects(item, evidence):
            for entry in subject.entries:
                judged.setdefault(entry.source_file, _JudgedLines()).add(entry)
    return judged


def _account_of(
    file: File,
    judged: _JudgedLines,
    requirements: Sequence[IdentityRequirement],
    claim: ClaimRow | None,
    readings: Mapping[str, FileReading],
) -> FileAccount:
    """Return the account of one file."""
    if not file_could_matter(file.shown_name) and not requirements and claim is None:
        use = FileUse(file.shown_name, "source code or design data, which prints no messages")
        return FileAccount(file.shown_name, (), Identity(), Account(files=(use,)), ())
    # Atoms of the scope `report` have read the file already.
    reading = readings.get(file.shown_name) or read_report_pieces(
        iter(file.pieces()), file.shown_name, shipped_formats()
    )
    # A checker that a model wrote has no claim; then its entries alone explain lines.
    of_claim = ClaimAccount()
    if claim is not None and file.is_input:
        others = [other for other in readings.values() if other.path != reading.path]
        of_claim = account_for_claim(claim, file.shown_name, reading, others)
        judged.texts.update(excused_lines(claim, reading.measurements))
    # One log may hold reports of several stages; the identity is that of the part which was judged.
    sections = _sections_of(reading, judged)
    identity = _identity(file, sections)
    matches = _match_identity(identity, requirements)
    around = _sections_around(reading, sections)
    caps = [
        *caps_of_identity(matches, file.shown_name),
        *_caps_of_sections(file.shown_name, around),
    ]
    caps += of_claim.caps
    if claim is not None and not reading.sections:
        caps.append(
            Cap("files", f"{file.shown_name} is of no known report format", file.shown_name)
        )
    if claim is not None and _may_be_script(file, reading):
        text = f"{file.shown_name} holds commands alone, and nothing shows that a tool ran them"
        caps.append(Cap("files", text, file.shown_name))
    lines: tuple[LineUse, ...] = ()
    # A recognised report counts whatever its name is; other source code prints no messages.
    if file_could_matter(file.shown_name) or reading.sections:
        lines = tuple(_lines_left(file.shown_name, reading, judged, of_claim.measured_at))
    used_lines = len(judged.texts) + reading.fact_count + len(reading.sought)
    reason = ", ".join(reading.formats) or "read by the checker; no report format fits it"
    return FileAccount(
        file.shown_name,
        tuple(reading.formats),
        identity,
        Account((FileUse(file.shown_name, reason),), lines, used_lines=used_lines),
        tuple(caps),
        wrong_file(matches) or of_claim.other_facts or None,
        of_claim.unread,
        tuple(dict.fromkeys(each.title for each in around if each.seen == "documentation")),
        of_claim.stated,
        reading.unlisted,
    )


def _sections_of(reading: FileReading, judged: _JudgedLines) -> list[SectionReading]:
    """Return the innermost reports that the judged lines stand in, or all of a file."""
    chosen = dict[int, SectionReading]()
    for number in judged.texts:
        around = []
        for section in reading.sections:
            if section.first_line <= number <= section.last_line:
                around.append(section)
        if around:
            innermost = max(around, key=lambda section: section.first_line)
            chosen[innermost.first_line] = innermost
    # Without a judged line each report of the file could be the one that the question means.
    return list(chosen.values()) or reading.sections


def _sections_around(
    reading: FileReading, sections: Sequence[SectionReading]
) -> list[SectionReading]:
    """Return reports and the logs that hold them: a log that broke off may hold a whole report."""
    around = list[SectionReading]()
    for section in reading.sections:
        holds_any = any(
            section.first_line <= inner.first_line and inner.last_line <= section.last_line
            for inner in sections
        )
        if holds_any:
            around.append(section)
    return around


def _identity(file: File, sections: Sequence[SectionReading]) -> Identity:
    """Return what the reports of a file say of themselves, or else the banner of its tool."""
    facts: list[IdentityFact] = []
    for section in sections:
        facts.extend(section.identity.facts)
    # Most reports name their tool in a format's own line; other files at least in a banner.
    if not any(fact.facet == "tool" for fact in facts):
        for number, line in enumerate(itertools.islice(file.lines(), _BANNER_LINES), 1):
            tool = banner_tool(line)
            if tool is not None:
                facts.append(IdentityFact("tool", tool, file.shown_name, number))
                break
    # What the report says outranks its name.
    for stage in stages_of_file_name(Path(file.shown_name).name):
        facts.append(
            IdentityFact("stage", stage, file.shown_name, stated_by="the name of the file")
        )
    stages = {stage_of_format(section.format) for section in sections}
    if len(stages) == 1 and not any(fact.facet == "stage" for fact in facts):
        (of_format,) = stages
        if of_format is not None:
            by = "the kind of the report"
            facts.append(IdentityFact("stage", of_format, file.shown_name, stated_by=by))
    return Identity(tuple(facts))


def _match_identity(
    identity: Identity,
    requirements: Sequence[IdentityRequirement],
) -> tuple[IdentityMatch, ...]:
    """Compare what a file says of itself with what the question asks for.

    A log of one tool holds reports of another, so one report of the named tool is enough.
    """
    matches = list[IdentityMatch]()
    for match in compare_identity(identity, requirements, synonyms=synonyms()):
        # Facts of all reports together would contradict each other.
        if match.requirement is not None and match.facet == "tool":
            for fact in match.facts:
                alone = compare_identity(
                    Identity((fact,)), (match.requirement,), synonyms=synonyms()
                )
                if alone[0].outcome == "matches":
                    match = alone[0]
                    break
        matches.append(match)
    return tuple(matches)


def _may_be_script(file: File, reading: FileReading) -> bool:
    """Return whether the log of a claim may be a script that reads the same files."""
    reads_files = any(fact.name == "file_read" for fact in reading.measurements)
    return file.is_input and reads_files and holds_commands_alone(file.lines())


def _caps_of_sections(path: str, sections: Iterable[SectionReading]) -> Iterator[Cap]:
    """Yield a cap for each report that is cut."""
    for section in sections:
        if section.completeness == "cut":
            text = f"{section.title}: the report does not show its end"
            yield Cap("measured", text, path, section.last_line)


def _lines_left(
    path: str, reading: FileReading, judged: _JudgedLines, measured_at: int | None
) -> Iterator[LineUse]:
    """Yield the lines that could matter and that neither a format nor an item explains.

    Args:
        path: the file, as the verdict shows it.
        reading: what was read of it.
        judged: the lines that items judged.
        measured_at: the line at which all that a claim asks for was measured, if it was.
    """
    # The same words of trouble as for a report format, so that both agree on a line.
    finder = TroubleFinder("eda")
    for shape in reading.unexplained:
        # Behind the report of the whole design, that of a part of it leaves nothing open.
        if shape.reason == "narrowed" and _follows_whole(shape, measured_at, reading):
            continue
        number = judged.first_unexplained(shape, finder)
        if number is not None:
            words = " and ".join(map(repr, shape.words))
            reason = _REASONS[shape.reason].format(words=words)
            yield LineUse(shape.text, path, number, reason, count=shape.count)
    for measurement in reading.measurements:
        if measurement.is_trouble and measurement.line not in judged.texts:
            statement = measurement.text or measurement.scope.get("object", "")
            statement = statement or measurement.content.strip() or measurement.name
            name = measurement.name.replace("_", " ")
            yield LineUse(statement, path, measurement.line, f"it is trouble ({name})")


def _follows_whole(shape: UnexplainedShape, measured_at: int | None, reading: FileReading) -> bool:
    """Return whether a report of a part of a design follows one of the whole of the same design."""
    if measured_at is None or shape.lines[0] < measured_at:
        return False
    # A part by its corner or mode is of something that the report before need not have had.
    if any(_OTHER_VIEW.search(word) for word in shape.words):
        return False
    designs = set[str]()
    for section in reading.sections:
        designs.update(fact.text for fact in section.identity.facts if fact.facet == "design")
    return len(designs) <= 1
