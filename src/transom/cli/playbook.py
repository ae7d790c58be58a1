"""`transom playbook`: what was learned, how it stands, and what a person says to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom.cli.command import Among, command, group
from transom.cli.output import counted, print_json, print_text, say, style, table
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.learning import Insight, Playbook

playbook_app = group("playbook", "The playbook: what was learned, and how it stands.")

Id = Annotated[str, typer.Argument(metavar="ID", help="An insight's id, e.g. str-00001.")]
By = Annotated[str, typer.Option(metavar="NAME", help="Who says so.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be given several times.")]
Category = Annotated[str | None, typer.Option(metavar="CODE", help="str, mis, tool, cal, dom or wf.")]


@dataclass(frozen=True)
class Scope:
    """Whose playbook is looked at."""

    domain: Annotated[str, typer.Option(metavar="NAME", help="With the insights of this domain.")] = ""
    study: Annotated[str, typer.Option(metavar="NAME", help="With the insights of this study.")] = ""
    user: Annotated[str, typer.Option(metavar="NAME", help="With this person's own insights.")] = ""


Scoped = Annotated[Scope, Among("domain", "study", "user")]


@contextmanager
def opened(session: Session, scope: Scope, *, making: bool = False) -> Iterator[Playbook]:
    """The workspace's playbook; an empty one where there is no workspace yet, unless it is to be made."""
    from transom.learning import Playbook
    from transom.memory import find_embedder

    there = making or (session.workspace_root.is_dir() and session.workspace.database.is_file())
    path = session.workspace.database if there else None
    embedder = find_embedder(session.settings.paths.embeddings)
    with Playbook(path, domain=scope.domain, study=scope.study, user=scope.user, embedder=embedder) as playbook:
        yield playbook


@command(playbook_app, "list", example="transom playbook list --category mis")
def list_all(
    session: Session,
    scope: Scoped,
    category: Category = None,
    tag: Tags = None,
    retired: Annotated[bool, typer.Option("--retired", help="Those that are not shown any more.")] = False,
) -> int:
    """List the insights, those that stand best first."""
    from transom.learning import InsightCategory

    wanted = InsightCategory.named(category) if category else None
    with opened(session, scope) as playbook:
        where, values = playbook.view.visible
        all_of = playbook.ledger.insights(f"retired != '' AND {where}", values) if retired else playbook.items.values()
        found = [one for one in all_of if wanted in (None, one.category) and {*(tag or ())} <= {*one.tags}]
        _print(session, sorted(found, key=lambda one: (-one.lower_bound, one.id)))
    return 0


@command(playbook_app, "show", example="transom playbook show mis-00002")
def show(session: Session, scope: Scoped, insight: Id) -> int:
    """Show an insight, where it came from, and what happened to it."""
    with opened(session, scope) as playbook:
        one, events = playbook.require(insight), playbook.events(insight)
    if session.format == "json":
        history = [{"at": event.at, "kind": event.kind, "data": dict(event.data)} for event in events]
        print_json({"schema": "transom.insight/1", **_document(one), "history": history})
        return 0
    state = f"retired: {one.retired}" if one.retired else f"{one.scope}{f', of {one.owner}' if one.owner else ''}"
    figures = f"{one.for_count} outcomes for it, {one.against_count} against it; standing {one.lower_bound:.2f}"
    print_text(style(one.id, "bold"), one.content, state, figures)
    if one.tags:
        print_text(f"tags: {', '.join(one.tags)}")
    print_text(*(f"{event.at[:19]}Z  {event.kind}{_detail(event.data)}" for event in events))
    return 0


@command(playbook_app, "add", example='transom playbook add mis "Never sign off on a stale netlist" --tag netlist')
def add(
    session: Session,
    scope: Scoped,
    category: Annotated[str, typer.Argument(metavar="CODE", help="str, mis, tool, cal, dom or wf.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact or rule.")],
    tag: Tags = None,
    level: Annotated[Literal["global", "domain", "study"] | None, typer.Option(help="How wide it holds.")] = None,
    personal: Annotated[bool, typer.Option("--personal", help="It is only --user's own.")] = False,
    overrides: Annotated[str, typer.Option(metavar="ID", help="A wider insight that it stands in for.")] = "",
    by: By = "",
) -> int:
    """Add an insight, unless one that says the same is there."""
    from transom.learning import InsightCategory, Source

    with opened(session, scope, making=True) as playbook:
        epoch = playbook.epoch
        one = playbook.add_insight(
            InsightCategory.named(category), text, tags=tag, source=Source(by=by or "a person"), level=level,
            personal=personal, overrides=overrides,
        )  # fmt: skip
        new = any(event.kind == "added" for event in playbook.ledger.events(one.id, epoch))
    if one.retired:
        say(f"transom: {one.id} says the same and is retired ({one.retired}); transom playbook retire {one.id} --undo")
    return _said(session, one, "added" if new else "it is there already")


