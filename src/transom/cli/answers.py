"""The answers of `transom check`, printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom import __version__
from transom.canonical import pretty_json
from transom.checklist.item import load_item
from transom.checklist.results import BuildResult, FindingRow, SpecResult, WordsRow
from transom.checklist.run import Verdict, gravest, text_report, text_reports, together
from transom.checklist.run.verdict import MadeBy, NotUnderstoodWords
from transom.cli.output import counted, print_json, print_text, say, style
from transom.cli.session import Session
from transom.errors import InputError
from transom.runs import write_file

_TONES = {"pass": "green", "fail": "red", "error": "red", "warn": "yellow", "dim": "dim"}
_NEXT = "reword it, or add a knowledge file (paths.knowledge_dirs)"


def parse_report(text: str) -> tuple[str, Path]:
    """`FORMAT:PATH` of `--report`.

    Raises:
        InputError: another format, or no path.
    """
    kind, colon, path = text.partition(":")
    if kind not in ("json", "text") or not colon or not path:
        raise InputError(f"{text!r} is no report", where="--report", hint="write json:PATH or text:PATH")
    return kind, Path(path)


def print_verdicts(session: Session, verdicts: Sequence[Verdict], reports: Sequence[tuple[str, Path]] = ()) -> int:
    """Print one verdict or several, then write the reports, so that a report that fails costs no verdict."""
    document = verdicts[0] if len(verdicts) == 1 else together(verdicts)
    if session.format == "json":
        print_json(document)
    elif isinstance(document, Verdict):
        print_text(*text_report(document, _toned).rstrip("\n").split("\n"))
    else:
        print_text(*text_reports(document, _toned).rstrip("\n").split("\n"))
    plain = text_report(document) if isinstance(document, Verdict) else text_reports(document)
    for kind, path in reports:
        text = pretty_json(document) if kind == "json" else plain
        write_file(path, text.encode("utf-8", "backslashreplace"))
    return gravest(verdict.exit_code for verdict in verdicts)


def print_answer(session: Session, answer: SpecResult | BuildResult | Verdict) -> int:
    """Print what `check all` came to: the verdict, or the answer of the step that stopped it."""
    if isinstance(answer, SpecResult):
        return _waits(print_spec(session, answer))
    if isinstance(answer, BuildResult):
        return print_build(session, answer)
    return print_verdicts(session, [answer])


def print_answers(
    session: Session, answers: Sequence[tuple[Path, SpecResult | BuildResult | Verdict]], day: str
) -> list[int]:
    """Print what `check all` came to for several items: the verdicts in one document, what has none on stderr.

    Args:
        answers: each item's file and answer.
        day: by which waivers expire.
    """
    verdicts: list[Verdict] = []
    codes: list[int] = []
    for path, answer in answers:
        if isinstance(answer, Verdict):
            verdicts.append(answer)
        elif answer.status == "NEEDS_MODEL":
            verdicts.append(_not_understood(path, answer, day))
        else:
            say(f"transom: {path}: {_stopped(answer)}; see: transom runs show {answer.run_id}")
            codes.append(_waits(answer.exit_code))
    return [*codes, print_verdicts(session, verdicts)] if verdicts else codes


def _waits(code: int) -> int:
    """A person is needed before there can be a verdict: that is no answer `no`."""
    return 3 if code == 1 else code


def _stopped(answer: SpecResult | BuildResult) -> str:
    if isinstance(answer, SpecResult):
        return f"the ItemSpec {answer.itemspec_path} has {counted(len(answer.findings), 'finding')} to mend"
    failed = ", ".join(gate.gate for gate in answer.gates if not gate.passed)
    return answer.waits_for or f"the build ended as {answer.status}" + (f", failed: {failed}" if failed else "")


def _not_understood(path: Path, answer: SpecResult | BuildResult, day: str) -> Verdict:
    item = load_item(path)
    words = tuple(NotUnderstoodWords(text=row.text, where=row.where) for row in answer.needs_model)
    return Verdict(
        item_id=item.item_id,
        status="NEEDS_MODEL",
        checker_type=None,
        capability_type=None,
        needs_model=words,
        made_by=MadeBy(transom=__version__, item_sha256=item.sha256),
        sandbox_level=None,
        as_of=day,
        run_id=answer.run_id,
    )


def print_spec(session: Session, result: SpecResult) -> int:
    """Print the answer of `check spec`."""
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(f"{result.status}  {result.item_id}" + (f"  {result.itemspec_path}" if result.itemspec_path else ""))
    if result.capability_type:
        print_text(f"  capability type {result.capability_type}")
    _print_findings(result.findings)
    _print_words(result.needs_model)
    print_text(f"  run {result.run_id}")
    return result.exit_code


def print_build(session: Session, result: BuildResult) -> int:
    """Print the answer of `check build`."""
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(f"{result.status}  {result.item_id}" + (f"  {result.checker_path}" if result.checker_path else ""))
    if result.waits_for:
        print_text(f"  waits for a person: {result.waits_for}")
    for gate in result.gates:
        print_text(f"  {'passed' if gate.passed else 'FAILED'}  {gate.gate}")
        _print_findings(gate.findings, indent="    ")
    _print_words(result.needs_model)
    print_text(f"  run {result.run_id}")
    return result.exit_code


def _print_findings(findings: Sequence[FindingRow], *, indent: str = "  ") -> None:
    for finding in findings:
        where = f"{finding.artifact}:{finding.line}" if finding.line else finding.artifact
        print_text(f"{indent}{where}: {finding.message} [{finding.gate}]")


def _print_words(rows: Sequence[WordsRow]) -> None:
    for words in rows:
        print_text(f'  not understood: "{words.text}" in {words.where}')
    if rows:
        print_text(f"  {_NEXT}")


def _toned(tone: str, text: str) -> str:
    return style(text, _TONES[tone])
