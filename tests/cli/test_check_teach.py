"""Six logs of kinds that no domain knows: from nothing to a verdict in at most six answers, and
none of them wrong.
"""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.checks import Desk
from tests.cli.helpers import COMMAND, clean_environment
from transom.checklist.teach import Marked, clear_end, learn, limited_line
from transom.errors import InputError

ASKS = "a question"
"""A person is asked: the line that nobody was shown is no verdict."""
OPEN = {"NEEDS_REVIEW", "NEEDS_MODEL", "ERROR"}

LOGS: dict[str, tuple[str, str, tuple[str, ...], dict[str, str]]] = {
    # kind: what must hold, the log, the marks (a letter and a line), and the logs of other days
    # with their verdicts
    "esd": (
        "Confirm that every pad is protected against ESD.",
        (
            "ESD Auditor 3.1\nLoading deck esd.rul\ndeck errors: 0\nESD-001 pad_io[0]/clamp :"
            " protected (12.5 mV)\nESD-003 pad_ana/clamp : EXPOSED (812.0 mV)\nESD-004"
            " pad_vdd/clamp : waived by deck\nAudit done.\n"
        ),
        ("g4", "b5", "n3", "g6"),
        {
            "deck errors: 0\nESD-009 pad_q/clamp : protected (3.0 mV)\nAudit done.\n": "PASS",
            "deck errors: 0\nESD-009 pad_q/clamp : protected (3.0 mV)\n": ASKS,
            "deck errors: 2\nESD-009 pad_q/clamp : protected (3.0 mV)\nAudit done.\n": ASKS,
            "ESD-009 pad_q/clamp : protected (3.0 mV)\nESD-010 pad_r/clamp : not checked\nAudit done.\n": (
                ASKS
            ),
            "ESD-009 pad_q/clamp : protected (3.0 mV)\nESD-010 pad_r/clamp : EXPOSED (9.5 mV)\nAudit done.\n": (
                "FAIL"
            ),
            "ESD Auditor 3.1\nAudit done.\n": ASKS,
        },
    ),
    "scan": (
        "Confirm that every scan chain traces.",
        "chain c0: 512 flops, 0 breaks\nchain c1: 498 flops, 2 breaks\n",
        ("g1", "b2", "e"),
        {
            "chain c0: 520 flops, 0 breaks\nchain c7: 1 flops, 0 breaks\n": "PASS",
            "chain c0: 520 flops, 0 breaks\nchain c7: 1 flops, 13 breaks\n": "FAIL",
            "chain c0: 520 flops, 0 breaks\nchain c7: untraced\n": ASKS,
        },
    ),
    "bump": (
        "Confirm that no bump exceeds its current.",
        "BUMP      LIMIT  USED  STATE\nVDD_001   20.0   12.1  ok\nVDD_002   20.0   23.9  OVER\n",
        ("g2", "b3", "e"),
        {
            "BUMP      LIMIT  USED  STATE\nVSS_017   20.0   2.1  ok\nVDD_002   20.0   3.9  ok\n": (
                "PASS"
            ),
            "VDD_017   20.0   2.1  ok\nVDD_002   20.0   33.9  OVER\n": "FAIL",
            "VDD_017   20.0   2.1  ok\nVDD_002   20.0   33.9  UNKNOWN\n": ASKS,
        },
    ),
    "seal": (
        "Confirm that the seal ring is closed.",
        "sealring tool\nring closed: yes\n",
        ("g2", "o1", "e2"),
        {
            "sealring tool\nring closed: yes\n": "PASS",
            "sealring tool\nring closed: no\n": "FAIL",
            "sealring tool\nring closed: maybe\n": ASKS,
            "sealring tool\n": ASKS,
            "sealring tool\nFATAL out of licences\nring closed: yes\n": ASKS,
        },
    ),
    "fill": (
        "Confirm that the metal density of each window is inside its range.",
        (
            "window (0,0) M1 density 0.41 within [0.20 0.80]\nwindow (1,0) M1 density 0.12 outside"
            " [0.20 0.80]\n2 windows, 1 outside\n"
        ),
        ("g1", "b2", "b3", "e"),
        {
            "window (3,7) M2 density 0.55 within [0.20 0.80]\n": "PASS",
            "window (3,7) M2 density 0.5 within [0.20 0.80]\nwindow (0,7) M2 density 0.9 outside [0.20 0.80]\n": (
                "FAIL"
            ),
            "window (3,7) M2 density 0.55 within [0.20 0.80]\n12 windows, 0 outside\n": ASKS,
        },
    ),
    "mbist": (
        "Confirm that every memory passes its self test.",
        "[mbist] u_cpu/u_ram0 march_c: GO\n[mbist] u_cpu/u_ram1 march_c: NOGO at addr 0x1f\n",
        ("g1", "b2", "e"),
        {
            "[mbist] u_dsp/u_ram5 march_c: GO\n": "PASS",
            "[mbist] u_dsp/u_ram5 march_c: GO\n[mbist] u_dsp/u_ram6 march_c: NOGO at addr 0xff\n": (
                "FAIL"
            ),
            "[mbist] u_dsp/u_ram5 march_c: GO\n[mbist] u_dsp/u_ram6 march_c: timeout\n": ASKS,
        },
    ),
}
OPTION = {"g": "--good", "b": "--bad", "n": "--beside", "o": "--bad", "e": "--end"}
FILE, PLACE = {"o": "old.log"}, {"e": "none"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOGS)
def test_from_nothing_to_verdicts_of_which_none_is_wrong(
    kind: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(here, capfd)
    says, log, marks, days = LOGS[kind]
    assert len(marks) <= 6
    (here / "it.log").write_text(log)
    (here / "IT.yaml").write_text(f"description: {says}\ninput_files: [it.log]\n")
    assert desk("check", "all", "IT.yaml", "-q").code == 3, "no domain knows it"
    (here / "old.log").write_text("ring closed: no\n")
    given = [
        word
        for mark in marks
        for word in (
            OPTION[mark[0]],
            PLACE.get(mark) or f"{FILE.get(mark[0], 'it.log')}:{mark[1:]}",
        )
    ]
    taught = desk("check", "teach", "IT.yaml", *given)
    assert taught.code == (1 if "b" in "".join(marks) else 0), taught
    for text, status in days.items():
        (here / "it.log").write_text(text)
        word = desk("check", "run", "IT.yaml", "-q").out.split()[0].rstrip(",")
        assert (ASKS if word in OPEN else word) == status, text
    assert desk("check", "all", "IT.yaml", "-q").out, "found by the settings from now on"
    assert desk("check", "formats", "lint", "formats/taught.it.yaml").code == 0, (
        "its examples are its tests"
    )


def test_a_pattern_too_narrow_is_shown_and_nothing_is_kept(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(here, capfd)
    (here / "it.log").write_text(LOGS["esd"][1])
    (here / "IT.yaml").write_text("description: x\ninput_files: [it.log]\n")
    answer = desk("check", "teach", "IT.yaml", "--good", "it.log:4")
    assert answer.code == 3
    assert (
        "it.log: unread: 3 lines  TOO NARROW: these must be read and fit no pattern" in answer.out
    )
    assert "       5  ESD-003 pad_ana/clamp : EXPOSED (812.0 mV)" in answer.out
    assert not (here / "formats").exists() and not (here / "transom.yaml").exists()
    assert "reads_as" not in (here / "IT.yaml").read_text()
    assert "names no line" in desk("check", "teach", "IT.yaml", "--good", "it.log").line()
    assert "there are 7 lines" in desk("check", "teach", "IT.yaml", "--good", "it.log:99").line()


def test_how_a_log_ends_is_asked_where_its_last_line_does_not_say_so(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(here, capfd)
    (here / "it.log").write_text(LOGS["scan"][1])
    (here / "IT.yaml").write_text("description: x\ninput_files: [it.log]\n")
    answer = desk("check", "teach", "IT.yaml", "--good", "it.log:1", "--bad", "it.log:2")
    assert answer.code == 3 and not (here / "formats").exists()
    assert (
        "it.log is complete: a log that was cut off would pass; name its last line with --end"
        " it.log:LINE" in answer.err
    )
    marks = ["--good", "it.log:1", "--bad", "it.log:2"]
    assert (
        "it.log:2: other lines are like this end"
        in desk("check", "teach", "IT.yaml", *marks, "--end", "it.log:2").err
    )


@pytest.mark.parametrize(
    ("description", "log", "held", "others"),
    [
        # The item, its log, the limit that a mark must carry, and limits that are another's.
        ("Pattern coverage is at least 98%.", "coverage 98.41%", ">= 98", [">= 50", "> 97"]),
        ("LUT use stays below 50 percent.", "lut use 12.5", "< 50", ["< 90"]),
        ("No more than 3 pads are floating.", "floating pads: 2", "<= 3", ["<= 30"]),
        ("The yield must be > 0.95.", "yield 0.97", "> 0.95", ["> 0.9"]),
        ("Skew is at most 40 ps.", "skew 0.031 ns", "<= 0.040", []),
    ],
)
def test_a_limit_of_the_item_must_be_held_by_a_mark(
    here: Path,
    capfd: pytest.CaptureFixture[str],
    description: str,
    log: str,
    held: str,
    others: list[str],
) -> None:
    """Without it, any number of the next day would be taken for a good one."""
    desk = Desk(here, capfd)
    (here / "it.log").write_text(f"{log}\nAudit done.\n")
    (here / "IT.yaml").write_text(f'description: "{description}"\ninput_files: [it.log]\n')
    marks = [("--good", "it.log:1"), *(("--limit", f"it.log:1 {other}") for other in others)]
    for mark in marks:
        answer = desk("check", "teach", "IT.yaml", *mark)
        assert answer.code == 3, answer.out
        assert "the item sets a limit (" in answer.err
        assert "--limit 'it.log:1 " in answer.err
        assert not (here / "formats").exists()
    answer = desk("check", "teach", "IT.yaml", "--limit", f"it.log:1 {held}")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["a 1", "Audit done.", ""], 2),
        (["a 1", "*** Finished at Mon Nov 23 11:02:07 2026 ***", "------"], 2),
        (["chain a done", "chain b done"], None),
        (["a 1", "run not complete"], None),
        (["a 1", "b 2"], None),
        ([""], None),
    ],
)
def test_a_last_line_is_an_end_where_it_says_so_and_stands_once(
    lines: list[str], end: int | None
) -> None:
    assert clear_end(lines) == end
    if end:
        tomorrow = lines[end - 1].replace("Mon Nov 23 11:02:07", "Tue Dec  1 9:12:00")
        assert (
            learn([Marked("good", "a 1")], [Marked("beside", lines[end - 1])])
            .completed(f"a 1\n{tomorrow}")
            .count("\n")
            == 1
        )


