"""The bench of the gates: no wrong checker is accepted, and no honest one is refused."""

from __future__ import annotations

import json
import shutil
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
    code = main(["check", "lint", str(folder), "--workspace", str(folder.parent / "w"), "--format", "json", "-q"])
    out, err = capfd.readouterr()
    assert out, err
    return code, json.loads(out)


def verdict(folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    main(["check", "run", str(folder), "--workspace", str(folder.parent / "w"), "--format", "json", "-q"])
    return str(json.loads(capfd.readouterr().out)["status"])


@pytest.mark.parametrize(
    "case", [pytest.param(one, id=one.name, marks=() if one.name in FIRST else pytest.mark.slow) for one in cases()]
)
def test_the_gates_know_honest_from_wrong(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, document = lint(case.write(tmp_path), capfd)
    if case.honest:
        assert (code, document["findings"]) == (ACCEPTED, [])
    else:
        assert code in (REFUSED, DOUBTED)
        assert case.checker["gate"] in {finding["gate"] for finding in document["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHARED))
def test_the_shared_checkers(name: str, shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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
