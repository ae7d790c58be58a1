"""`--format json`: one document on stdout that its schema describes, or nothing and one line on
stderr.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import transom
from tests.cli.checks import Answer, Desk, edit

SCHEMAS = Path(transom.__file__).parent / "schemas"
JSON = ("--format", "json", "-q")


@pytest.fixture
def desk(model_desk: Desk) -> Desk:
    return model_desk


def holds(document: Any) -> None:
    """The document is what the schema that it names says."""
    name = document["schema"].removeprefix("transom.").replace("/", "-")
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def ended(answer: Answer, schema: str, status: str | None, code: int) -> Any:
    document = answer.document
    assert (document["schema"], document.get("status"), answer.code) == (schema, status, code)
    assert (answer.err == "") is (status != "ERROR"), (
        "what is wrong with an input is said on stderr, too"
    )
    holds(document)
    assert document.get("item_id") or "item_id" not in document
    return document


def test_every_ending_of_spec(desk: Desk) -> None:
    ready = ended(
        desk("check", "spec", "VER-01.yaml", "-o", "out", *JSON), "transom.spec/1", "READY", 0
    )
    assert [row["round"] for row in ready["rounds"]] == [1, 2, 3, 4, 5]
    assert all(row["by"] == "scripted" and row["input_tokens"] == 0 for row in ready["rounds"])
    assert (ready["capability_type"], ready["findings"]) == (4, [])
    edit(desk.here / "out" / "VER-01_ItemSpec.md", "### 4.3", "### 4.9")
    review = ended(
        desk("check", "spec", "VER-01.yaml", "-o", "out", *JSON),
        "transom.spec/1",
        "NEEDS_REVIEW",
        1,
    )
    assert {finding["artifact"] for finding in review["findings"]} == {
        "VER-01_ItemSpec_NEEDS_REVIEW.md"
    }
    last = len(Path(review["itemspec_path"]).read_text("utf-8").splitlines())
    assert all(1 <= finding["line"] <= last for finding in review["findings"])
    (desk.here / "odd.yaml").write_text(
        "description: Confirm that the flux capacitor is charged.\n", "utf-8"
    )
    model = ended(desk("check", "spec", "odd.yaml", *JSON), "transom.spec/1", "NEEDS_MODEL", 3)
    assert model["needs_model"]
    ended(desk("check", "all", "odd.yaml", *JSON), "transom.check/1", "NEEDS_MODEL", 3)


@pytest.mark.slow
def test_every_ending_of_build(desk: Desk) -> None:
    spec = desk("check", "spec", "VER-01.yaml", "-o", "out", *JSON).document["itemspec_path"]
    build = ("build", spec, "--item", "VER-01.yaml", *JSON)
    shutil.move("data/updown", ".away")
    ended(desk.check(*build), "transom.build/1", "needs_review", 3)
    shutil.move(".away", "data/updown")
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    whole = log.read_bytes()
    log.write_bytes(b"")
    ended(desk.check(*build), "transom.build/1", "ERROR", 2)
    log.write_bytes(whole)
    done = ended(desk.check(*build), "transom.build/1", "done", 0)
    assert all(gate["passed"] for gate in done["gates"])
    holds(json.loads(Path(done["checker_path"], "build.json").read_text("utf-8")))
    holds(yaml.safe_load(Path(done["checker_path"], "checker.yaml").read_text("utf-8")))
    atom = desk.run_of("VER-01", "check-build") / "build" / "parser" / "atom_a.py"
    edit(atom, "def extract_context(", "def extract(")
    given_up = ended(desk.check(*build), "transom.build/1", "human_required", 3)
    assert any(gate["findings"] for gate in given_up["gates"])
    holds(
        json.loads(
            Path(given_up["checker_path"], "human_intervention_report.json").read_text("utf-8")
        )
    )
    Path(spec).write_text(
        Path(spec).read_text("utf-8").replace("SPEF", "FLUX").replace("spef", "flux"), "utf-8"
    )
    edit(desk.here / "VER-01.yaml", "SPEF", "FLUX")
    atom.unlink()
    model = ended(desk.check(*build), "transom.build/1", "NEEDS_MODEL", 3)
    assert model["needs_model"]


@pytest.mark.slow
def test_every_ending_of_run(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "VER-02.yaml", "STA-01.yaml", "-o", "out")
    for item, status, code in (("VER-01", "PASS", 0), ("VER-02", "FAIL", 1), ("VER-08", "PASS", 0)):
        verdict = ended(desk.check("all", f"{item}.yaml", *JSON), "transom.check/1", status, code)
        assert verdict["run_id"] == desk.run_of(item).name
        assert all(one["waiver"]["applied_at"] for one in verdict["waived"])
    ended(desk.check("run", "VER-01.yaml", "VER-02.yaml", *JSON), "transom.checks/1", None, 1)
    Path("data/updown/sta_signoff.log").unlink()
    ended(desk.check("run", "VER-01.yaml", *JSON), "transom.check/1", "ERROR", 2)


def test_lint_and_the_rest(desk: Desk) -> None:
    assert (
        ended(desk("check", "lint", "VER-01.yaml", *JSON), "transom.lint/1", None, 0)["findings"]
        == []
    )
    edit(desk.here / "VER-01.yaml", "value: N/A", "value:")
    assert ended(desk("check", "lint", "VER-01.yaml", *JSON), "transom.lint/1", None, 1)["findings"]
    desk("check", "spec", "VER-02.yaml", *JSON)
    run = desk.run_of("VER-02").name
    others = (
        ["runs", "list"],
        ["runs", "show", run],
        ["window", "show", run],
        ["trace", "list"],
        ["doctor"],
    )
    for words in (*others, ["resume", run]):
        answer = desk(*words, *JSON)
        assert (answer.code, answer.err) == (0, ""), words
        assert answer.document["schema"].startswith("transom."), words


@pytest.mark.parametrize(
    "words", [["check", "spec", "nosuch.yaml"], ["check", "all", "VER-01.yaml"], ["resume", "x"]]
)
def test_an_error_leaves_stdout_empty(words: list[str], desk: Desk) -> None:
    assert desk(*words, *JSON).line(2)


def test_a_pause_leaves_stdout_empty(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSOM_EXECUTION__TIMEOUT_PER_STAGE", "0.001")
    assert desk("check", "spec", "VER-01.yaml", *JSON).line(3)


def test_the_same_is_said_to_people(desk: Desk) -> None:
    (desk.here / "odd.yaml").write_text(
        "description: Confirm that the flux capacitor is charged.\n", "utf-8"
    )
    said = desk("check", "spec", "odd.yaml", "-q").out
    assert said.startswith("NEEDS_MODEL  odd\n  not understood: ")
    assert "reword it, or teach it the log" in said
    spec = desk("check", "spec", "VER-01.yaml", "-o", "out", *JSON).document["itemspec_path"]
    shutil.move("data/updown", ".away")
    said = desk.check("all", "VER-01.yaml", "-q").out
    assert said.startswith(
        "ERROR  VER-01  1 error\n  Confirm that the netlist and SPEF versions are correct.\n"
        "  error: updown/sta_signoff.log: no such file\n"
    )
    said = desk.check("build", spec, "--item", "VER-01.yaml", "-q").out
    assert said.startswith(
        "needs_review  VER-01\n  waits for a person: no log or report was found under "
    )
    shutil.move(".away", "data/updown")
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    log.write_bytes(b"")
    said = desk.check("all", "VER-01.yaml", "-q").out
    assert "\n  error: updown/sta_signoff.log: is empty\n" in said
