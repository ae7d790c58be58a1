"""Readings that come near a description: the one that is meant is among them, and none is
chosen.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.rules.support import ask, configuration, shipped, tagged
from transom.checklist.item import load_item, parse_item
from transom.checklist.rules.meaning import check_reads_as, find_slip, read_as, said
from transom.checklist.rules.nearby import MOST, near_readings
from transom.checklist.rules.preview import evidence_of
from transom.checklist.rules.reading import read_description
from transom.checklist.writing.rounds import simplified
from transom.errors import InputError, NeedsModel
from transom.formats.yaml_files import add_key, load_yaml, parse_yaml

DATA: Any = load_yaml(Path(__file__).parent / "data" / "readings.yaml").data
REWORDED = [*DATA["reworded"], *DATA["later"]]
LINES = [*(row["text"] for row in REWORDED), *DATA["near"], *DATA["unknown"]]
ITEM = "description: {}\nrequirements: {{value: N/A, pattern_items: []}}\ninput_files: [a.rpt]\n"


def shown(text: str) -> list[dict[str, Any]]:
    return [reading.to_json() for reading in near_readings(text, shipped())]


def test_the_reading_that_is_meant_is_among_the_three() -> None:
    missed = [row["text"] for row in REWORDED if row["reads_as"] not in shown(row["text"])]
    found = len(REWORDED) - len(missed)
    assert found >= 0.9 * len(REWORDED), f"{found} of {len(REWORDED)} have it; missed: {missed}"


@pytest.mark.parametrize("text", LINES)
def test_none_is_chosen_and_all_can_be(text: str) -> None:
    with pytest.raises(NeedsModel):
        read_description(text, shipped())
    near = near_readings(text, shipped())
    assert len(near) <= MOST
    assert len({said(one, shipped()) for one in near}) == len(near), (
        "the person can tell them apart"
    )
    assert [find_slip(one, shipped()) for one in near] == [None] * len(near)
    assert near or text not in DATA["near"]
    assert not near or text not in DATA["unknown"]


@pytest.mark.parametrize("row", DATA["understood"], ids=lambda row: row["text"])
def test_what_is_understood_by_now(row: dict[str, str]) -> None:
    assert read_description(row["text"], shipped()).domain.domain == row["domain"]


def test_what_cannot_be_built_is_not_proposed() -> None:
    text = "Total power is within the budget of 5 mW."
    assert {one.domain for one in near_readings(text, shipped())} == {"total_power"}
    assert near_readings(text, shipped(), requirements=2) == [], "its domain knows no patterns"


def test_what_a_person_says_is_read_like_a_description(tmp_path: Path) -> None:
    """The rounds that follow are those of the sentence that the rules understand."""
    item = tmp_path / "ITEM.yaml"
    told = (
        "reads_as: {domain: worst_slack, item: hold_limit, parameters: {relation: ge, limit: 50,"
        " unit_word: ps}}\n"
    )
    item.write_text(ITEM.format("Hold looks good.") + told, "utf-8")
    by_person = tagged(ask("analysis", configuration=simplified(load_item(item))), "analysis")
    by_words = tagged(
        ask("analysis", configuration=configuration("Worst hold slack is at least 50 ps.")),
        "analysis",
    )
    assert (
        by_person.partition("### Step 5")[2].partition("### Conclusion")[0]
        == (by_words.partition("### Step 5")[2].partition("### Conclusion")[0])
    )
    assert "a person says that it means: Worst Hold Slack at least 50 ps" in by_person


@pytest.mark.parametrize(
    ("told", "line", "says"),
    [
        (
            "domain: worst_slak\n  item: hold_zero",
            5,
            "there is no domain worst_slak; did you mean worst_slack?",
        ),
        (
            "domain: versions\n  item: spef_versoin",
            6,
            "no item in versions spef_versoin; did you mean spef_version?",
        ),
        ("domain: worst_slack\n  item: [setup_zero, hold_zer]", 6, "did you mean hold_zero?"),
        (
            "domain: sta_endpoints\n  item: endpoint_timing\n  parameters:\n    chek: hold",
            8,
            "did you mean check?",
        ),
        (
            "domain: sta_endpoints\n  item: endpoint_timing\n  parameters:\n    check: hodl",
            8,
            "did you mean hold?",
        ),
        (
            "domain: total_power\n  item: power_limit",
            6,
            "power_limit needs the parameter relation; write `relation: ge",
        ),
        ("domain: total_power", 4, "reads_as.item is no name"),
        ("domian: total_power\n  item: power_limit", 5, "unknown key domian; did you mean domain?"),
    ],
)
def test_a_slip_is_one_error_with_its_line_and_the_nearest_name(
    told: str, line: int, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_reads_as(
            parse_item(f"{ITEM.format('x')}reads_as:\n  {told}\n", Path("I.yaml")), shipped()
        )
    assert str(caught.value).startswith(f"I.yaml:{line}: ")
    assert says in str(caught.value)


def test_evidence_is_what_the_check_would_read(root: Path) -> None:
    report = root / "examples" / "checks" / "data" / "updown" / "setup_signoff.rpt"
    setup, hold = (
        near_readings(f"No endpoint may fail {check} badly", shipped())[0]
        for check in ("setup", "hold")
    )
    assert evidence_of(setup, shipped(), [report]).startswith("setup_signoff.rpt:6 count_reg[7]/D")
    why = "no endpoint that this check understands stands in this file"
    assert evidence_of(hold, shipped(), [report]) == f"setup_signoff.rpt: would be an error: {why}"


def test_evidence_is_shown_from_files_as_a_check_opens_them(root: Path, tmp_path: Path) -> None:
    """Compressed, in another encoding, and too long once it is unpacked."""
    text = (root / "examples/checks/data/updown/setup_signoff.rpt").read_text()
    setup = near_readings("No endpoint may fail setup badly", shipped())[0]
    forms = {
        "a.rpt.gz": gzip.compress(text.encode()),
        "b.rpt": text.encode("utf-16"),
        "c.rpt": ("# \xb5m\n" + text).encode("latin-1"),
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        evidence = evidence_of(setup, shipped(), [tmp_path / name])
        assert evidence.startswith(f"{name}:{7 if name == 'c.rpt' else 6} count_reg[7]/D"), evidence
    long = tmp_path / "long.rpt.gz"
    long.write_bytes(gzip.compress(text.encode() + b"\n" * (2 << 20)))
    assert long.stat().st_size < 10_000
    evidence = evidence_of(setup, shipped(), [long])
    assert evidence == "long.rpt.gz is not looked at before its check"
    (tmp_path / "cut.rpt.gz").write_bytes(forms["a.rpt.gz"][:-20])
    evidence = evidence_of(setup, shipped(), [tmp_path / "cut.rpt.gz"])
    assert (
        evidence
        == "cut.rpt.gz: would be an error: cannot be read: the compressed file is cut short or damaged"
    )


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("a: 1 # one", "\n# by ann\nb: {}\n"),
        ("a: 1\r\n", "# by ann\r\nb: {}\r\n"),
        ("a: |+\n  text\n\n", "# by ann\nb: {}\n"),
    ],
)
def test_a_key_is_added_and_nothing_else_changes(text: str, added: str) -> None:
    assert add_key(parse_yaml(text, Path("a.yaml")), "b", {}, "by\nann") == text + added


def test_a_key_that_cannot_follow_is_left_to_the_person() -> None:
    with pytest.raises(InputError, match=r"a\.yaml: b cannot be added; write it yourself: b: 1"):
        add_key(parse_yaml("{a: 1}\n", Path("a.yaml")), "b", 1)


ORDINARY: Any = load_yaml(Path(__file__).parent / "data" / "ordinary.yaml").data


@pytest.mark.parametrize(("part", "at_once", "asked"), [("lines", 76, 4), ("later", 36, 3)])
def test_ordinary_lines(part: str, at_once: int, asked: int) -> None:
    """Read at once, or among the three that are shown; never as something else."""
    counts = {"right": 0, "near": 0}
    wrong = []
    for row in ORDINARY[part]:
        meant = (row["domain"], row["items"])
        try:
            reading = read_description(row["text"], shipped())
        except NeedsModel:
            near = [(one.domain, list(one.items)) for one in near_readings(row["text"], shipped())]
            counts["near"] += meant in near
            continue
        found = (reading.domain.domain, [item.key for item in reading.items])
        counts["right"] += found == meant
        wrong += [row["text"]] if found != meant else []
    assert wrong == []
    assert counts["right"] >= at_once
    assert sum(counts.values()) >= at_once + asked


@pytest.mark.parametrize("text", ORDINARY["others"])
def test_what_only_comes_near_an_ordinary_line_is_not_read(text: str) -> None:
    with pytest.raises(NeedsModel):
        read_description(text, shipped())


def test_items_of_a_chosen_value_come_with_it_and_with_no_other() -> None:
    hold, both = (f"Verify {check} timming is clean." for check in ("hold", "setup and hold"))
    met = [
        one
        for text in (hold, both)
        for one in near_readings(text, shipped())
        if one.domain == "timing"
    ]
    assert [one.items for one in met] == [
        ("timing_met",),
        ("timing_met", "setup_stated", "hold_stated"),
    ]
    told = replace(met[1], items=("timing_met",))
    assert [item.key for item in read_as(told, both, shipped()).items] == list(met[1].items)
