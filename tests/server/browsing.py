"""Debian's Chromium, and a server of its own for it to look at."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import clean_environment

# A violation of the policy is an event of the document; the console shows some of them only.
_REPORT = (
    "document.addEventListener('securitypolicyviolation',"
    " event => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
)


@dataclass
class Served:
    """A `transom serve` at work.

    Attributes:
        url: its address.
        token: its token.
        process: the server.
    """

    url: str
    token: str
    process: subprocess.Popen[str]

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve the workspace of a folder on any free port."""
    command = [sys.executable, "-m", "transom", "serve", "--port", "0", "--format", "json"]
    with subprocess.Popen(
        command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = ""
        while not lines.endswith("}\n"):
            line = process.stdout.readline()
            assert line, "the server ended"
            lines += line
        document = json.loads(lines)
        try:
            yield Served(document["url"], document["token"], process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(20)


@dataclass
class Watched:
    """A browser whose every complaint is kept.

    Attributes:
        browser: the browser.
        server: the server that it looks at.
        trouble: what a page complained of, or asked another machine for.
    """

    browser: Any
    server: Served
    trouble: list[str] = field(default_factory=list)

    @contextmanager
    def window(self, **options: Any) -> Iterator[Any]:
        """Open a window of its own, signed in, on *Now*; see `Browser.new_context` for options."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        context.add_init_script(_REPORT)
        context.on("page", self._watch)
        page = context.new_page()
        page.goto(f"{self.server.url}/?token={self.server.token}")
        assert page.url == f"{self.server.url}/"
        try:
            yield page
        finally:
            context.close()

    def _watch(self, page: Any) -> None:
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("request", self._note_request)

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.trouble.append(f"{message.type}: {message.text}")

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(f"{self.server.url}/"):
            self.trouble.append(f"foreign request: {request.url}")


@contextmanager
def chromium(server: Served) -> Iterator[Watched]:
    """Start a browser for a server, or skip the test where there is none."""
    with started_browser() as browser:
        yield Watched(browser, server)


@contextmanager
def started_browser() -> Iterator[Any]:
    """Start Debian's Chromium, or skip the test where it or its driver is missing."""
    program = shutil.which("chromium")
    missing = "Debian's chromium" if program is None else "the package playwright"
    if program is None or find_spec("playwright") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing} is missing; see scripts/setup-tools.sh")
        pytest.skip(f"{missing} is missing")
    playwright: Any = import_module("playwright.sync_api")
    # Its own sandbox needs another user than root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
