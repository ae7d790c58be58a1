"""What waits for a person or a model, and is no question: `transom waiting` and `runs list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.shipped_model import without_claim
from tests.investigator.helpers import NOT_READY, copy_of
from tests.stories.projects import make_project
from transom.cli import main
from transom.sandbox import Level, needs

Capture = pytest.CaptureFixture[str]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ITEM = """item_id: FRUIT
description: "{description}"
input_files: [log.txt]
"""


def write_item(here: Path, description: str) -> None:
    (here / "FRUIT.yaml").write_text(ITEM.format(description=description))
    (here / "log.txt").write_text("All bananas are yellow.\n")


def read_json(capsys: Capture, *arguments: str) -> Any:
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def waiting(capsys: Capture) -> list[Any]:
    runs: list[Any] = read_json(capsys, "waiting")["runs"]
    return runs


def status(capsys: Capture) -> str:
    ((run),) = read_json(capsys, "runs", "list")["runs"]
    return str(run["status"])


def test_an_item_that_needs_a_model_waits_until_it_is_accepted(here: Path, capsys: Capture) -> None:
    write_item(here, "the bananas are ripe")
    assert main(["check", "all", "FRUIT.yaml", "-q"]) == 3
    capsys.readouterr()
    (run,) = waiting(capsys)
    assert (run["name"], run["status"]) == ("FRUIT", "NEEDS_MODEL")
    assert 'not understood: "the bananas are ripe"' in run["reason"]
    assert main(["waiting"]) == 0
    text = capsys.readouterr().out
    assert "FRUIT: NEEDS_MODEL" in text
    assert f"  transom resume {run['run_id']} --model PROVIDER:NAME\n" in text

    # The command is one that can be typed: it ends as the first one did.
    words = run["command"].replace("PROVIDER:NAME", "rules").split()
    assert main([*words[1:], "-q"]) == 3
    capsys.readouterr()

    # So is the one that leaves the item unchecked.
    (told,) = [line for line in text.splitlines() if line.startswith("  leave it unchecked: ")]
    words = told.replace("DATE", "2999-01-31").split(": ")[1].split()
    assert main([*words[1:]]) == 0
    capsys.readouterr()
    assert waiting(capsys) == []


@pytest.mark.slow
@pytest.mark.fence
def test_an_item_that_was_reworded_and_judged_waits_no_more(here: Path, capsys: Capture) -> None:
    item = EXAMPLES / "checks" / "VER-01.yaml"
    data = f"CHECKLIST_ROOT={EXAMPLES / 'checks' / 'data'}"
    words = ["check", "all", "VER-01.yaml", "--var", data, "-q"]
    unclear = without_claim(item.read_text()).replace(
        "the netlist and SPEF versions are correct", "setup timing of the plums is met"
    )
    (here / item.name).write_text(unclear)
    assert main(words) == 3
    capsys.readouterr()
    document = read_json(capsys, "waiting")
    # The rules know a check that comes near, and ask whether it is meant.
    assert (len(document["questions"]), document["runs"]) == (1, [])
    (here / item.name).write_text(item.read_text())
    assert main(words) == 0
    capsys.readouterr()
    document = read_json(capsys, "waiting")
    assert (document["questions"], document["runs"]) == ([], [])


@pytest.mark.skipif(bool(needs(Level.L3)), reason=needs(Level.L3))
def test_a_paused_story_is_not_called_failed_and_waits(here: Path, capsys: Capture) -> None:
    make_project(here)
    (here / "transom.yaml").write_text(
        """stories: {tests: ["{python}", run_tests.py, "{junit}"]}"""
    )
    words = ["story", "run", "--project", "project", "--epic", "epic-1", "--story", "story-1"]
    assert main([*words, "-q"]) == 3
    assert "paused" in capsys.readouterr().out
    assert status(capsys) == "paused"
    (run,) = waiting(capsys)
    assert run["status"] == "paused" and run["reason"].startswith("story-1: ")
    assert run["command"] == f"transom resume {run['run_id']}"
    assert main(["resume", run["run_id"], "-q"]) == 3
    capsys.readouterr()
    assert status(capsys) == "paused"


def test_what_ended_well_or_badly_does_not_wait(here: Path, capsys: Capture) -> None:
    copy_of(NOT_READY, here / "data")
    assert main(["investigate", "Is the kiosk ready?", "--data", "data", "-q"]) == 1
    capsys.readouterr()
    assert waiting(capsys) == []
    assert main(["waiting"]) == 0
    assert capsys.readouterr().out == "nothing waits for a person\n"
    (run,) = read_json(capsys, "runs", "list")["runs"]
    assert main(["investigate", "Why do tests fail?", "--continue", run["run_id"], "-q"]) == 0
    capsys.readouterr()
    assert status(capsys) == "NOT_READY", "a question does not reopen the investigation"


def test_a_question_that_nothing_answers_exits_with_3_and_names_the_command(
    here: Path, capsys: Capture
) -> None:
    copy_of(NOT_READY, here / "data")
    assert main(["investigate", "Is the kiosk ready?", "--data", "data", "-q"]) == 1
    capsys.readouterr()
    (run,) = read_json(capsys, "runs", "list")["runs"]
    assert main(["investigate", "Where are the bananas?", "--continue", run["run_id"], "-q"]) == 3
    error = capsys.readouterr().err
    words = ("transom investigate 'Where are the bananas?' --follow-up", run["run_id"])
    assert error.count("\n") == 1 and " ".join(words) in error and "--model" in error

    # The same question, asked again of a model, reaches the model.
    (here / "teller.py").write_text(TELLER)
    asked = ["investigate", "Where are the bananas?", "--continue", run["run_id"], "-q"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(here)
        code = main([*asked, "--model", "teller:Teller"])
        answer, error = capsys.readouterr()
        assert (code, error) == (0, "")
    assert answer == "Nobody has said so.\n"


def test_an_investigation_without_an_answer_cannot_be_continued_yet(
    here: Path, capsys: Capture
) -> None:
    copy_of(NOT_READY, here / "data")
    assert main(["investigate", "Is the kiosk ready?", "--data", "data", "-q"]) == 1
    capsys.readouterr()
    (run,) = read_json(capsys, "runs", "list")["runs"]
    (answer,) = here.glob(f".transom/runs/*/{run['run_id']}/answer/investigation.json")
    answer.unlink()
    assert main(["investigate", "Why?", "--continue", run["run_id"], "-q"]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"to continue, run: transom resume {run['run_id']}" in error


TELLER = '''
from transom.llm import Capabilities, Reply, Text


class Teller:
    """Answers every question with one sentence."""

    name, local, caps = "teller", True, Capabilities()

    async def complete(self, request, *, on_delta=None):
        return Reply((Text("Nobody has said so."),), by=self.name)

    def estimate_tokens(self, request):
        return 1

    def fingerprint(self, role):
        return "1"

    def is_current(self, source):
        return True
'''
