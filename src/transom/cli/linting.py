"""`transom check lint`: what is wrong with items, ItemSpecs and checkers, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.checklist.build.static_gates import (
    check_forbidden,
    check_locked_layer,
    check_signatures,
    check_syntax,
    check_yaml,
)
from transom.checklist.item import item_findings
from transom.checklist.results import FindingRow, LintResult
from transom.checklist.run import load_checker
from transom.checklist.spec.document import parse_spec
from transom.checklist.spec.gate import check_spec
from transom.cli.output import print_json, print_text
from transom.cli.session import Session
from transom.errors import InputError
from transom.gates import Finding


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


def _lint(target: Path) -> list[Finding]:
    if target.is_dir():
        return _lint_checker(target)
    if target.suffix == ".md":
        try:
            text = target.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the ItemSpec: {error}", where=str(target)) from error
        return check_spec(parse_spec(text, artifact=str(target)), artifact=str(target))
    return item_findings(target)


def _lint_checker(folder: Path) -> list[Finding]:
    checker = load_checker(folder)
    findings = check_syntax(checker.atoms)
    if not findings:
        findings = [*check_signatures(checker.atoms), *check_forbidden(checker.atoms)]
        findings += check_locked_layer(checker.atoms)
        text = (folder / "checker.yaml").read_text(encoding="utf-8")
        findings += check_yaml(checker.config, text, checker.atoms)
    return [Finding(f.gate, f"{folder}/{f.artifact}", f.line, f.message) for f in findings]
