"""The reader of reports: sections anywhere in a file, shapes of lines, encodings, and long logs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from transom.errors import InputError
from transom.formats.reports import FileReading, read_report, read_report_text, shipped_formats
from transom.formats.reports.format_rules import (
    RESERVED_GROUPS,
    CompiledFormat,
    compile_format,
    loosen,
)
from transom.formats.reports.loading import SHIPPED, load_format, load_formats
from transom.formats.reports.report_format import ReportFormat

EXAMPLES: dict[str, Any] = {"good": [{"text": "x"}], "bad": [{"text": "x"}]}


def own_format(name: str = "own.table", **keys: Any) -> CompiledFormat:
    """Return a format with these keys."""
    data = {
        "schema": "transom.report_format/1",
        "name": name,
        "tool": "Own",
        "title": "Own report",
        "seen": "tool",
        "examples": EXAMPLES,
        **keys,
    }
    return compile_format(ReportFormat.model_validate(data))


TABLE: dict[str, Any] = {
    "begins": ["^Cells of the day$"],
    "ends": ["^Sum: "],
    "rows": [{"pattern": r"^(?P<object>\w+) = (?P<value>\S+)$", "name": "cell_count"}],
    "explained": [r"^Sum: \d+$"],
}
LOG: dict[str, Any] = {
    "is_log": True,
    "begins": ["^Own tool \\d"],
    "ends": ["^Bye$"],
    "topic": ["weight"],
    "rows": [{"pattern": r"^weight (?P<value>\S+)$", "name": "weight"}],
    "explained": [r"^step \d+$", "^Bye$"],
}


def read(text: str, *formats: CompiledFormat) -> FileReading:
    return read_report_text(text, formats)


def unexplained(reading: FileReading) -> list[tuple[str, str]]:
    return [(shape.reason, shape.text) for shape in reading.unexplained]


def test_a_report_is_found_in_the_middle_of_a_log() -> None:
    noise = "".join(f"step {number}\n" for number in range(5_000))
    text = f"Own tool 2\n{noise}Cells of the day\nnand = 7\nSum: 7\n{noise}weight 3\nBye\n"
    reading = read(text, own_format(**TABLE), own_format("own.log", **LOG))
    assert reading.formats == ["own.log"]
    log, table = reading.sections
    assert (table.inside, table.first_line, table.last_line) == ("own.log", 5_002, 5_004)
    assert [fact.value for fact in table.measurements] == ["7"]
    assert [fact.line for fact in log.measurements] == [10_005]
    assert (log.completeness, table.completeness) == ("complete", "complete")
    assert reading.unexplained == []


def test_around_a_closed_report_each_line_counts() -> None:
    text = "Quiet morning\nCells of the day\nnand = 7\nSum: 7\nQuiet evening\n"
    reading = read(text, own_format(**TABLE))
    assert unexplained(reading) == [("unknown", "Quiet morning"), ("unknown", "Quiet evening")]


def test_in_a_log_unknown_lines_count_only_behind_its_end_or_about_the_matter() -> None:
    text = "Own tool 2\nlunch\nthe weight of it\nBye\nlunch again\n"
    reading = read(text, own_format("own.log", **LOG))
    assert unexplained(reading) == [("topic", "the weight of it"), ("unknown", "lunch again")]


def test_a_second_log_in_one_file_is_a_section_of_its_own() -> None:
    text = "Own tool 2\nweight 1\nBye\nOwn tool 3\nweight 2\n"
    reading = read(text, own_format("own.log", **LOG))
    states = [(section.first_line, section.completeness) for section in reading.sections]
    assert states == [(1, "complete"), (4, "cut")]


def test_formats_that_begin_alike_are_told_apart_by_what_follows() -> None:
    first = own_format("own.first", begins=["^Report$"], confirmed_by=["^of cells$"])
    second = own_format("own.second", begins=["^Report$"], confirmed_by=["^of nets$"])
    assert read("Report\n\nof nets\n", first, second).formats == ["own.second"]
    assert read("Report\n\nof pins\n", first, second).formats == []


def test_a_section_that_two_formats_claim_is_ambiguous() -> None:
    first = own_format("own.first", begins=["^Report$"])
    second = own_format("own.second", begins=["^Report"])
    reading = read("Report\n", first, second)
    assert reading.ambiguous == {1: ("own.first", "own.second")}
    assert reading.sections == []


def test_a_digit_of_a_rule_means_that_digit() -> None:
    counted = own_format(
        begins=["^Report$"],
        ends=["^1$"],
        rows=[{"pattern": "^level 3: (?P<value>\\d+)$", "name": "level"}],
        explained=["^level [0-4]: \\d+$"],
    )
    reading = read("Report\nlevel 2: 5\nlevel 3: 6\nlevel 7: 8\n0\n", counted)
    assert [fact.value for fact in reading.measurements] == ["6"]
    assert unexplained(reading) == [("unknown", "level 7: 8"), ("unknown", "0")]
    assert reading.sections[0].completeness == "cut"
    assert read("Report\nlevel 2: 5\n1\n", counted).sections[0].completeness == "complete"


@pytest.mark.parametrize(
    ("pattern", "loose"),
    [
        ("^1$", r"^\d$"),
        (r"a{2,3}\d[0-4x]", r"a{2,3}\d[\dx]"),
        (r"(?P<part1>a)(?P=part1)\1", r"(?P<part1>a)(?P=part1)\1"),
        ("[^0-9a]", r"[^\da]"),
        ("[]1]", r"[]\d]"),
        ("(?!x)2", r"(?!x)\d"),
    ],
)
def test_a_loose_pattern_has_any_digit_for_a_digit(pattern: str, loose: str) -> None:
    assert loosen(pattern) == loose


@pytest.mark.parametrize("pattern", ["(?!1)x", "(?<!a0)x", "[^1]"])
def test_a_pattern_that_excludes_one_digit_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="may hold no"):
        loosen(pattern)


def test_a_zero_count_does_not_hide_a_later_count() -> None:
    log = own_format("own.log", **{**LOG, "explained": ["^step .*seconds$"]})
    text = "Own tool 2\nsummary: 0 errors\nsummary: 0 errors\nsummary: 4 errors\nBye\n"
    reading = read(text, log)
    assert [shape.lines for shape in reading.unexplained if shape.reason == "trouble"] == [[4]]


def test_free_text_of_a_row_is_searched_and_its_fixed_words_are_not() -> None:
    log = own_format(
        "own.log",
        is_log=True,
        begins=["^Own tool"],
        rows=[{"pattern": "^No error limit: (?P<free>.+)$", "name": "message"}],
    )
    text = "Own tool\nNo error limit: all is well\nNo error limit: output truncated\n"
    assert unexplained(read(text, log)) == [("trouble", "No error limit: output truncated")]


def test_a_value_that_is_no_number_is_listed_but_a_placeholder_is_remembered() -> None:
    text = "Own tool 2\nweight INF\nweight heavy\nBye\n"
    reading = read(text, own_format("own.log", **LOG))
    assert [fact.is_not_measured for fact in reading.measurements] == [True, False]
    assert unexplained(reading) == [("not_a_number", "weight heavy")]


def test_a_line_too_long_to_read_is_listed() -> None:
    text = f"Own tool 2\n{'lunch ' * 5_000}\nBye\n"
    assert [reason for reason, _ in unexplained(read(text, own_format("own.log", **LOG)))] == [
        "unknown"
    ]


def test_unexplained_lines_are_gathered_by_shape() -> None:
    lines = "".join(f"nand{n} = {n} at x/y{n}\n" for n in range(300))
    reading = read(f"Cells of the day\n{lines}Sum: 7\n", own_format(**TABLE))
    (shape,) = reading.unexplained
    assert (shape.count, shape.lines[:2], len(shape.lines)) == (300, [2, 3], 50)


def test_every_encoding_gives_the_same_facts(tmp_path: Path) -> None:
    text = "Own tool 2\nmeasured at 25 °C\nweight 4\nBye\n"
    forms = {
        "plain": text.encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "mark": text.encode("utf-8-sig"),
        "utf16": text.encode("utf-16"),
        "latin1": text.encode("latin-1"),
        "gzip": gzip.compress(text.encode()),
        "blanks": text.replace("\n", "  \n").encode(),
        "no last line end": text.removesuffix("\n").encode(),
    }
    for name, data in forms.items():
        path = tmp_path / name
        path.write_bytes(data)
        reading = read_report(path, [own_format("own.log", **LOG)])
        (section,) = reading.sections
        assert [(fact.line, fact.value) for fact in section.measurements] == [(3, "4")], name
        assert section.completeness == "complete", name
        assert reading.unexplained == [], name
        assert reading.facts is not None
        assert reading.facts.lines == 4, name


def test_the_facts_of_a_file_do_not_depend_on_where_its_pieces_end(tmp_path: Path) -> None:
    line = "step 12345678901234567890123456789012345678901234567890\n"
    path = tmp_path / "long.log"
    path.write_text(f"Own tool 2\n{line * 60_000}weight 4\nBye\n", encoding="utf-8")
    reading = read_report(path, [own_format("own.log", **LOG)])
    assert [fact.line for fact in reading.measurements] == [60_002]
    assert reading.sections[0].completed_at == 60_003


def test_a_mistake_in_a_format_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "schema: transom.report_format/1\nname: own.table\ntool: Own\ntitle: Own\nseen: tool\n"
        "begins: ['^(']\nexamples: {good: [{text: x}], bad: [{text: x}]}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"own\.yaml:6.*not a regular expression"):
        load_format(path)


def test_a_site_replaces_a_shipped_format_by_a_file_of_the_same_name(tmp_path: Path) -> None:
    shipped = shipped_formats()[0].name
    (tmp_path / f"{shipped}.yaml").write_text(
        f"schema: transom.report_format/1\nname: {shipped}\ntool: Site\ntitle: Site\nseen: file\n"
        "begins: ['^Site$']\nexamples: {good: [{text: x}], bad: [{text: x}]}\n",
        encoding="utf-8",
    )

    formats = {each.name: each for each in load_formats([SHIPPED, tmp_path])}
    assert formats[shipped].model.tool == "Site"


TREE: dict[str, Any] = {
    "begins": ["^xml shelf$"],
    "ends": ["^/xml shelf$"],
    "rows": [{"pattern": r"^shelf/book/@pages = (?P<value>\S+)$", "name": "pages"}],
    "explained": ["^shelf/book =$"],
}


def test_an_xml_report_is_read_by_its_elements_with_their_lines() -> None:
    text = '<?xml version="1.0"?>\n<shelf>\n <book pages="7"/>\n</shelf>\n'
    reading = read(text, own_format("own.shelf", **TREE))
    assert [(fact.value, fact.line) for fact in reading.measurements] == [("7", 3)]
    assert reading.unexplained == []
    assert reading.sections[0].completeness == "complete"


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ('<shelf>\nKilled\n<book pages="7"/></shelf>', "text in shelf: Killed"),
        ('<shelf><book pages="7"/><stain/></shelf>', "shelf/stain ="),
        ("<shelf><!-- torn --></shelf>", "comment: torn"),
        ("<shelf></shelf>\nKilled\n", "text behind the document"),
        ('<shelf><book pages="7"/>', "not well-formed XML: no element found: line 1, column 24"),
        (
            '<!DOCTYPE shelf [<!ENTITY a "b">]><shelf>&a;</shelf>',
            "not well-formed XML: declares the entity a",
        ),
    ],
)
def test_what_an_xml_report_does_not_have_is_listed(text: str, listed: str) -> None:
    reading = read(text, own_format("own.shelf", **TREE))
    texts = [shape.text for shape in reading.unexplained]
    assert listed in texts or not reading.sections
    if not listed.startswith("not well-formed XML: declares"):
        assert listed in texts


def test_a_json_report_is_read_by_its_keys_with_their_lines() -> None:
    own = own_format(
        "own.numbers",
        begins=["^json$"],
        confirmed_by=["^shelf/"],
        ends=["^/json$"],
        rows=[{"pattern": r"^shelf/(?P<object>\w+) = (?P<value>\S+)$", "name": "pages"}],
        explained=["^json$"],
    )
    reading = read('{\n "shelf": {\n  "a": 7,\n  "b": "N/A"\n }\n}\n', own)
    assert [(fact.line, fact.is_not_measured) for fact in reading.measurements] == [
        (3, False),
        (4, True),
    ]
    assert reading.sections[0].completeness == "complete"
    assert read('{"lamp": 1}', own).sections == []


def test_a_log_that_begins_with_a_bracket_is_read_as_lines() -> None:
    assert read("<CMD> start\nOwn tool 2\nweight 4\nBye\n", own_format("own.log", **LOG)).sections


def test_a_continued_command_is_one_line() -> None:
    text = (
        "create_clock \\\n  -name fast \\\n  [get_ports clk]\nset_false_path -from a \\\n -to b\n"
    )
    reading = read_report_text(text, shipped_formats())
    clocks = [(fact.text, fact.line) for fact in reading.measurements]
    assert clocks == [("fast", 3)]
    assert reading.unexplained == []


def test_what_precedes_a_report_is_known_by_its_format_and_trouble_still_counts() -> None:
    report = "Report : power\nDesign : blinker\nVersion: W-2024.09\nPower-specific unit information :\n1\n"
    known = "Loading db file '/libs/cells.db'\n"
    assert read_report_text(known + report, shipped_formats()).unexplained == []
    for line in ("A line of nobody\n", "Error: the library is broken\n"):
        reading = read_report_text(line + report, shipped_formats())
        assert [shape.text for shape in reading.unexplained] == [line.strip()]
    # The same line behind the report belongs to nothing.
    behind = read_report_text(report + known, shipped_formats())
    assert [shape.text for shape in behind.unexplained] == [known.strip()]


def test_only_a_log_at_its_end_begins_anew_with_a_line_that_it_explains() -> None:
    keys = {**LOG, "explained": ["^Own tool \\d", "^Bye$"]}
    text = "Own tool 1\nOwn tool 1\nweight 2\nBye\nOwn tool 1\nloading\nweight 3\n"
    reading = read(text, own_format("own.log", **keys, restarts=True))
    states = [(section.first_line, section.completeness) for section in reading.sections]
    assert states == [(1, "complete"), (5, "cut")]
    assert unexplained(reading) == []
    # A tool that prints the line again at its end begins nothing with it.
    assert len(read(text, own_format("own.log", **keys)).sections) == 1


def test_a_comment_of_an_echoed_script_tells_no_result_unless_it_names_a_fault() -> None:
    script = ["# do not verify scan ports, which are not in the RTL", "# 3 cells failed", "# Bye"]
    text = "\n".join(["Own tool 1", *script, "Bye", "# Don't look", "# ERROR"]) + "\n"
    reading = read(text, own_format("own.log", **LOG, remark="^#"))
    assert unexplained(reading) == [("trouble", "# 3 cells failed"), ("trouble", "# ERROR")]
    reading = read(text, own_format("own.log", **LOG))
    assert len(reading.unexplained) == 4


def test_a_log_that_echoes_constraints_goes_on_behind_them() -> None:
    text = (
        "                             Design Compiler(R)\n"
        "                     Version O-2018.06 for linux64 - May 21, 2018\n"
        "create_clock -name fast -period 2.0 [get_ports clk]\n"
        "Error: Cannot find the design. (LBR-0)\n"
        "Thank you...\n"
    )
    reading = read_report_text(text, shipped_formats())
    assert reading.formats == ["synopsys.session"]
    assert [section.completeness for section in reading.sections] == ["complete"]
    assert any(fact.is_trouble for fact in reading.measurements)


def test_the_shipped_formats_are_read_without_their_examples_and_nothing_else() -> None:
    for quick, whole in zip(shipped_formats(), load_formats([SHIPPED]), strict=True):
        left_out = {"examples"}
        assert quick.model.model_dump(exclude=left_out) == whole.model.model_dump(exclude=left_out)
        for rule in (*quick.rules, *quick.begins):
            groups = set(rule.exact.groupindex) - RESERVED_GROUPS
            # A group that becomes the value of a measurement is no scope.
            values = {measure.group for measure in rule.measures}
            assert groups - values == set(rule.scope_groups), rule.pattern


def test_lines_that_wait_for_a_confirmation_that_never_comes_keep_their_numbers() -> None:
    table = own_format(**TABLE)
    waiting = own_format("own.waiting", begins=["^Draft$"], confirmed_by=["^Confirmed$"])
    text = "Draft\nfirst stray line\nsecond stray line\n\nCells of the day\nnand = 7\nSum: 7\n"
    reading = read_report_text(text, [table, waiting])
    lines = {shape.text: shape.lines for shape in reading.unexplained}
    assert lines["first stray line"] == [2] and lines["second stray line"] == [3]
