"""A whole release: the table, what is left to do, what changed, the formats, the time it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from tests.investigator.folders import ISSUE, PLAN, SECURITY, UNIT, issue, ready, review, text_of
from tests.investigator.reports import junit
from tests.npm import npm_script
from tests.server.browsing import started_browser
from tests.server.test_accessible import findings
from transom.cli import main
from transom.errors import InputError
from transom.investigator.policy import load_policy
from transom.investigator.release import (
    ReleaseAssessment,
    add_to_history,
    assess_release,
    features_of_version,
    history_file,
    read_history,
)
from transom.investigator.release_report import RELEASE_FORMATS
from transom.investigator.sources import DataFolder

AS_OF = date(2026, 9, 20)


def put_feature(root: Path, number: int, version: str = "2026.9", **put: Any) -> None:
    key = f"LIB-{number}"
    saved = issue(summary=f"Renewal {number}", fixVersions=[{"name": version}])
    saved["key"] = key
    files: Mapping[str, Any] = {**ready(), ISSUE: saved, **put.get("put", {})}
    for path, content in files.items():
        if content is not None:
            place = root / f"renewal-{number}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text_of(content).replace(b"LIB-41", key.encode()))


def assessed(root: Path, history: Any = (), day: date = AS_OF) -> ReleaseAssessment:
    data, policy = DataFolder(root), load_policy()
    return assess_release("2026.9", data, data.features, policy, "Production", day, history=history)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    put_feature(root, 1)
    put_feature(root, 2, put={UNIT: junit(9, 2, 0), PLAN: None})
    put_feature(root, 3, version="2026.10", put={SECURITY: review(decision="hmm")})
    return root


def test_the_worst_feature_comes_first_and_decides(three: Path) -> None:
    release = assessed(three)
    assert [row.verdict for row in release.features] == ["NOT_READY", "NEEDS_JUDGEMENT", "READY"]
    assert (release.verdict, release.exit_code) == ("NOT_READY", 1)
    owners = [(task.owner, task.feature_id) for task in release.tasks]
    assert owners == [("development", "LIB-2"), ("operations", "LIB-2"), ("security", "LIB-3")]
    assert "failed tests 2" in release.tasks[0].text


def test_a_cap_is_a_task_of_the_release_manager(tmp_path: Path) -> None:
    put_feature(tmp_path / "data", 1, put={"notes.bin": b"\x00\x01"})
    release = assessed(tmp_path / "data")
    assert release.exit_code == 3
    assert [(task.owner, "notes.bin" in task.text) for task in release.tasks] == [
        ("release manager", True)
    ]


def test_what_changed_since_the_last_assessment_and_the_trend(three: Path, tmp_path: Path) -> None:
    kept = history_file(tmp_path / "w", "2026.9", "Production")
    add_to_history(kept, [], assessed(three))
    put_feature(three, 2)
    (three / "renewal-1" / PLAN).unlink()
    put_feature(three, 4)
    later = assessed(three, read_history(kept), date(2026, 9, 21))
    assert later.changes == [
        "Renewal 1 (LIB-1): was READY, is NOT_READY; no longer met: docs.deployment",
        "Renewal 2 (LIB-2): was NOT_READY, is READY; now met: docs.deployment, tests.unit",
        "Renewal 4 (LIB-4): is new in the release",
    ]
    points = [(point.as_of, point.ready, point.total) for point in later.trend]
    assert points == [("2026-09-20", 1, 3), ("2026-09-21", 2, 4)]


@pytest.mark.parametrize("key", ["FEATURE-{}", "機能-{}"])
def test_a_release_of_many_chosen_features_has_a_history(key: str, tmp_path: Path) -> None:
    names = [",".join(key.format(first + number) for number in range(60)) for first in (0, 1)]
    files = [history_file(tmp_path, name, "Production") for name in names]
    assert files[0] != files[1]
    assert all(len(file.name.encode()) <= 255 for file in files)


def test_a_damaged_history_is_one_error(tmp_path: Path) -> None:
    kept = tmp_path / "r.jsonl"
    kept.write_text('{"as_of": 1}\n')
    with pytest.raises(InputError, match="no assessment"):
        read_history(kept)


def test_the_features_of_a_fix_version(three: Path) -> None:
    data = DataFolder(three)
    ids = [feature.feature_id for feature in features_of_version(data, "2026.9")]
    assert ids == ["LIB-1", "LIB-2"]
    with pytest.raises(InputError, match="no feature has the fix version") as caught:
        features_of_version(data, "2026.11")
    assert "2026.10" in str(caught.value.hint)


def test_each_format_shows_features_criteria_and_tasks(three: Path) -> None:
    release = assessed(three)
    for name, write in RELEASE_FORMATS.items():
        text = write(release)
        for needed in ("Renewal 2", "NOT_READY" if name != "junit" else "not met", "failed tests"):
            assert needed in text, (name, needed)
    suites = fromstring(RELEASE_FORMATS["junit"](release))
    failures = [int(suite.get("failures", 0)) for suite in suites]
    assert failures == [2, 1, 0]
    assert [len(suite.findall("testcase/failure")) for suite in suites] == failures


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_each_criterion_at_any_width(
    three: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "release.html"
    path.write_text(RELEASE_FORMATS["html"](assessed(three)), encoding="utf-8")
    size = {"width": width, "height": 900}
    with started_browser() as browser:
        page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
        page.goto(path.as_uri())
        root = page.locator("html")
        assert root.evaluate("root => root.scrollWidth == root.clientWidth")
        # Every cell has its sign in sight, inside of its own box.
        cells = page.locator("td.criterion:has(.sign)")
        assert cells.count() > 30
        inside = "cell => cell.querySelector('.sign').offsetWidth <= cell.clientWidth"
        box = page.locator("table").bounding_box()
        assert box is not None and box["x"] + box["width"] <= width
        for cell in cells.all():
            assert cell.locator(".sign").is_visible() and cell.evaluate(inside)
        failed = page.locator("td.fail").first
        assert failed.locator(".name").is_visible() == (width == 390)
        # The policy of the page stops scripts, but not those of the driver.
        assert findings(page, npm_script("axe-core/axe.min.js")) == []


def test_markup_in_names_stays_text(tmp_path: Path) -> None:
    root = tmp_path / "data"
    put_feature(root, 1)
    place = root / "renewal-1" / ISSUE
    place.write_text(place.read_text().replace("Renewal 1", "<script>a|b</script>\\u001b[2J"))
    release = assessed(root)
    assert "<script>" not in RELEASE_FORMATS["html"](release)
    assert "<script>" not in RELEASE_FORMATS["markdown"](release)
    assert "\x1b" not in RELEASE_FORMATS["text"](release)
    fromstring(RELEASE_FORMATS["junit"](release))


def test_forty_features_take_less_than_twenty_seconds(tmp_path: Path) -> None:
    root = tmp_path / "data"
    for number in range(40):
        put_feature(root, number + 1)
    begin = time.process_time()
    release = assessed(root)
    assert len(release.features) == 40
    assert time.process_time() - begin < 20


def test_the_command_and_its_exit_codes(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = ["release", "--data", "data", "--as-of", "2026-09-20", "-q"]
    assert main([*usual, "--fix-version", "2026.9", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [row["feature_id"] for row in document["features"]] == ["LIB-2", "LIB-1"]
    assert main([*usual, "--features", "LIB-1"]) == 0
    assert main([*usual, "--features", "LIB-3,renewal-1", "--report", "junit:out.xml"]) == 3
    assert (tmp_path / "out.xml").read_text().startswith("<?xml")
    for wrong in (["--features", "LIB-9"], ["--fix-version", "1"], ["--features", ","]):
        assert main([*usual, *wrong]) == 2
