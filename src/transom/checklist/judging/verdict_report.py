"""The verdict for people: the answer first, then what to look at, then what stands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from transom.checklist.atoms import TYPE_NAMES
from transom.checklist.judging.verdict import Verdict, Verdicts
from transom.checklist.judging.verdict_rows import CheckedItem, Note, Violation, WaivedItem
from transom.checklist.results import ReadingRow, WordsRow
from transom.formats.report_page import (
    SHOWN,
    PageEntry,
    Section,
    Style,
    Tone,
    VerdictPart,
    place,
    plain,
    text_of,
)

NEXT_DOUBTED = (
    "compare the lines below with the item; if they are right: transom check approve CHECKER --by"
    " NAME; else correct atoms.py or checker.yaml there and build again"
)
_TEACH = "teach it the log: transom check teach ITEM.yaml --good LOG:LINE"
_PAGE = "see the page `Your first item`"
# The places of a person's words; all others are in files.
_SAID = ("description", "analysis", "section", "reads_as")
_TONES: dict[int, Tone] = {0: "pass", 1: "fail", 2: "error", 3: "warn"}
_KINDS: dict[str, Tone] = {"known": "warn", "waived": "warn", "holds": "pass", "found": "pass"}
_STATUS: dict[str, Tone] = {"PASS": "pass", "FAIL": "fail", "ERROR": "error"}


def next_words(rows: Sequence[WordsRow]) -> str:
    """Say what a person can do about words that are not understood.

    Other words do not change a log.
    """
    # Words of the item can be reworded; words of a log cannot.
    if any(row.where.startswith(_SAID) for row in rows):
        return f"ask a model (--model), reword it, or {_TEACH}"
    return (
        f"{_TEACH}; or ask a model (--model); or write the checker by hand, see the page `Teach it"
        " a log`"
    )


def reading_lines(readings: Sequence[ReadingRow], choose: str | None) -> list[str]:
    """Return the readings of a description that was not understood, and how to choose one."""
    if not readings:
        return [f"nothing that the rules know comes near; {_PAGE}"]
    lines = []
    for number, reading in enumerate(readings, 1):
        lines.append(f"{number}: {reading.option}; evidence: {reading.evidence}")
    alone = [(number, row) for number, row in enumerate(readings, 1) if row.option_alone]
    for position, (number, _) in enumerate(alone, len(readings) + 1):
        lines.append(f"{position}: as {number}, and accepts nothing else")
    if choose:
        lines.append(f"choose with: {choose}; {_PAGE}")
    else:
        lines.append(f"a person said that none of these is meant; {_PAGE}")
    return lines


def text_report(
    verdict: Verdict, style: Style = plain, *, folded: bool = False, question: str = ""
) -> str:
    """Return one verdict as lines of text, with a final newline.

    Args:
        verdict: the verdict.
        style: colours a text.
        folded: whether entries that are as they must be are counted only, if others are not.
        question: the item's description.
    """
    return text_of(part_of(verdict, question), style, folded=folded)


def text_reports(
    verdicts: Verdicts,
    style: Style = plain,
    *,
    folded: bool = False,
    questions: Mapping[str, str] | None = None,
) -> str:
    """Return several verdicts, each as `text_report` does, and the count of each status.

    Args:
        verdicts: the verdicts.
        style: colours a text.
        folded: see `text_report`.
        questions: item id -> its description.
    """
    parts = list[str]()
    for verdict in verdicts.checks:
        question = (questions or {}).get(verdict.item_id, "")
        parts.append(text_report(verdict, style, folded=folded, question=question))
    return "\n".join([*parts, f"{summary(verdicts, style)}\n"])


def summary(verdicts: Verdicts, style: Style = plain) -> str:
    """Count of each status, in one line."""
    counts = verdicts.summary.items()
    statuses = ", ".join(
        style(_STATUS.get(name, "warn"), f"{count} {name}") for name, count in counts if count
    )
    total = len(verdicts.checks)
    return f"{total} check{'' if total == 1 else 's'}: {statuses}"


def tone_of(status: str) -> Tone:
    """Return the tone in which a status is shown."""
    return _STATUS.get(status, "warn")


def headline(verdict: Verdict) -> tuple[str, str]:
    """Return the status and what it rests on."""
    if verdict.acceptance and verdict.is_accepted:
        return "NOT_CHECKED", f"{verdict.acceptance.sentence}: {verdict.acceptance.reason}"
    tail = ", ".join(_counted_entries(verdict))
    if verdict.status == "ERROR":
        # What was found before the error is no result.
        errors = len(verdict.errors)
        tail = f"{errors} error{'' if errors == 1 else 's'}"
    suffix = ""
    if verdict.would_be:
        suffix = f", would be {verdict.would_be}"
    elif verdict.doubted:
        suffix = ", doubted"
    elif verdict.nothing_new:
        suffix = ", nothing new"
    return f"{verdict.status}{suffix}", tail


def _counted_entries(verdict: Verdict) -> Iterator[str]:
    """Yield the number of entries of each kind, with its word."""
    by_word = verdict.entries
    violated = by_word["violated"]
    rules = {entry.id for entry in violated}
    # What holds of the same rules is told with the entries that do not: `1 of 180 violated`.
    holding = []
    for entry in by_word["found"]:
        if entry.id in rules:
            holding.append(entry)
    for word in ("holds", "found", "violations", "violated", "missing", "not wanted", "known"):
        count = len(by_word[word])
        if word == "found":
            count -= len(holding)
        if not count:
            continue
        if word == "violated":
            yield f"{count} of {count + len(holding)} violated"
        else:
            yield f"{count} {'violation' if (count, word) == (1, 'violations') else word}"
    if by_word["waived"]:
        yield f"{len(by_word['waived'])} waived"


def ended_acceptance(verdict: Verdict) -> list[str]:
    """Return the sentence that an item's acceptance ended, if it did."""
    acceptance = verdict.acceptance
    if acceptance and acceptance.state == "ended":
        return [acceptance.sentence]
    return []


