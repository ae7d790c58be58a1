"""Items that the embedded rules do not know, answered by recorded replies of a strong model,
against their truth.

A recording answers for exactly the windows that it was made with: after any change of a prompt, of
a gate's wording or of the data these tests fail and show where the windows differ. If the replies
still answer, make it again with

    python -m tests.checklist.recordings.record

else read the window that it names and write that reply anew. The truth (`expected.json`) is worked
out by hand from the files and never changed to fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.common import EXAMPLES, check
from tests.checklist.recordings.record import BY, HERE, play
from transom.checklist.judging import Verdict

NAMES = sorted(path.parent.name for path in HERE.glob("*/calls.json"))
PLAYED = sorted({path.parent.name for path in HERE.glob("*/item.yaml")} - {*NAMES})
EXIT_CODES = {"PASS": 0, "FAIL": 1}
HELD_BACK = 3
LISTS = ("found", "missing", "extra", "waived")


def fits(entry: dict[str, Any], want: dict[str, Any]) -> bool:
    """Whether an entry of a verdict is the one that the truth means."""
    text = json.dumps(entry, ensure_ascii=False)
    return (
        all(part in text for part in want["value_contains"])
        and (entry["source_file"] or "") == want["source_file"]
        and entry["line_number"] == want["line"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_recorded_replies_lead_to_the_truth(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = HERE / name
    truth = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    model = f"replay:{folder / 'calls.json'}"
    item = str(folder / "item.yaml")
    code, verdict = check(
        capfd, tmp_path / "w", "all", item, "--model", model, data=EXAMPLES / "data"
    )
    assert "checker_type" in verdict, verdict
    assert code == (HELD_BACK if "held_back" in truth else EXIT_CODES[truth["status"]])
    compare(verdict, truth)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
async def test_replies_that_are_no_recording_lead_to_the_truth_without_a_repair(
    name: str, tmp_path: Path
) -> None:
    verdict, author = await play(HERE / name, tmp_path)
    assert isinstance(verdict, Verdict), verdict
    assert not verdict.doubted
    assert {request.role for request, _ in author.calls if "repair" in request.role} == set()
    compare(
        verdict.model_dump(mode="json"),
        json.loads((HERE / name / "expected.json").read_text(encoding="utf-8")),
    )


def compare(verdict: dict[str, Any], truth: dict[str, Any]) -> None:
    # Trouble beside the matter, or a stage that the log does not say, is for a person to accept.
    held_back = [cap["text"] for cap in verdict.get("capped_by", [])]
    assert held_back == truth.get("held_back", [])
    status = verdict["would_be"] if held_back else verdict["status"]
    assert (verdict["item_id"], status) == (truth["item_id"], truth["status"])
    assert verdict["checker_type"] == truth["checker_type"]
    assert [each["pattern"] for each in verdict["unused_waivers"]] == truth.get(
        "unused_waivers", []
    )
    assert verdict["made_by"]["provider"] == BY
    for kind in LISTS:
        entries, wants = verdict[f"{kind}_items" if kind != "waived" else kind], truth.get(kind)
        if wants is None:
            continue
        assert len(entries) == len(wants), (kind, entries)
        assert [want for want in wants if sum(fits(entry, want) for entry in entries) != 1] == [], (
            kind,
            entries,
        )


@pytest.mark.parametrize("name", [*NAMES, *PLAYED])
def test_the_rules_alone_do_not_know_them(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, document = check(
        capfd, tmp_path / "w", "all", str(HERE / name / "item.yaml"), data=EXAMPLES / "data"
    )
    assert (code, document["status"]) in ((3, "NEEDS_MODEL"), (3, "NEEDS_REVIEW")), document


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_holds_the_replies_beside_it(name: str) -> None:
    calls = json.loads((HERE / name / "calls.json").read_text(encoding="utf-8"))["calls"]
    said = {part["text"] for call in calls for part in call["reply"]["parts"]}
    written = {path.read_text(encoding="utf-8") for path in (HERE / name / "replies").glob("*.txt")}
    assert said == written
    assert str(EXAMPLES.parent) not in json.dumps(calls)
