"""Pages from templates: every value is escaped, and an unknown name is an error."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import Scope

from transom import __version__
from transom.formats.charts import SPAN_WIDTH
from transom.runs.questions import without_command

STATIC = "/static"
LOGIN = "/login"
CSRF_FIELD = "csrf"
_HERE = Path(__file__).parent
STATIC_FOLDER = _HERE / "static"
# Colours alone tell nothing to many readers.
_SIGNS = {
    "passed": "✓",
    "failed": "✕",
    "waiting": "●",
    "running": "▶",
    "neutral": "–",
}
_COLOURS = {
    "passed": ("done", "passed", "PASS", "READY"),
    "failed": ("failed", "FAIL", "NOT_READY", "ERROR"),
    "waiting": (
        "paused",
        "interrupted",
        "human_required",
        "needs_review",
        "NEEDS_MODEL",
        "NEEDS_REVIEW",
        "blocked",
    ),
    "running": ("running",),
}

# The phrases of HTTP tell a person little.
_ERRORS = {
    403: "Refused",
    404: "Not found",
    405: "Not possible here",
    422: "This does not fit",
    500: "The server failed",
    503: "Not possible now",
}


@cache
def environment() -> Environment:
    """Return the templates' environment."""
    templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        # A misspelt name is an error, and not an empty place on the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "duration": duration,
        "moment": moment,
        "figure": figure,
        # The style is a file of ours, and has no `<`.
        "own_style": Markup,
        "usd": usd,
        "without_command": without_command,
        # A slash in a name would begin another segment of the path.
        "segment": lambda text: quote(str(text), safe=""),
    }
    templates.globals |= {"colour": colour, "sign": sign, "static": STATIC, "login": LOGIN}
    templates.globals |= {"version": __version__, "span_width": SPAN_WIDTH}
    return templates


def render(template: str, **values: Any) -> str:
    """Return a filled-in template."""
    return environment().get_template(template).render(**values)


def page(request: Request, template: str, values: Mapping[str, Any]) -> HTMLResponse:
    """Return a page, or the fragment of one."""
    common = {
        "csrf": request.scope.get("csrf", ""),
        "path": request.url.path,
        "is_signed_in": "person" in request.scope,
        "waiting_count": request.app.state.site.waiting_count(),
    }
    return HTMLResponse(render(template, **common, **values))


def error_page(status: int, detail: str, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """Return the page of an error: what happened, and what to do."""
    title = _ERRORS.get(status, HTTPStatus(status).phrase)
    # It stands outside of any session, and knows of no run.
    values = {"title": title, "detail": detail, "csrf": "", "path": "", "waiting_count": 0}
    return HTMLResponse(render("error.html", **values), status, headers)


def login_page(problem: str = "", target: str = "/") -> HTMLResponse:
    """Return the page that asks for the token, and then leads to the address `target`."""
    headers = {"WWW-Authenticate": "Bearer"}
    return HTMLResponse(render("login.html", problem=problem, target=target), 401, headers)


def wants_page(scope: Scope) -> bool:
    """Return whether a request asks for a page, and not for a document of the REST API."""
    # A browser also asks for HTML where a person follows a link to the REST API.
    if scope["path"].startswith(("/api/", "/openapi.json")):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")


def colour(status: str) -> str:
    """Return the class that shows a status."""
    for name, statuses in _COLOURS.items():
        if status in statuses:
            return name
    return "neutral"


def sign(status: str) -> str:
    """Return the sign that stands before a status, since a colour alone says nothing to many."""
    return _SIGNS[colour(status)]


def duration(seconds: float) -> str:
    """Return a time in the two units that matter, e.g. `3 min 5 s`."""
    total = round(seconds)
    # Whole seconds would make short steps look alike.
    if 0 < seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if total < 60:
        return f"{total} s"
    minutes, remainder = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {remainder} s" if remainder else f"{minutes} min"
    hours, remainder = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {remainder} min" if remainder else f"{hours} h"
    days, remainder = divmod(hours, 24)
    return f"{days} d {remainder} h" if remainder else f"{days} d"


def moment(time: str) -> str:
    """Return a time for people, with its date and zone."""
    if not time:
        return "–"
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def figure(value: float | str | bool) -> str:
    """Return a value of a design with the digits that matter."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def usd(amount: float) -> str:
    """Return an amount in US dollars, with cents as far as they tell something."""
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"
