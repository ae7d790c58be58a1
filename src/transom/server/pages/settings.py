"""*More* and *Settings*: the other pages, and the settings with where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from transom.canonical import plain
from transom.config import Settings
from transom.server.rendering import page
from transom.telemetry.address import safe_address
from transom.telemetry.redact import Redactor

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")


@dataclass(frozen=True)
class SettingRow:
    """A setting.

    Attributes:
        source: where its value comes from, e.g. `transom.yaml:3`; "" for the default.
    """

    key: str
    value: Any
    source: str


def rows_of(settings: Settings) -> list[SettingRow]:
    """Return all settings without the secrets in their values, those that somebody set first."""
    origins = settings.origins
    redact = Redactor()
    rows = [
        SettingRow(key, redact.inside(_shown(value)), origins.get(key, ""))
        for key, value in _leaves(settings)
    ]
    return sorted(rows, key=lambda row: (not row.source, row.key))


def _leaves(section: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(value: Any) -> Any:
    """Return a value as JSON; an address without its user and password."""
    if isinstance(value, str) and "://" in value:
        return safe_address(value)
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, dict | list | tuple):
        return plain(value)
    return str(value)


@router.get("/more")
def show_more(request: Request) -> Response:
    """List the pages that have no place in the header."""
    return page(request, "more.html", {})


@router.get("/settings")
def show_settings(request: Request) -> Response:
    """Show the settings of the server, with where each comes from."""
    settings: Settings = request.app.state.settings
    rows = rows_of(settings)
    values = {
        "set_rows": [row for row in rows if row.source],
        "default_rows": [row for row in rows if not row.source],
        "file": settings.file,
        "workspace": request.app.state.workspace,
    }
    return page(request, "settings.html", values)


@api.get("/settings")
def get_settings(request: Request) -> dict[str, Any]:
    """Get the settings with where each comes from, without secrets."""
    settings: Settings = request.app.state.settings
    rows = [
        {"key": row.key, "value": row.value, "source": row.source or None}
        for row in rows_of(settings)
    ]
    file = str(settings.file) if settings.file else None
    return {"schema": "transom.settings/1", "file": file, "settings": rows}
