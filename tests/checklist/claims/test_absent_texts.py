"""Texts that must not appear in a log: which sentences say so, and what is never a PASS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.ranking import candidates, read_at_once
from transom.errors import InputError

AT_ONCE = [
    ('Confirm that no line of the log contains "latch inferred".', "latch inferred"),
    ("No line in the log file has 'multi-driven net'", "multi-driven net"),
    ("Verify that there are no `combinational loop` messages in the log.", "combinational loop"),
    ("There is no “Unresolved reference” message.", "Unresolved reference"),
    ('The log does not contain "black box".', "black box"),
    ('The log must not contain the text "TIM-052".', "TIM-052"),
    ('"signal has no driver" does not appear in the log', "signal has no driver"),
    ("Ensure the log is free of 'LINT-28'.", "LINT-28"),
    ('No "UPF-103" messages appear in the log.', "UPF-103"),
    ("The log shows no 'assertion disabled' lines", "assertion disabled"),
    ('Neither "LINT-1" nor "LINT-2" appears in the log.', "LINT-1\nLINT-2"),
]
WITH_A_STEP = [
    ('The synthesis log contains no "latch inferred" messages.', ("synthesis",)),
    ('No line of the Yosys log contains "latch inferred".', ()),
    ('There are no "latch inferred" messages in the nightly log.', ("nightly",)),
]
NOT_AT_ONCE = [
    # The other sense
    'The log contains "latch inferred".',
    'Every line of the log contains "INFO".',
    'No line of the log lacks "INFO".',
    'The log must contain no line without "INFO".',
    'There is at least one "seed" message in the log.',
    # Narrowed
    'No line of the log contains "latch inferred" except in block alu.',
    'No line of the log contains "latch inferred" more than twice.',
    'No line after line 100 contains "latch inferred".',
    # Perhaps a pattern
    'No line of the log contains "latch.*inferred".',
    'No line of the log contains "ERR-?".',
    # Nothing to look for
    'No line of the log contains "-".',
    # Without quotes a text is a guess
    "There are no latch inferred messages in the log.",
]
LISTED = [
    "Confirm that none of the listed messages appears in the log.",
    "No line of the log contains a forbidden text.",
    "The log contains none of the listed texts.",
    "These messages must not appear in the log.",
    'There are no "latch inferred" messages in the log.',
]
NOT_LISTED = [
    "The listed messages appear in the log.",
    "Only the listed messages appear in the log.",
    'There are no "other" messages in the log.',
]


@pytest.mark.parametrize(("description", "text"), AT_ONCE)
def test_the_text_is_read_from_the_sentence(description: str, text: str) -> None:
    row = read_at_once(description, has_patterns=False)
    assert row == ClaimRow(name="text_absent", parameters={"text": text})


@pytest.mark.parametrize(("description", "left_out"), WITH_A_STEP)
def test_a_step_of_the_flow_is_left_to_the_report(
    description: str, left_out: tuple[str, ...]
) -> None:
    row = read_at_once(description, has_patterns=False)
    assert row is not None
    assert (row.name, row.left_out) == ("text_absent", left_out)


@pytest.mark.parametrize("description", NOT_AT_ONCE)
def test_any_other_sentence_is_a_question(description: str) -> None:
    assert read_at_once(description, has_patterns=False) is None


@pytest.mark.parametrize("description", LISTED)
def test_the_texts_are_the_item_s_list(description: str) -> None:
    row = read_at_once(description, has_patterns=True, listed=["latch inferred", "black box"])
    assert row == ClaimRow(name="texts_absent")


@pytest.mark.parametrize("description", NOT_LISTED)
def test_another_sentence_over_a_list_is_a_question(description: str) -> None:
    row = read_at_once(description, has_patterns=True, listed=["latch inferred"])
    assert row is None or row.name != "texts_absent"


def test_a_text_without_quotes_is_offered() -> None:
    found = candidates("There are no latch inferred messages in the log.", has_patterns=False)
    rows = {candidate.row.name: candidate.row for candidate in found}
    assert rows["text_absent"].parameters == {"text": "latch inferred"}


@pytest.mark.parametrize("description", NOT_AT_ONCE[:5])
def test_the_other_sense_is_never_offered_whole(description: str) -> None:
    found = candidates(description, has_patterns=False)
    assert [
        row.row for row in found if row.row.name == "text_absent" and not row.row.left_out
    ] == []


YOSYS = """\
 Yosys 0.33 (git sha1 2584903a060)

