"""`transom playbook`: the insights, their scores, and a person's decisions about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.cli.app import group
from transom.cli.command import PersonOption, command
from transom.cli.command_session import Session
from transom.cli.knowledge import Access, PlaybookScope, opened
from transom.cli.learn import document_of, print_insight, print_list
from transom.cli.memory import Limit
from transom.cli.output import counted, plain, print_text, say, sections, style
from transom.errors import InputError
from transom.learning import Curator, ErrorPatterns, Insight, InsightCategory, InsightSource
from transom.learning.curator import ReviewQuestion
from transom.learning.exchange import export_json, save_playbook
from transom.learning.notes import import_file
from transom.learning.session import SKILL
from transom.runs import write_file

playbook_app = group("playbook")

_MOST_QUESTIONS = 10
_SHOWN = ("fingerprint", "content", "category", "scope", "egress", "tags")

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of an insight, e.g. str-00001.")]
Overrides = Annotated[
    str, typer.Option(metavar="ID", help="Id of a wider insight that this one overrides.")
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Tag; repeat the option for several."),
]
Category = Annotated[
    str | None, typer.Option(metavar="CODE", help="Category: str, mis, tool, cal, dom or wf.")
]
Code = Annotated[
    str, typer.Argument(metavar="CODE", help="Category: str, mis, tool, cal, dom or wf.")
]
Rule = Annotated[str, typer.Argument(metavar="TEXT", help="Text: one fact or rule.")]
Helpful = Annotated[
    bool, typer.Option("--helpful/--harmful", help="Outcome of following the insight.")
]
Query = Annotated[str, typer.Argument(metavar="WORDS", help="Words to search for.")]
Words = Annotated[str, typer.Argument(metavar="WORDS", help="Task to select insights for.")]
Task = Annotated[str, typer.Option(metavar="TYPE", help="Kind of work, e.g. debug_error.")]
Threshold = Annotated[
    int, typer.Option(metavar="N", help="Net score at or below which insights are removed.")
]
File = Annotated[Path | None, typer.Argument(metavar="FILE", help="File to write [stdout].")]
Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Playbook (.json), or notes: .jsonl, or a JSON list."),
]
Confirm = Annotated[str | None, typer.Option(metavar="ID", help="Confirm that the insight holds.")]
KeepBoth = Annotated[
    str | None,
    typer.Option(
        "--keep-both",
        metavar="ID",
        help="Keep this insight, and the insight that it is similar to.",
    ),
]
Content = Annotated[str | None, typer.Option(metavar="TEXT", help="New text of the insight.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="Reason, shown to later readers.")]
Origin = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or name of a study.")]
Undo = Annotated[bool, typer.Option("--undo", help="Show the insight to models again.")]
Folder = Annotated[
    Path,
    typer.Option("--dir", metavar="DIR", help="Folder in which the coding agent looks for skills."),
]
MergedIds = Annotated[
    list[str], typer.Argument(metavar="ID", help="Insight that is merged into the first.")
]


@command(playbook_app, "list", example="transom playbook list --category mis")
def list_all(session: Session, scope: PlaybookScope, category: Category = None) -> int:
    """List the insights, the highest score first."""
    only = InsightCategory.named(category) if category else None
    with opened(session, scope, hints=True) as playbook:
        insights: list[Insight] = []
        for insight in playbook.items.values():
            if only in (None, insight.category):
                insights.append(insight)
        insights.sort(key=lambda insight: (-insight.lower_bound, insight.id))
        return print_list(session, insights)


@command(playbook_app, "show", example="transom playbook show mis-00002")
def show(session: Session, insight: Id) -> int:
    """Show an insight, its sources and its history, and the texts that were merged into it."""
    with opened(session) as playbook:
        entry, events = playbook.require(insight), playbook.events(insight)
        parts = playbook.ledger.insights("merged_into = ?", (insight,))
        before, after = playbook.outcomes_around(entry)
    if entry.retired:
        state = f"retired: {entry.retired}"
    else:
        state = entry.scope
        # A scope of one study or product has an owner; the whole workspace has none.
        if entry.owner:
            state += f", of {entry.owner}"
    outcomes = f"{counted(entry.for_count, 'outcome')} for it, {entry.against_count} against it"
    lines = [
        style(entry.id, "bold"),
        entry.content,
        f"{state}; tags: {', '.join(entry.tags) or 'none'}",
        f"{outcomes}; score {entry.lower_bound:.2f}",
    ]
    lines.append(
        f"outcomes in {entry.scope}: {before[0]} of {before[1]} good before it was added,"
        f" {after[0]} of {after[1]} after"
    )
    lines += [f"{part.id} was merged into it: {part.content}" for part in parts]
    history = []
    for event in events:
        history.append({"at": event.at, "kind": event.kind, "data": dict(event.data)})
        # Leave out what the insight itself shows; a text that was equal to it may be spelled
        # otherwise.
        data = {}
        for key, value in event.data.items():
            is_other_text = key == "content" and value != entry.content
            if value not in ("", None, []) and (key not in _SHOWN or is_other_text):
                data[key] = value
        lines.append(f"{event.at[:19]}Z  {event.kind}  {plain(data)}")
    around = {
        "before": {"good": before[0], "all": before[1]},
        "after": {"good": after[0], "all": after[1]},
    }
    document = {
        "schema": "transom.insight/1",
        **document_of(entry),
        "outcomes": around,
        "history": history,
    }
    return session.show(document, *lines)


@command(
    playbook_app,
    "add",
    example='transom playbook add mis "Never sign off on a stale netlist" --tag netlist',
)
def add(
    session: Session,
    scope: PlaybookScope,
    category: Code,
    text: Rule,
    tag: Tags = None,
    overrides: Overrides = "",
    person: PersonOption = "a person",
) -> int:
    """Add an insight, unless the playbook has it already."""
    kind = InsightCategory.named(category)
    # Codes of errors in the text become tags, so that the same error finds it again.
    tags = tag or [*ErrorPatterns().tags_in(text)]
    # Without a study, the playbook chooses: the domain, or all work.
    level: Literal["study"] | None = "study" if scope.study else None
    with opened(session, scope, "make") as playbook:
        known_ids = {*playbook.items}
        insight = playbook.add_insight(
            kind,
            text,
            tags=tags,
            source=InsightSource(by=person),
            level=level,
            personal=bool(scope.user),
            overrides=overrides,
        )
        neighbours = [other for key, other in playbook.ledger.open_pairs() if key == insight.id]
    if insight.retired:
        say(
            f"transom: {insight.id} says the same and is retired ({insight.retired}); transom"
            f" playbook retire {insight.id} --undo"
        )
    if insight.retired or insight.id in known_ids:
        return print_insight(session, insight, "it is there already")
    if neighbours:
        near = f"added; near to {neighbours[0]}, see transom playbook review"
        return print_insight(session, insight, near)
    return print_insight(session, insight, "added")


@command(playbook_app, "feedback", example="transom playbook feedback str-00001 --helpful --by ada")
def feedback(
    session: Session, insight: Id, helpful: Helpful, person: PersonOption = "a person"
) -> int:
    """Record one outcome for or against an insight."""
    with opened(session, access="write") as playbook:
        playbook.require(insight)
        playbook.record_outcome(insight, helpful, followed=True, source=InsightSource(by=person))
        # The outcome of a merged insight counts for the insight that has its text now.
        entry = playbook.require(playbook.require(insight).merged_into or insight)
        if entry.id == insight:
            return print_insight(session, entry, "counted")
        return print_insight(session, entry, f"counted; {insight} is part of it")


@command(playbook_app, "search", example='transom playbook search "contact chatters"')
def search(session: Session, scope: PlaybookScope, query: Query, limit: Limit = 5) -> int:
    """Find insights by words, and by meaning with embeddings."""
    with opened(session, scope, "search", hints=True) as playbook:
        return print_list(session, playbook.search_by_content(query, None, limit))


@command(
    playbook_app,
    "context",
    example='transom playbook context "mesh a thin bracket" --task create_study',
)
def context(
    session: Session, scope: PlaybookScope, words: Words = "", task: Task = "", limit: Limit = 15
) -> int:
    """Print the insights that a model would see for a task."""
    with opened(session, scope, "search") as playbook:
        text = playbook.get_context_for_task(task, limit, query=words)
    document = {"schema": "transom.playbook-context/1", "context": text}
    lines = text.splitlines() or ["nothing yet"]
    return session.show(document, *lines)


@command(playbook_app, "prune", example="transom playbook prune --threshold -3")
def prune(session: Session, scope: PlaybookScope, threshold: Threshold = -3) -> int:
    """Retire insights that the evidence speaks against. They are kept, but not shown."""
    with opened(session, scope, "write") as playbook:
        pruned = playbook.prune_harmful(threshold)
    return session.show({"items_pruned": pruned}, f"{counted(pruned, 'insight')} retired")


@command(playbook_app, "stats", example="transom playbook stats")
def stats(session: Session, scope: PlaybookScope) -> int:
    """Count the insights."""
    with opened(session, scope, hints=True) as playbook:
        figures = playbook.get_stats()
        return session.show(figures, *sections(figures))


@command(playbook_app, "export", example="transom playbook export playbook.json")
def export(session: Session, scope: PlaybookScope, file: File = None) -> int:
    """Write the insights as JSON. Equal insights give equal bytes."""
    with opened(session, scope, hints=True) as playbook:
        if file:
            save_playbook(playbook, session.cwd / file)
        else:
            print_text(*export_json(playbook).removesuffix("\n").split("\n"))
    return 0


@command(playbook_app, "import", example="transom playbook import playbook.json notes/*.jsonl")
def import_files(session: Session, scope: PlaybookScope, files: Files) -> int:
    """Import playbooks and session notes. Repeating it changes nothing. Exit 1: a line could not
    be read.
    """
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    added = unchanged = unreadable = 0
    with opened(session, scope, "make") as playbook:
        for file in files:
            imported = import_file(playbook, session.cwd / file)
            rows.append(vars(imported))
            added += len(imported.added)
            unchanged += len(imported.known)
            unreadable += len(imported.unreadable)
            for line in imported.unreadable:
                say(f"transom: {line}")
            # An id may belong to another insight of this workspace.
            lines += [f"{old} is {new} here" for old, new in imported.renamed.items()]
    head = f"{counted(added, 'insight')} added, {unchanged} known"
    return session.show({"files": rows}, head, *lines, code=int(unreadable > 0))


@command(playbook_app, "review", example="transom playbook review --confirm str-00001 --by ada")
def review(
    session: Session,
    scope: PlaybookScope,
    confirm: Confirm = None,
    keep_both: KeepBoth = None,
    person: PersonOption = "a person",
) -> int:
    """List questions about insights that are uncertain, similar to others, or long unused."""
    # Each answer prints its insight as the one document of the command.
    if confirm and keep_both:
        raise InputError("one answer at a time", place="--keep-both", hint="leave out --confirm")
    access: Access = "write" if confirm or keep_both else "read"
    with opened(session, scope, access, hints=True) as playbook:
        curator = Curator(playbook)
        if confirm:
            entry = curator.confirm(confirm, by=person)
            return print_insight(session, entry, "confirmed")
        if keep_both:
            entry = curator.distinguish(keep_both, by=person)
            return print_insight(session, entry, "kept")
        questions = curator.questions(None)
    # A person answers a few questions at a time.
    first_questions = questions[:_MOST_QUESTIONS]
    lines = []
    for question in first_questions:
        lines += [f"{question.insight.id}: {question.insight.content}", f"  {question.text}"]
        lines += [f"  {answer}" for answer in _answers(question)]
    if remaining := len(questions) - len(first_questions):
        lines.append(f"{counted(remaining, 'more question')}: answer these first")
    document = {"questions": [question.to_json() for question in first_questions]}
    return session.show(document, *lines or ["nothing to ask"])


def _answers(question: ReviewQuestion) -> list[str]:
    """Return the commands that answer a question."""
    key, other = question.insight.id, question.other
    retire_it = f"no:   transom playbook retire {key} --why TEXT"
    # A single insight is uncertain or long unused; a pair may be one insight in two wordings.
    if other is None:
        confirm = f"yes:  transom playbook review --confirm {key}"
        return [confirm, f"edit: transom playbook edit {key} --content TEXT", retire_it]
    if other.retired:
        return [f"yes:  transom playbook review --keep-both {key}", retire_it]
    return [
        f"yes:  transom playbook merge {other.id} {key}",
        f"no:   transom playbook review --keep-both {key}",
    ]


@command(
    playbook_app,
    "edit",
    example='transom playbook edit str-00001 --content "Use shells below 2 mm"',
)
def edit(
    session: Session,
    insight: Id,
    content: Content = None,
    tag: Tags = None,
    person: PersonOption = "a person",
) -> int:
    """Change an insight, and keep its id and score."""
    if (content, tag) == (None, None):
        raise InputError("nothing is to be changed", place=insight, hint="give --content or --tag")
    with opened(session, access="write") as playbook:
        curator = Curator(playbook)
        entry = curator.edit(insight, content=content, tags=tag, by=person)
        return print_insight(session, entry, "changed")


@command(
    playbook_app,
    "retire",
    example='transom playbook retire str-00001 --why "wrong since release 9"',
)
def retire(
    session: Session,
    insight: Id,
    why: Why = "",
    undo: Undo = False,
    person: PersonOption = "a person",
) -> int:
    """Retire an insight. It is kept, but neither shown nor learned again."""
    with opened(session, access="write") as playbook:
        curator = Curator(playbook)
        if undo:
            entry = curator.restore(insight, by=person)
            return print_insight(session, entry, "restored")
        entry = curator.retire(insight, why, by=person)
        return print_insight(session, entry, "retired")


@command(
    playbook_app, "forget", example="transom playbook forget 20261129-101500-1f2e3d4c5b --by ada"
)
def forget(session: Session, origin: Origin, person: PersonOption = "a person") -> int:
    """Undo all that came of a run or a study: its insights are retired, its outcomes taken back."""
    with opened(session, access="write") as playbook:
        forgotten = Curator(playbook).forget(origin, by=person)
    retired = counted(len(forgotten.retired), "insight")
    lines = [f"{retired} retired, {counted(forgotten.withdrawn, 'outcome')} taken back"]
    lines += [f"  {key} also came of others, and stays" for key in forgotten.shared]
    document = {
        "retired": [*forgotten.retired],
        "shared": [*forgotten.shared],
        "withdrawn": forgotten.withdrawn,
    }
    return session.show(document, *lines)


@command(playbook_app, "bootstrap", example="transom playbook bootstrap --dir .claude/skills")
def bootstrap(session: Session, folder: Folder) -> int:
    """Write the skill file of a coding agent, which opens a session, loads insights, records and
    closes.
    """
    path = write_file(session.cwd / folder / "transom-playbook" / "SKILL.md", SKILL.read_bytes())
    return session.show({"path": str(path)}, f"wrote {path}")


@command(playbook_app, "merge", example="transom playbook merge str-00001 str-00007")
def merge(session: Session, keep: Id, merged: MergedIds, person: PersonOption = "a person") -> int:
    """Merge insights into one, with their counts, tags and sources."""
    with opened(session, access="write") as playbook:
        entry = Curator(playbook).merge(keep, *merged, by=person)
        return print_insight(session, entry, "merged")
