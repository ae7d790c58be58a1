"""The ASGI applications behind the access checks: a workspace with its pages, or an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.applications import Starlette
from starlette.staticfiles import StaticFiles

from transom import __version__
from transom.agent import Agent
from transom.agent.chat_completions import ChatCompletions
from transom.config import Settings
from transom.learning import Playbook
from transom.llm.prices import Prices
from transom.runs import Workspace
from transom.runs.history import RunHistory
from transom.server import context
from transom.server.dashboard import Dashboards
from transom.server.door import Door, Proxy
from transom.server.live import Feeds
from transom.server.pages import (
    checklist,
    costs,
    evals,
    insights,
    memory,
    now,
    releases,
    runs,
    settings,
    starts,
    stories,
    studies,
    traces,
    verdicts,
    waiting,
    windows,
)
from transom.server.problems import add_handlers, documented
from transom.server.rendering import STATIC, STATIC_FOLDER
from transom.server.site import Site
from transom.store import Store

_EXAMPLES = Path(__file__).with_name("examples.json")
_PAGES = (
    now,
    waiting,
    runs,
    windows,
    traces,
    verdicts,
    checklist,
    releases,
    stories,
    studies,
    insights,
    starts,
    costs,
    evals,
    memory,
    settings,
)


class _DescribedApp(FastAPI):
    """An application whose OpenAPI document has an example of each answer."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        document = super().openapi()
        examples = json.loads(_EXAMPLES.read_text(encoding="utf-8"))
        for path, example in examples.items():
            # An answer that looks like that of another path names this path.
            example = examples[example] if isinstance(example, str) else example
            answer = document["paths"][path]["get"]["responses"]["200"]
            answer["content"]["application/json"]["example"] = example
        return document


def build_app(
    playbook: Playbook,
    history: RunHistory,
    token: str,
    host: str = "127.0.0.1",
    known_settings: Settings | None = None,
    proxy_name: str = "",
) -> Door:
    """Build the pages and the REST API as an ASGI application.

    Args:
        playbook: an open playbook; the caller closes it.
        history: the runs of the workspace, its store open for writing; the caller closes it.
        token: the token that programs send as `Authorization: Bearer`, and browsers bring once.
        host: the name or address that the server listens on, see `Door`.
        known_settings: the settings of the server [the defaults]; they also name the prices of
            models.
        proxy_name: the name by which browsers reach the proxy in front of it; "" if there is none.
    """
    # No `docs_url`: the viewers of FastAPI load scripts from elsewhere, which `POLICY` forbids.
    app = _DescribedApp(
        title="Transom", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    known_settings = known_settings or Settings()
    site = Site(history, Prices.load(known_settings.paths.prices), playbook)
    feeds = Feeds(history.store)
    # Endpoints read these by `Depends`: modules of endpoints keep no state of their own.
    app.state.playbook, app.state.workspace = playbook, history.workspace.root
    app.state.site, app.state.feeds, app.state.settings = site, feeds, known_settings
    app.state.started, app.state.dashboards = {}, Dashboards(site, token)
    app.include_router(context.router)
    # The token is documented here; `Door` checks it.
    checked = [Depends(HTTPBearer(auto_error=False))]
    problems = documented(401, 403, 404, 422, 503)
    for page in _PAGES:
        app.include_router(page.router)
        app.include_router(page.api, dependencies=checked, responses=problems)
    app.mount(STATIC, StaticFiles(directory=STATIC_FOLDER))
    add_handlers(app)
    # Outside of the application, so that no request reaches it unchecked.
    proxy = Proxy(proxy_name, known_settings.serve.user_header) if proxy_name else None
    return Door(app, token, host, on_stop=feeds.close, proxy=proxy)


def build_agent_app(
    agent: Agent[Any, Any],
    name: str,
    workspace: Workspace,
    store: Store,
    token: str,
    host: str = "127.0.0.1",
    proxy_name: str = "",
) -> Door:
    """Build an ASGI application that serves an agent to chat front ends.

    Args:
        agent: the agent.
        name: the name of the model that it stands for.
        workspace: keeps the conversations.
        store: the workspace's store, open for writing; the caller closes it.
        token: what clients send as their API key.
        host: the name or address that the server listens on, see `Door`.
        proxy_name: the name by which clients reach the proxy in front of it; "" if there is none.
    """
    app = Starlette(routes=ChatCompletions(agent, name, workspace, store).routes())
    return Door(app, token, host, proxy=Proxy(proxy_name) if proxy_name else None)
