"""Several entries of one file: all of them decide, unless the item takes one of them or counts
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.checklist.judging.support import checker, run
from transom.checklist.judging import Verdict, text_report
from transom.errors import InputError

CONDITION = "  condition: {field: layer.violations, op: equals, value: 0}\n"
PATTERN = {"capability_type: 4": "capability_type: 3", CONDITION: "  check: pattern\n"}
BAD = "met1 0\nmet2 17\nmet3 0\n"
ROUTING = "met1 17\nmet1 3\nmet1 0\n"


def judge(folder: Path, report: str, item: str = "", *, more: str = "", **files: str) -> Verdict:
    """A verdict on a report `a.rpt` and further ones, with keys `more` in the checker's only
    item.
    """
    changes = (
        {"  quantifier: per_file\n": more}
        if "quantifier" in more
        else {"  quantifier": f"{more}  quantifier"}
    )
    loaded = checker(folder, "layers", changes=changes if more else None)
    reports = {"a.rpt": report, **{f"{name}.rpt": text for name, text in files.items()}}
    return run(loaded, folder, reports, item=item, inputs=list(reports))


def lines(entries: Iterable[object]) -> list[tuple[object, object]]:
    return [
        (getattr(one, "source_file", None), getattr(one, "line_number", None)) for one in entries
    ]


@pytest.mark.parametrize(
    "report", [BAD, "met2 17\nmet1 0\n", "met1 0\nmet2 17\n", "met1 0\nmet2 -\n"]
)
def test_a_bad_row_never_hides_behind_a_good_one(tmp_path: Path, report: str) -> None:
    verdict = judge(tmp_path, report)
    assert (verdict.status, [one.value[:4] for one in verdict.missing_items]) == ("FAIL", ["met2"])
    assert (
        judge(tmp_path, report, "waivers: {value: 0, waive_items: [all]}\n").waived[0].value[:4]
        == "met2"
    )


def test_each_bad_row_is_waived_by_itself(tmp_path: Path) -> None:
    item = "waivers: {value: 1, waive_items: ['met2*']}\n"
    verdict = judge(tmp_path, BAD.replace("met3 0", "met3 5"), item)
    assert (verdict.status, lines(verdict.waived), lines(verdict.missing_items)) == (
        "FAIL",
        [("a.rpt", 2)],
        [("a.rpt", 3)],
    )
    assert judge(tmp_path, BAD, item).status == "PASS"


def test_a_file_that_holds_names_every_row_that_decided(tmp_path: Path) -> None:
    verdict = judge(tmp_path, BAD.replace("17", "0"), b="met1 0\n")
    several, one = verdict.found_items
    assert (verdict.status, lines(several.decided_by), one.decided_by) == (
        "PASS",
        [("a.rpt", 1), ("a.rpt", 2), ("a.rpt", 3)],
        (),
    )
    assert several.reason == "all 3 hold; the first: layer.violations is 0"
    assert "decided by a.rpt:1, a.rpt:2, a.rpt:3" in text_report(verdict)
    assert "decided_by" not in one.model_dump(), "the one that is shown decided alone"


@pytest.mark.parametrize(("waivers", "status"), [("N/A", "FAIL"), ("0", "PASS")])
def test_every_row_is_compared_with_the_patterns(tmp_path: Path, waivers: str, status: str) -> None:
    loaded = checker(tmp_path, "layers", changes=PATTERN)
    item = (
        f"requirements: {{value: 1, pattern_items: [met1]}}\nwaivers: {{value: {waivers},"
        " waive_items: []}\n"
    )
    verdict = run(loaded, tmp_path, {"a.rpt": "met1 0\nmet9 0\n"}, item=item, inputs=["a.rpt"])
    extra = verdict.extra_items or verdict.waived
    assert (verdict.status, verdict.checker_type) == (status, 2 if waivers == "N/A" else 3)
    assert lines(extra) == [("a.rpt", 2)]


def test_every_forbidden_row_is_a_violation(tmp_path: Path) -> None:
    verdict = judge(tmp_path, ROUTING, more="  mode: forbid\n")
    assert lines(verdict.missing_items) == [("a.rpt", 3)]
    both = judge(tmp_path, "met1 0\nmet2 17\nmet3 0\n", more="  mode: forbid\n")
    assert lines(both.missing_items) == [("a.rpt", 1), ("a.rpt", 3)]


@pytest.mark.parametrize(("take", "line", "status"), [("first", 1, "FAIL"), ("last", 3, "PASS")])
def test_one_of_many_counts_where_the_item_says_which(
    tmp_path: Path, take: str, line: int, status: str
) -> None:
    verdict = judge(tmp_path, ROUTING, more=f"  take: {take}\n")
    assert (verdict.status, lines([*verdict.found_items, *verdict.missing_items])) == (
        status,
        [("a.rpt", line)],
    )
    assert judge(tmp_path, "met1 0\nmet1 -\n", more="  take: last\n").status == "FAIL", (
        "an empty entry is one"
    )


COUNT = "  count: {op: OP, value: VALUE}\n  quantifier: QUANTIFIER\n"


@pytest.mark.parametrize(
    ("quantifier", "op", "value", "status", "said"),
    [
        ("per_file", "le", 2, "PASS", ["2", "1"]),
        ("per_file", "le", 1, "FAIL", ["1", "2"]),
        ("exists", "le", 2, "FAIL", ["3"]),
        ("exists", "equals", 3, "PASS", ["3"]),
        ("per_file", "ge", 2, "FAIL", ["2", "1"]),
    ],
)
def test_a_count_is_asked_of_a_file_or_of_all(
    tmp_path: Path, quantifier: str, op: str, value: int, status: str, said: list[str]
) -> None:
    more = COUNT.replace("OP", op).replace("VALUE", str(value)).replace("QUANTIFIER", quantifier)
    verdict = judge(tmp_path, BAD, more=more, b="met1 0\nmet2 4\n")
    judged = [*verdict.found_items, *verdict.missing_items]
    assert (verdict.status, [one.value for one in judged]) == (status, said)
    assert len(judged[0].decided_by) == int(said[0]), "every entry that was counted is named"
    item = "waivers: {value: 1, waive_items: ['met*']}\n"
    assert judge(tmp_path, BAD, item, more=more, b="met1 0\nmet2 4\n").status == status, (
        "no entry's waiver fits"
    )


def test_a_count_says_what_it_must_be_and_none_is_a_number(tmp_path: Path) -> None:
    more = COUNT.replace("OP", "ge").replace("VALUE", "1").replace("QUANTIFIER", "exists")
    (missing,) = judge(tmp_path, "met1 4\n", more=more).missing_items
    assert missing.reason == "0 entries with layer.violations; must be at least 1"
    assert missing.nearest is not None
    none = judge(tmp_path, "met1 4\n", more=more.replace("ge", "lt"))
    assert (none.status, none.found_items[0].value) == ("PASS", "0")


@pytest.mark.parametrize(
    "more",
    [
        "  take: last\n  quantifier: each\n",
        "  count: {op: le, value: 1}\n  quantifier: each\n",
        "  mode: forbid\n  count: {op: le, value: 1}\n",
        "  take: last\n  count: {op: le, value: 1}\n",
        "  count: {op: in, value: 1}\n",
        "  count: {op: le, value: -1}\n",
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, more: str) -> None:
    with pytest.raises(InputError, match=r"take|count"):
        judge(tmp_path, BAD, more=more)


def test_an_item_is_not_asked_without_its_kind_of_file_unless_it_is_the_only_one(
    tmp_path: Path,
) -> None:
    second = "items:\n- {id: '2.2', name: Loaded, select: layer.loaded, only_with: log}\n"
    loaded = checker(tmp_path, "layers", changes={"items:\n": second})
    verdict = run(loaded, tmp_path, {"a.rpt": "met1 0\n"}, inputs=["a.rpt"])
    assert verdict.status == "PASS"
    assert [one.message for one in verdict.warnings] == [
        "2.2 Loaded was not asked: no log was given"
    ]
    loaded = checker(tmp_path, "layers", changes={"  quantifier": "  only_with: log\n  quantifier"})
    assert run(loaded, tmp_path, {"a.rpt": "met1 17\n"}, inputs=["a.rpt"]).status == "FAIL"
