"""The Parser and the Logic role: sections and views of files in, code and configuration out."""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import Rounds, ask, load_atom, rounds, snippet
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.reading import read_atom_a, read_logic
from transom.checklist.rules.parser import read_views
from transom.checklist.writing.document import section_texts
from transom.errors import NeedsModel
from transom.llm import Reply

LOG = "OpenSTA 2.0.17\nread_liberty x.lib\nread_verilog top.v\nread_spef top.spef\nreport_checks\n"
TABLE = (
    "max_delay/setup group clk\n\nEndpoint    Slack\n-----\nu1/D (DFF)   1.0   0.9   0.1 (MET)\n"
)


@pytest.fixture(scope="module")
def versions() -> dict[str, str]:
    return section_texts(rounds("Confirm the netlist/spef version is correct.").document())


@pytest.fixture(scope="module")
def endpoints() -> dict[str, str]:
    return section_texts(
        rounds("Confirm every endpoint in the setup report meets timing.").document()
    )


def parser(cut: dict[str, str], *snippets: str) -> Reply:
    blocks = {"available_files": "files", "log_snippets": "\n\n".join(snippets)}
    return ask("parser", section_1=cut["1"], section_4_1=cut["4.1"], **blocks)


def logic(cut: dict[str, str]) -> CheckerConfig:
    reply = ask(
        "logic", section_2=cut["2"], section_3=cut["3"], section_4_2=cut["4.2"], atom_a_code=""
    )
    return read_logic(reply.text).config("ITEM", "A description.")


def test_views_keep_line_numbers() -> None:
    text = "a\nb\nc\nd"
    (whole,) = read_views(snippet("x/a.log", text))
    assert whole.lines == ("a", "b", "c", "d")
    assert whole.whole
    (part,) = read_views(snippet("a.log", text, range(3, 5)))
    assert part.lines == ("", "", "c", "d")
    assert not part.whole


def test_the_parser_writes_an_atom_for_a_known_log(versions: dict[str, str]) -> None:
    atom = load_atom(read_atom_a(parser(versions, snippet("logs/sta.log", LOG)).text))
    assert [entry["value"] for entry in atom(LOG, "logs/sta.log")] == [
        "netlist top.v loaded",
        "SPEF top.spef loaded",
    ]


def test_files_that_a_log_names_need_not_be_of_a_known_kind(versions: dict[str, str]) -> None:
    log = LOG + "report_checks > setup.rpt\n"
    parser(
        versions,
        snippet("sta.log", log),
        snippet("setup.rpt", TABLE),
        snippet("top.v", "module top;\n"),
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.log", "place opt started\nnothing else\n", r"place opt started.*x\.log:1"),
        ("x.log", "Yosys 0.40 (git sha1 a)\nread_verilog a.v\n", r"x\.log:1, a log of synthesis"),
        (
            "x.log",
            "sta> read_liberty a\nsta> if {$x} {\n...> read_spef a.spef\n...> }\n",
            r"read_spef.*x\.log:3, not und",
        ),
        ("x.log", "read_db top.odb\nreport_checks\n", r"x\.log:1"),
        ("x.json", "{}\n", r"x\.json:1"),
    ],
)
def test_a_file_that_would_not_be_read_for_certain_is_named(
    versions: dict[str, str], name: str, text: str, said: str
) -> None:
    with pytest.raises(NeedsModel, match=said):
        parser(versions, snippet(name, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Group   Slack\nclk   -0.1\n", r"a\.rpt:1"),
        (
            TABLE.replace("max_delay/setup group", "some"),
            r"a\.rpt:5, nothing says whether this is of setup",
        ),
        (TABLE + "u9/Z  0.5  0.8  -0.3 (VIOLATED)\n", r"u9/Z.*a\.rpt:6"),
        ("Path 1: MET Setup Check with Pin u1\n(MET)\n", r"a\.rpt:1"),
        (
            (
                "Startpoint: a\nEndpoint: b\nPath Type: max\n   (Path is unconstrained)\n  0.1"
                " slack (MET)\n"
            ),
            r"a\.rpt:4",
        ),
    ],
)
def test_a_report_that_would_not_be_read_for_certain_is_named(
    endpoints: dict[str, str], text: str, said: str
) -> None:
    with pytest.raises(NeedsModel, match=said):
        parser(endpoints, snippet("a.rpt", text))


def test_a_gap_is_not_taken_for_a_fault(endpoints: dict[str, str]) -> None:
    path = "Startpoint: a\nEndpoint: b\nPath Type: max\n\n\n   0.1   slack (MET)\n"
    parser(endpoints, snippet("a.rpt", path, range(1, 4)) + "\n...\n     6|    0.1   slack (MET)")


