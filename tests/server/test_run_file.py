"""A run as one file: nothing is loaded, no script runs, and every text is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from tests.cli.helpers import transom, walked
from tests.server.leaving import NASTY, markup_in
from tests.server.test_results import leave_investigation, leave_story
from transom.learning import Playbook
from transom.llm.prices import Prices
from transom.runs.history import RunHistory
from transom.server import Site, run_file


def test_the_file_of_a_run_is_self_contained(book: Playbook, history: RunHistory) -> None:
    site = Site(history, Prices.load(), book)
    for run in (leave_investigation(history, NASTY), leave_story(history, NASTY)):
        text = run_file(site, run)
        assert markup_in(text) == [] and not re.search(r"<(script|img|link|iframe)", text)
        assert not re.search(r'href="(?!#)', text) and " style=" not in text
        (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in text
        assert "Who has to act" in text or 'class="lanes"' in text


@pytest.mark.slow
def test_the_command_writes_the_file_with_calls_and_trace(tmp_path: Path) -> None:
    _, run = walked(tmp_path)
    done = transom("view", run, "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<code>one</code>" in text
    assert text.count('<section class="call">') == 2 and "stage one" in text
    # A segment of a bar leads to its text in the same file.
    targets = re.findall(r'<a href="#([^"]+)" aria-label', text)
    assert len(targets) > 2 and len({*targets}) == len(targets)
    assert all(f'<pre id="{target}"' in text for target in targets)
