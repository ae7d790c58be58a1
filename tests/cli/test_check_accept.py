"""A person accepts that an item stays unchecked, until a day."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.cli.checks import Desk
from transom.checklist.results import SpecResult, WordsRow
from transom.cli.check.answers import verdict_for
from transom.errors import InputError

ODD = "description: Confirm that the moon is frobnicated.\ninput_files: [a.log]\n"
ACCEPT = "accept: {by: Ann Lee, reason: the tool comes in March, until: 2027-03-31}\n"
SAYS = "not checked, accepted by Ann Lee until"


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    (here / "a.log").write_text("text\n")
    (here / "MOON.yaml").write_text(ODD)
    return Desk.at(here, capfd)


@pytest.mark.slow
@pytest.mark.fence
def test_a_command_accepts_what_holds_a_pass_back(desk: Desk) -> None:
    item = desk.here / "VER-01.yaml"
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    original = log.read_text()
    log.write_text(original.replace("exit", "Note: 3 arcs skipped\nNote: loop broken\nexit", 1))
    held = desk.check("all", "VER-01.yaml", "-q", "--format", "json")
    assert (held.code, held.document["would_be"]) == (3, "PASS")
    commands = [cap["accept"] for cap in held.document["capped_by"]]
    run = held.document["run_id"]
    assert commands[0] == f"transom answer {run} --accept 1 --by NAME"
    text = desk.check("all", "VER-01.yaml", "-q").out
    assert "NEEDS_REVIEW, would be PASS" in text
    assert "--by is missing" in desk("answer", run, "--accept", "1").line()
    assert (
        "there is no 9 among the 2 things"
        in desk("answer", run, "--accept", "9", "--by", "Ann").line()
    )
    before = item.read_text()
    for _ in commands:
        desk("answer", run, "--accept", "1", "--by", "Ann")
        again = desk.check("all", "VER-01.yaml", "-q", "--format", "json")
        run = again.document["run_id"]
    assert item.read_text().startswith(before)
    assert (again.code, again.document["status"]) == (0, "PASS")
    assert [row["by"] for row in again.document["accepted_caps"]] == ["Ann"] * len(commands)


@pytest.mark.fence
@pytest.mark.slow
def test_a_command_accepts_and_the_batch_succeeds_without_a_pass(desk: Desk) -> None:
    batch = ("batch", "MOON.yaml", "VER-01.yaml", "-q")
    assert desk.check(*batch).code == 3
    last_day = date.today() + timedelta(days=10)
    words = ("--by", "Ann Lee", "--reason", "the tool comes in March")
    answer = desk("answer", "MOON", *words, "--until", str(last_day), "--format", "json")
    assert answer.document["accept"] == {
        "by": "Ann Lee",
        "reason": "the tool comes in March",
        "until": str(last_day),
    }
    text = (desk.here / "MOON.yaml").read_text()
    assert text.startswith(ODD), "all else stays as it was written"
    after = desk.check(*batch)
    assert after.code == 0
    assert f"NOT_CHECKED  MOON    {SAYS} {last_day}: the tool comes in March" in after.out
    assert after.out.endswith("2 checks: 1 PASS, 1 NOT_CHECKED\n")
    runs = desk("runs", "list", "--format", "json").document["runs"]
    assert [run["status"] for run in runs if run["kind"] == "check-batch"] == ["done"]
    again = desk("answer", "MOON", *words, "--until", str(last_day)).line()
    assert "the item is accepted by Ann Lee" in again
    assert desk.check("all", "MOON.yaml", "-q").code == 0
    day_after = str(last_day + timedelta(days=1))
    ended = desk.check("all", "MOON.yaml", "-q", "--as-of", day_after)
    assert ended.code == 3
    assert f"the acceptance by Ann Lee ended on {last_day}" in ended.out
    (desk.here / "VER-02.yaml").write_text((desk.here / "VER-02.yaml").read_text() + ACCEPT)
    judged = desk.check("batch", "MOON.yaml", "VER-02.yaml", "-q", "--format", "json")
    assert (judged.code, judged.document["checks"][1]["status"]) == (1, "FAIL")
    assert "not needed" in judged.document["checks"][1]["warnings"][-1]["message"]
    refused = desk("answer", "VER-02", *words, "--until", str(last_day)).line()
    assert "the item was judged: FAIL" in refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "Ann"), "--reason is missing"),
        (("--reason", "r"), "--by is missing"),
        (("--by", " ", "--reason", "r"), "--by is missing"),
        (("--by", "Ann", "--reason", "r", "--until", "tomorrow"), "'tomorrow' is not a date"),
        (("--by", "Ann", "--reason", "r", "--until", "2020-01-01"), "2020-01-01 is over"),
        (("keep", "--by", "Ann", "--reason", "r"), "an acceptance is no answer to a question"),
    ],
)
def test_a_command_that_lacks_something_accepts_nothing(
    desk: Desk, words: tuple[str, ...], said: str
) -> None:
    assert desk("check", "spec", "MOON.yaml", "-q").code == 3
    until = () if "--until" in words else ("--until", "2099-01-01")
    assert said in desk("answer", "MOON", *words, *until).line()
    assert (desk.here / "MOON.yaml").read_text() == ODD


@pytest.mark.parametrize(
    ("day", "counted", "code"),
    [("2027-03-31", "NOT_CHECKED", 0), ("2027-04-01", "NEEDS_MODEL", 3)],
)
def test_the_last_day_counts(tmp_path: Path, day: str, counted: str, code: int) -> None:
    path = tmp_path / "MOON.yaml"
    path.write_text(ODD + ACCEPT)
    words = (WordsRow(text="moon", where="description"),)
    stopped = SpecResult(status="NEEDS_MODEL", item_id="MOON", needs_model=words, run_id="1")
    verdict = verdict_for(path, stopped, day)
    assert (verdict.counted_as, verdict.exit_code, verdict.status) == (counted, code, "NEEDS_MODEL")


def test_an_error_is_never_accepted(tmp_path: Path) -> None:
    path = tmp_path / "MOON.yaml"
    path.write_text(ODD + ACCEPT)
    verdict = verdict_for(path, InputError("no such file"), "2027-01-01")
    assert (verdict.counted_as, verdict.exit_code, verdict.acceptance) == ("ERROR", 2, None)
