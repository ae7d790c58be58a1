"""The shared items and our own examples against their truth: right or abstained, never wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.common import EXAMPLES, ITEMS, check, comparer, needs_shared, reworded, table

MUST_BE_RIGHT = ("EDA-S-01", "EDA-S-02", "EDA-S-03", "EDA-S-07", "EDA-S-08")
SHARED_IDS = tuple(f"EDA-S-{number:02}" for number in range(1, 19))
OWN_IDS = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
EXIT_CODES = {"PASS": 0, "FAIL": 1, "ERROR": 2}


@needs_shared
@pytest.mark.parametrize("item_id", SHARED_IDS)
def test_shared_items(item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((ITEMS / item_id / "expected.json").read_text("utf-8"))
    code, verdict = check(capfd, tmp_path / "w", "all", str(ITEMS / item_id / "item.yaml"))
    word, differences = comparer()(verdict, expected)
    assert word != "wrong", differences
    if item_id in MUST_BE_RIGHT:
        assert word == "right", verdict
    assert code == (EXIT_CODES[expected["status"]] if word == "right" else 3)


@needs_shared
@pytest.mark.parametrize("item_id", OWN_IDS)
def test_own_examples_are_right(item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((EXAMPLES / "expected" / f"{item_id}.json").read_text("utf-8"))
    _, verdict = check(capfd, tmp_path / "w", "all", str(EXAMPLES / f"{item_id}.yaml"), data=EXAMPLES / "data")
    word, differences = comparer()(verdict, expected)
    assert (word, differences) == ("right", []), verdict


@needs_shared
def test_rewordings_are_never_wrong_and_mostly_right(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words: dict[str, str] = {}
    for item_id in MUST_BE_RIGHT:
        expected = json.loads((ITEMS / item_id / "expected.json").read_text("utf-8"))
        for row in table("rewordings.yaml")[item_id]:
            name = f"{item_id} {row['id']}"
            item = reworded(ITEMS / item_id / "item.yaml", row["description"], tmp_path / name / item_id)
            _, verdict = check(capfd, tmp_path / name / "w", "all", str(item))
            words[name], differences = comparer()(verdict, expected)
            assert words[name] != "wrong", (row["description"], differences)
    assert len(words) == 25
    right = sum(word == "right" for word in words.values())
    assert right >= 0.6 * len(words), [name for name, word in words.items() if word != "right"]


@needs_shared
@pytest.mark.parametrize(("domain", "item_id"), [("versions", "EDA-S-01"), ("endpoints", "EDA-S-08")])
def test_near_misses_all_abstain(domain: str, item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = table("near_misses.yaml")[domain]
    assert len(rows) >= 10
    answered = []
    for row in rows:
        item = reworded(ITEMS / item_id / "item.yaml", row["description"], tmp_path / row["id"] / item_id)
        code, document = check(capfd, tmp_path / row["id"] / "w", "all", str(item))
        if (code, document["status"]) != (3, "NEEDS_MODEL"):
            answered.append((row["description"], document["status"]))
        else:
            assert document["needs_model"], row
    assert answered == []
