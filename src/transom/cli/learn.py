"""`transom session`, `learning` and `cache`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.knowledge import PlaybookScope, opened
from transom.cli.output import counted, sections, style, table
from transom.learning import Insight
from transom.learning.caching import cache_stats
from transom.learning.curator import learning_report
from transom.learning.exchange import insight_json
from transom.learning.session import close_session, open_session, session_of
from transom.learning.session import note as note_in

Task = Annotated[str, typer.Argument(metavar="TASK", help="Kind of work, e.g. debug_error.")]
Objective = Annotated[str, typer.Option(metavar="TEXT", help="Goal of the session.")]
Study = Annotated[str | None, typer.Option(metavar="NAME", help="Study the session is about.")]
Insights = Annotated[
    list[str] | None,
    typer.Option(
        "--used", metavar="ID", help="Insight that you relied on; repeat the option for several."
    ),
]
Good = Annotated[bool, typer.Option("--good/--bad", help="Outcome of the session.")]


def document_of(insight: Insight) -> dict[str, Any]:
    """Return an insight as JSON."""
    figures = {
        "net_score": insight.net_score,
        "confidence": insight.confidence,
        "lower_bound": round(insight.lower_bound, 6),
    }
    return {**insight_json(insight), **figures}


def print_list(session: Session, insights: list[Insight]) -> int:
    """Print some insights; returns the exit code."""
    items = [document_of(insight) for insight in insights]
    lines = table(rows_of(insights), head=("ID", "SCORE", "NET", "INSIGHT"))
    document = {"schema": "transom.playbook/1", "items": items}
    return session.show(document, *lines or ["no insights"])


def rows_of(insights: Iterable[Insight]) -> list[tuple[str, ...]]:
    """Return insights as rows of a table."""
    rows: list[tuple[str, ...]] = []
    for insight in insights:
        score = f"{insight.lower_bound:.2f}"
        rows.append((insight.id, score, f"{insight.net_score:+d}", insight.content))
    return rows


def print_insight(session: Session, insight: Insight, change: str) -> int:
    """Print what was done to an insight; returns the exit code."""
    line = f"{insight.id}: {change}; net score {insight.net_score:+d}"
    return session.show(document_of(insight), f"{line}, score {insight.lower_bound:.2f}")


session_app = group("session")
learning_app = group("learning")
cache_app = group("cache")

Actions = Annotated[
    list[str] | None,
    typer.Option(
        "--action", metavar="TEXT", help="Action that you took; repeat the option for several."
    ),
]
Errors = Annotated[
    list[str] | None,
    typer.Option(
        "--error", metavar="TEXT", help="Error that you met; repeat the option for several."
    ),
]


@command(
    session_app, "open", example='transom session open debug_error --objective "the solver stops"'
)
def open_(session: Session, task: Task, objective: Objective = "", study: Study = None) -> int:
    """Open a session. Close it with `transom session close` and its outcome."""
    state = open_session(session.workspace.root, task, objective, study)
    return session.show({"session_id": state.session_id}, f"session {state.session_id} is open")


@command(
    session_app, "note", example='transom session note --action "halved the step" --used str-00001'
)
def note(
    session: Session, actions: Actions = None, errors: Errors = None, insights: Insights = None
) -> int:
    """Record what you did, what went wrong, and which insights you relied on."""
    session.known_workspace.check_writable()
    # An unknown id is refused now, not when the session is closed.
    with opened(session) as playbook:
        ids = [playbook.require(key).id for key in insights or ()]
    state = note_in(session.workspace_root, actions=actions or (), errors=errors or (), used=ids)
    return session.show({"session_id": state.session_id}, "noted")


@command(session_app, "show", example="transom session show")
def show(session: Session) -> int:
    """Show the open session as a model sees it."""
    state = session_of(session.workspace_root)
    document = {"session_id": state.session_id, **state.exposed.model_dump(mode="json")}
    lines = state.get_llm_context().splitlines() or ["no session is open"]
    return session.show(document, *lines)


@command(session_app, "context", example="transom session context")
def context(session: Session, scope: PlaybookScope) -> int:
    """Print the session and the insights that a model would see."""
    state = session_of(session.workspace_root)
    exposed = state.exposed
    with opened(session, scope, "search") as playbook:
        insights = playbook.get_context_for_task(
            exposed.task_type or "", 15, query=exposed.current_objective
        )
    text = "\n\n".join(filter(None, (state.get_llm_context(), insights)))
    document = {"session_id": state.session_id, "context": text}
    lines = text.splitlines() or ["nothing yet"]
    return session.show(document, *lines)


@command(session_app, "close", example="transom session close --good")
def close(session: Session, scope: PlaybookScope, good: Good) -> int:
    """Close the session. Its outcome counts for the insights relied on; errors become insights."""
    with opened(session, scope, "make") as playbook:
        summary = close_session(session.workspace_root, playbook, good=good)
    updated = ", ".join(summary["items_updated"]) or "none"
    added = counted(summary["insights_added"], "insight")
    line = f"session {summary['session_id']} is closed; counted for: {updated}; {added} added"
    return session.show(summary, line)


@command(learning_app, "report", example="transom learning report")
def report(session: Session, scope: PlaybookScope) -> int:
    """Report what was learned, and what you should review."""
    with opened(session, scope, hints=True) as playbook:
        summary = learning_report(playbook)
    stats = dict(summary.stats)
    document: dict[str, Any] = {
        "schema": "transom.learning-report/1",
        "generated_at": summary.created_at,
    }
    lines = [
        f"{counted(stats['total_items'], 'insight')}, {stats['untested']} untested,"
        f" {stats['retired']} retired"
    ]
    for title, insights in (
        ("top_performers", summary.best),
        ("worst_performers", summary.worst),
    ):
        document[title] = [document_of(insight) for insight in insights]
        if insights:
            lines.append(style(title.replace("_", " "), "bold"))
            lines += table(rows_of(insights), indent="  ")
    questions: list[dict[str, Any]] = []
    for question in summary.questions:
        questions.append(question.to_json())
        lines.append(f"{question.insight.id}: {question.text}")
    document |= {"playbook_stats": stats, "questions": questions}
    return session.show(document, *lines)


@command(cache_app, "stats", example="transom cache stats")
def stats(session: Session) -> int:
    """Report how much of the newest calls came from vendors' caches."""
    figures = cache_stats(session.workspace_root)
    return session.show(figures, *sections(figures))
