"""The six combinations of requirements and waivers, the worked example's expected results, and
the types' details.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.judging.support import (
    DESIGN,
    NETLIST,
    SPEF,
    SYNTHESIS_LOG,
    checker,
    ids,
    own_warnings,
    run,
)
from transom.checklist.judging import artifact_bytes
from transom.errors import InputError

SYNTHESIS = {"sta.log": SYNTHESIS_LOG, "top.v": NETLIST}
NO_DATE = {**DESIGN, "top.v": NETLIST.replace(" on 2026-01-15", "")}

NONE = "requirements: {value: N/A, pattern_items: []}\nwaivers: {value: N/A, waive_items: []}\n"
GLOBAL = "waivers: {value: 0, waive_items: [Legacy design]}\n"
SPEF_SYNTHESIS = (
    "waivers: {value: 2, waive_items: [SPEF, synthesis], waive_reasons: [no layout, early]}\n"
)
FITS = "requirements: {value: 2, pattern_items: ['4.2', 'Extractor']}\n"
FITS_NOT = "requirements: {value: 2, pattern_items: ['9.9', 'Extractor']}\n"

# name, files, item, what is expected: status, type, found, missing, extra, waived (ids), unused
# (patterns)
Row = tuple[str, Mapping[str, str | bytes], str, dict[str, Any]]
ROWS: list[Row] = [
    (
        "neither, all there",
        DESIGN,
        NONE,
        {"type": 1, "status": "PASS", "found": ["2.1", "2.2", "2.3", "2.4"]},
    ),
    (
        "neither, no SPEF in synthesis",
        SYNTHESIS,
        NONE,
        {"type": 1, "status": "FAIL", "found": ["2.1", "2.2"], "missing": ["2.3", "2.4"]},
    ),
    (
        "global waiver",
        SYNTHESIS,
        GLOBAL,
        {"type": 4, "status": "PASS", "found": ["2.1", "2.2"], "waived": ["2.3", "2.4"]},
    ),
    (
        "global waiver, nothing to waive",
        DESIGN,
        GLOBAL,
        {"type": 4, "found": ["2.1", "2.2", "2.3", "2.4"]},
    ),
    (
        "selective waivers by keyword and stage",
        SYNTHESIS,
        SPEF_SYNTHESIS,
        {"type": 4, "found": ["2.1", "2.2"], "waived": ["2.3", "2.4"]},
    ),
    (
        "selective waivers, all passed: both unused",
        DESIGN,
        SPEF_SYNTHESIS,
        {"type": 4, "found": ["2.1", "2.2", "2.3", "2.4"], "unused": ["SPEF", "synthesis"]},
    ),
    (
        "partly waived",
        SYNTHESIS,
        "waivers: {value: 2, waive_items: ['2.3', ECO]}\n",
        {
            "type": 4,
            "status": "FAIL",
            "found": ["2.1", "2.2"],
            "missing": ["2.4"],
            "waived": ["2.3"],
            "unused": ["ECO"],
        },
    ),
    ("patterns that fit", DESIGN, FITS, {"type": 2, "found": ["2.1", "2.2", "2.3", "2.4"]}),
    (
        "missing and extra",
        DESIGN,
        FITS_NOT,
        {
            "type": 2,
            "status": "FAIL",
            "found": ["2.1", "2.3", "2.4"],
            "missing": ["2.2"],
            "extra": ["2.2"],
        },
    ),
    (
        "patterns and a global waiver",
        DESIGN,
        FITS_NOT + GLOBAL,
        {"type": 3, "found": ["2.1", "2.3", "2.4"], "waived": ["2.2", "2.2"]},
    ),
    (
        "patterns and selective waivers for both",
        DESIGN,
        FITS_NOT + "waivers: {value: 3, waive_items: ['9.9', 'Weaver*', nothing]}\n",
        {
            "type": 3,
            "found": ["2.1", "2.3", "2.4"],
            "waived": ["2.2", "2.2"],
            "unused": ["nothing"],
        },
    ),
    (
        "patterns, the missing one waived, the extra one not",
        DESIGN,
        FITS_NOT + "waivers: {value: 1, waive_items: ['9.9']}\n",
        {
            "type": 3,
            "status": "FAIL",
            "found": ["2.1", "2.3", "2.4"],
            "extra": ["2.2"],
            "waived": ["2.2"],
        },
    ),
    (
        "an item that matches a pattern but is incomplete is missing",
        NO_DATE,
        FITS,
        {"type": 2, "status": "FAIL", "found": ["2.1", "2.3", "2.4"], "missing": ["2.2"]},
    ),
    (
        "alternatives as a list keep regular expressions",
        DESIGN,
        (
            "requirements: {value: 2, pattern_items: [{any_of: ['regex:^Loom', 'regex:^Wea']},"
            " Extr]}\n"
        ),
        {"type": 2, "found": ["2.1", "2.2", "2.3", "2.4"]},
    ),
    (
        "a regular expression split at its bar is two literal texts",
        DESIGN,
        "requirements: {value: 2, pattern_items: ['regex:^(Loom|Weaver)', Extr]}\n",
        {
            "type": 2,
            "status": "FAIL",
            "found": ["2.1", "2.3", "2.4"],
            "missing": ["2.2"],
            "extra": ["2.2"],
        },
    ),
]


@pytest.mark.parametrize(
    ("files", "item", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_requirements_and_waivers(
    tmp_path: Path, files: Mapping[str, str | bytes], item: str, expected: dict[str, Any]
) -> None:
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, item=item)
    assert verdict.errors == ()
    assert {
        "type": verdict.checker_type,
        "status": verdict.status,
        "found": ids(verdict.found_items),
        "missing": ids(verdict.missing_items),
        "extra": ids(verdict.extra_items),
        "waived": ids(verdict.waived),
        "unused": [waiver.pattern for waiver in verdict.unused_waivers],
    } == {
        "status": "PASS",
        "found": [],
        "missing": [],
        "extra": [],
        "waived": [],
        "unused": [],
    } | expected
    assert verdict.capability_type == 4
    assert verdict.exit_code == (0 if verdict.status == "PASS" else 1)
    assert all(one.nearest is not None for one in verdict.missing_items)


def test_a_global_waiver_tags_what_it_moves_and_lists_its_comments_apart(tmp_path: Path) -> None:
    item = FITS_NOT + "waivers: {value: 0, waive_items: [Old], waive_reasons: [r]}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, DESIGN, item=item)
    assert {(one.tag, one.origin, one.severity, one.waiver.match) for one in verdict.waived} == {
        ("[WAIVED_AS_INFO]", "missing", "INFO", "global"),
        ("[WAIVED_AS_INFO]", "extra", "INFO", "global"),
    }
    assert [(c.tag, c.kind, c.text, c.reason) for c in verdict.waiver_comments] == [
        ("[WAIVED_INFO]", "comment", "Old", "r")
    ]
    assert verdict.unused_waivers == ()


def test_an_expired_global_waiver_does_not_apply(tmp_path: Path) -> None:
    item = "waivers: {value: 0, waive_items: [{pattern: Old, expires: 2026-06-29}]}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, SYNTHESIS, item=item)
    assert verdict.status == "FAIL"
    assert "expired 2026-06-29" in own_warnings(verdict)[-1].message
    assert (
        run(
            checker(tmp_path, "versions"), tmp_path, SYNTHESIS, item=item, as_of="2026-06-29"
        ).status
        == "PASS"
    )


def test_one_incomplete_spef_of_two_fails_and_is_named(tmp_path: Path) -> None:
    files = {
        "sta.log": "read_verilog top.v\nread_spef a_fast.spef\nread_spef a_slow.spef\n",
        "top.v": NETLIST,
        "a_fast.spef": SPEF,
        "a_slow.spef": SPEF.replace('*DATE "2026-01-16"\n', ""),
    }
    verdict = run(checker(tmp_path, "versions"), tmp_path, files)
    assert verdict.status == "FAIL"
    (missing,) = verdict.missing_items
    assert (missing.id, missing.source_file, missing.line_number) == ("2.4", "a_slow.spef", 3)
    assert missing.reason == "spef.date is empty"
    assert ids(verdict.found_items) == ["2.1", "2.2", "2.3", "2.3", "2.4"]


def test_a_waiver_for_one_file_leaves_the_other_files_alone(tmp_path: Path) -> None:
    bad = SPEF.replace('*DATE "2026-01-16"\n', "")
    files = {
        "sta.log": "read_verilog top.v\nread_spef s/a_fast.spef\nread_spef s/a_slow.spef\n",
        "top.v": NETLIST,
        "s/a_fast.spef": bad,
        "s/a_slow.spef": bad,
    }
    item = "waivers: {value: 1, waive_items: ['*_slow.spef']}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, item=item)
    assert [one.source_file for one in verdict.missing_items] == ["s/a_fast.spef"]
    (waived,) = verdict.waived
    assert (waived.waiver.match, waived.waiver.matched_text) == ("wildcard", "s/a_slow.spef")


def test_a_netlist_without_a_header_fails_with_the_nearest_line_and_why(tmp_path: Path) -> None:
    files = {**DESIGN, "top.v": "\n  module top;\nendmodule\n"}
    (missing,) = run(checker(tmp_path, "versions"), tmp_path, files).missing_items
    assert (missing.id, missing.source_file, missing.line_number) == ("2.2", "top.v", None)
    assert missing.parsed_fields == {
        "netlist": {"tool_version": None, "tool_name": None, "timestamp": None}
    }
    assert missing.nearest is not None
    assert (missing.nearest.source_file, missing.nearest.line_number) == ("top.v", 2)
    assert "no line of the file holds 'made by'" in missing.nearest.why_not

    files["top.v"] = "module top;\n/* Made by Weaver */\nendmodule\n"
    (missing,) = run(checker(tmp_path, "versions"), tmp_path, files).missing_items
    assert missing.nearest is not None
    assert missing.nearest.line_number == 2
    assert "it holds 'made by'" in missing.nearest.why_not


def test_each_endpoint_is_judged_and_the_flag_counts_not_the_slack(tmp_path: Path) -> None:
    report = (
        "Endpoint Slack\na/D (dff) 0.00 (VIOLATED)\nb[1] (out) 0.00 (MET)\nb[15] (out) -1.0"
        " (VIOLATED)\n"
    )
    loaded = checker(tmp_path, "endpoints")
    item = "waivers: {value: 2, waive_items: ['b[15]*', 'b[1]*']}\n"
    verdict = run(loaded, tmp_path, {"t.rpt": report}, inputs=["t.rpt"], item=item)
    assert [(one.value, one.line_number) for one in verdict.missing_items] == [
        ("a/D slack 0.00", 2)
    ]
    assert [one.line_number for one in verdict.found_items] == [3]
    assert [one.value for one in verdict.waived] == ["b[15] slack -1.0"]
    assert [(one.pattern, one.why) for one in verdict.unused_waivers] == [
        ("b[1]*", "nothing to waive: it fits 2.1 b[1] slack 0.00, which passed")
    ]


def test_a_report_without_endpoints_does_not_hide_behind_another(tmp_path: Path) -> None:
    files = {"a.rpt": "a/D (dff) 1.0 (MET)\n", "b.rpt": "Endpoint table is empty\n"}
    verdict = run(checker(tmp_path, "endpoints"), tmp_path, files, inputs=["a.rpt", "b.rpt"])
    assert verdict.status == "FAIL"
    (missing,) = verdict.missing_items
    assert missing.source_file == "b.rpt"
    assert missing.nearest is not None
    assert missing.nearest.content == "Endpoint table is empty"


FORBID = {
    "condition: {field: endpoint.status, op: equals, value: MET}": (
        "mode: forbid\n  check: pattern\n"
        "  condition: {field: endpoint.status, op: equals, value: VIOLATED}"
    )
}
TWO = {"t.rpt": "a/D (dff) -1.0 (VIOLATED)\nb/D (dff) 1.0 (MET)\nc/D (dff) -2.0 (VIOLATED)\n"}


def test_what_is_forbidden_is_missing_without_patterns_and_extra_with_them(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "endpoints", changes=FORBID)
    verdict = run(loaded, tmp_path, TWO, inputs=["t.rpt"])
    assert [one.line_number for one in verdict.missing_items] == [1, 3]
    assert verdict.missing_items[0].reason.startswith("must not appear")

    patterns = "requirements: {value: 2, pattern_items: [c/D, 'x*']}\n"
    verdict = run(loaded, tmp_path, TWO, inputs=["t.rpt"], item=patterns)
    assert (verdict.missing_items, [one.line_number for one in verdict.extra_items]) == ((), [3])

    verdict = run(
        loaded,
        tmp_path,
        TWO,
        inputs=["t.rpt"],
        item="requirements: {value: 1, pattern_items: ['x*']}\n",
    )
    assert (verdict.status, ids(verdict.found_items)) == ("PASS", ["2.1"])

    clean = {"t.rpt": "b/D (dff) 1.0 (MET)\n"}
    assert run(loaded, tmp_path, clean, inputs=["t.rpt"]).status == "PASS"


def test_a_forbidden_existence_item_is_extra_in_a_run_with_patterns(tmp_path: Path) -> None:
    changes = {
        '- id: "2.1"\n  name: Netlist Loading\n': (
            '- id: "2.1"\n  name: Netlist Loading\n  mode: forbid\n'
        ),
    }
    verdict = run(checker(tmp_path, "versions", changes=changes), tmp_path, DESIGN, item=FITS)
    assert (ids(verdict.missing_items), ids(verdict.extra_items)) == ([], ["2.1"])


def test_a_pattern_that_could_forbid_nothing_is_refused(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "endpoints", changes=FORBID)
    with pytest.raises(InputError, match="would forbid nothing"):
        run(
            loaded,
            tmp_path,
            TWO,
            inputs=["t.rpt"],
            item="requirements: {value: 1, pattern_items: ['regex:^(a|c)']}\n",
        )


def test_patterns_for_a_checker_that_compares_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="for 0 validation items that are compared with patterns"):
        run(checker(tmp_path, "endpoints"), tmp_path, TWO, inputs=["t.rpt"], item=FITS)


@pytest.mark.parametrize(
    ("matching", "patterns", "found", "missing", "extra"),
    [
        ("any", ["D"], 3, [], 0),
        ("any", ["a/D", "b/D", "c/D", "x/D"], 3, ["x/D"], 0),
        ("any", ["a/D"], 1, [], 2),
        ("one_to_one", ["D"], 1, [], 2),
        ("one_to_one", ["D", "D", "D"], 3, [], 0),
        ("one_to_one", ["a/D", "D", "D", "D"], 3, ["D"], 0),
    ],
)
def test_matching(
    tmp_path: Path, matching: str, patterns: list[str], found: int, missing: list[str], extra: int
) -> None:
    changes = {
        "capability_type: 4": f"capability_type: 3\nmatching: {matching}",
        "  condition: {field: endpoint.status, op: equals, value: MET}": "  check: pattern",
    }
    item = f"requirements: {{value: {len(patterns)}, pattern_items: {patterns}}}\n"
    verdict = run(
        checker(tmp_path, "endpoints", changes=changes), tmp_path, TWO, inputs=["t.rpt"], item=item
    )
    assert verdict.matching == matching
    assert len(verdict.found_items) == found
    assert [one.value for one in verdict.missing_items] == missing
    assert len(verdict.extra_items) == extra


def test_ordered_matching_binds_each_pattern_to_its_item(tmp_path: Path) -> None:
    loaded = checker(
        tmp_path,
        "versions",
        changes={"capability_type: 4": "capability_type: 3\nmatching: ordered"},
    )
    assert run(loaded, tmp_path, DESIGN, item=FITS).status == "PASS"
    swapped = "requirements: {value: 2, pattern_items: ['Extractor', '4.2']}\n"
    verdict = run(loaded, tmp_path, DESIGN, item=swapped)
    assert [(one.id, one.value) for one in verdict.missing_items] == [
        ("2.2", "Extractor"),
        ("2.4", "4.2"),
    ]
    assert ids(verdict.extra_items) == ["2.2", "2.4"]
    with pytest.raises(InputError, match="3 pattern_items for 2"):
        run(loaded, tmp_path, DESIGN, item="requirements: {value: 3, pattern_items: [a, b, c]}\n")
    one = run(loaded, tmp_path, DESIGN, item="requirements: {value: 1, pattern_items: ['4.2']}\n")
    assert (one.status, ids(one.found_items)) == ("PASS", ["2.1", "2.2", "2.3", "2.4"])


def test_a_missing_pattern_shows_what_comes_nearest(tmp_path: Path) -> None:
    item = "requirements: {value: 2, pattern_items: ['extractor', '4.2']}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, DESIGN, item=item)
    (missing,) = verdict.missing_items
    assert (missing.value, missing.source_file) == ("extractor", None)
    assert missing.nearest is not None
    assert (missing.nearest.source_file, missing.nearest.line_number) == ("top.spef", 4)
    assert "upper and lower case only" in missing.nearest.why_not


def test_a_silent_file_is_told_with_the_pattern_that_nothing_matched(tmp_path: Path) -> None:
    """A netlist without a header beside one pattern too many is one missing entry; without, it
    is still one.
    """
    files = {**DESIGN, "top.v": "module top;\n"}
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, item=FITS)
    assert [(one.value, one.source_file) for one in verdict.missing_items] == [("4.2", "top.v")]
    only = "requirements: {value: 1, pattern_items: ['Extractor']}\n"
    verdict = run(checker(tmp_path, "versions"), tmp_path, files, item=only)
    assert [(one.value, one.source_file) for one in verdict.missing_items] == [("", "top.v")]


def test_one_entry_is_enough_for_exists(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "endpoints", changes={"quantifier: each": "quantifier: exists"})
    verdict = run(loaded, tmp_path, TWO, inputs=["t.rpt"])
    assert (verdict.status, len(verdict.found_items)) == ("PASS", 1)
    bad = {"t.rpt": "a/D (dff) -1.0 (VIOLATED)\nc/D (dff) -2.0 (VIOLATED)\n"}
    (missing,) = run(loaded, tmp_path, bad, inputs=["t.rpt"]).missing_items
    assert missing.reason.startswith("none of 2 holds")


def test_the_item_counts_over_the_checkers_defaults_and_differences_are_told(
    tmp_path: Path,
) -> None:
    defaults = {"items:\n": "waivers: {value: 0, waive_items: [{pattern: inferred}]}\nitems:\n"}
    loaded = checker(tmp_path, "versions", changes=defaults)
    verdict = run(loaded, tmp_path, SYNTHESIS, item=NONE)
    assert (verdict.status, verdict.checker_type) == ("FAIL", 1)
    told = {(one.key, one.item, one.checker) for one in verdict.config_differences}
    assert ("waivers.value", "N/A", "0") in told
    assert ("waivers.waive_items", "[]", '["inferred"]') in told
    assert run(loaded, tmp_path, SYNTHESIS).checker_type == 4


def test_unused_waivers_fail_only_on_request(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "versions")
    item = "waivers: {value: 1, waive_items: [nothing]}\n"
    assert run(loaded, tmp_path, DESIGN, item=item).status == "PASS"
    assert run(loaded, tmp_path, DESIGN, item=item, fail_on_unused=True).status == "FAIL"


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "elsewhere/two"
    for folder in (one, two):
        folder.mkdir(parents=True)
    verdicts = [
        run(checker(folder, "versions"), folder, DESIGN, item=SPEF_SYNTHESIS)
        for folder in (one, two)
    ]
    assert artifact_bytes(verdicts[0]) == artifact_bytes(verdicts[1])
    assert str(tmp_path).encode() not in artifact_bytes(verdicts[0])