def reason_of(verdict: Verdict) -> str:
    """Return why an item has no answer, in one line."""
    notes = [note.message for note in (*verdict.errors, *verdict.warnings)]
    words = [f'not understood: "{row.text}"' for row in verdict.needs_model]
    caps = [f"held back: {cap.text}" for cap in verdict.capped_by]
    clauses = [*ended_acceptance(verdict), *(caps or words or notes)[:1]]
    return " ".join("; ".join(clauses).split())


def part_of(verdict: Verdict, question: str = "") -> VerdictPart:
    """Return the contents of a page of one verdict on a question, the item's description."""
    status, tail = headline(verdict)
    if verdict.checker_type:
        kind = f"  (type {verdict.checker_type}, {TYPE_NAMES[verdict.checker_type].lower()})"
    else:
        kind = ""
    judged = verdict.checker_type is not None or verdict.status == "ERROR"
    judged = judged and not verdict.is_accepted
    # A status without a judgement has nothing to count.
    lead = f"{tail or '0 found'}{kind}" if judged else tail
    sections = tuple(section for section in _sections(verdict) if section.entries or section.text)
    return VerdictPart(
        verdict.item_id,
        status,
        "warn" if verdict.is_accepted else _TONES[verdict.exit_code],
        lead,
        sections,
        tuple(_provenance(verdict)),
        question=question,
        reason=reason_of(verdict),
    )


def _sections(verdict: Verdict) -> Iterator[Section]:
    words = []
    for row in verdict.needs_model:
        words.append(PageEntry(f'not understood: "{row.text}" in {row.where}', "warn"))
    ended = [PageEntry(text, "warn") for text in ended_acceptance(verdict)]
    yield Section(
        "",
        (*_notes("error", verdict.errors), *ended, *words),
        (next_words(verdict.needs_model),) if verdict.needs_model else (),
    )
    if verdict.readings is not None:
        title = "It may mean" if verdict.readings else ""
        yield Section(title, text=tuple(reading_lines(verdict.readings, verdict.choose)))
    yield _caps_section(verdict)
    accepted = []
    for accepted_row in verdict.accepted_caps:
        until = _until(accepted_row.until)
        accepted.append(f"{accepted_row.text} (accepted by {accepted_row.by}{until})")
    yield Section("Accepted", text=tuple(accepted))
    doubts = tuple(PageEntry(f"{doubt.gate}: {doubt.message}", "warn") for doubt in verdict.doubted)
    yield Section("Doubted by the gates of its build", doubts, (NEXT_DOUBTED,) if doubts else ())
    by_word, lines = verdict.entries, {file.path: file.lines for file in verdict.inputs}
    for word in ("violations", "violated", "missing", "not wanted", "known", "waived"):
        yield _judged(word, by_word[word], lines)
    comments = []
    for comment in verdict.waiver_comments:
        reason = f" ({comment.reason})" if comment.reason else ""
        comments.append(f"{comment.text}{reason}")
    yield Section("Global waiver", text=tuple(comments))
    unused = []
    for waiver in verdict.unused_waivers:
        unused.append(PageEntry(f"{waiver.pattern}: {waiver.why}", "warn"))
    yield Section("Unused waivers", tuple(unused))
    for word in ("holds", "found"):
        # Good entries are folded, so that a reader sees at once what else there is.
        yield _judged(word, by_word[word], lines, closed=True)
    judged = verdict.checker_type is not None or verdict.status == "ERROR"
    yield Section("Warnings" if judged else "", _notes("warn", verdict.warnings))
    differences = []
    for difference in verdict.config_differences:
        differences.append(f"{difference.key}: {difference.item}, checker {difference.checker}")
    yield Section(
        "Taken from the item (the checker was built with other values)", text=tuple(differences)
    )
    read = []
    for input_file in verdict.inputs:
        sha256 = input_file.sha256[:12]
        line = f"{input_file.lines} lines, {input_file.bytes} bytes, sha256 {sha256}"
        read.append(PageEntry(line, file=input_file.path))
    yield Section("Inputs", tuple(read), closed=True)


