"""The shared items and our own examples against their truth: right or abstained, never wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptance.common import (
    EXAMPLES,
    ITEMS,
    check,
    check_and_accept,
    comparer,
    needs_shared,
    reworded,
    table,
)

NUMBERS = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "14", "15", "16")
MUST_BE_RIGHT = tuple(f"EDA-S-{number}" for number in NUMBERS)
SHARED_IDS = tuple(f"EDA-S-{number:02}" for number in range(1, 19))
OWN_IDS = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
EXIT_CODES = {"PASS": 0, "FAIL": 1, "ERROR": 2}
FENCE = (pytest.mark.slow, pytest.mark.fence)


@needs_shared
@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("item_id", SHARED_IDS)
def test_shared_items(item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((ITEMS / item_id / "expected.json").read_text("utf-8"))
    item = tmp_path / item_id / "item.yaml"
    shutil.copytree(ITEMS / item_id, item.parent)
    code, verdict = check_and_accept(capfd, tmp_path / "w", item)
    word, differences = comparer()(verdict, expected)
    assert word != "wrong", differences
    if item_id in MUST_BE_RIGHT:
        assert word == "right", verdict
    assert code == (EXIT_CODES[expected["status"]] if word == "right" else 3)


@needs_shared
@pytest.mark.parametrize(
    "item_id", [OWN_IDS[0], *(pytest.param(one, marks=FENCE) for one in OWN_IDS[1:])]
)
def test_own_examples_are_right(
    item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((EXAMPLES / "expected" / f"{item_id}.json").read_text("utf-8"))
    _, verdict = check(
        capfd, tmp_path / "w", "all", str(EXAMPLES / f"{item_id}.yaml"), data=EXAMPLES / "data"
    )
    word, differences = comparer()(verdict, expected)
    assert (word, differences) == ("right", []), verdict


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("rewordings.yaml", 25, marks=pytest.mark.fence),
        # The same on twice as many lines: `make test-all` tries them.
        ("rewordings_more.yaml", 50),
        pytest.param("rewordings_domains.yaml", 10, marks=pytest.mark.fence),
    ],
)
def test_rewordings_are_never_wrong_and_mostly_right(
    name: str, count: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words: dict[str, str] = {}
    for item_id, rows in table(name).items():
        expected = json.loads((ITEMS / item_id / "expected.json").read_text("utf-8"))
        for row in rows:
            key = f"{item_id} {row['id']}"
            item = reworded(
                ITEMS / item_id / "item.yaml", row["description"], tmp_path / key / item_id
            )
            _, verdict = check_and_accept(capfd, tmp_path / key / "w", item)
            words[key], differences = comparer()(verdict, expected)
            assert words[key] != "wrong", (row["description"], differences)
    assert len(words) == count
    right = sum(word == "right" for word in words.values())
    assert right >= 0.6 * len(words), [key for key, word in words.items() if word != "right"]


@pytest.mark.slow
@pytest.mark.fence
@needs_shared
@pytest.mark.parametrize(
    ("name", "domain", "item_id"),
    [
        ("near_misses.yaml", "versions", "EDA-S-01"),
        ("near_misses.yaml", "endpoints", "EDA-S-08"),
        ("near_misses_domains.yaml", "messages", "EDA-S-15"),
        ("near_misses_domains.yaml", "latches", "EDA-S-14"),
        ("near_misses_domains.yaml", "limits", "EDA-S-08"),
    ],
)
def test_near_misses_all_abstain(
    name: str, domain: str, item_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = table(name)[domain]
    assert len(rows) >= 10
    answered = []
    for row in rows:
        item = reworded(
            ITEMS / item_id / "item.yaml", row["description"], tmp_path / row["id"] / item_id
        )
        code, document = check(capfd, tmp_path / row["id"] / "w", "all", str(item))
        if (code, document["status"]) != (3, "NEEDS_MODEL"):
            answered.append((row["description"], document["status"]))
        else:
            assert document["needs_model"], row
    assert answered == []
