"""Commands in messages work as printed, also if the workspace is elsewhere."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.cli.checks import Desk
from transom.cli.typed_commands import with_workspace

OPTION = "--workspace 'my runs'"
COMPLETED = {
    "choose with: transom answer R1 --choose N --by NAME; see the page": (
        f"choose with: transom answer R1 {OPTION} --choose N --by NAME; see the page"
    ),
    "2 items waiting: transom waiting; then: transom resume R1": (
        f"2 items waiting: transom waiting {OPTION}; then: transom resume R1 {OPTION}"
    ),
    'transom answer R1 "YOUR WORDS", then transom resume R1': (
        f'transom answer R1 "YOUR WORDS" {OPTION}, then transom resume R1 {OPTION}'
    ),
    "answer with: transom answer R1 --question q yes --by NAME (or: no)": (
        f"answer with: transom answer R1 {OPTION} --question q yes --by NAME (or: no)"
    ),
    "answer with: transom answer R1 yes (or: no)": (
        f"answer with: transom answer R1 yes {OPTION} (or: no)"
    ),
    "no trace 'x'; see `transom trace list`, or": (
        f"no trace 'x'; see `transom trace list {OPTION}`, or"
    ),
    "transom study forget beam --trials 3,5-9": f"transom study forget beam {OPTION} --trials 3,5-9",
    "  transom runs show R1   the files": f"  transom runs show R1 {OPTION}   the files",
    "record it (transom runs record R1 FILE), or": (
        f"record it (transom runs record R1 FILE {OPTION}), or"
    ),
    "ask with: transom investigate 'Is it ready, and why; who says?' --follow-up R1": (
        f"ask with: transom investigate 'Is it ready, and why; who says?' {OPTION} --follow-up R1"
    ),
    "\x1b[2mtransom resume R1\x1b[0m": f"\x1b[2mtransom resume R1 {OPTION}\x1b[0m",
}
LEFT = [
    "to continue, run: transom resume R1 --workspace /srv/runs --max-cost USD, with more",
    "the results of transom check; a story is run with transom story",
    "see: transom --help",
    "begin it anew with: cd /srv/lamp && transom check all LAMP.yaml",
    "transom: no run 'R9'",
    "hand it to mytransom resume R1",
]


@pytest.mark.parametrize("text", COMPLETED)
def test_a_command_gets_the_option_among_its_own(text: str) -> None:
    assert with_workspace(text, OPTION) == COMPLETED[text]
    assert with_workspace(text, "") == text


@pytest.mark.parametrize("text", LEFT)
def test_other_words_are_left_alone(text: str) -> None:
    assert with_workspace(text, OPTION) == text


def test_what_a_question_tells_to_type_works(desk: Desk) -> None:
    """A line that nobody understands is a question; its commands find the run."""
    item = "description: Confirm design loaded\ninput_files: [lamp.log]\n"
    (desk.here / "LAMP.yaml").write_text(item, "utf-8")
    (desk.here / "lamp.log").write_text("Design lamp loaded\n", "utf-8")
    here = ["--workspace", "my runs"]
    answer = desk.check("all", "LAMP.yaml", *here)
    found = re.search(r"transom (answer \S+) (--work.+?) --choose N --by NAME;", answer.out)
    assert (answer.code, bool(found)) == (3, True), answer.out
    assert found is not None
    assert shlex.split(found[2]) == here
    assert desk(*found[1].split(), *here, "--choose", "1", "--by", "Ada").code == 0
    missing = desk("runs", "show", "nothing", *here)
    assert missing.err.strip().endswith("see: transom runs list --workspace 'my runs'")