def _caps_section(verdict: Verdict) -> Section:
    """Return what holds a PASS back, and how a person accepts it."""
    entries = list[PageEntry]()
    for number, cap in enumerate(verdict.capped_by, 1):
        entries.append(PageEntry(f"{number}: {cap.text}", "warn", cap.source_file, cap.line_number))
    hints = []
    # One command is enough to see how the others look.
    for cap in verdict.capped_by[:1]:
        if cap.accept:
            hints.append(f"if it does not matter: {cap.accept}")
    return Section("What holds the PASS back", tuple(entries), tuple(hints))


def _until(day: str | None) -> str:
    if day:
        return f" until {day}"
    return ""


def _notes(tone: Tone, rows: Iterable[Note]) -> tuple[PageEntry, ...]:
    return tuple(PageEntry(row.message, tone, row.source_file, row.line_number) for row in rows)


def _judged(
    word: str, entries: Sequence[CheckedItem], lines: Mapping[str, int], *, closed: bool = False
) -> Section:
    tone = _KINDS.get(word, "fail")
    rows = []
    for entry in entries:
        rows.append(
            PageEntry(
                title_of(entry),
                tone,
                entry.source_file,
                entry.line_number,
                entry.reason,
                tuple(_facts(entry, lines)),
                entry.matched_content,
            )
        )
    return Section(word.capitalize(), tuple(rows), closed=closed)


def title_of(entry: CheckedItem) -> str:
    """Return what was judged, and what was seen."""
    return f"{entry.id} {entry.name}" + (f": {entry.value}" if entry.value else "")


def _facts(entry: CheckedItem, lines: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    if (
        entry.mode == "forbid"
        and entry.line_number is None
        and (count := lines.get(entry.source_file or ""))
    ):
        yield "none in its", f"{count} line{'' if count == 1 else 's'}"
    if entry.decided_by:  # only there if several entries decided
        places = list(
            dict.fromkeys(place(row.source_file, row.line_number) for row in entry.decided_by)
        )
        suffix = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        yield "decided by", f"{', '.join(places[:SHOWN])}{suffix}"
    # What was found needs no neighbour.
    near = entry.nearest if isinstance(entry, Violation) else None
    if isinstance(entry, WaivedItem):
        use = entry.waiver
        origin = "global waiver" if use.match == "global" else f"{use.pattern} ({use.match})"
        because = f", because: {use.reason}" if use.reason else ", no reason given"
        until = f", until {use.expires}" if use.expires else ""
        yield "waived by", f"{origin}{because}{f', {use.owner}' if use.owner else ''}{until}"
    elif near and (near.source_file, near.line_number) != (entry.source_file, entry.line_number):
        line_place = place(near.source_file, near.line_number)
        yield "nearest:", f"{line_place}: {near.content}" if line_place else near.content
        if near.why_not != entry.reason:
            yield "why not:", near.why_not


def _provenance(verdict: Verdict) -> Iterator[str]:
    """Yield the provenance of the verdict in one line, and what its words mean."""
    maker, level = verdict.made_by, verdict.sandbox_level
    parts = [f"transom {maker.transom}", f"as of {verdict.as_of}", f"sandbox {level or 'none'}"]
    if maker.checker_sha256:
        parts.append(f"checker {maker.checker_sha256[:12]}")
    if maker.provider:
        parts.append(f"written by {maker.provider}" + (f":{maker.model}" if maker.model else ""))
    # Old records have no score.
    if maker.mutation_score is not None:
        kinds = f" ({', '.join(maker.mutation_kinds)})" if maker.mutation_kinds else ""
        parts.append(f"mutation score {maker.mutation_score:.2f}{kinds}")
    parts.append(f"approved by {maker.approved_by}" if maker.approved_by else "not approved")
    if verdict.run_id:
        parts.append(f"run {verdict.run_id}")
    yield " · ".join(parts)
    if level in ("L1", "L2", "L3"):
        yield (
            f"  sandbox {level}: the checker's code ran without files, network and other processes"
        )
    if maker.mutation_score is not None:
        yield (
            "  mutation score: share of the deliberately altered lines of evidence that the checker"
            " caught"
        )
