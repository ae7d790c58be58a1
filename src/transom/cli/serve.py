"""`transom serve`: the pages and the REST API of a workspace, or an agent, over HTTP."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.app import root
from transom.cli.command import AgentOption, command
from transom.cli.command_session import Session
from transom.cli.ending import orderly_end
from transom.cli.knowledge import PlaybookScope, opened
from transom.errors import InputError, SettingsError, install_hint
from transom.runs.history import RunHistory

if TYPE_CHECKING:
    from transom.server import Certificate

Host = Annotated[
    str,
    typer.Option(
        metavar="HOST", help="Address to listen on; by default, only this machine is served."
    ),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0: any free port.")
]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--tls-cert", metavar="FILE", help="Certificate of the server (PEM)."),
]
KeyFile = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate (PEM).")
]
ProxyName = Annotated[
    str,
    typer.Option(
        "--behind-proxy",
        metavar="NAME",
        help="Name by which browsers reach the proxy that encrypts for this server.",
    ),
]


@command(root, "serve", example="transom serve --port 8420")
def serve(
    session: Session,
    scope: PlaybookScope,
    host: Host = "127.0.0.1",
    port: Port = 8420,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    proxy_name: ProxyName = "",
    agent: AgentOption = "",
) -> int:
    """Serve the workspace's pages until Ctrl-C. Open the printed address in a browser.

    The address has a token, which the browser keeps as a cookie. Programs send the token with each
    request to the REST API: `Authorization: Bearer TOKEN`; /openapi.json describes the endpoints.

    To serve other machines, give --tls-cert and --tls-key, or --behind-proxy.

    With --agent, serve that agent instead, by OpenAI's API of chat completions.
    """
    if not (find_spec("fastapi") and find_spec("uvicorn")):
        raise SettingsError("the extra `server` is not installed", hint=install_hint("server"))
    from transom import server

    certificate = _certificate(certificate_file, key_file)
    _check_exposure(host, is_encrypted=bool(certificate or proxy_name))
    token = server.new_token()
    # Bound before anything is opened, so that a port in use is reported at once.
    listener, url = server.listen(host, port)
    if certificate:
        url = url.replace("http:", "https:", 1)
    if agent:
        from transom.cli.agents import serve_agent  # other commands need no agents

        # What the agent's tools need is opened in the loop in which they run.
        async def work() -> None:
            async with serve_agent(session, agent, host, url, token, proxy_name) as app:
                await server.serve_in_loop(app, listener, app.on_stop, certificate)
                await _forget_interruption()

        with orderly_end(), listener:
            with suppress(KeyboardInterrupt):
                asyncio.run(work())
            session.progress("stopped")
        return 0
    with orderly_end(), listener, opened(session, scope, "make") as playbook:
        store = session.open_store()
        history = RunHistory(session.workspace, store)
        if history.is_outdated:
            session.progress("summing up the runs of an earlier version; once")
            asyncio.run(history.refresh())
        document = {"schema": "transom.serve/1", "url": url, "token": token}
        # A browser brings the token to the proxy, which is what it can reach.
        page = f"https://{proxy_name}" if proxy_name else url
        session.show(document, f"open   {page}/?token={token}", f"token  {token}")
        sys.stdout.flush()
        app = server.build_app(playbook, history, token, host, session.settings, proxy_name)
        try:
            server.serve(app, listener, app.on_stop, certificate)
        finally:
            asyncio.run(store.close())
        session.progress("stopped")
    return 0


def _certificate(certificate_file: Path | None, key_file: Path | None) -> Certificate | None:
    """Return the certificate of the server; None if it does not encrypt.

    Raises:
        InputError: one of the files is missing, or cannot be used.
    """
    from transom import server

    if not certificate_file and not key_file:
        return None
    if not certificate_file or not key_file:
        raise InputError("--tls-cert and --tls-key need each other", hint="give both")
    certificate = server.Certificate(certificate_file, key_file)
    # Loaded at once, so that a wrong file is an error of this command and not of a first visitor.
    certificate.context()
    return certificate


async def _forget_interruption() -> None:
    """Take back the cancellation with which a server that stopped in order passes on its signal.

    The agent is then left without an error: code behind a `yield` runs, also outside of `finally`.
    """
    task = asyncio.current_task()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if task:
            task.uncancel()


def _check_exposure(host: str, *, is_encrypted: bool) -> None:
    """Raise InputError if other machines could read the token on its way."""
    if is_encrypted or host.lower() in ("127.0.0.1", "localhost", "::1"):
        return
    problem = "other machines could read the token, since the connection is not encrypted"
    hint = "give --tls-cert and --tls-key, or --behind-proxy NAME if a proxy encrypts"
    raise InputError(problem, place=f"--host {host}", hint=hint)