1. Executing Verilog-2005 frontend: top.v
Parsing Verilog input from `top.v' to AST representation.
{line}
2. Executing PROC pass (convert processes to netlists).

End of script. Logfile hash: 8a3f2c5a1b, CPU: user 0.05s system 0.01s, MEM: 12.21 MB peak
Yosys 0.33 (git sha1 2584903a060)
Time spent: 52% 2x read_verilog (0 sec), 47% 1x proc (0 sec)
"""
CLEAN = YOSYS.format(line="Generating RTLIL representation for module `\\top'.")
LATCH = YOSYS.format(line="Latch inferred for signal `\\top.\\q' from process `\\top.$proc$1'.")
CUT = CLEAN[: CLEAN.index("End of script")]
PATHS = """\
Startpoint: a (rising edge-triggered flip-flop clocked by clk)
Endpoint: b (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max
   0.50   slack (MET)
"""
CRASH = CLEAN + "Segmentation fault (core dumped)\n"
VERDICTS = [
    ("Latch inferred", CLEAN, "PASS"),
    ("Latch inferred", LATCH, "FAIL"),
    # Another case is a question, not the text.
    ("latch inferred", LATCH, "NEEDS_REVIEW"),
    ("Latch  inferred", LATCH, "NEEDS_REVIEW"),
    ("LINT-1\nLatch inferred", LATCH, "FAIL"),
    ("Latch inferred", CUT, "NEEDS_REVIEW"),
    ("Latch inferred", CRASH, "NEEDS_REVIEW"),
    ("Latch inferred", PATHS, "ERROR"),
    ("Latch inferred", "\n", "ERROR"),
    ("Latch inferred", "Meeting notes: nothing new.\n", "NEEDS_MODEL"),
]


@pytest.mark.parametrize(("text", "log", "status"), VERDICTS)
def test_verdicts_of_a_text(tmp_path: Path, text: str, log: str, status: str) -> None:
    verdict = judge(tmp_path, ClaimRow(name="text_absent", parameters={"text": text}), log)
    assert verdict.status == status, (verdict.capped_by, verdict.errors, verdict.needs_model)
    if status == "FAIL":
        assert "Latch inferred for signal" in verdict.missing_items[0].value


@pytest.mark.parametrize("waived", [False, True])
@pytest.mark.parametrize(("text", "log", "status"), VERDICTS)
def test_verdicts_of_a_list(
    tmp_path: Path, text: str, log: str, status: str, *, waived: bool
) -> None:
    listed = ["combinational loop", *text.split("\n")]
    more: dict[str, object] = {"requirements": {"value": len(listed), "pattern_items": listed}}
    if waived:
        waiver = [{"pattern": "another line", "reason": "ours"}]
        more["waivers"] = {"value": 1, "waive_items": waiver}
    verdict = judge(tmp_path, ClaimRow(name="texts_absent"), log, more)
    assert verdict.status == status, (verdict.capped_by, verdict.errors, verdict.needs_model)


def test_a_listed_text_can_be_waived(tmp_path: Path) -> None:
    waiver = [{"pattern": "Latch inferred for signal*", "reason": "known", "owner": "ann"}]
    more: dict[str, object] = {
        "requirements": {"value": 1, "pattern_items": ["Latch inferred"]},
        "waivers": {"value": 1, "waive_items": waiver},
    }
    verdict = judge(tmp_path, ClaimRow(name="texts_absent"), LATCH, more)
    assert verdict.status == "PASS", (verdict.missing_items, verdict.extra_items)


def test_an_expression_in_the_list_is_refused(tmp_path: Path) -> None:
    more: dict[str, object] = {"requirements": {"value": 1, "pattern_items": ["regex:Latch.*"]}}
    with pytest.raises(InputError, match="plain texts"):
        judge(tmp_path, ClaimRow(name="texts_absent"), CLEAN, more)