@command(playbook_app, "feedback", example="transom playbook feedback str-00001 --helpful --by ada")
def feedback(
    session: Session,
    scope: Scoped,
    insight: Id,
    helpful: Annotated[bool, typer.Option("--helpful/--harmful", help="What it did.")],
    by: By = "",
) -> int:
    """Count one outcome for or against an insight, as you judge it."""
    from transom.learning import Source

    with opened(session, scope) as playbook:
        playbook.require(insight)
        playbook.record_outcome(insight, helpful, followed=True, source=Source(by=by or "a person"))
        return _said(session, playbook.require(insight), "counted")


@command(playbook_app, "search", example='transom playbook search "contact chatters"')
def search(
    session: Session,
    scope: Scoped,
    query: Annotated[str, typer.Argument(metavar="WORDS", help="What it is about.")],
    category: Category = None,
    limit: Annotated[int, typer.Option("-n", min=1, metavar="N", help="At most so many.")] = 5,
) -> int:
    """Find insights by words, and by meaning where embeddings are installed."""
    from transom.learning import InsightCategory

    with opened(session, scope) as playbook:
        wanted = InsightCategory.named(category) if category else None
        _print(session, playbook.search_by_content(query, wanted, limit))
    return 0


@command(playbook_app, "context", example='transom playbook context "mesh a thin bracket" --task create_study')
def context(
    session: Session,
    scope: Scoped,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="The task.")] = "",
    task: Annotated[str, typer.Option(metavar="TYPE", help="A kind of work, e.g. debug_error.")] = "",
    tag: Tags = None,
    limit: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Insights at most.")] = 15,
    tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tokens at most, as estimated.")] = None,
) -> int:
    """Print what a model would be shown for a task."""
    with opened(session, scope) as playbook:
        text = playbook.get_context_for_task(task, limit, tags=tag, query=words, tokens=tokens)
    if session.format == "json":
        print_json({"schema": "transom.playbook-context/1", "context": text})
    else:
        print_text(*(text.splitlines() or ["nothing yet"]))
    return 0


@command(playbook_app, "prune", example="transom playbook prune --threshold -3")
def prune(
    session: Session,
    scope: Scoped,
    threshold: Annotated[int, typer.Option(metavar="N", help="The net score from which they go.")] = -3,
) -> int:
    """Retire the insights that evidence condemns; they stay as tombstones."""
    with opened(session, scope) as playbook:
        pruned = playbook.prune_harmful(threshold)
    return _report(session, {"pruned": pruned}, f"{counted(pruned, 'insight')} retired")


@command(playbook_app, "stats", example="transom playbook stats")
def stats(session: Session, scope: Scoped) -> int:
    """Count the insights."""
    with opened(session, scope) as playbook:
        found = playbook.get_stats()
    listed = {
        name: ", ".join(f"{key} {n}" for key, n in value.items())
        for name, value in found.items()
        if isinstance(value, dict)
    }
    rows = [(name.replace("_", " "), str(listed.get(name, value))) for name, value in found.items()]
    return _report(session, found, *table(rows))


@command(playbook_app, "export", example="transom playbook export playbook.json")
def export(
    session: Session,
    scope: Scoped,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Without it, stdout.")] = None,
) -> int:
    """Write the insights as JSON, the same bytes for the same insights."""
    from transom.learning.exchange import export_json

    with opened(session, scope) as playbook:
        text = export_json(playbook)
        if file:
            playbook.save(session.cwd / file)
    if not file:
        print_text(*text.removesuffix("\n").split("\n"))
    return 0


@command(playbook_app, "import", example="transom playbook import playbook.json notes/*.jsonl")
def import_files(
    session: Session,
    scope: Scoped,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="playbook.json, or notes as .jsonl.")],
) -> int:
    """Take in playbooks and session notes; doing it twice changes nothing. Exit 1 where a line could not be read."""
    from transom.learning import Imported, import_json, import_notes

    whole = Imported()
    with opened(session, scope, making=True) as playbook:
        for file in files:
            path = session.cwd / file
            one = import_notes(playbook, [path]) if path.suffix == ".jsonl" else import_json(playbook, path)
            whole.added += one.added
            whole.known += one.known
            whole.renamed |= one.renamed
            whole.unreadable += one.unreadable
    for line in whole.unreadable:
        say(f"transom: {line}")
    renamed = [f"{old} is {new} here" for old, new in whole.renamed.items()]
    told = f"{counted(len(whole.added), 'insight')} added, {len(whole.known)} known"
    return _report(session, vars(whole), told, *renamed) or int(bool(whole.unreadable))


