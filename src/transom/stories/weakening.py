"""Old tests that check less than before, in files that the story names as well as in others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from transom.formats.check_strength import is_weaker, tolerance
from transom.formats.test_files import fewer_by_lines, read_checks, shadowed_tests

Checks = Mapping[str, Counter[str]]


@dataclass(frozen=True)
class Weakened:
    """What changed about old tests.

    Attributes:
        findings: (path, finding) of each test that checks less.
        changed: (path, test) of each old test whose checks the story may change, and did. It must
            still check something of the story's code; only a run can show that.
    """

    findings: tuple[tuple[str, str], ...]
    changed: tuple[tuple[str, str], ...] = ()


def weakened(
    before: Mapping[str, str], after: Mapping[str, str | None], may_change: Collection[str]
) -> Weakened:
    """Compare old tests with the tests of now; a skipped test has no checks.

    Args:
        before: path -> old text of the changed test files.
        after: path -> new text, None for a deleted file; new files included.
        may_change: files whose checks the story may change. What they check must stay as strong.
    """
    # All files of now: what a test checks may have moved.
    parsed = {
        path: read_checks(path, text) or {} for path, text in after.items() if text is not None
    }
    # a test may move to another file or class
    moved = {
        name.rpartition(".")[2]: checks
        for tests in parsed.values()
        for name, checks in tests.items()
    }
    findings: list[tuple[str, str]] = []
    changed: list[tuple[str, str]] = []
    for path, old in before.items():
        tests = read_checks(path, old)
        if tests is None:
            findings += [(path, finding) for finding in fewer_by_lines(old, after[path])]
            continue
        for name, checks in tests.items():
            new = parsed.get(path, {}).get(name, moved.get(name.rpartition(".")[2]))
            if finding := _compared(name, checks, new, strict=path not in may_change):
                findings.append((path, finding))
            elif checks != new:
                changed.append((path, name))
    for path, text in after.items():
        hidden_before = shadowed_tests(path, before.get(path, ""))
        for name in shadowed_tests(path, text or ""):
            if name not in hidden_before:
                findings.append((path, f"{name} is hidden by a later definition of its name"))
    return Weakened(tuple(findings), tuple(changed))


def _compared(name: str, old: Counter[str], new: Counter[str] | None, *, strict: bool) -> str:
    """Return how a test checks less than before, or ""."""
    if new is None:
        return f"{name} is gone"
    if new.total() < old.total():
        return f"{name} makes {new.total()} checks, and made {old.total()}"
    lost = old - new
    if lost and strict:
        return f"{name} no longer checks: {next(iter(lost))[:120]}"
    if lost and is_weaker(old.elements(), new.elements()):
        return f"{name} checks less than: {next(iter(lost))[:120]}"
    if lost and tolerance(new) > tolerance(old):
        allowed = f"{tolerance(new):g}, and allowed {tolerance(old):g}"
        return f"{name} allows a difference of {allowed}: {next(iter(lost))[:120]}"
    return ""
