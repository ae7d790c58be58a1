"""The application: the endpoints of a playbook and a workspace, behind the door."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from transom import __version__
from transom.learning import Playbook
from transom.server.context import router
from transom.server.door import Door
from transom.server.problems import add_handlers


def build_app(playbook: Playbook, workspace: Path, token: str, host: str = "127.0.0.1") -> Door:
    """The REST interface as an ASGI application.

    Args:
        playbook: an open one; it is closed by whoever opened it.
        workspace: the folder with the session and the traces.
        token: what requests must give as `Authorization: Bearer`.
        host: where the server listens, see `Door`.
    """
    app = FastAPI(title="Transom", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.playbook, app.state.workspace = playbook, workspace
    app.include_router(router)
    add_handlers(app)
    return Door(app, token, host)
