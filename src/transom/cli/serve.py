"""`transom serve`: the workspace's playbook, session and figures over HTTP."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from transom.cli.command import command
from transom.cli.insights import Scope, opened
from transom.cli.output import say
from transom.cli.session import Session
from transom.cli.tree import root
from transom.errors import SettingsError, install_hint


@command(root, "serve", example="transom serve --port 8420")
def serve(
    session: Session,
    scope: Scope,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where it listens; by default for this machine alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 for any that is free.")] = 8420,
) -> int:
    """Serve the playbook over HTTP until Ctrl-C. Whoever has the printed token may use it.

    The endpoints are described at /openapi.json. Each request gives the token: `Authorization: Bearer TOKEN`.
    """
    if not (find_spec("fastapi") and find_spec("uvicorn")):
        raise SettingsError("the extra `server` is not installed", hint=install_hint("server"))
    from transom import server

    token = server.new_token()
    listener, url = server.listen(host, port)
    with listener, opened(session, scope, making=True) as playbook:
        session.report({"schema": "transom.serve/1", "url": url, "token": token}, f"url    {url}", f"token  {token}")
        sys.stdout.flush()
        if host not in ("127.0.0.1", "localhost", "::1"):
            say("transom: other machines can reach it, and what it sends is not encrypted")
        server.serve(server.build_app(playbook, session.workspace_root, token, host), listener)
    session.progress("stopped")
    return 0
