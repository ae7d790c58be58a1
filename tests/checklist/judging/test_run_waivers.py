"""Waivers one by one: what each kind is compared with, which one counts, and why one was not
needed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checklist.judging.support import (
    AS_OF,
    DATA,
    DESIGN,
    NETLIST,
    SYNTHESIS_LOG,
    checker,
    run,
)
from transom.checklist.atoms import CheckerConfig, Waiver, Waivers
from transom.checklist.judging import (
    CheckedItem,
    File,
    GatheredEvidence,
    Outcome,
    Violation,
    apply_waivers,
)
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

CONFIG = validate_yaml(CheckerConfig, load_yaml(DATA / "versions.yaml"))


def violation(
    value: str = "v", *, source: str | None = "s/top_slow.spef", id_: str = "2.4"
) -> Violation:
    names = {item.id: item.name for item in CONFIG.items}
    return Violation(
        id=id_,
        name=names[id_],
        value=value,
        source_file=source,
        line_number=1,
        matched_content="",
        parsed_fields={},
        reason="r",
    )


def waive(
    *patterns: str | Waiver,
    missing: tuple[Violation, ...] = (),
    extra: tuple[Violation, ...] = (),
    found: tuple[CheckedItem, ...] = (),
    log: str = "a plain log",
    config: CheckerConfig = CONFIG,
) -> Outcome:
    items = tuple(p if isinstance(p, Waiver) else Waiver(pattern=p) for p in patterns)
    evidence = GatheredEvidence((File("sta.log", "sta_log", "primary", lambda: [log]),), ())
    outcome = Outcome(found_items=found, missing_items=missing, extra_items=extra)
    return apply_waivers(
        outcome, Waivers(value=len(items), waive_items=items), config, evidence, AS_OF
    )


@pytest.mark.parametrize(
    ("pattern", "value", "kind", "text"),
    [
        ("2.4", "v", "exact", "2.4"),
        ("SPEF Version", "v", "exact", "SPEF Version"),
        ("v", "v", "exact", "v"),
        ("top_slow.spef", "v", "exact", "top_slow.spef"),
        ("s/top_slow.spef", "v", "exact", "s/top_slow.spef"),
        ("SPEF*", "v", "wildcard", "SPEF Version"),
        ("*_slow.spef", "v", "wildcard", "s/top_slow.spef"),
        ("r[1?]", "r[15]", "wildcard", "r[15]"),
        ("regex:(?i).*spef.*version", "v", "regex", "SPEF Version"),
        ("regex:x|v", "v", "regex", "v"),
        ("x|v", "v", "exact", "v"),
        ("x|SPEF*", "v", "wildcard", "SPEF Version"),
        ("spef", "v", "keyword", "SPEF Version"),
        ("legacy", "v", "keyword", "legacy"),
        ("LEGACY", "v", "keyword", "legacy"),
        ("u_core", "path u_core.", "keyword", "path u_core."),
    ],
)
def test_what_fits(pattern: str, value: str, kind: str, text: str) -> None:
    (waived,) = waive(pattern, missing=(violation(value),)).waived
    assert (waived.waiver.match, waived.waiver.matched_text) == (kind, text)
    assert (waived.tag, waived.severity, waived.origin) == ("[WAIVER]", "INFO", "missing")


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("2", "v"),
        ("24", "v"),
        ("Vers", "v"),
        ("spef*", "v"),
        ("V", "v"),
        ("resp_msg", "resp_msg[15]"),
        ("U_CORE", "path u_core"),
        ("u_core", "u_core/reg"),
        ("layout", "pre-layout"),
        ("resp_msg[1]*", "resp_msg1"),
        ("regex:ersion", "v"),
        ("synthesis", "v"),
        ("?", ""),
    ],
)
def test_what_does_not_fit(pattern: str, value: str) -> None:
    result = waive(pattern, missing=(violation(value),))
    assert result.waived == ()
    assert len(result.missing_items) == 1


def test_a_stage_counts_only_if_a_log_shows_it() -> None:
    shown = waive("synthesis", missing=(violation(),), log="mode: Synthesis, wireload")
    assert [one.waiver.match for one in shown.waived] == ["keyword"]
    part = waive("synthesis", missing=(violation(),), log="resynthesis_tool")
    assert part.unused_waivers[0].why == "no log shows the stage 'synthesis'"


def test_keywords_can_be_switched_off() -> None:
    off = CONFIG.model_copy(update={"keyword_waivers": False})
    assert waive("SPEF", missing=(violation(),), config=off).waived == ()


def test_the_first_waiver_of_the_list_counts_and_the_others_are_used_all_the_same() -> None:
    first = Waiver(pattern="SPEF*", reason="one", owner="ann", expires="2026-06-30")
    result = waive(first, "2.4", missing=(violation(),))
    assert [(w.waiver.pattern, w.waiver.reason, w.waiver.owner) for w in result.waived] == [
        ("SPEF*", "one", "ann")
    ]
    assert result.unused_waivers == ()


def test_missing_and_extra_are_moved_with_their_origin() -> None:
    result = waive("2.4", missing=(violation(),), extra=(violation("w"),))
    assert [one.origin for one in result.waived] == ["missing", "extra"]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("nothing", "no such text"),
        ("u_core/reg*", "no such text"),
        ("blk_b/*.spef", "file not there"),
        ("*_fast.spef", "file not there"),
        (Waiver(pattern="*", expires="2026-01-31"), "expired 2026-01-31"),
        ("Netlist*", "nothing to waive: it fits 2.2 Weaver, which passed"),
        ("sta.log", "no such text"),
    ],
)
def test_an_unused_waiver_says_why(pattern: str | Waiver, why: str) -> None:
    passed = CheckedItem(
        **violation("Weaver", id_="2.2", source="top.v").model_dump(exclude={"nearest", "severity"})
    )
    (unused,) = waive(pattern, missing=(), found=(passed,)).unused_waivers
    assert (unused.why, unused.tag, unused.severity) == (why, "[WAIVER]", "WARN")


def test_an_expired_waiver_leaves_the_violation(tmp_path: Path) -> None:
    item = (
        "waivers: {value: 1, waive_items: [{pattern: SPEF, reason: early, expires: 2026-06-29}]}\n"
    )
    loaded = checker(tmp_path, "versions")
    verdict = run(loaded, tmp_path, {"sta.log": SYNTHESIS_LOG, "top.v": NETLIST}, item=item)
    assert verdict.status == "FAIL"
    assert [(w.why, w.reason) for w in verdict.unused_waivers] == [("expired 2026-06-29", "early")]
    assert run(loaded, tmp_path, DESIGN, item=item).status == "PASS"


TEXT = st.text("ab[]/.*?|", min_size=1, max_size=6)


PATTERN = TEXT.filter(lambda pattern: pattern.replace("|", "").strip() != "")


@given(patterns=st.lists(PATTERN, min_size=1, max_size=4), values=st.lists(TEXT, max_size=6))
def test_every_violation_is_kept_or_moved_and_never_both(
    patterns: list[str], values: list[str]
) -> None:
    before = tuple(violation(value, source=None) for value in values)
    result = waive(*patterns, missing=before)
    assert len(result.missing_items) + len(result.waived) == len(before)
    assert sorted(
        [*(m.value for m in result.missing_items), *(w.value for w in result.waived)]
    ) == sorted(values)
    used = {waived.waiver.pattern for waived in result.waived}
    assert not used & {unused.pattern for unused in result.unused_waivers}


@given(
    value=st.text("ab[]1", min_size=1, max_size=6),
    pattern=st.text("ab[]1*?", min_size=1, max_size=6),
)
def test_a_wildcard_waives_whole_texts_only(value: str, pattern: str) -> None:
    result = waive(pattern, missing=(violation(value, source=None),))
    wild = "*" in pattern or "?" in pattern
    expression = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    texts = (value, "2.4", "SPEF Version")
    if wild:
        assert bool(result.waived) == any(re.fullmatch(expression, text) for text in texts)