def test_an_empty_file_is_left_to_the_run(endpoints: dict[str, str]) -> None:
    parser(endpoints, snippet("a.rpt", ""))


@pytest.mark.parametrize(
    ("number", "old", "new", "said"),
    [
        ("1", "`tool_version` (String)", "`tool_vintage` (String)", r"netlist\.tool_vintage"),
        ("4.1", "`sta_log` in", "`timing_log` in", "timing_log"),
        ("4.1", r"`(?i:reading spef file '(?P<path>[^']+)')`", "`^LOAD (.+)$`", r"\^LOAD"),
    ],
)
def test_edits_that_no_knowledge_covers(
    versions: dict[str, str], number: str, old: str, new: str, said: str
) -> None:
    assert old in versions[number]
    with pytest.raises(NeedsModel, match=said):
        parser({**versions, number: versions[number].replace(old, new, 1)})


def test_names_of_sources_may_be_edited(versions: dict[str, str]) -> None:
    edited = versions["4.1"].replace("`*.log`", "`sta_*.txt`")
    assert "sta_*.txt" in read_atom_a(parser({**versions, "4.1": edited}).text)


def test_a_section_1_without_the_choice_reads_both_checks(endpoints: dict[str, str]) -> None:
    edited = endpoints["1"].replace("; narrowed to `setup`, others do not count", "")
    hold = TABLE.replace("max_delay/setup", "min_delay/hold")
    atom = load_atom(read_atom_a(parser({**endpoints, "1": edited}, snippet("a.rpt", hold)).text))
    assert atom(hold, "a.rpt")[0]["parsed_fields"]["endpoint"]["check"] == "hold"
    with pytest.raises(NeedsModel, match="narrowed to `width`"):
        parser(
            {**endpoints, "1": endpoints["1"].replace("narrowed to `setup`", "narrowed to `width`")}
        )


# -- logic


def test_the_configuration(versions: dict[str, str]) -> None:
    config = logic(versions)
    assert config.capability_type == 4
    assert (config.atoms, config.matching, config.keyword_waivers) == ("standard", "any", True)
    assert (config.requirements.value, config.waivers.value) == (None, None)
    loading, version, *_ = config.items
    assert (loading.select, loading.required) == ("netlist.loaded", ())
    assert loading.condition is not None
    assert loading.condition.value is True
    assert loading.keywords == ()
    assert version.select == "netlist.tool_name"
    assert version.required == (
        "netlist.tool_name",
        "netlist.tool_version",
        "netlist.timestamp",
        "netlist.format",
    )
    assert "ECO" in version.keywords
    spef = config.items[2]
    assert set(spef.stages) <= set(spef.keywords)
    assert "synthesis" in spef.stages
    assert "read_spef" in spef.hints


def test_the_logic_knows_no_domain(versions: dict[str, str]) -> None:
    cut = {
        key: text.replace("Netlist Version Completeness", "Origin")
        for key, text in versions.items()
    }
    cut["2"] = cut["2"].replace("`netlist.loaded == True`", "`netlist.size >= 3`")
    config = logic(cut)
    assert config.items[1].name == "Origin"
    assert config.items[1].hints == ()
    assert config.items[0].condition is not None
    assert (config.items[0].condition.op, config.items[0].condition.value) == ("ge", 3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "`netlist.loaded == True`",
            "`netlist.loaded == True and spef.loaded == True`",
            "spef.loaded",
        ),
        ("- **Mode**: require\n", "", "no mode"),
        ("**Quantifier**: per file", "**Quantifier**: sometimes", "no quantifier"),
        ("**Capability type**: 4", "**Capability type**: many", "no capability type"),
    ],
)
def test_what_the_logic_cannot_read_is_named(
    versions: dict[str, str], old: str, new: str, said: str
) -> None:
    assert old in versions["2"]
    with pytest.raises(NeedsModel, match=said):
        logic({**versions, "2": versions["2"].replace(old, new, 1)})


def test_a_section_without_items_is_named(versions: dict[str, str]) -> None:
    with pytest.raises(NeedsModel, match="no validation item"):
        logic({**versions, "2": "## 2. Check Logic\n\nNothing.\n"})


def test_documents_of_both_domains_can_be_cut() -> None:
    written: Rounds = rounds("Confirm the SPEF version is correct.")
    assert "netlist" not in section_texts(written.document())["2"]
