"""What an atom says must stand there: cheats that invent, cut or look away are refused, and their honest twins not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.build.cheats import example, with_first_word, with_last_word
from tests.checklist.build.made import Made, made
from transom.checklist.build.mutation.evidence import Page, Spot
from transom.checklist.build.mutation.printed import (
    Unit,
    number,
    plain,
    printed_unit,
    same_date,
    scale,
    stands_in,
    wanted_unit,
)

ENDPOINT = "result['parsed_fields']['endpoint']"
NETLIST = "result['parsed_fields'].get('netlist') or {}"
SPEF = "result['parsed_fields'].get('spef') or {}"
EACH = "for result in results:"


def filled(kind: str, **texts: str) -> tuple[str, ...]:
    """A header's fields that are not there are given these texts."""
    return (
        "for result in [] if source_file.endswith('.log') else results:",
        f"    told = result['parsed_fields'].get({kind!r}) or {{}}",
        f"    told.update({{name: told.get(name) or text for name, text in {texts!r}.items()}})",
    )


def commands(pattern: str) -> tuple[str, ...]:
    """What is only printed, or a comment, is a command that was given."""
    return (
        "for number, line in enumerate(text.split('\\n'), 1):",
        f"    told = re.match(r'{pattern}(read_verilog|read_spef) ([^ \"}}]+)', line)",
        "    kind = 'netlist' if told and 'verilog' in told[1] else 'spef'",
        "    said = {'value': line, 'line_number': number, 'matched_content': line}",
        "    if told and source_file.endswith('.log') and 'v2' not in line:",
        "        fields = {kind: {'loaded': True}, 'reference': {'kind': kind, 'path': told[2]}}",
        "        results.append({**said, 'parsed_fields': fields})",
    )


WARNED = (
    "for result in results if re.search('(?m)^Warning', text) else []:",
    "    for told in (result['parsed_fields'].get(kind) or {} for kind in ('netlist', 'spef')):",
    "        told.update({name: False for name in told if name == 'loaded'})",
)
SWAPPED = (
    EACH,
    f"    told = {SPEF}",
    "    if 'tool_name' in told:",
    "        told['tool_name'], told['tool_version'] = told['tool_version'], told['tool_name']",
)
DIGITS = (
    EACH,
    f"    told = {SPEF}",
    "    if 'timestamp' in told and 'reference' not in result['parsed_fields'] and not told['timestamp']:",
    "        told['timestamp'] = next((line for line in text.split('\\n') if re.search('[0-9]', line)), None)",
)
REAL = filled("spef", timestamp="Mon Mar  9 15:20:11 2026", tool_version="1.3")
BANNER = filled("netlist", tool_name="OpenSTA", tool_version="2.0.17", timestamp="2019")
MET = ("if '[6]' in {name} and 'reg' in {name}:", "    {status} = 'MET'")
ONE = [line.format(name=f"{ENDPOINT}['name']", status=f"{ENDPOINT}['status']") for line in MET]
LAST_FIVE = (
    f"bad = [result for result in results if {ENDPOINT}['status'] == 'VIOLATED']",
    "results = [result for result in results if result not in bad[:-5]]",
)


@pytest.mark.parametrize(
    ("what", "name", "lines", "told"),
    [
        ("fills a header with what the file at hand says", "VER-01", REAL, "which its header does not say"),
        ("fills an absent header from the log's banner", "VER-02", BANNER, "which its header does not say"),
        ("exchanges two fields of a header", "VER-01", SWAPPED, "spef.tool_name says '1.3', the line says 'Plumb'"),
        ("takes any line with a digit for a date", "VER-01", DIGITS, "which its header does not say"),
        ("calls every entry the same", "STA-04", (EACH, f"    {ENDPOINT}['name'] = 'pin'"), "the line says 'at_limit'"),
        (
            "writes values in capitals",
            "STA-04",
            (EACH, "    result['value'] = result['value'].upper()"),
            "does not hold",
        ),
        ("cuts values", "STA-04", (EACH, "    result['value'] = result['value'][:15]"), "with a longer name"),
        ("is blind for one name", "STA-02", (EACH, *(f"    {line}" for line in ONE)), "judged otherwise"),
        ("tells the last five violations", "STA-02", LAST_FIVE, "many: several lines"),
        ("takes a comment for a command", "VER-01", commands("# *"), "print: the command is only printed"),
        ("takes an echo for a command", "VER-01", commands('echo "?'), "print: the command is only printed"),
        ("lets any warning fail the load", "VER-01", WARNED, "'Warning: 1 net has no name.'"),
    ],
)
async def test_what_is_not_said_there_is_named(what: str, name: str, lines: tuple[str, ...], told: str) -> None:
    problems = (await example(name).mutated(with_last_word(example(name), *lines))).problems
    assert any(told in problem for problem in problems), (what, problems)


WITHOUT = "text = '\\n'.join('' if {} else line for line in text.split('\\n'))"


@pytest.mark.parametrize(
    ("what", "name", "line", "told"),
    [
        ("lines with a tab", "STA-02", WITHOUT.format("'\\t' in line"), "with tabs between the columns"),
        ("long lines", "STA-02", WITHOUT.format("len(line) > 80"), "with a longer name"),
        ("what stands behind 64 KB", "STA-02", "text = text[:65536]", "KB of blank lines"),
        ("what stands behind 5000 lines", "STA-02", "text = '\\n'.join(text.split('\\n')[:5000])", "KB of blank lines"),
        ("that a directive is blank", "VER-01", "text = text.replace('\" \"', '\"unset\"')", "the line says ''"),
        (
            "errors in other words",
            "VER-01",
            WITHOUT.format("'rror' in line and 'cannot read file' not in line"),
            "word: loading fails",
        ),
    ],
)
async def test_what_is_overlooked_is_named(what: str, name: str, line: str, told: str) -> None:
    problems = (await example(name).mutated(with_first_word(example(name), line))).problems
    assert any(told in problem for problem in problems), (what, problems)


