"""optuna-dashboard on the studies of a workspace: read only, on loopback ports of its own.

Its pages fix their paths, so it cannot be mounted below a page of this server.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from threading import Lock, Thread
from typing import Any

from starlette.datastructures import URL
from starlette.types import ASGIApp, Receive, Scope, Send

from transom.errors import SettingsError, install_hint
from transom.server.door import LOOPBACK, POLICY, Door
from transom.server.listening import listen, serve
from transom.server.problems import problem
from transom.server.run_results import studies_of, study_result
from transom.server.site import Site

# Its components write their styles into the page.
_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "img-src 'self'", "img-src 'self' data:"
)
_PACKAGES = ("optuna_dashboard", "a2wsgi")


class Dashboards:
    """The dashboards of a workspace, one for each study that somebody looks at.

    The cookie of the pages opens them, too, since browsers share cookies among the ports of a host.

    Args:
        token: the token of the pages.
    """

    def __init__(self, site: Site, token: str) -> None:
        self._site = site
        self._token = token
        self._ports: dict[str, int] = {}
        self._lock = Lock()

    @staticmethod
    def is_offered(page: URL) -> bool:
        """Return whether a page that was asked for under this address may link to them."""
        # They are not encrypted, and a browser does not send them the cookie of a page that is.
        is_near = page.hostname in LOOPBACK and page.scheme == "http"
        return is_near and all(find_spec(name) for name in _PACKAGES)

    def address(self, study: str, host: str) -> str:
        """Return the address of a study's dashboard, which is started with the first call.

        Raises:
            NotFoundError: there is no such study.
            SettingsError: the dashboard is not installed.
        """
        if not all(find_spec(name) for name in _PACKAGES):
            hint = install_hint("dashboard")
            raise SettingsError("the extra `dashboard` is not installed", hint=hint)
        # The name becomes a folder; unknown ones must not reach the disk.
        if study not in studies_of(self._site):
            study_result(self._site, study)
        with self._lock:
            if study not in self._ports:
                self._ports[study] = self._start(study)
        return f"http://{host}:{self._ports[study]}/dashboard"

    def _start(self, name: str) -> int:
        study = study_result(self._site, name).values["study"]
        # The extra `studies` is needed for a study alone.
        storage_module = import_module("transom.studies.storage")
        folder = self._site.runs.workspace.root / "studies" / name
        storage = storage_module.open_storage(folder, study.storage_url)
        application: Any = import_module("optuna_dashboard").wsgi(storage)
        adapted: ASGIApp = import_module("a2wsgi").WSGIMiddleware(application)
        door = Door(_ReadOnly(adapted), self._token, policy=_POLICY)
        listener, _ = listen("127.0.0.1", 0)
        # It ends with the process: it writes nothing, so nothing is cut off.
        Thread(target=serve, args=(door, listener), daemon=True).start()
        port: int = listener.getsockname()[1]
        return port


class _ReadOnly:
    """ASGI middleware that refuses every method that changes something.

    The dashboard can rename and delete studies, write trials, and call a model.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            refusal = problem(405, "the dashboard is read only", headers={"Allow": "GET, HEAD"})
            return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)
