"""The workspace's playbook as commands open it, and insights as they are printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transom.cli.output import counted, plain, table
from transom.cli.session import Session
from transom.learning import Insight, Playbook
from transom.learning.curator import elsewhere
from transom.learning.exchange import insight_json
from transom.memory import find_embedder


@dataclass(frozen=True)
class Scope:
    """Whose playbook is looked at."""

    domain: Annotated[str, typer.Option(metavar="NAME", help="With the insights of this domain.")] = ""
    study: Annotated[str, typer.Option(metavar="NAME", help="With the insights of this study.")] = ""
    user: Annotated[str, typer.Option(metavar="NAME", help="With this person's own insights.")] = ""


@contextmanager
def opened(session: Session, scope: Scope | None = None, *, making: bool = False) -> Iterator[Playbook]:
    """The workspace's playbook; an empty one where there is no workspace yet, unless it is to be made."""
    seen, path = scope or Scope(), session.workspace.database if making else session.known_database
    embedder = find_embedder(session.settings.paths.embeddings)
    with Playbook(path, domain=seen.domain, study=seen.study, user=seen.user, embedder=embedder) as playbook:
        playbook.embed_missing()
        yield playbook


@contextmanager
def looked_at(session: Session, scope: Scope) -> Iterator[Playbook]:
    """The playbook, to be printed; at the end a person is told where more insights lie than are seen from here."""
    with opened(session, scope) as playbook:
        yield playbook
        for place, number in elsewhere(playbook).items() if session.format == "text" else ():
            level, _, name = place.partition("/")
            session.progress(f"{counted(number, 'more insight')} in {place}: add --{level} {name}")


def figures_of(session: Session, figures: Mapping[str, Any]) -> int:
    """Print figures by their names; returns the exit code."""
    return session.report(figures, *table([(name.replace("_", " "), plain(value)) for name, value in figures.items()]))


def document_of(one: Insight) -> dict[str, Any]:
    """An insight as JSON."""
    figures = {"net_score": one.net_score, "confidence": one.confidence, "lower_bound": round(one.lower_bound, 6)}
    return {**insight_json(one), **figures}


def print_list(session: Session, found: list[Insight]) -> int:
    """Print some insights; returns the exit code."""
    document = {"schema": "transom.playbook/1", "items": [document_of(one) for one in found]}
    lines = table(rows_of(found), head=("ID", "STANDING", "NET", "INSIGHT"))
    return session.report(document, *lines or ["no insights"])


def rows_of(found: Iterable[Insight]) -> list[tuple[str, ...]]:
    """Insights as rows of a table."""
    return [(one.id, f"{one.lower_bound:.2f}", f"{one.net_score:+d}", one.content) for one in found]


def print_one(session: Session, one: Insight, what: str) -> int:
    """Print what was done to an insight; returns the exit code."""
    line = f"{one.id}: {what}; net score {one.net_score:+d}, standing {one.lower_bound:.2f}"
    return session.report(document_of(one), line)
