"""The verdict as text for people: the answer first, then what to look at, then what stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

from transom.checklist.atoms import TYPE_NAMES
from transom.checklist.run.verdict import CheckedItem, Doubt, InputRead, Verdict, Verdicts, Violation, WaivedItem

E = TypeVar("E")

Tone = Literal["pass", "fail", "error", "warn", "dim"]
Style = Callable[[Tone, str], str]

SHOWN = 20
NEXT_DOUBTED = (
    "compare the lines below with the item; if they are right: transom check approve CHECKER --by NAME; "
    "else correct atoms.py or checker.yaml there and build again"
)
NEXT_WORDS = "ask a model (--model), reword it, or add a knowledge file (paths.knowledge_dirs)"
_WIDTH = 300
_TONES: dict[str, Tone] = {
    "PASS": "pass",
    "FAIL": "fail",
    "ERROR": "error",
    "NEEDS_MODEL": "warn",
    "NEEDS_REVIEW": "warn",
}


def plain(tone: Tone, text: str) -> str:  # noqa: ARG001  the hook's shape; a terminal passes one that colours
    """No colour: the text is the same in a pipe and in a file."""
    return text


def text_report(verdict: Verdict, style: Style = plain) -> str:
    """One verdict as lines of text, with a final newline."""
    return "\n".join(_lines(verdict, style)) + "\n"


def text_reports(verdicts: Verdicts, style: Style = plain) -> str:
    """Several verdicts, each in full, and the count of each status at the end."""
    parts = [text_report(verdict, style) for verdict in verdicts.checks]
    return "\n".join([*parts, f"{summary(verdicts, style)}\n"])


def summary(verdicts: Verdicts, style: Style = plain) -> str:
    """How many there are of each status, in one line."""
    counts = verdicts.summary.model_dump()
    told = ", ".join(style(_TONES[name], f"{count} {name}") for name, count in counts.items() if count)
    many = len(verdicts.checks)
    return f"{many} check{'' if many == 1 else 's'}: {told}"


def _lines(verdict: Verdict, style: Style) -> Iterator[str]:
    def warned(text: str) -> list[str]:
        return [style("warn", f"  {text}")]

    yield _headline(verdict, style)
    for trouble in verdict.errors:
        yield style("error", f"  error: {at(trouble)}{_short(trouble.message)}")
    for words in verdict.needs_model:
        yield style("warn", f'  not understood: "{_short(words.text)}" in {words.where}')
    if verdict.needs_model:
        yield f"  {NEXT_WORDS}"
    yield from _section("doubted by the gates of its build", verdict.doubted, lambda one: warned(_doubt(one)))
    yield from [f"  {NEXT_DOUBTED}"] if verdict.doubted else []
    by_word, lines = verdict.entries, {file.path: file.lines for file in verdict.inputs}
    for word in ("violations", "missing", "not wanted", "known"):
        yield from _section(word, by_word[word], lambda one: _violation(one, style))
    yield from _section("waived", verdict.waived, lambda one: _waived(one, style))
    if verdict.waiver_comments:
        yield "\nGlobal waiver"
        for comment in verdict.waiver_comments:
            yield f"  {comment.text}" + (f" ({comment.reason})" if comment.reason else "")
    yield from _section("unused waivers", verdict.unused_waivers, lambda one: warned(f"{one.pattern}: {one.why}"))
    for word in ("holds", "found"):
        yield from _section(word, by_word[word], lambda one: _found(one, lines, style))
    yield from _section("warnings", verdict.warnings, lambda one: warned(f"{at(one)}{_short(one.message)}"))
    if verdict.config_differences:
        yield "\nTaken from the item (the checker was built with other values)"
        for one in verdict.config_differences:
            yield f"  {one.key}: {_short(one.item)}, checker {_short(one.checker)}"
    yield from _section("inputs", verdict.inputs, lambda one: [style("dim", f"  {_read(one)}")])
    yield from ("", *(style("dim", line) for line in _provenance(verdict)))


def headline(verdict: Verdict, style: Style = plain) -> tuple[str, str]:
    """The status, and what it rests on."""
    by_word = verdict.entries
    words = ("holds", "found", "violations", "missing", "not wanted", "known", "waived")
    counts = {word: len(by_word[word]) for word in words}
    shown = ", ".join(
        f"{count} {'violation' if (count, word) == (1, 'violations') else word}"
        for word, count in counts.items()
        if count
    )
    errors = len(verdict.errors)
    tail = f"{errors} error{'' if errors == 1 else 's'}" if verdict.status == "ERROR" else shown
    more = ", doubted" if verdict.doubted else ", nothing new" if verdict.nothing_new else ""
    return style(_TONES[verdict.counted_as], f"{verdict.status}{more}"), tail


def _headline(verdict: Verdict, style: Style) -> str:
    status, tail = headline(verdict, style)
    kind = (
        f"  (type {verdict.checker_type}, {TYPE_NAMES[verdict.checker_type].lower()})" if verdict.checker_type else ""
    )
    if verdict.checker_type is None and verdict.status != "ERROR":
        return f"{style(_TONES[verdict.status], verdict.status)}  {verdict.item_id}"
    return f"{status}  {verdict.item_id}  {tail or '0 found'}{kind}"


def _section(title: str, entries: Sequence[E], show: Callable[[E], Iterable[str]]) -> Iterator[str]:
    if entries:
        yield f"\n{title.capitalize()} ({len(entries)})"
        for entry in entries[:SHOWN]:
            yield from show(entry)
    if len(entries) > SHOWN:
        yield f"  … and {len(entries) - SHOWN} more (--format json lists all)"


def _title(one: CheckedItem) -> str:
    value = f": {_short(one.value)}" if one.value else ""
    return f"{one.id} {one.name}{value}"


def _violation(one: CheckedItem, style: Style) -> Iterator[str]:
    yield f"  {at(one)}{_title(one)}"
    yield f"      {_short(one.reason)}"
    yield from _decided_by(one, style)
    near = one.nearest if isinstance(one, Violation) else None
    if near is None or (near.source_file, near.line_number) == (one.source_file, one.line_number):
        return
    yield style("dim", f"      nearest: {at(near)}{_short(near.content)}")
    if near.why_not != one.reason:
        yield style("dim", f"      why not: {_short(near.why_not)}")


def _waived(one: WaivedItem, style: Style) -> Iterator[str]:
    yield f"  {at(one)}{_title(one)}"
    use = one.waiver
    because = f", because: {use.reason}" if use.reason else ", no reason given"
    until = f", until {use.expires}" if use.expires else ""
    owner = f", {use.owner}" if use.owner else ""
    by = "global waiver" if use.match == "global" else f"{use.pattern} ({use.match})"
    yield style("dim", f"      {_short(one.reason)}")
    yield style("dim", f"      waived by {by}{because}{owner}{until}")


def _found(one: CheckedItem, lines: Mapping[str, int], style: Style) -> Iterator[str]:
    yield style("dim", f"  {at(one)}{_title(one)}")
    if one.mode == "forbid" and one.line_number is None and (count := lines.get(one.source_file or "")):
        yield style("dim", f"      none in its {count} line{'' if count == 1 else 's'}")
    yield from _decided_by(one, style)


def _decided_by(one: CheckedItem, style: Style) -> Iterator[str]:
    """The places of all entries that decided, where they were several."""
    if one.decided_by:
        places = [at(place).removesuffix(": ") for place in one.decided_by[:SHOWN]]
        more = f" and {len(one.decided_by) - SHOWN} more" if len(one.decided_by) > SHOWN else ""
        yield style("dim", f"      decided by {', '.join(places)}{more}")


def _doubt(one: Doubt) -> str:
    return f"{one.gate}: {_short(one.message)}"


def _read(one: InputRead) -> str:
    return f"{one.path}  {one.lines} lines, {one.bytes} bytes, sha256 {one.sha256[:12]}"


def _provenance(verdict: Verdict) -> Iterator[str]:
    """What stands behind the verdict, in one line, and what its words mean."""
    made, level = verdict.made_by, verdict.sandbox_level
    parts = [f"transom {made.transom}", f"as of {verdict.as_of}", f"sandbox {level or 'none'}"]
    if made.checker_sha256:
        parts.append(f"checker {made.checker_sha256[:12]}")
    if made.provider:
        parts.append(f"written by {made.provider}" + (f":{made.model}" if made.model else ""))
    if made.mutation_score is not None:
        kinds = f" ({', '.join(made.mutation_kinds)})" if made.mutation_kinds else ""
        parts.append(f"mutation score {made.mutation_score:.2f}{kinds}")
    parts.append(f"approved by {made.approved_by}" if made.approved_by else "not approved")
    if verdict.run_id:
        parts.append(f"run {verdict.run_id}")
    yield " · ".join(parts)
    if level in ("L1", "L2", "L3"):
        yield f"  sandbox {level}: the checker's code ran without files, network and other processes"
    if made.mutation_score is not None:
        yield "  mutation score: of the altered lines of evidence that it was tried on, the share that it noticed"


class Placed(Protocol):
    """What stands somewhere."""

    @property
    def source_file(self) -> str | None: ...
    @property
    def line_number(self) -> int | None: ...


def at(one: Placed) -> str:
    """`FILE:LINE: `, as far as that is known."""
    line = "" if one.line_number is None else f"{one.line_number}: "
    return f"{_short(one.source_file)}:{line or ' '}" if one.source_file else ""


def _short(text: str) -> str:
    # Logs may hold escape sequences; none of them shall reach a terminal.
    flat = "".join(character if character.isprintable() else "·" for character in " ".join(text.split()))
    return flat if len(flat) <= _WIDTH else f"{flat[: _WIDTH - 1]}…"
