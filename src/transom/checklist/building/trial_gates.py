"""Gates that run atom A in the sandbox: what it declares, and the schema on real files and on
odd texts.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from transom.checklist.atoms import Entry, Source
from transom.checklist.building.excerpt import excerpt
from transom.checklist.building.prober import Check, Prober, RealFile, quoted
from transom.checklist.judging.runner import AtomWorker, Scope, Seen, declared, extract, hand_over
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.text_decoding import clean

_SHOWN = 5
_QUOTED = re.compile(r"(?P<quote>['\"])(?P<text>[^'\"\n]+)(?P=quote)")
# An atom may refuse a text that it cannot judge; the verdict is then ERROR, which is honest.
_REFUSAL = "crash: ValueError"
_ODD_TEXTS = {
    "an empty text": "",
    "a text with CRLF line ends": "alpha\r\nbeta 1\r\n",
    "one huge line": "x" * 200_000,
    "binary noise": clean("".join(map(chr, range(1, 256))) * 4),
}


async def take_files(prober: Prober, paths: Sequence[Path]) -> tuple[list[RealFile], list[Finding]]:
    """Read the files' texts, and try atom A on the whole of those that are long.

    Raises:
        InputError: a file cannot be read.
    """
    files: list[RealFile] = []
    findings: list[Finding] = []
    for path in paths:
        text, is_long = await asyncio.to_thread(excerpt, path)
        if not is_long:
            files.append(RealFile(path.name, text))
            continue
        # Atom A sees the whole once; the trials work on an excerpt around its entries.
        entries: list[Entry] = []
        findings += await prober.findings(_check_of_file(path, entries), "schema")
        lines = []
        for entry in entries:
            if entry.line_number:
                lines.append(entry.line_number)
        text, _ = await asyncio.to_thread(excerpt, path, lines)
        files.append(RealFile(path.name, text, tuple(entries)))
    return files, findings


def _check_of_file(path: Path, entries: list[Entry]) -> Check:
    async def problems(worker: AtomWorker) -> list[str]:
        scope, _ = await declared(worker)
        try:
            entries.extend(await extract(worker, scope, scope.open(path), path.name))
        except InputError as error:
            return [
                f"{path.name} {error.problem}"
                + ("" if scope.unit != "file" else ', or set SCOPE to "line"')
            ]
        return []

    return problems


async def check_schema(
    prober: Prober, files: Sequence[RealFile], *, may_be_silent: bool = False
) -> tuple[list[Entry], list[Finding]]:
    """Try atom A on real files.

    Something must come out, with exactly the five keys, true lines and the same again.

    Odd texts (empty, CRLF, a huge line, noise) must be survived with entries of the same shape.

    Returns:
        What it saw in the files as far as that has its shape, and the findings.
    """
    findings: list[Finding] = []
    entries_of_files: list[Entry] = []
    for file in files:
        raw: list[object] = []
        problems = await prober.findings(_extraction(file, raw), "schema")
        entries_of_files += file.known_entries or ()
        if file.known_entries is not None and any(
            problem.message.startswith(_REFUSAL) for problem in problems
        ):
            continue  # it judges the whole; that it will not judge a part is no fault
        for finding in problems:
            findings.append(_with_text(finding, file))
        if not problems:
            entries = [Entry.model_validate(entry) for entry in raw]
            if file.known_entries is None:
                entries_of_files += entries
            for text in _untrue(file, entries)[:_SHOWN]:
                findings.append(prober.finding("schema", text))
    # A parser that finds nothing passes every other gate.
    if not findings and not entries_of_files and not may_be_silent:
        names = ", ".join(file.name for file in files) or "no file at all"
        findings.append(prober.finding("schema", f"atom A finds nothing in {names}"))
    if any(finding.message.startswith("timeout") for finding in findings):
        return entries_of_files, findings  # each further try would take as long again
    return entries_of_files, findings + await _check_odd(prober)


def _with_text(finding: Finding, file: RealFile) -> Finding:
    """Return the finding of a crash with the file and, if the error quotes it, the line of it."""
    if not finding.message.startswith("crash: "):
        return finding
    quotation = _QUOTED.search(finding.message)
    line = ""
    # The error quotes what it stumbled over, which is often a part of a line.
    for number, text in enumerate(file.lines, 1):
        if quotation and quotation["text"] in text:
            line = f"; line {number} holds that text: {quoted(file, number)}"
            break
    return replace(finding, message=f"{finding.message} (while it reads {file.name}{line})")


async def _check_odd(prober: Prober) -> list[Finding]:
    findings: list[Finding] = []
    for label, text in _ODD_TEXTS.items():
        odd: list[object] = []
        problems = await prober.findings(_extraction(RealFile("odd.log", text), odd), "schema.odd")
        for f in problems:
            if not f.message.startswith(_REFUSAL):
                findings.append(Finding(f.gate, f.artifact, f.line, f"on {label}: {f.message}"))
    return findings


def _extraction(file: RealFile, entries: list[object]) -> Check:
    async def problems(worker: AtomWorker) -> list[str]:
        scope, _ = await declared(worker)
        entries.extend(await _extract_all(worker, scope, file))
        if await _extract_all(worker, scope, file) != entries:
            return [f"extract_context does not return the same for {file.name} a second time"]
        # A scope that tears records apart gives other entries than the whole text.
        extracted = entries if scope.unit == "file" else await _extract_all(worker, Scope(), file)
        if extracted != entries:
            return [
                f"extract_context sees something else in the whole of {file.name} than {scope.unit}"
                f" by {scope.unit}{_difference(extracted, entries)}; SCOPE must leave together what"
                " belongs together, and any text may hold many lines"
            ]
        return [problem for entry in entries for problem in _misshapen(entry, file)][:_SHOWN]

    return problems


def _difference(at_once: Sequence[object], pieces: Sequence[object]) -> str:
    """Return the first entry that differs, if there are as many."""
    if len(at_once) != len(pieces):
        return f": {len(at_once)} entries in the whole and {len(pieces)} in pieces"
    number, first, second = next(
        row for row in zip(itertools.count(1), at_once, pieces) if row[1] != row[2]
    )
    if isinstance(first, dict) and isinstance(second, dict):
        # Only the fields that differ: entries are long, and the rest is the same.
        keys = []
        for key in first:
            if first[key] != second.get(key):
                keys.append(key)
        first = {key: first[key] for key in keys}
        second = {key: second.get(key) for key in keys}
    return f": entry {number} has {first!r:.120} in the whole and {second!r:.120} in pieces"


async def _extract_all(worker: AtomWorker, scope: Scope, file: RealFile) -> list[object]:
    entries: list[object] = []

    def take(extracted: Seen) -> None:
        entries.extend(extracted.entries)

    pieces = [file.text] if scope.unit == "file" else _cut(file.text)
    await hand_over(worker, scope, iter(pieces), file.name, take)
    return entries


def _cut(text: str) -> list[str]:
    """Return pieces of one line, two, four and so on.

    They are few calls, with many edges at the head, where most is told.
    """
    lines = text.split("\n")
    line_texts = [*(f"{line}\n" for line in lines[:-1]), *lines[-1:]]
    pieces: list[str] = []
    for n in range(len(line_texts).bit_length()):
        pieces.append("".join(line_texts[(1 << n) - 1 : (2 << n) - 1]))
    return pieces


def _misshapen(entry: object, file: RealFile) -> list[str]:
    try:
        validated = Entry.model_validate(entry, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        return [
            f"an entry has {'.'.join(map(str, first['loc'])) or 'another form'}: {first['msg']}"
        ]
    wrong = validated.source_file != file.name
    if wrong:
        return [f"source_file is {validated.source_file!r}, not what the atom was given"]
    return []


def _untrue(file: RealFile, entries: Sequence[Entry]) -> list[str]:
    """Return the entries whose line does not hold what they say they matched there."""
    lines = file.text.split("\n")
    problems: list[str] = []
    for entry in entries:
        number, matched = entry.line_number, entry.matched_content.strip()
        if number is None:
            continue
        if number > len(lines):
            problems.append(
                f"line_number {number} lies beyond the {len(lines)} lines of {file.name}"
            )
        elif matched.splitlines()[:1] and matched.splitlines()[0].strip() not in lines[number - 1]:
            problems.append(
                f"matched_content {matched[:60]!r} does not stand on line {number} of {file.name}"
            )
    return problems


async def check_sources(prober: Prober) -> tuple[tuple[Source, ...], list[Finding]]:
    """Return the atom's `SOURCES`, and the findings on the shapes of `SOURCES` and `SCOPE`."""
    sources: list[Source] = []

    async def problems(worker: AtomWorker) -> list[str]:
        sources.extend((await declared(worker))[1])
        return []

    findings = await prober.findings(problems, "sources")
    return tuple(sources), findings
