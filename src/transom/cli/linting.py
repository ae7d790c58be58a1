"""`transom check lint` and `approve`: looking at items, ItemSpecs and checkers without running anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from transom.checklist.build.artifacts import CHECKER, file_of, split
from transom.checklist.build.static_gates import (
    check_forbidden,
    check_locked_layer,
    check_signatures,
    check_syntax,
    check_yaml,
)
from transom.checklist.item import item_findings
from transom.checklist.pipeline import open_checker
from transom.checklist.results import FindingRow, LintResult
from transom.checklist.run import APPROVAL, approval_bytes, approve, load_checker
from transom.checklist.spec.document import parse_spec
from transom.checklist.spec.gate import check_spec
from transom.cli.output import print_json, print_text
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml, read_bytes
from transom.gates import Finding
from transom.runs import write_file


def lint_command(session: Session, targets: Sequence[Path]) -> int:
    """Look every target over; findings are exit 1."""
    findings = [finding for target in targets for finding in _lint(target)]
    result = LintResult(findings=tuple(FindingRow.of(finding) for finding in findings))
    if session.format == "json":
        print_json(result)
    else:
        for finding in findings:
            print_text(str(finding))
        if not findings:
            print_text("nothing found")
    return result.exit_code


def approve_command(session: Session, folder: Path, by: str) -> int:
    """Record a person's approval in a checker's folder."""
    checker = open_checker(folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    approval = approve(folder, checker.digests, by, at)
    for name in checker.edited:
        session.progress(f"{folder / name} was changed by hand after the gates passed the checker")
    write_file(folder / APPROVAL, approval_bytes(approval))
    if session.format == "json":
        print_json(approval)
    else:
        print_text(f"{checker.config.item_id} approved by {approval.by}: {', '.join(approval.files)}")
    return 0


def _lint(target: Path) -> list[Finding]:
    """What is wrong with one target; that it cannot be read as what it should be is a finding, too.

    Raises:
        InputError: there is nothing there.
    """
    if not os.path.exists(target):  # noqa: PTH110  unlike Path.exists it never raises
        raise InputError("no such file", where=str(target), hint="check the path")
    if target.suffix != ".md" and not target.is_dir():
        return item_findings(target)
    try:
        return _lint_checker(target) if target.is_dir() else _lint_spec(target)
    except InputError as error:
        place, _, line = (error.where or str(target)).rpartition(":")
        message = f"{error.what}; {error.hint}" if error.hint else error.what
        if not line.isdigit():
            return [Finding("readable", error.where or str(target), None, message)]
        return [Finding("readable", place, int(line), message)]


def _lint_spec(path: Path) -> list[Finding]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", where=str(path), hint="save the file as UTF-8") from error
    return check_spec(parse_spec(text, artifact=str(path)), artifact=str(path))


def _lint_checker(folder: Path) -> list[Finding]:
    checker = load_checker(folder)
    atoms = split(checker.atoms)
    findings = [*check_syntax(atoms), *check_signatures(atoms), *check_forbidden(atoms), *check_locked_layer(atoms)]
    findings += check_yaml(checker.config, load_yaml(folder / CHECKER), atoms)
    return [Finding(f.gate, f"{folder}/{file_of(f.artifact)}", f.line, f.message) for f in findings]
