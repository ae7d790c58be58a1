"""The bench of the gates: no wrong checker is accepted, and no honest one is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.atoms.bench import Case, cases
from transom.cli import main
from transom.formats.yaml_files import dump_yaml, load_yaml

ACCEPTED, REFUSED, DOUBTED = 0, 1, 3
SHARED: Any = load_yaml(Path(__file__).with_name("shared.yaml")).data
FIRST = ("total-plain", "total-constant")


def lint(folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capfd.readouterr()
    code = main(
        [
            "check",
            "lint",
            str(folder),
            "--workspace",
            str(folder.parent / "w"),
            "--format",
            "json",
            "-q",
        ]
    )
    out, err = capfd.readouterr()
    assert out, err
    return code, json.loads(out)


def verdict(folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    main(
        [
            "check",
            "run",
            str(folder),
            "--workspace",
            str(folder.parent / "w"),
            "--format",
            "json",
            "-q",
        ]
    )
    return str(json.loads(capfd.readouterr().out)["status"])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=one.name, marks=() if one.name in FIRST else pytest.mark.slow)
        for one in cases()
    ],
)
def test_the_gates_know_honest_from_wrong(
    case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, document = lint(case.write(tmp_path), capfd)
    if case.honest:
        assert (code, document["findings"]) == (ACCEPTED, [])
    elif case.checker["gate"] == "questions":
        # The reports hold no row that shows what is wrong; a person is asked.
        assert "questions" in {remark["gate"] for remark in document["remarks"]}
    else:
        assert code in (REFUSED, DOUBTED)
        assert case.checker["gate"] in {finding["gate"] for finding in document["findings"]}


# One right checker, and ways in which a specification may write the patterns for the very same
# lines.
WAYS = [
    [r"^Total antenna violations: (?P<total>\d+)"],
    [r"Total antenna violations: (?P<total>\d+)"],
    [r"^Total antenna violations: (\d+)$"],
    [r"Total antenna violations:\s*\d+"],
    [r"(?i)total\s+antenna\s+violations\s*:\s*(?P<count>\d+)"],
    [r"^nets checked: \d+", r"^Total antenna violations: (?P<total>\d+)"],
    [r"^antenna check of (?P<block>\S+)", r"violations: (\d+)"],
    [
        r"violations: (?P<total>\d+)",
        r"^Antenna errors found \.+ (?P<total>\d+)",
        r"ARC-\d+ count (?P<total>\d+)",
    ],
    [r"^(?P<what>[\w ]+): (?P<total>\d+)$"],
    [r"no such line in this tool's log"],
]


@pytest.mark.slow
@pytest.mark.parametrize("patterns", WAYS, ids=range(1, len(WAYS) + 1))
def test_a_right_checker_is_accepted_however_the_patterns_are_written(
    patterns: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in cases() if case.name == FIRST[0])
    form = {**case.form, "spec": {**case.form["spec"], "patterns": patterns}}
    code, document = lint(replace(case, form=form).write(tmp_path), capfd)
    assert (code, document["findings"]) == (ACCEPTED, [])


def test_a_checker_without_examples_is_doubted_until_a_person_takes_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = next(case for case in cases() if case.name == FIRST[0]).write(tmp_path)
    spec = folder / "ItemSpec.md"
    spec.write_text(spec.read_text().partition("#### Examples")[0])
    code, document = lint(folder, capfd)
    (finding,) = document["findings"]
    assert (code, finding["gate"]) == (DOUBTED, "untested")
    assert (
        '`- {item: "2.1", outcome: fails, text: "<a line of the report>", fields:'
        in finding["message"]
    )
    run = ["check", "run", str(folder), "--workspace", str(tmp_path / "w"), "-q"]
    assert main(run) == DOUBTED
    assert main(["check", "approve", str(folder), "--by", "Ann Lee"]) == ACCEPTED
    assert main(run) == ACCEPTED


@pytest.mark.parametrize("name", ["total-plain", "total-constant"])
def test_two_lines_that_a_person_names_prove_a_checker_or_refute_it(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in cases() if case.name == name)
    folder = case.write(tmp_path)
    spec = folder / "ItemSpec.md"
    spec.write_text(spec.read_text().partition("#### Examples")[0])
    workspace = ["--workspace", str(tmp_path / "w"), "-q"]
    # No gate has seen it yet.
    assert main(["check", "run", str(folder), *workspace]) == DOUBTED
    lines = ["--good", "ant.log:3", "--bad", "Total antenna violations: 37"]
    code = main(["check", "lint", str(folder), *lines, *workspace])
    assert "text: 'Total antenna violations: 0'" in spec.read_text()
    if case.honest:
        assert code == ACCEPTED
        assert main(["check", "run", str(folder), *workspace]) == ACCEPTED
    else:
        assert code == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHARED))
def test_the_shared_checkers_without_examples_are_doubted_at_most_and_never_accepted(
    name: str, shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = shared_data / "atoms" / name
    if not source.is_dir():
        pytest.skip("no such checker here")
    shutil.copytree(source, tmp_path / name, copy_function=shutil.copyfile)
    code, document = lint(tmp_path / name, capfd)
    assert (code, {finding["gate"] for finding in document["findings"]}) == (DOUBTED, {"untested"})


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHARED))
def test_the_shared_checkers(
    name: str, shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = shared_data / "atoms" / name
    if not source.is_dir():
        pytest.skip("no such checker here")
    case = json.loads((source / "case.json").read_text())
    folder = tmp_path / name
    shutil.copytree(source, folder, copy_function=shutil.copyfile)
    with (folder / "ItemSpec.md").open("a") as spec:
        spec.write(f"\n#### Examples\n\n```yaml\n{dump_yaml(SHARED[name])}```\n")
    code, document = lint(folder, capfd)
    if case["honest"]:
        assert (code, document["findings"]) == (ACCEPTED, [])
        return
    for wanted in case["verdicts"] if code == ACCEPTED else ():
        for file, text in (wanted["files"] or {}).items():
            (folder / "files" / file).write_text(text)
        assert verdict(folder, capfd) == wanted["expect"]