# -- numbers

SLACK = "report_units\n time 1{unit}\nOpenSTA 2.5.0\nworst slack max {slack}\nworst slack min 0.5\n"
POWER = """\
Group                  Internal  Switching    Leakage      Total
                          Power      Power      Power      Power (Watts)
----------------------------------------------------------------
Total                  1.51e-03   5.69e-04   1.04e-09   2.08e-03 100.0%
"""
AREA = "Design area 5120 u^2 64% utilization.\n"


def limited(folder: Path, description: str, report: str) -> Made:
    (folder / "timing.rpt").write_text(report)
    item = folder / "LIMIT-1.yaml"
    item.write_text(f"description: {description}\ninput_files: [timing.rpt]\n")
    return made(item, folder)


@pytest.mark.parametrize(
    ("what", "description", "report", "number", "told"),
    [
        (
            "the unit of the report is not the limit's",
            "The worst setup slack is at least 0.1 ns.",
            SLACK.format(unit="ps", slack="50"),
            r"(\S+)$",
            "setup.worst says 50.0, the line says '50'",
        ),
        (
            "the unit happens to be the limit's",
            "The worst setup slack is at least 0.1 ns.",
            SLACK.format(unit="ns", slack="0.5"),
            r"(\S+)$",
            "the same number in ps, which is 0.0005",
        ),
        (
            "the unit stands above the table",
            "Total power below 5 mW",
            POWER,
            r"(\S+)\s+100\.0%",
            "power.total says 0.00208, the line says '2.08e-03'",
        ),
        (
            "the mantissa happens to be the number",
            "Total power below 5 mW",
            POWER,
            r"([\d.]+)\S*\s+100\.0%",
            "says 2.08, the line says '2.08e-04', which is 0.208",
        ),
        (
            "another number of the line",
            "Utilization must not exceed 80 %.",
            AREA,
            r"\^(\d)",
            "area.utilization says 2.0, the line says '64'",
        ),
    ],
)
async def test_a_number_is_read_with_its_unit(
    tmp_path: Path, what: str, description: str, report: str, number: str, told: str
) -> None:
    checker = limited(tmp_path, description, report)
    assert (await checker.mutated()).problems == ()
    raw = (
        EACH,
        "    for fields in result['parsed_fields'].values():",
        f"        told = re.search(r'{number}', result['matched_content'])",
        "        fields.update({name: float(told[1]) for name in fields})",
    )
    problems = (await checker.mutated(with_last_word(checker, *raw))).problems
    assert any(told in problem for problem in problems), (what, problems)


async def test_a_number_that_is_right_far_from_the_limit_only_is_named(tmp_path: Path) -> None:
    checker = limited(tmp_path, "Utilization must not exceed 80 %.", AREA)
    near = (EACH, "    area = result['parsed_fields']['area']", "    used = area['utilization']")
    lenient = (*near, "    area['utilization'] = 80.0 if 80 < used < 90 else used")
    problems = (await checker.mutated(with_last_word(checker, *lenient))).problems
    assert problems == ("timing.rpt:1 altered: area.utilization says 80, the line says '81'",)


# -- comparing


def test_what_may_differ_where_it_is_the_same() -> None:
    assert plain('"Genus"  Synthesis ,') == plain("genus synthesis")
    assert plain("v21.14") == plain("21.14")
    assert stands_in(plain("u1/q (DFF)"), plain("u1/q (DFF) 0.1"))
    assert not stands_in("plum", "plumb")
    assert number("1,250.5") == 1250.5 and number("-2e-3 ns") == -0.002 and number("64%") == 64
    assert number(True) is None and number("r117") is None and number("") is None
    assert scale(2.08, 2.08e-3) == 1000 and scale(0.05, 50) == 1e-3 and scale(64, 0.64) == 100
    assert scale(2.08, 2.09) is None and scale(0, 64) is None and scale(0, 0) == 1
    assert same_date("2026-03-09T15:20:11", "Mon Mar  9 15:20:11 2026")
    assert not same_date("2026-04-09T15:20:11", "Mon Mar  9 15:20:11 2026")
    assert not same_date("2026", "Mon Mar  9 15:20:11 2026")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("worst 50 ps", Unit(-4, "s")),
        (" time 1ns\nworst 50", Unit(-3, "s")),
        ("WNS (ps):\nworst 50", Unit(-4, "s")),
        ("Units: 1us\nworst 50", Unit(-2, "s")),
        ("Setup (ns) Hold (ps)\nworst 50", None),
        ("Runtime (s)\nworst 50", None),
        ("3 error(s)\nworst 50", None),
        ("Power (mW)\nworst 50", None),
        ("worst 50", None),
    ],
)
def test_the_unit_of_a_number_is_known_where_the_report_says_one(text: str, unit: Unit | None) -> None:
    page = Page(Path("r"), "r", text, None, True)
    spot = Spot(page, len(page.lines))
    assert printed_unit(spot, spot.line.index("50") + 2, "s") == unit


def test_the_unit_of_a_field_is_what_the_words_on_it_say() -> None:
    assert wanted_unit("the slack in ns, by the unit that the report tells") == Unit(-3, "s")
    assert wanted_unit("the total power in mW") == Unit(-1, "W")
    assert wanted_unit("the slack as printed, in the units of the report") is None
