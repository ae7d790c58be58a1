"""Caps and accounts: what is not used and could matter holds a positive verdict back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.tables import assert_forms, load_rows
from transom.evidence.account import (
    Account,
    FileUse,
    LineUse,
    lines_by_shape,
    shape_of,
    unread_file,
    words_of_question,
)
from transom.evidence.caps import (
    Cap,
    CapAcceptance,
    CappedVerdict,
    cap_verdict,
    caps_of_identity,
    read_acceptances,
    with_commands,
)
from transom.evidence.identity import (
    Identity,
    IdentityFact,
    IdentityRequirement,
    compare_identity,
)

TODAY = date(2024, 11, 20)
CAPPED = load_rows("caps", "must_not_pass")
UNCAPPED = load_rows("caps", "must_pass")
UNUSED = load_rows("account", "must_not_pass")
USED = load_rows("account", "must_pass")
Capping = Callable[[dict[str, Any]], CappedVerdict]


def caps_of_row(row: dict[str, Any]) -> list[Cap]:
    if "question" in row or "file" in row or "line" in row or "lines" in row:
        return list(account_of(row).caps())
    caps = []
    for entry in row["caps"]:
        text, *place = entry if isinstance(entry, list) else [entry]
        caps.append(Cap(row.get("rule", "words"), text, *place))
    return caps


def account_of(row: dict[str, Any]) -> Account:
    if "question" in row:
        ignored = row.get("ignored", ())
        return Account(words=words_of_question(row["question"], row["used"], ignored=ignored))
    if "file" in row:
        return Account(files=(unread_file(row["file"], row["reason"]),))
    texts = row["lines"] if "lines" in row else [row["line"]]
    could_matter = row.get("could_matter", True)
    lines = [
        LineUse(text, "a.rpt", number, row["reason"], could_matter)
        for number, text in enumerate(texts, 1)
    ]
    return Account(lines=tuple(lines))


def capped_verdict(row: dict[str, Any]) -> CappedVerdict:
    entries = []
    for entry in row.get("accept", ()):
        entries.append(entry if isinstance(entry, dict) else {"text": entry, "by": "Ada"})
    positive = row.get("positive", "PASS")
    acceptances = read_acceptances(entries)
    caps = caps_of_row(row)
    return cap_verdict(positive, caps, acceptances, TODAY, positive={positive}, capped="OPEN")


def holds(row: dict[str, Any], capping: Capping) -> bool:
    verdict = capping(row)
    if "words" not in row:
        return verdict.status == row.get("positive", "PASS") and not verdict.capped_by
    texts = [cap.text for cap in verdict.capped_by if cap.rule == row.get("rule", "words")]
    is_held = (verdict.status, verdict.would_be) == ("OPEN", "PASS")
    return is_held and any(row["words"] in text for text in texts)


def lift_everything(row: dict[str, Any]) -> CappedVerdict:
    """A stand-in for which nothing ever holds a verdict back."""
    return CappedVerdict(row.get("positive", "PASS"))


def hold_everything(row: dict[str, Any]) -> CappedVerdict:
    """A stand-in that holds each verdict back, whatever the evidence is."""
    return CappedVerdict("OPEN", row.get("positive", "PASS"), (Cap("words", "unsure"),))


@pytest.mark.parametrize("row", CAPPED + UNUSED, ids=lambda row: row["id"])
def test_what_lacks_holds_the_verdict_back_and_is_named(row: dict[str, Any]) -> None:
    assert holds(row, capped_verdict), capped_verdict(row)


@pytest.mark.parametrize("row", UNCAPPED + USED, ids=lambda row: row["id"])
def test_what_is_used_accepted_or_harmless_lets_the_verdict_through(row: dict[str, Any]) -> None:
    assert holds(row, capped_verdict), capped_verdict(row)


def test_the_tables_have_forms_and_tell_caps_apart() -> None:
    for rows in (CAPPED, UNCAPPED, UNUSED, USED):
        assert_forms(rows)
    assert [row["id"] for row in CAPPED + UNUSED if holds(row, lift_everything)] == []
    assert [row["id"] for row in UNCAPPED + USED if holds(row, hold_everything)] == []


@pytest.mark.parametrize("status", ["FAIL", "NOT_READY", "failed", "ERROR", "NEEDS_MODEL"])
def test_neither_caps_nor_acceptances_change_a_verdict_that_is_not_positive(status: str) -> None:
    accepted = [CapAcceptance("a", "Ada")]
    verdict = cap_verdict(
        status, [Cap("words", "a")], accepted, TODAY, positive={"PASS"}, capped="OPEN"
    )
    assert verdict == CappedVerdict(status)
    assert verdict.to_json() == {"status": status}


def test_the_document_of_a_capped_verdict_has_the_form_that_others_read() -> None:
    caps = with_commands(
        [Cap("trouble", "Killed", "a.log", 7)], lambda cap: f"accept {cap.text!r} --by NAME"
    )
    verdict = cap_verdict("PASS", caps, [], TODAY, positive={"PASS"}, capped="NEEDS_REVIEW")
    assert verdict.to_json() == {
        "status": "NEEDS_REVIEW",
        "would_be": "PASS",
        "capped_by": [
            {
                "rule": "trouble",
                "text": "Killed",
                "source_file": "a.log",
                "line_number": 7,
                "accept": "accept 'Killed' --by NAME",
            }
        ],
    }


def test_accepted_expired_and_useless_acceptances_are_told_apart() -> None:
    entries = [
        {"text": "a", "by": "Ada", "until": "2024-12-31"},
        {"text": "b", "by": "Bo", "until": "2024-11-19"},
        {"text": "c", "by": "Cy"},
    ]
    caps = [Cap("words", "a"), Cap("words", "b")]
    acceptances = read_acceptances(entries)
    verdict = cap_verdict("PASS", caps, acceptances, TODAY, positive={"PASS"}, capped="OPEN")
    assert [accepted.acceptance.by for accepted in verdict.accepted] == ["Ada"]
    assert [acceptance.by for acceptance in verdict.expired] == ["Bo"]
    assert [acceptance.by for acceptance in verdict.unused] == ["Cy"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"by": "Ada"}, "text of the cap"),
        ({"text": "a"}, "name of the person"),
        ({"text": "a", "by": "  "}, "name of the person"),
        ({"text": "a", "by": "Ada", "until": "soon"}, "soon"),
        ({"text": "a", "by": "Ada", "untill": "2024-12-31"}, "'untill'"),
        ({"text": "a", "by": "Ada", "until": "2024-02-30"}, "acceptance 1"),
    ],
)
def test_an_acceptance_that_lacks_something_is_an_error(
    entry: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        read_acceptances([entry])


def test_only_silence_on_what_is_asked_caps() -> None:
    identity = Identity((IdentityFact("tool", "Magic", "a.rpt", 2), IdentityFact("mode", "func")))
    asked = [
        IdentityRequirement("tool", "Calibre"),
        IdentityRequirement("stage", "routed"),
        IdentityRequirement("check", "hold"),
    ]
    caps = caps_of_identity(compare_identity(identity, asked), "a.rpt")
    assert [(cap.rule, cap.source_file) for cap in caps] == [("identity", "a.rpt")] * 2
    assert "stage" in caps[0].text and "check" in caps[1].text


def test_nothing_may_be_called_absent_while_an_unread_file_could_hold_it() -> None:
    read = FileUse("a.rpt", "a DRC summary")
    assert Account(files=(read, unread_file("x.py", "source code"))).unread_files() == ()
    left = Account(files=(read, unread_file("x.json", "no reader knows it"))).unread_files()
    assert [use.path for use in left] == ["x.json"]


def test_lines_of_one_shape_are_one_question_with_their_count() -> None:
    texts = ["u12 has 3 loads", "u7 has 14 loads", "net 'a' is open", "net 'bcd' is open"]
    lines = [LineUse(text, "a.log", number, "no rule") for number, text in enumerate(texts, 1)]
    grouped = lines_by_shape(lines)
    assert [(line.text, line.line_number, line.count) for line in grouped] == [
        ("u12 has 3 loads", 1, 2),
        ("net 'a' is open", 3, 2),
    ]
    assert len(Account(lines=tuple(lines)).caps()) == 2


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("slack 0.31 at 1,204 endpoints", "slack # at # endpoints"),
        ('cannot open "top.sdc"', "cannot open #"),
        ("reading /home/flow/a_1.lib", "reading #"),
        ("  wide   gaps ", "wide gaps"),
        ("[12:04:31] done", "[#] done"),
        ("address 0x7ffd12", "address #"),
    ],
)
def test_a_shape_has_no_numbers_quotations_or_paths(line: str, shape: str) -> None:
    assert shape_of(line) == shape


def test_accounts_of_two_files_are_one_account() -> None:
    first = Account(files=(FileUse("a.rpt", "a report"),), used_lines=12)
    second = Account(files=(FileUse("b.rpt", "a report"),), used_lines=30)
    both = first.with_account(second)
    assert [use.path for use in both.files] == ["a.rpt", "b.rpt"]
    assert both.to_json()["used_lines"] == 42


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_each_word_of_a_question_is_accounted_for_once_and_in_order(
    question: str, used: list[str]
) -> None:
    position = 0
    for use in words_of_question(question, used):
        position = question.index(use.text, position) + len(use.text)
        assert use.reason
