"""Break one rule of each gate, one at a time, and see whether the bench of checkers notices.

    python -m scripts.mutants [GATE ...]

Each mutant is a copy of the source with one line changed; the bench runs only the checkers that
name its gate. A mutant that no checker notices makes the exit code 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.checklist.atoms.bench import cases

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = "checklist/building"
NOTICED, UNNOTICED = 1, 0  # what pytest ends with


class Mutant(NamedTuple):
    """A rule of a gate, and the text that is put in its place."""

    gate: str
    rule: str
    file: str
    old: str
    new: str


MUTANTS: Final = (
    Mutant(
        "syntax",
        "code that does not parse",
        "static_gates.py",
        "return findings or list(",
        "return [] and list(",
    ),
    Mutant(
        "signatures",
        "other parameters",
        "static_gates.py",
        "_parameters(first) != _parameters(wanted)",
        "False",
    ),
    Mutant(
        "forbidden_io",
        "imports",
        "static_gates.py",
        'if name.split(".")[0] not in ALLOWED_IMPORTS',
        "if False",
    ),
    Mutant("forbidden_io", "clocks", "static_gates.py", "node.attr in CLOCKS", "node.attr in ()"),
    Mutant("locked_layer", "another ending", "static_gates.py", "if tail == wanted:", "if True:"),
    Mutant(
        "sources",
        "ranks",
        "trial_gates.py",
        "return tuple(sources), findings",
        "return tuple(sources), []",
    ),
    Mutant(
        "schema",
        "the line that is quoted",
        "trial_gates.py",
        "elif matched.splitlines()[:1]",
        "elif False",
    ),
    Mutant(
        "schema",
        "nothing found",
        "trial_gates.py",
        "if not findings and not seen and",
        "if False and",
    ),
    Mutant(
        "yaml",
        "fields that nobody emits",
        "static_gates.py",
        "if fields is not None and",
        "if False and",
    ),
    Mutant("agreement", "mode", "agreement.py", '("mode", said.mode, made.mode),', ""),
    Mutant("agreement", "condition", "agreement.py", "if readable and", "if False and"),
    Mutant(
        "hard_coding",
        "values of the item",
        "logic_gates.py",
        "        if what:\n",
        "        if False:\n",
    ),
    Mutant(
        "likeness",
        "other answers",
        "logic_gates.py",
        'if kind != wanted["kind"] or',
        "if False and",
    ),
    Mutant("vectors", "what a vector says", "logic_gates.py", "call.problems(result)]", "()]"),
    Mutant(
        "examples",
        "fields",
        "mutation/examples.py",
        "        if wrong[best]:\n",
        "        if False:\n",
    ),
    Mutant(
        "examples",
        "outcome alone",
        "mutation/examples.py",
        "if outcome == example.outcome:",
        "if True:",
    ),
    Mutant(
        "untested", "an example that fails", "mutation/gate.py", '("holds", "fails")', '("holds",)'
    ),
    Mutant(
        "mutation",
        "altered text",
        "mutation/alterations.py",
        "after.fields != before.fields",
        "True",
    ),
    Mutant(
        "mutation",
        "one design's own name",
        "mutation/patterns.py",
        "if _NAME.match(name) and",
        "if False and",
    ),
    Mutant(
        "mutation",
        "the order of sets",
        "mutation/gate.py",
        "_SEEDS: Final = (1, 2)",
        "_SEEDS: Final = ()",
    ),
)


def noticed_by(mutant: Mutant, base: Path) -> bool | None:
    """Whether a checker that names the gate is judged otherwise; None where the bench cannot be
    run.
    """
    source = base / "src"
    shutil.copytree(
        ROOT / "src" / "transom", source / "transom", ignore=shutil.ignore_patterns("__pycache__")
    )
    target = source / "transom" / BUILD / mutant.file
    text = target.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.gate} ({mutant.rule}): {mutant.old!r} stands {text.count(mutant.old)} times"
            f" in {target.name}"
        )
    target.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    named = [
        case.name
        for case in cases()
        if str(case.checker.get("gate", "")).split(".")[0] == mutant.gate
    ]
    tests = [
        f"tests/checklist/atoms/test_bench.py::test_the_gates_know_honest_from_wrong[{name}]"
        for name in named
    ]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (NOTICED, UNNOTICED) or not tests:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        return None
    return done.returncode == NOTICED


def main(gates: list[str]) -> int:
    """Print one line a mutant."""
    begun, missed = time.monotonic(), 0
    chosen = [mutant for mutant in MUTANTS if not gates or mutant.gate in gates]
    for mutant in chosen:
        with tempfile.TemporaryDirectory() as base:
            found = noticed_by(mutant, Path(base))
        word = {True: "noticed", False: "NOT NOTICED", None: "the bench could not be run"}[found]
        sys.stdout.write(f"{mutant.gate}: {mutant.rule}: {word}\n")
        sys.stdout.flush()
        missed += found is not True
    sys.stdout.write(
        f"{len(chosen) - missed} of {len(chosen)} mutants noticed,"
        f" {time.monotonic() - begun:.0f} s\n"
    )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
