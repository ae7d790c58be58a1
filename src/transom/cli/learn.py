"""`transom session`, `learning`, `cache` and `serve`: a workspace's session, figures of what was learned, and HTTP."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from transom.cli.command import command
from transom.cli.insights import Scope, document_of, figures_of, looked_at, opened, rows_of
from transom.cli.output import counted, say, style, table
from transom.cli.session import Session
from transom.cli.tree import group, root
from transom.errors import SettingsError, install_hint
from transom.learning.caching import cache_stats
from transom.learning.curator import learning_report
from transom.learning.session import close_session, open_session, session_of
from transom.learning.session import note as note_in

session_app = group("session")
learning_app = group("learning")
cache_app = group("cache")

Texts = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="May be given several times.")]


@command(session_app, "open", example='transom session open debug_error --objective "the solver stops"')
def open_(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A kind of work, e.g. debug_error.")],
    objective: Annotated[str, typer.Option(metavar="TEXT", help="What is to be reached.")] = "",
    study: Annotated[str | None, typer.Option(metavar="NAME", help="The study that it is about.")] = None,
) -> int:
    """Open a session. At its end `transom session close` says what came of it."""
    state = open_session(session.workspace.root, task, objective, study)
    return session.report({"session_id": state.session_id}, f"session {state.session_id} is open")


@command(session_app, "note", example='transom session note --action "halved the step" --used str-00001')
def note(
    session: Session,
    action: Texts = None,
    error: Texts = None,
    used: Annotated[list[str] | None, typer.Option(metavar="ID", help="An insight that you relied on.")] = None,
) -> int:
    """Note what was done, what went wrong, and what was relied on."""
    with opened(session) as playbook:
        ids = [playbook.require(key).id for key in used or ()]
    state = note_in(session.workspace_root, actions=action or (), errors=error or (), used=ids)
    return session.report({"session_id": state.session_id}, "noted")


@command(session_app, "show", example="transom session show")
def show(session: Session) -> int:
    """Show the open session, as every window shows it."""
    state = session_of(session.workspace_root)
    document = {"session_id": state.session_id, **state.exposed.model_dump(mode="json")}
    lines = state.get_llm_context().splitlines() or ["no session is open"]
    return session.report(document, *lines)


@command(session_app, "context", example="transom session context")
def context(session: Session, scope: Scope) -> int:
    """Print what a model would be shown: session and insights."""
    state = session_of(session.workspace_root)
    shown = state.exposed
    with opened(session, scope) as playbook:
        known = playbook.get_context_for_task(shown.task_type or "", 15, query=shown.current_objective)
    text = "\n\n".join(filter(None, (state.get_llm_context(), known)))
    return session.report({"session_id": state.session_id, "context": text}, *(text.splitlines() or ["nothing yet"]))


@command(session_app, "close", example="transom session close --good")
def close(
    session: Session,
    scope: Scope,
    good: Annotated[bool, typer.Option("--good/--bad", help="How it ended.")],
) -> int:
    """Close the session. Its end counts for the insights relied on; its errors become insights."""
    with opened(session, scope, making=True) as playbook:
        done = close_session(session.workspace_root, playbook, good=good)
    updated, added = ", ".join(done["items_updated"]) or "none", counted(done["insights_added"], "insight")
    line = f"session {done['session_id']} is closed; counted for: {updated}; {added} added"
    return session.report(done, line)


@command(learning_app, "report", example="transom learning report")
def report(session: Session, scope: Scope) -> int:
    """Say what was learned, and what a person should look at."""
    with looked_at(session, scope) as playbook:
        found = learning_report(playbook)
    stats = found.stats
    lines = [f"{counted(stats['total_items'], 'insight')}, {stats['untested']} untested, {stats['retired']} retired"]
    for title, insights in (("stand best", found.best), ("speak against", found.worst)):
        if insights:
            lines += [style(title, "bold"), *table(rows_of(insights), indent="  ")]
    lines += [f"{one.insight.id}: {one.text}" for one in found.questions]
    document = {
        "schema": "transom.learning-report/1",
        "generated_at": found.at,
        "playbook_stats": dict(stats),
        "top_performers": [document_of(one) for one in found.best],
        "worst_performers": [document_of(one) for one in found.worst],
        "questions": [one.to_json() for one in found.questions],
    }
    return session.report(document, *lines)


@command(cache_app, "stats", example="transom cache stats")
def stats(session: Session) -> int:
    """Say how much of the newest calls came from vendors' caches."""
    return figures_of(session, cache_stats(session.workspace_root))


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
