"""What a vendor's cache can read of a conversation, what broke it, and what it saves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from benchmarks import cache as bench

from tests.context.streams import PROSE, assembled, call, exchange
from transom.context import History, WindowBudget, go_on
from transom.context.cache import KEPT_REQUESTS, CacheMonitor, breakpoints_of
from transom.context.segments import Ordered, first_difference, piece_text
from transom.llm import Block, CallSettings, Request, Role, Tier, ToolSpec, Usage, Window, render
from transom.llm.cache_terms import MOST_MARKS, NO_CACHE, TERMS, CacheTerms, terms_of

LOOK = ToolSpec("look", "Looks.", {"type": "object"})
LEAP = ToolSpec("leap", "Leaps.", {"type": "object"})
ROLE = Role(
    "p.seat",
    (Block("role", PROSE * 4, Tier.STABLE),),
    frozenset({"role", "config", "playbook", "log", "state"}),
    (LOOK,),
    CallSettings(max_tokens=100),
)
OTHER = replace(ROLE, prompt=(Block("role", "x", Tier.STABLE),))
CONFIG = Block("config", PROSE, Tier.SESSION)
BOOK = Block("playbook", PROSE, Tier.SESSION)
MARKED = CacheTerms("x", 0, 0.1, 1.25, MOST_MARKS)
BY_ITSELF = CacheTerms("x", 0, 0.5, 1.0, 0)


def asked(count: int, *blocks: Block, role: Role = ROLE) -> Request:
    history = History.of([turn for number in range(count) for turn in exchange(number)])
    return assembled(
        role, blocks or (CONFIG, BOOK, Block("state", f"now {count}")), turns=history.turns
    )


def test_the_workload_reads_what_it_should_from_the_cache() -> None:
    result = bench.run()
    assert result.ratio >= bench.BAR
    assert result.folds >= 2
    assert result.estimated == pytest.approx(result.ratio, abs=0.01), (
        "the monitor's estimate, beside the bytes"
    )
    assert result.broken == [
        "26: turn 1 changed",
        "30: block playbook changed",
        "42: turn 1 changed",
    ]
    assert 0.15 < result.cost < 0.20, "the surcharge for writing included"


def test_the_workload_is_what_it_says() -> None:
    stable = Ordered.of(assembled(bench.ROLE, bench.blocks_of(1)))
    counted = [
        sum(len(piece_text(piece)) // 3 for piece in group)
        for group in (stable.stable, stable.session)
    ]
    assert counted == [pytest.approx(5_000, rel=0.05), pytest.approx(15_000, rel=0.05)]
    turns = [turn for part in bench.exchange(7) for turn in part]
    assert sum(len(render(Request("", Window((), (t,)))).as_text()) // 3 for t in turns) == (
        pytest.approx(1_000, rel=0.05)
    )


def test_folding_a_little_at_every_turn_breaks_the_bar() -> None:
    assert bench.run(chunked=False).ratio < bench.BAR


def test_the_pieces_are_what_is_sent() -> None:
    for request in (asked(0), asked(3), asked(2, Block("log", "x", trust="untrusted"))):
        texts = [piece_text(piece) for piece in Ordered.of(request).pieces]
        assert "\n\n".join(texts) == render(request).as_text()


def test_breakpoints_stand_at_the_ends_of_tiers_and_of_the_conversation() -> None:
    found = breakpoints_of(asked(3))
    assert len(found) == 4 <= MOST_MARKS
    assert found[2] == found[1], "nothing of the conversation stood before"
    grown = breakpoints_of(asked(4), len(asked(3).window.turns))
    assert grown[:2] == found[:2]
    assert grown[2] == found[3] and grown[3] != found[3]


def test_a_growing_conversation_is_read_up_to_where_it_ended() -> None:
    monitor = CacheMonitor(MARKED)
    seen = [monitor.watch(asked(count)) for count in range(6)]
    assert [one.hit for one in seen] == [False, *[True] * 5]
    assert all(one.first_difference is None for one in seen)
    for before, after in pairwise(seen[1:]):
        assert after.read == before.read + before.written, "all that the request before left"
        assert after.prefix != before.prefix
    fresh = CacheMonitor(MARKED)
    fresh.watch(asked(4))
    assert fresh.watch(asked(5)).prefix == seen[5].prefix, "hashed on or anew: the same"


@pytest.mark.parametrize(
    ("changed", "name", "how"),
    [
        (asked(3, replace(CONFIG, text="other"), BOOK), "block config", "changed"),
        (asked(3, CONFIG, replace(BOOK, text="other")), "block playbook", "changed"),
        (asked(3, CONFIG), "block playbook", "gone"),
        (asked(3, BOOK), "block config", "gone"),
        (asked(3, CONFIG, BOOK, role=replace(ROLE, tools=(LOOK, LEAP))), "tool leap", "added"),
        (asked(3, CONFIG, BOOK, role=replace(ROLE, tools=(LEAP, LOOK))), "tool leap", "added"),
        (asked(3, CONFIG, BOOK, role=replace(ROLE, tools=())), "tool look", "gone"),
        (
            asked(3, CONFIG, BOOK, role=replace(ROLE, prompt=(Block("role", "x", Tier.STABLE),))),
            "block role",
            "changed",
        ),
        (asked(2, CONFIG, BOOK), "turn 9", "gone"),
    ],
)
def test_what_broke_it_is_named(changed: Request, name: str, how: str) -> None:
    first = asked(3, CONFIG, BOOK)
    monitor = CacheMonitor(MARKED)
    monitor.watch(first)
    found = monitor.watch(changed).first_difference
    assert found is not None
    assert (found.name, found.change) == (name, how)
    assert first_difference(first, first) is None


def test_the_blocks_of_one_call_break_nothing() -> None:
    monitor = CacheMonitor(MARKED)
    monitor.watch(asked(1, CONFIG, Block("log", "one")))
    seen = monitor.watch(asked(1, CONFIG, Block("state", "two")))
    assert (seen.hit, seen.first_difference, seen.written) == (True, None, 0)


def test_a_fold_breaks_the_conversation_and_leaves_the_prefix() -> None:
    monitor, history = CacheMonitor(MARKED), History()
    broken = []
    for number in range(60):
        history = history.add(*call(number))
        made = go_on(ROLE, [CONFIG], history, budget=WindowBudget(total=20_000))
        history = made.history
        seen = monitor.watch(made.request)
        if seen.first_difference:
            broken.append((number, seen.first_difference.name, made.folded))
            assert seen.hit, "tiers are still read"
    assert broken == [(50, "turn 1", 31)]


def test_two_conversations_of_a_role_do_not_break_one_another() -> None:
    monitor = CacheMonitor(MARKED)
    for count in range(3):
        assert monitor.watch(asked(count), conversation="a").first_difference is None
        assert monitor.watch(asked(count, CONFIG), conversation="b").first_difference is None
    assert all(one.hit for one in list(monitor.views)[1:])


def test_nothing_under_the_vendors_minimum_is_kept() -> None:
    monitor = CacheMonitor(replace(MARKED, least=100_000))
    seen = [monitor.watch(asked(2)) for _ in range(3)]
    assert [(one.hit, one.below, one.to_json()["below_minimum"]) for one in seen] == [
        (False, 100_000, 100_000)
    ] * 3
    assert monitor.savings().cost == 1.0
    said = (
        "3 of 3 requests are below the minimum of 100000 tokens: nothing of them is kept, marked"
        " or not"
    )
    assert monitor.savings().text().splitlines()[-1] == said
    for terms in (replace(MARKED, least=10), NO_CACHE):
        enough = CacheMonitor(terms)
        assert enough.watch(asked(2)).below == 0, "there is enough, or no minimum at all"
        assert "minimum" not in enough.savings().text()


def test_a_vendor_that_needs_no_marks_reads_up_to_the_first_difference() -> None:
    marked, free = CacheMonitor(MARKED), CacheMonitor(BY_ITSELF)
    for monitor in (marked, free):
        monitor.watch(asked(3, CONFIG, BOOK))
    changed = asked(3, CONFIG, replace(BOOK, text="other"))
    assert free.watch(changed).read > marked.watch(changed).read > 0


def test_a_common_beginning_that_is_shorter_than_the_least_is_read_by_nobody() -> None:
    changed = asked(3, CONFIG, replace(BOOK, text="other"))
    free = CacheMonitor(BY_ITSELF)
    free.watch(asked(3, CONFIG, BOOK))
    common = free.watch(changed).read
    for least, read in ((common, common), (common + 1, 0)):
        monitor = CacheMonitor(replace(BY_ITSELF, least=least))
        monitor.watch(asked(3, CONFIG, BOOK))
        assert monitor.watch(changed).read == read


def test_what_was_reported_comes_first_and_estimates_are_marked() -> None:
    monitor = CacheMonitor(MARKED)
    monitor.watch(asked(1), Usage(1_000, 10, 0))
    monitor.watch(asked(2), Usage(2_000, 10, 900))
    savings = monitor.savings()
    assert (savings.reported, savings.reported_read) == (3_000, 900)
    reported, estimated = savings.text().splitlines()
    assert reported == "reported: 900 of 3000 input tokens read from it, 30.0%"
    assert estimated.startswith("estimated: ")
    assert "without a cache" in estimated
    whole = savings.estimated
    anew = whole - savings.estimated_read - savings.estimated_written
    assert (
        savings.cost
        == (anew + 0.1 * savings.estimated_read + 1.25 * savings.estimated_written) / whole
    )
    only_written = CacheMonitor(MARKED)
    only_written.watch(asked(1))
    assert only_written.savings().cost > 1.0, (
        "a cache that is written and never read costs more than none"
    )
    assert CacheMonitor().savings().cost == 1.0


def test_it_keeps_the_last_hundred() -> None:
    monitor = CacheMonitor(MARKED)
    for number in range(KEPT_REQUESTS * 10):
        monitor.watch(assembled(ROLE, [Block("config", str(number), Tier.SESSION)]))
    assert [one.number for one in monitor.views] == list(range(901, 1_001))
    assert len(monitor._cached) <= 2 * MOST_MARKS * KEPT_REQUESTS
    told = monitor.views[-1].to_json()
    assert told["broke"] == {"name": "block config", "how": "changed"}
    assert told["hit"] is True


def test_the_terms_are_dated_and_found_by_the_name_of_who_answers() -> None:
    assert (
        terms_of("anthropic:claude-opus-4-1").least,
        terms_of("anthropic:claude-opus-4-6").least,
    ) == (1_024, 4_096)
    assert terms_of("anthropic:claude-sonnet-4-5-20250929").least == 1_024
    assert terms_of("openai:gpt-5").marks == 0
    assert terms_of("openai:anthropic/claude-sonnet-4.5") == terms_of("anthropic:claude-sonnet-4-5")
    assert terms_of("openai:openai/gpt-4o").read == 0.5
    assert terms_of("openai:qwen/qwen3") is NO_CACHE
    assert terms_of("rules") is NO_CACHE
    assert all(512 <= terms.least <= 4_096 and terms.as_of >= "2026-11" for terms in TERMS)


def test_asking_again_in_the_same_words_is_the_same_request() -> None:
    one, same = asked(3), asked(3)
    assert one.digest == same.digest
    others = [
        asked(2),
        asked(3, CONFIG),
        asked(3, CONFIG, BOOK),
        asked(3, BOOK, CONFIG),
        asked(3, CONFIG, replace(BOOK, trust="untrusted")),
        asked(3, CONFIG, replace(BOOK, egress="local")),
        asked(3, CONFIG, replace(BOOK, data={"a": 1})),
        asked(3, role=replace(ROLE, tools=())),
        asked(3, role=replace(ROLE, name="p.other")),
        asked(3, role=replace(ROLE, settings=CallSettings(max_tokens=99))),
        assembled(ROLE, [], turns=one.window.turns[:-1]),
    ]
    assert len({request.digest for request in [one, *others]}) == len(others) + 1