@command(playbook_app, "review", example="transom playbook review --confirm str-00001 --by ada")
def review(
    session: Session,
    scope: Scoped,
    confirm: Annotated[str | None, typer.Option(metavar="ID", help="Say that it holds.")] = None,
    limit: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Questions at most.")] = 10,
    by: By = "",
) -> int:
    """Ask about the insights that outcomes leave uncertain, and about those that were long not used."""
    from transom.learning import Curator

    with opened(session, scope) as playbook:
        if confirm:
            return _said(session, Curator(playbook).confirm(confirm, by=by or "a person"), "confirmed")
        questions = Curator(playbook).questions(limit)
    lines = [line for one in questions for line in (f"{one.insight.id}: {one.insight.content}", f"  {one.text}")]
    hint = ["answer with: transom playbook review --confirm ID, edit ID or retire ID --why TEXT"] if lines else []
    found = [one.to_json() for one in questions]
    return _report(session, {"questions": found}, *(lines or ["nothing to ask"]), *hint)


@command(playbook_app, "edit", example='transom playbook edit str-00001 --content "Use shells below 2 mm"')
def edit(
    session: Session,
    scope: Scoped,
    insight: Id,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="Its new text.")] = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="It holds from then on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="It holds before that.")] = None,
    by: By = "",
) -> int:
    """Change an insight; its id and its standing stay."""
    from transom.learning import Curator

    if (content, tag, since, until) == (None, None, None, None):
        raise InputError("nothing is to be changed", where=insight, hint="give --content, --tag, --since or --until")
    with opened(session, scope) as playbook:
        changed = Curator(playbook).edit(
            insight, content=content, tags=tag, valid_from=since, valid_until=until, by=by or "a person"
        )
    return _said(session, changed, "changed")


@command(playbook_app, "retire", example='transom playbook retire str-00001 --why "wrong since release 9"')
def retire(
    session: Session,
    scope: Scoped,
    insight: Id,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, for whoever meets it later.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Show it again.")] = False,
    by: By = "",
) -> int:
    """Show an insight no more; it stays as a tombstone, and is not learned again."""
    from transom.learning import Curator

    with opened(session, scope) as playbook:
        curator, who = Curator(playbook), by or "a person"
        one = curator.restore(insight, by=who) if undo else curator.retire(insight, why, by=who)
    return _said(session, one, "restored" if undo else "retired")


@command(playbook_app, "merge", example="transom playbook merge str-00001 str-00007")
def merge(
    session: Session,
    scope: Scoped,
    keep: Id,
    others: Annotated[list[str], typer.Argument(metavar="ID...", help="What becomes part of it.")],
    by: By = "",
) -> int:
    """Make insights part of one; it gets their counts, tags and sources."""
    from transom.learning import Curator

    with opened(session, scope) as playbook:
        return _said(session, Curator(playbook).merge(keep, *others, by=by or "a person"), "merged")


def _document(one: Insight) -> dict[str, Any]:
    from transom.learning.exchange import insight_json

    figures = {"net_score": one.net_score, "confidence": one.confidence, "lower_bound": round(one.lower_bound, 6)}
    return {**insight_json(one), **figures}


def _print(session: Session, found: list[Insight]) -> None:
    if session.format == "json":
        print_json({"schema": "transom.playbook/1", "items": [_document(one) for one in found]})
    elif not found:
        print_text("no insights")
    else:
        cells = [(one.id, f"{one.lower_bound:.2f}", f"{one.net_score:+d}", one.content) for one in found]
        header, *lines = table([("ID", "STANDING", "NET", "INSIGHT"), *cells])
        print_text(style(header, "bold"), *lines)


def _said(session: Session, one: Insight, what: str) -> int:
    line = f"{one.id}: {what}; net score {one.net_score:+d}, standing {one.lower_bound:.2f}"
    return _report(session, _document(one), line)


def _report(session: Session, document: dict[str, Any], *lines: str) -> int:
    if session.format == "json":
        print_json(document)
    else:
        print_text(*lines)
    return 0


def _detail(data: Any) -> str:
    shown = {key: value for key, value in data.items() if key not in ("fingerprint", "content", "category") and value}
    return f"  {', '.join(f'{key}={value}' for key, value in shown.items())}" if shown else ""
