"""The flowchart of an agent is drawn by Mermaid itself, and the page shows the current one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from tests.cli.helpers import clean_environment
from tests.npm import npm_script
from tests.repository.tracked import ROOT
from transom import Agent, Role, SubAgent, tool
from transom.testing import ScriptedProvider


@tool(name="odd", effect="pure")
def odd(at: str) -> str:
    """Look."""
    return at


def chart_of_the_page() -> str:
    page = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")
    (chart,) = re.findall(r"^```mermaid\n(.*?)^```$", page, re.M | re.S)
    return str(chart)


def test_the_page_shows_what_the_command_prints() -> None:
    command = [sys.executable, "-m", "transom", "agent", "show", "shop:clerk", "--mermaid"]
    done = subprocess.run(
        command,
        cwd=ROOT / "examples" / "agents",
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == chart_of_the_page()


@pytest.mark.slow
def test_mermaid_draws_it_whatever_the_names_are() -> None:
    script = npm_script("mermaid/dist/mermaid.min.js")
    program = shutil.which("chromium")
    if program is None or find_spec("playwright") is None:
        pytest.skip("Debian's chromium or the package playwright is missing")
    # Names that mean something to Mermaid or to HTML.
    names = ('end "quoted"', "`this` & that", "a;b|c]d}e)", "graph `x` -- y", "50 % #quot; 漢")
    subs = [SubAgent(Role(name, "You read."), f"s{n}", "Read.") for n, name in enumerate(names)]
    agent = Agent(Role("end", "You."), tools=[odd, *subs], provider=ScriptedProvider({}))
    playwright: Any = import_module("playwright.sync_api")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page()
        page.set_content("<!doctype html><title>Flowchart</title>")
        page.add_script_tag(content=script)
        draw = (
            "async text => { mermaid.initialize({startOnLoad: false, securityLevel: 'strict',"
            " flowchart: {htmlLabels: false}});"
            " const {svg} = await mermaid.render('chart', text); document.body.innerHTML = svg;"
            " return [...document.querySelectorAll('.node')].map(node => node.textContent); }"
        )
        shown = page.evaluate(draw, chart_of_the_page())
        assert any("shop.clerk" in text for text in shown) and len(shown) == 5
        drawn = page.evaluate(draw, agent.to_mermaid())
        browser.close()
    assert len(drawn) == 2 + len(names)
    # A label is broken between words, where the drawing has no blank.
    found = [re.sub(r"\s", "", text) for text in drawn]
    for name in ("end", *names):
        assert any(re.sub(r"\s", "", name) in text for text in found), (name, found)
