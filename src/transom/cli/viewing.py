"""`transom view`: a run as one HTML file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import root
from transom.cli.command import RunArgument, command
from transom.cli.history import found_run
from transom.cli.learn import opened
from transom.cli.session import Session
from transom.errors import SettingsError, install_hint
from transom.llm.prices import Prices
from transom.runs import write_file
from transom.runs.history import RunHistory

PageFile = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="Write the page to this file.")
]


@command(root, "view", example="transom view VER-02 -o page.html")
async def view(session: Session, run: RunArgument, out: PageFile = Path("run.html")) -> int:
    """Write a run as one HTML file: its result, stages, calls and trace.

    The file loads nothing and runs no script.
    """
    if not find_spec("fastapi"):
        raise SettingsError("the extra `server` is not installed", hint=install_hint("server"))
    from transom import server

    prices = Prices.load(session.settings.paths.prices)
    async with found_run(session, run) as (store, found):
        with opened(session) as playbook:
            site = server.Site(RunHistory(session.known_workspace, store), prices, playbook)
            page = server.run_file(site, found.row.id)
    path = write_file(session.cwd / out, page.encode("utf-8", "replace"))
    return session.report({"run_id": found.row.id, "file": str(path)}, f"written: {path}")
