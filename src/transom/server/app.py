"""The ASGI application: the endpoints of a playbook and a workspace, behind the access checks."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from transom import __version__
from transom.learning import Playbook
from transom.server.context import router
from transom.server.door import Door
from transom.server.problems import add_handlers


def build_app(playbook: Playbook, workspace: Path, token: str, host: str = "127.0.0.1") -> Door:
    """Build the REST API as an ASGI application.

    Args:
        playbook: an open playbook; the caller closes it.
        workspace: the folder with the session and the traces.
        token: the token that requests must send as `Authorization: Bearer`.
        host: the name or address that the server listens on, see `Door`.
    """
    app = FastAPI(
        title="Transom", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.playbook, app.state.workspace = playbook, workspace
    app.include_router(router)
    add_handlers(app)
    return Door(app, token, host)
