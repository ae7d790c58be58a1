"""What stands in a window for a result that is too long for it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.context.streams import CODE, KINDS, LOG, PROSE, ROW
from tests.fuzzing import examples
from transom.context import TokenCorrection, WindowBudget
from transom.context.outline import kind_of, lines_of, outline
from transom.context.oversized import PURPOSE, SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import (
    STRUCK,
    SourceSummary,
    extract,
    seen_in,
    summarised,
    summary_room,
    without_unsupported,
)
from transom.context.tokens import Measure
from transom.errors import ToolRefused
from transom.evidence.facts import FactSource, facts_of
from transom.llm import (
    AssistantMessage,
    Block,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    UserMessage,
)
from transom.tools.schema import check_of, schema_text

PLAIN = TokenCorrection()
DOCUMENT = json.dumps(
    {
        "total": 3,
        "issues": [{"id": f"BUG-{n}", "tags": ["a", "b"]} for n in range(400)],
        "a/b": {"c~d": 1},
    }
)
PAGE = (
    "# Design\n\nIntro.\n\n## Limits\n\nAt most 480 endpoints.\n\n```\n# no heading\n```\n\n## Open"
    " points\n\nNone.\n" + PROSE * 40
)
REPORT = LOG * 400 + "2026-11-22T10:00:00 ERROR [X-1] it broke at u_core/u_mul\n"


def big(content: str, **more: object) -> Oversized:
    result = ToolResultPart("c1", "read", content, **more)  # type: ignore[arg-type]  # by name
    found = oversized(result, "artifact 1", "truncate", WindowBudget(total=20_000), PLAIN)
    assert found is not None
    return found


def test_a_result_may_take_a_share_of_the_window_and_never_more_than_a_limit() -> None:
    sizes = (10_000, 100_000, 1_000_000)
    assert [WindowBudget(total=total).result_tokens for total in sizes] == [1_500, 15_000, 25_000]
    budget = WindowBudget(total=10_000)
    fits, over = ToolResultPart("1", "t", "x" * 4_500), ToolResultPart("1", "t", "x" * 4_501)
    assert oversized(fits, "a", "truncate", budget, PLAIN) is None
    found = {
        strategy: oversized(over, "a", strategy, budget, PLAIN)
        for strategy in ("truncate", "memory")
    }
    assert [one.remedy for one in found.values() if one] == ["refer", "refer"]
    delegated = oversized(over, "a", "sub_conversation", budget, PLAIN)
    assert delegated is not None
    assert (delegated.remedy, delegated.tokens, delegated.limit) == ("delegate", 1_501, 1_500)
    learned = PLAIN.learned(Measure(1_000, 0), 1_000)
    assert oversized(fits, "a", "truncate", budget, learned) is not None, (
        "as the model counts, it does not fit"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\rover\n"])
def test_an_outline_names_the_lines_that_are_read(end: str) -> None:
    lines = [
        "# First",
        "",
        "x" * 9_000,
        "y" * 1_999,
        "z" * 2_000,
        "## Second",
        "text",
        "w" * 4_001,
        "# Third",
        "end",
    ]
    text = end.join(lines)
    for title in ("# First", "## Second", "# Third"):
        (entry,) = [one for one in outline(text, 5_000, PLAIN).splitlines() if title in one]
        number = int(entry.removeprefix("line ").partition(":")[0])
        read = read_slice(
            text, {"source": "x", "first_line": number, "last_line": number}, 5_000, PLAIN
        )
        assert read.splitlines()[1] == title


def test_a_reference_says_how_much_it_is_and_where_what_stands() -> None:
    told = big(PAGE * 12, egress="local").reference(PLAIN)
    assert told.egress == "local"
    assert told.trust == "untrusted"
    assert "kept whole as artifact 1" in told.content
    assert READ_SLICE.name in told.content
    assert "line 5: ## Limits" in told.content
    assert "no heading" not in told.content


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from([PROSE, ROW, LOG, CODE, PAGE, DOCUMENT, "x"]),
    st.integers(3_500, 60_000),
    st.integers(3_000, 20_000),
)
def test_a_reference_is_never_too_long_itself(kind: str, size: int, total: int) -> None:
    content = (kind * (size // len(kind) + 1))[:size]
    found = oversized(
        ToolResultPart("1", "t", content), "a", "truncate", WindowBudget(total=total), PLAIN
    )
    if found is not None:
        assert PLAIN.count(found.reference(PLAIN).content) <= found.limit


@pytest.mark.parametrize(
    ("text", "kind"), [(DOCUMENT, "json"), (PAGE, "markdown"), (REPORT, "log"), (PROSE, "text")]
)
def test_what_a_text_looks_like(text: str, kind: str) -> None:
    assert kind_of(text) == kind
    assert outline(text, 5_000, PLAIN).startswith(
        f"{kind}, {len(lines_of(text))} lines, {len(text)} characters\n"
    )


def test_outlines_lead_to_what_they_name() -> None:
    told = outline(DOCUMENT, 5_000, PLAIN)
    assert "/issues: list of 400, the first an object with id, tags" in told
    assert read_slice(DOCUMENT, {"pointer": "/issues/7/id"}, 100, PLAIN) == '"BUG-7"'
    assert "/a~1b: object with c~d" in told
    assert read_slice(DOCUMENT, {"pointer": "/a~1b/c~0d"}, 100, PLAIN) == "1"
    told = outline(REPORT, 5_000, PLAIN)
    assert "levels: ERROR 1, WARN 400" in told
    assert "line 401: 2026-11-22T10:00:00 ERROR [X-1] it broke at u_core/u_mul" in told
    assert "line 1: the timing report" in outline(PROSE, 5_000, PLAIN)
    assert "and " in outline(PROSE.replace(". ", ".\n\n") * 100, 5_000, PLAIN).splitlines()[-1]


def test_a_slice_says_what_it_is_and_how_to_go_on() -> None:
    assert read_slice("a\nb\nc", {}, 100, PLAIN) == "lines 1 to 3 of 3\na\nb\nc"
    assert (
        read_slice("a\nb\nc", {"first_line": 2, "last_line": 2}, 100, PLAIN)
        == "lines 2 to 2 of 3\nb"
    )
    assert read_slice("a\nb\nc", {"last_line": 9}, 100, PLAIN) == "lines 1 to 3 of 3\na\nb\nc"
    long = "\n".join(f"line {number}" for number in range(1, 101))
    first = read_slice(long, {"first_line": 10}, 30, PLAIN)
    assert (
        first.splitlines()[0]
        == "lines 10 to 19 of 100; there is no room for more, go on with first_line 20"
    )
    found = read_slice(long, {"find": "LINE 10"}, 100, PLAIN)
    assert found == "2 of 100 lines hold it\n10: line 10\n100: line 100"
    assert "there is room for the first" in read_slice(long, {"find": "line"}, 30, PLAIN)
    assert "it is too long to be shown whole" in read_slice(
        DOCUMENT, {"pointer": "/issues"}, 50, PLAIN
    )
    assert len(lines_of("x" * 5_000)) == 3, "an endless line can be read in parts"


@pytest.mark.parametrize(
    ("text", "arguments", "what"),
    [
        ("a", {"first_line": 2}, "no lines 2 to 1"),
        ("a\nb", {"first_line": 2, "last_line": 1}, "no lines 2 to 1"),
        ("a", {"find": "z"}, "no line of 1 holds 'z'"),
        ("a", {"pointer": "/x"}, "it is not JSON"),
        (DOCUMENT, {"pointer": "/issues/400"}, "nowhere at '400'; before it stands: list of 400"),
        (
            DOCUMENT,
            {"pointer": "/nothing"},
            "nowhere at 'nothing'; before it stands: object with total, issues",
        ),
        (DOCUMENT, {"pointer": "/total/x"}, "nowhere at 'x'; before it stands: 3"),
        (DOCUMENT, {"pointer": "/total", "find": "x"}, "cannot be asked for at once"),
    ],
)
def test_a_slice_that_is_not_there_is_refused_with_what_to_do(
    text: str, arguments: dict[str, str], what: str
) -> None:
    with pytest.raises(ToolRefused, match=what) as caught:
        read_slice(text, arguments, 100, PLAIN)
    assert caught.value.hint


@settings(max_examples=examples(50), deadline=None)
@given(st.text(alphabet="ab \n1", max_size=400), st.integers(1, 60))
def test_slices_one_after_another_are_the_whole(text: str, most: int) -> None:
    read: list[str] = []
    while len(read) < len(lines_of(text)):
        head, *lines = read_slice(text, {"first_line": len(read) + 1}, most, PLAIN).split("\n")
        assert lines
        read += lines
        assert ("go on with" in head) == (len(read) < len(lines_of(text)))
    assert "\n".join(read) == text


def test_the_tool_has_a_schema_that_vendors_take() -> None:
    assert (
        check_of(schema_text(READ_SLICE.parameters, READ_SLICE.name), READ_SLICE.name)(
            {"source": "x"}
        )
        == []
    )
    assert READ_SLICE.effect == "pure"


def test_numbers_and_ids_are_looked_up_in_the_source() -> None:
    source = FactSource(
        "BUG-12 has 1,234 hits; slack -0.0134 at u_core/u_alu[3]; 97.5 % of 12 ms, ratio 0.857142,"
        " v1.2.3."
    )
    said = (
        "BUG-12: 1234 hits, slack -0.0134, about -0.013, u_core/u_alu[3] 97.5% = 0.975, 12ms, 85.7"
        " %, v1.2.3 passed."
    )
    assert [fact.text for fact in facts_of(said) if not source.has(fact)] == []
    assert source.has(next(facts_of("-1.34e-02 V"))) and source.has(next(facts_of("1.23e+3hits")))
    assert not source.has(next(facts_of("-1.34e-03 V"))) and not source.has(
        next(facts_of("v1.2.3e-4"))
    )
    wrong = (
        "BUG-13, 1,235 hits, slack -0.0135, 0.0134, u_core/u_alu[4], 96 %, 13 ms, 85.8 %, v1.2.4, 7"
        " more"
    )
    assert [fact.text for fact in facts_of(wrong) if source.has(fact)] == []
    assert len(list(facts_of(wrong))) == 10
    assert list(facts_of("1. first and/or second, e.g. pass/fail\n2) then")) == []


@pytest.mark.parametrize(
    ("said", "source", "struck"),
    [
        ("mean 0.30000000000000004", "at 1700000000000 ms it was 0.3", True),
        ("mean 0.30000000000000004", "at 1700000000000 ms it was 0.3000000000000000412", False),
        ("1e9999999% of it", "all of it, 100 %", True),
        ("1e9999999% of it", "1e9999999% of 5", False),
        ("1e-99999999999999999999999 A", "5 A", True),
        (f"{'9' * 5_000} of them", f"{'9' * 5_000} came", False),
        (f"{'9' * 5_000} of them", f"{'9' * 4_999} came", True),
        (f"0.{'3' * 290} V", f"{'7' * 290}.25 V", True),
        ("1.5e30 A", "1.46e30 A of 1700000000000.5", False),
        ("1.5e-30 A, 2e-07s.", "1.46e-30 A of 1700000000000.5 in 0.0000002 s", False),
        ("1.5e-30 A", "1.56e-30 A", True),
        ("1.5e-30-2", "1.56e-30 A", True),
        ("1700000000000 ms", "1700000000000.4 ms", False),
        ("0.24 and 0.26", "0.235 and 0.265", False),  # from a half up, or to the even one
        ("0.25 and 0.23", "0.255 and 0.235", True),
        ("-0.24 and -0.26", "-0.235 and -0.265", False),  # below nothing as above
        ("-0.25", "-0.255", True),
        ("-0.23", "-0.235", True),
        ("-0.25", "-0.245", False),
    ],
    ids=range(19),
)
def test_numbers_of_any_length_and_size_are_looked_up(said: str, source: str, struck: bool) -> None:
    assert bool(without_unsupported(said, source)[1]) == struck


@pytest.mark.parametrize(
    ("said", "source", "struck"),
    [
        ("slack is 0.512, met", "slack -0.512 VIOLATED", ["0.512"]),
        ("slack is -0.512", "slack 0.512 MET", ["-0.512"]),
        (
            "it grew by +12.5 %, by 12.5%, by 0.125",
            "it fell: -12.5 %",
            ["+12.5 %", "12.5%", "0.125"],
        ),
        ("-12.5 %, -0.125, −12.5 %, –12.5 %, it fell by 12.5 %", "it fell: -12.5 %", []),
        ("+5, 5 and 5.0", "it is 5", []),
        ("5, -5", "it is +5", ["-5"]),
        ("-0.52 -0.53 -0.51 0.53", "it is -0.525", ["-0.51", "0.53"]),
        ("−7 of them", "it is 7", ["−7"]),
        ("about -0.5 to -0.51", "−0.5123", ["-0.5"]),  # two places and one digit of them
        # Words may tell the sign, in what is said and in the source.
        ("It violates setup by 0.512, by about 0.512", "slack -0.512", ["0.512"]),
        (
            "a negative slack of about 0.51; minus 0.51; negative 0.512; a violation of 0.512",
            "slack -0.512",
            [],
        ),
        (
            "It is not violated by 0.512; no violation of 0.512; it is better by 0.512.",
            "-0.512",
            ["0.512"] * 3,
        ),
        ("slack -0.512", "violated at u_core/reg_7 by 0.512 ns", []),
        ("slack -0.512", "met by 0.512 ns", ["-0.512"]),
        (
            "the worst negative slack is 0.512 ns, negative slack: 0.512, negative slack=0.512",
            "-0.512 (VIOLATED)",
            [],
        ),
        ("Worst negative setup slack (WNS) was about 0.51", "slack: -0.512 ns (VIOLATED)", []),
        (
            "0.512 ns of violation, 0.512ns of setup violation, 0.512 of loss",
            "slack: -0.512 ns (VIOLATED)",
            [],
        ),
        ("slack -0.512", "0.512 ns of violation", []),
        # A report calls a positive one so, too; and neither counts nor what is denied has a sign.
        ("slack -0.512", "Worst negative slack: 0.512", ["-0.512"]),
        ("negative slack count is 12, negative slacks: 12", "gain -12", ["12"] * 2),
        (
            "0.512 of no loss, not 0.512 of violation, non-negative slack is 0.512",
            "-0.512",
            ["0.512"] * 3,
        ),
        ("the negative slack is not 0.512; short of 0.512", "-0.512", ["0.512"] * 2),
        # A currency stands between a sign and its number, or before both; two points are a range.
        ("-$5, $-5, a loss of $5", "-$5", []),
        ("-$5, $-5, a loss of $5", "$-5", []),
        ("$5, −€5", "-$5", ["5"]),
        ("-$10", "$5-$10", ["-$10"]),
        ("12-15, 12 to 15", "12..15", []),
        ("-40..-15", "from -40 to -15", []),
        ("-15, 15", "-40..-15", ["15"]),
        ("it is 512", "it is .512", ["512"]),
        # What has no sign, and what has both.
        ("-5, -10 %", "in 1-5 of 5%-10%, (2)-5, x[1]-5", ["-5", "-10 %"]),
        ("1 to 5, 5 to 10 %", "in 1-5 of 5%-10%", []),
        ("-3, 3, +3, 1.5", "1.5+/-3", []),
        ("±3 V", "±3 V and 3±1", []),
        ("0, -0, 0.0", "-0.0", []),
    ],
)
def test_a_number_keeps_its_sign(said: str, source: str, struck: list[str]) -> None:
    assert without_unsupported(said, source)[1] == tuple(struck)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False).filter(bool), st.sampled_from(["", " %", "ns"])
)
def test_no_number_stands_for_its_opposite(value: float, unit: str) -> None:
    assert len(without_unsupported(f"It is {value!r}{unit}.", f"It is {-value!r}{unit}.")[1]) == 1
    for sign in "−–":
        printed = f"It is {value!r}.".replace("-", sign)
        assert without_unsupported(printed, f"It is {value!r}.") == (printed, ())


NUMBERS = st.one_of(
    st.from_regex(r"[-+]?[0-9]{1,18}(\.[0-9]{1,25})?( ?%)?", fullmatch=True),
    st.floats().map(repr),
    st.decimals().map(str),
    st.text("0123456789" * 3 + ".,_eE+-% ", max_size=80),
)
TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(KINDS))
ANY = st.lists(NUMBERS | TEXTS, min_size=1, max_size=9).map(" ".join)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(ANY, ANY)
def test_any_text_can_be_held_to_any_other(said: str, source: str) -> None:
    held, struck = without_unsupported(said, source)
    assert held.count(STRUCK) == len(struck)
    assert without_unsupported(said, f"{source}\n{said}") == (said, ()), (
        "what stands there is never struck"
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 25), ANY)
def test_a_float_may_be_told_with_fewer_places(value: float, places: int, beside: str) -> None:
    exact = Decimal(repr(value))
    for rounded in (f"{exact:.{places}f}", f"{exact:.{places}e}"):
        if len(rounded) < 100 and len(Decimal(rounded).as_tuple().digits) > 1:
            assert without_unsupported(f"{rounded} V", f"{beside}\nit is {value!r} V") == (
                f"{rounded} V",
                (),
            )


def test_what_the_source_does_not_say_is_struck_and_reported() -> None:
    source = REPORT + "Coverage is 85 % in CI-7.\n"
    summary = summarised(
        "Coverage is 85 %, in CI-7; 99 tests failed at u_core/u_div.", source, 500, PLAIN
    )
    assert summary.struck == ("99", "u_core/u_div")
    assert summary.text.startswith(f"Coverage is 85 %, in CI-7; {STRUCK} tests failed at {STRUCK}.")
    assert (summary.by, summary.cut) == ("model", False)
    assert "Also named in the source: " in summary.text
    assert "u_core/u_mul" in summary.text


def test_ids_are_listed_in_proportion_to_the_summary_and_say_where_some_are_left_out() -> None:
    source = "".join(f"u_core/reg_{number} is met\n" for number in range(2_000))

    def listed(said: str, room: int, of: str = source) -> str:
        made = summarised(said, of, room, PLAIN).text
        assert PLAIN.count(made) <= room
        return made.removeprefix(said).strip()

    one = listed("All of them are met.", 12_000)
    assert 190 < PLAIN.count(one) <= 200, "the shortest room of a summary, whatever its source"
    assert one.startswith("Also named in the source: u_core/reg_0, u_core/reg_1, ")
    assert one.endswith(", and more")
    long = "They are all met, and nothing else is to be said. " * 30
    assert 490 < PLAIN.count(listed(long.strip(), 12_000)) <= 500, "as long as itself"
    assert 240 < PLAIN.count(listed(long.strip(), 1_000)) <= 250, "a quarter of its room"
    few = "\n".join(source.splitlines()[:20])
    assert listed("Met.", 1_000, few).endswith("u_core/reg_18, u_core/reg_19"), (
        "where all have room, all are named"
    )


def test_without_a_summary_lines_are_chosen_by_rule_and_marked() -> None:
    source = PROSE.replace(". ", ".\n") * 50 + "ERROR in u_core/u_mul\n" + "nothing here\n" * 200
    for said in ("", " \n"):
        summary = summarised(said, source, 200, PLAIN)
        assert summary.by == "extract"
        assert summary.cut
        assert summary.text.startswith(
            f"[no summary; lines chosen by rule of {len(lines_of(source))}]\n1: "
        )
        assert ": ERROR in u_core/u_mul\n" in summary.text
    assert summary == summarised("", source, 200, PLAIN), "the same every time"


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(st.sampled_from([PROSE, ROW, LOG, PAGE]), st.text(max_size=3_000), st.integers(60, 800))
@example(PROSE, "0A[A", 200)  # behind the number that is struck stands what is an id by itself
def test_a_summary_keeps_to_its_room(kind: str, said: str, room: int) -> None:
    source = kind * 20
    for summary in (
        summarised(said, source, room, PLAIN),
        summarised(kind * 3 + said, source, room, PLAIN),
    ):
        assert PLAIN.count(summary.text) <= room + 1
        known = FactSource(source)
        kept = summary.text.replace(STRUCK, "\0") if summary.by == "model" else ""
        assert all(known.has(fact) for fact in facts_of(kept.partition("[cut:")[0]))
    assert PLAIN.count(extract(source, room, PLAIN).text) <= room + 1


def test_the_ratio_is_the_callers() -> None:
    assert summary_room(50_000, 15_000, ratio=10) == 5_000
    assert summary_room(50_000, 15_000, ratio=2) == 15_000
    assert summary_room(1_000, 15_000, ratio=100) == 200


def test_a_sub_conversation_opens_with_the_source_or_its_outline() -> None:
    found = big(PAGE * 4, egress="local")
    purpose, source = found.opening("what is open?", WindowBudget(total=40_000), PLAIN)
    assert (purpose.name, purpose.text, purpose.trust) == (PURPOSE, "what is open?", "ours")
    assert (source.name, source.text, source.tier) == (SOURCE, PAGE * 4, Tier.SESSION)
    assert (source.trust, source.egress) == ("untrusted", "local")
    _, outlined = found.opening("what is open?", WindowBudget(total=5_000), PLAIN)
    assert outlined.text == found.reference(PLAIN).content


def returned(found: Oversized, said: str, *, ratio: float) -> tuple[ToolResultPart, SourceSummary]:
    """What a conversation is told once a sub-conversation has read a result."""
    summary = summarised(said, found.result.content, found.room(PLAIN, ratio), PLAIN)
    return found.in_brief(summary.text), summary


@pytest.mark.parametrize("limit", [100, 300, 1_000])
@pytest.mark.parametrize("said", ["Fine.\n" * 5_000, ""], ids=["a summary", "an extract"])
def test_a_summary_takes_no_more_than_a_result_with_all_that_is_said_of_it(
    limit: int, said: str
) -> None:
    found = Oversized(
        ToolResultPart("1", "look", ROW * 200), "result-1", 100_000, limit, "delegate"
    )
    told, _ = returned(found, said, ratio=10)
    assert PLAIN.count(told.content) <= limit


def test_what_a_sub_conversation_returns_is_bounded_and_keeps_its_trust() -> None:
    found = big(REPORT, egress="local")
    result, summary = returned(found, "It broke at u_core/u_mul, 12 of 480, 77 times.", ratio=10)
    assert (result.id, result.trust, result.egress, result.is_error) == (
        "c1",
        "untrusted",
        "local",
        False,
    )
    assert "kept whole as artifact 1" in result.content
    assert f"12 of 480, {STRUCK} times" in result.content
    assert summary.struck == ("77",)
    failed, summary = returned(found, "", ratio=10)
    assert summary.by == "extract"
    assert PLAIN.count(failed.content) <= found.limit
    tight, _ = returned(found, PROSE * 50, ratio=50)
    assert PLAIN.count(tight.content) < PLAIN.count(result.content) + 400


def test_what_a_tool_says_of_its_failure_is_evidence_and_what_the_runtime_says_is_none() -> None:
    results = (
        ToolResultPart(
            "1", "look", "u_core/reg_7 has no slack below 0.25", is_error=True, trust="untrusted"
        ),
        ToolResultPart("2", "look", "there is no tool made_up_1", is_error=True, trust="ours"),
        ToolResultPart("3", "look", "lot_5 has 14 faults", trust="ours"),
    )
    said = AssistantMessage(
        (Text("I guess reg_99 has 0.75."), ToolCallPart("1", "look", {"at": "reg_98"}))
    )
    seen = seen_in(
        [Block(PURPOSE, "Look at lane_4.")],
        [UserMessage("What of bin_3?"), said, ToolResults(results)],
    )
    assert seen.splitlines() == [
        "Look at lane_4.",
        "What of bin_3?",
        results[0].content,
        "lot_5 has 14 faults",
    ]
    assert without_unsupported("reg_7? u_core/reg_7 has 0.25; made_up_1, reg_99", seen)[1] == (
        "made_up_1",
        "reg_99",
    )