@pytest.mark.slow
def test_a_terminal_is_asked_for_marks_until_that_is_all(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Words that are no mark show the lines that hold them; a line is what it was called last."""
    desk = Desk(here, capfd)
    (desk.here / "it.log").write_text(LOGS["esd"][1])
    item = desk.here / "IT.yaml"
    item.write_text(f"description: {LOGS['esd'][0]}\ninput_files: [it.log]\n")
    code, shown = _typed(
        "check", "teach", "IT.yaml", answers=["99", "EXPOSED", "bad 99", "good 4", "\x04"]
    )
    assert (code, "reads_as" in item.read_text(), (desk.here / "formats").exists()) == (
        3,
        False,
        False,
    ), shown
    assert "it.log: 0 lines with '99'" in shown and "it.log: 1 line with 'EXPOSED'" in shown
    assert "99: there are 7 lines; count from 1; that mark does not count" in shown
    assert (
        "it.log: complete with the line\r\n       7  Audit done." in shown
        and "nothing was kept" in shown
    )
    marks = ["good it.log:4", "beside 5", "beside 3", "beside 6", "bad 5", ""]
    code, shown = _typed("check", "teach", "IT.yaml", answers=marks)
    assert code == 1 and "FAIL" in shown.partition("kept as")[2], shown
    assert (
        desk("check", "run", "IT.yaml", "--format", "json", "-q").document["missing_items"][0][
            "line_number"
        ]
        == 5
    )


def _typed(*words: str, answers: list[str]) -> tuple[int, str]:
    """A command on a terminal of its own, each answer typed behind a question; its code, and all
    that was shown.
    """
    ours, theirs = pty.openpty()
    environ, shown = clean_environment(NO_COLOR="1"), b""
    with subprocess.Popen(
        [*COMMAND, *words], env=environ, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                shown += part
                if shown.endswith((b": ", b"? ")) and answers:
                    word = answers.pop(0)
                    os.write(ours, (word if word == "\x04" else f"{word}\n").encode())
        except OSError:  # the terminal's other end was closed
            pass
        code = process.wait()
    os.close(ours)
    return code, shown.decode()


def test_what_nothing_tells_apart_is_refused() -> None:
    """Too wide: a pattern that fits lines of two marks is never kept."""
    with pytest.raises(
        InputError, match="nothing tells this line, marked as bad, from those marked as good"
    ):
        learn([Marked("good", "used 5 of them", "a", 1), Marked("bad", "used 9 of them", "a", 2)])
    with pytest.raises(InputError, match="no line is marked as good or bad"):
        learn([Marked("beside", "used 9 of them")])


def test_numbers_tell_lines_apart_by_sign_and_by_being_zero() -> None:
    marks = [Marked("good", "slack 0.31 at u1/D"), Marked("bad", "slack -0.02 at u2/D")]
    lesson = learn(marks)
    read = [
        "slack 7 at x[3]/D",
        "slack -7 at x[3]/D",
        "slack 0.00 at q/D",
        "slack n/a at q/D",
        "nothing of the kind",
    ]
    assert [lesson.read(line) for line in read] == ["good", "bad", "unread", "unread", None]
    both = learn(
        [
            Marked("good", "chain a done"),
            Marked("good", "chain b done"),
            Marked("good", "chain spare done"),
        ]
    )
    assert [both.read(f"chain {word} done") for word in ("main", "not", "unfinished")] == [
        "good",
        "unread",
        "unread",
    ]


@pytest.mark.parametrize(
    ("line", "limit", "mark", "fitting", "other"),
    [
        ("cover: 98.7 %", ">= 98", "good", "cover: 100.0 %", "cover: 97.9 %"),
        ("cover: 91.0 %", ">= 98", "bad", "cover: 98 %", "cover: 8.9 %"),
        ("open remarks = 12", "<= 20", "good", "open remarks = 0", "open remarks = 21"),
        ("margin of io: +0.120 ns", ">= 0", "good", "margin of io: 0.0 ns", "margin of io: -3 ns"),
        ("north 61.2 of 3400", "61.2 < 80", "good", "north 79.9 of 10", "north 80.0 of 10"),
    ],
)
def test_a_limit_makes_a_line_good_or_bad(
    line: str, limit: str, mark: str, fitting: str, other: str
) -> None:
    marked = limited_line(line, "a.log:1", limit)
    assert marked.mark == mark
    lesson = learn([marked])
    assert (lesson.read(fitting), lesson.read(other)) == ("good", "bad")
    assert lesson.has_bad_line()


def test_a_limit_that_is_not_clear_is_refused() -> None:
    with pytest.raises(InputError, match="has several numbers"):
        limited_line("north 61.2 of 3400", "a.log:1", "< 80")
    with pytest.raises(InputError, match="is no limit"):
        limited_line("cover: 98.7 %", "a.log:1", "about 98")


def test_bad_lines_alone_let_all_others_be() -> None:
    lesson = learn([Marked("bad", "@20 PROTO-11 handshake dropped by u_dma/ch0")])
    read = [
        lesson.read(line) for line in ("@30 beat ok", "@40 PROTO-7 handshake dropped by u_x/c1")
    ]
    assert read == [None, "bad"]
    assert lesson.read("@50 PROTO-8 data changed") == "unread"


def test_a_row_that_nobody_was_shown_must_be_read() -> None:
    lesson = learn([Marked("good", "ram_a   12 tidy"), Marked("bad", "ram_b   40 messy")])
    assert lesson.read("pll    9 tidy") in ("good", "unread")
    assert lesson.read("rom0   7 untidy") == "unread"
