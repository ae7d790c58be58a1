"""*Start*: begin a command of a product in a process of its own."""

from __future__ import annotations

import re
import secrets
import shlex
import time
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from transom.errors import NotFoundError
from transom.formats.text_decoding import decode_text
from transom.server.children import launch
from transom.server.commands import FORMS, filled
from transom.server.forms import form_of
from transom.server.rendering import CSRF_FIELD, page
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_LOGS = "started"
_KEPT_DAYS = 30
_MOST_OUTPUT = 20_000


def _log_of(site: Site, name: str) -> Path:
    """Return where a started command prints."""
    if not re.fullmatch("[0-9a-f]{16}", name):
        raise NotFoundError(f"nothing was started under {name!r}", hint="see the page Start")
    return site.runs.workspace.root / _LOGS / f"{name}.log"


def _remove_old_logs(site: Site) -> None:
    """Remove what commands printed that were started long ago."""
    oldest = time.time() - _KEPT_DAYS * 24 * 3600
    for log in (site.runs.workspace.root / _LOGS).glob("*.log"):
        if log.stat().st_mtime < oldest:
            log.unlink(missing_ok=True)


@router.get("/start")
def show_forms(request: Request) -> Response:
    """Show a form for each command."""
    return page(request, "start.html", list_forms())


@api.get("/start")
def list_forms() -> dict[str, Any]:
    """Get the commands that the page starts, each with the JSON Schema of its fields."""
    forms = {
        kind: model.model_json_schema() | {"button": model.button} for kind, model in FORMS.items()
    }
    return {"schema": "transom.start/1", "folder": str(Path.cwd()), "forms": forms}


@router.post("/start/{kind}")
async def start(request: Request, kind: str) -> Response:
    """Start a command as a form says."""
    site: Site = request.app.state.site
    fields = form_of(await request.body())
    fields.pop(CSRF_FIELD, None)
    command = filled(kind, fields).arguments(site.runs.workspace.root)
    name = secrets.token_hex(8)
    _remove_old_logs(site)
    process = launch(site.runs, command, _log_of(site, name))
    request.app.state.started[name] = (process, shlex.join(["transom", *command]))
    return RedirectResponse(f"/started/{name}", 303)


@router.get("/started/{name}")
def show_started(request: Request, name: str) -> Response:
    """Show how a started command does, and what it printed."""
    log = _log_of(request.app.state.site, name)
    process, command = request.app.state.started.get(name, (None, ""))
    if process is None and not log.is_file():
        raise NotFoundError(f"nothing was started under {name!r}", hint="see the page Start")
    output = decode_text(log.read_bytes()[-_MOST_OUTPUT:]) if log.is_file() else ""
    code = process.poll() if process else None
    is_running = process is not None and code is None
    values = {"command": command, "output": output, "code": code, "is_running": is_running}
    return page(request, "started.html", values)
