"""`transom view`: a run as one HTML file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import root
from transom.cli.command import RunArgument, command
from transom.cli.command_session import Session
from transom.cli.knowledge import opened
from transom.cli.run_lookup import found_run
from transom.errors import SettingsError, install_hint
from transom.llm.prices import Prices
from transom.runs import write_file
from transom.runs.history import RunHistory

PageFile = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="Write the page to this file.")
]


@command(root, "view", example="transom view VER-02 -o page.html")
async def view(session: Session, run: RunArgument, page_file: PageFile = Path("run.html")) -> int:
    """Write a run as one HTML file: its result, stages, calls and trace.

    The file loads nothing and runs no script.
    """
    if not find_spec("fastapi"):
        raise SettingsError("the extra `server` is not installed", hint=install_hint("server"))
    # Imported here, since it needs an extra.
    from transom import server

    prices = Prices.load(session.settings.paths.prices)
    async with found_run(session, run) as (store, run_view):
        with opened(session) as playbook:
            site = server.Site(RunHistory(session.known_workspace, store), prices, playbook)
            page = server.run_file(site, run_view.row.id)
    # A text of a run may hold half of a surrogate pair, which UTF-8 cannot encode.
    path = write_file(session.cwd / page_file, page.encode("utf-8", "replace"))
    document = {"run_id": run_view.row.id, "file": str(path)}
    return session.show(document, f"written: {path}")
