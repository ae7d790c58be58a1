"""Playbooks as JSON files, for git and other tools."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transom.canonical import Json, pretty_json, write_atomic
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.learning.insight import Insight, InsightCategory, Source
from transom.learning.playbook import Playbook
from transom.learning.retrieval import equal_insights, near
from transom.llm.turns import Egress
from transom.store import Connection

VERSION = 1
MOST_BYTES = 1 << 30
"""Size of the largest file that is imported."""
_ID = r"^(str|mis|tool|cal|dom|wf)-\d{5,9}$"


class InsightDocument(BaseModel):
    """An insight in a file: the common fields, and fields of our own that have defaults."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: str = Field(pattern=_ID)
    category: InsightCategory
    content: str = Field(min_length=1)
    helpful_count: int = Field(default=0, ge=0)
    harmful_count: int = Field(default=0, ge=0)
    created_at: str = ""
    last_used: str | None = None
    source_trials: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    against_count: int | None = Field(default=None, ge=0)
    sources: tuple[dict[str, str | int], ...] = ()
    scope: str = Field(default="global", pattern=r"^(global|(domain|study)/.+)$")
    owner: str = ""
    overrides: str = ""
    confirmed_at: str = ""
    valid_from: str = ""
    valid_until: str = ""
    retired: str = ""
    egress: Egress = "any"

    def insight(self) -> Insight:
        """Return the insight as a playbook holds it."""
        usual, tested = (
            _usual_against(self.category, self.harmful_count),
            self.helpful_count + self.harmful_count,
        )
        against = usual if self.against_count is None else min(self.against_count, tested)
        known = [Source.from_json(one) for one in self.sources]
        trials = [
            Source(trial=one)
            for one in self.source_trials
            if one not in {source.trial for source in known}
        ]
        return Insight(
            **self.model_dump(
                exclude={"content", "last_used", "source_trials", "sources", "against_count"}
            ),
            content=self.content.strip(),
            against_count=against,
            sources=(*known, *trials),
            last_used=self.last_used or "",
        )


class PlaybookDocument(BaseModel):
    """A playbook file."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    version: int = Field(ge=1, le=VERSION)
    last_updated: str = ""
    items: dict[str, InsightDocument]
    retired: dict[str, InsightDocument] = Field(default_factory=dict)


@dataclass
class Imported:
    """The result of an import: new ids, ids that were known, and file ids that became other ids
    here.

    `unreadable` has the lines that cannot be read: `file:line: what is wrong`.
    """

    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def load_playbook(path: Path, *, kept: bool = False) -> Playbook:
    """Return a playbook with the insights of a JSON file.

    Args:
        path: the file.
        kept: the playbook lives in a database beside the file, which may be missing; else in
            memory.

    Raises:
        InputError: the file cannot be read as a playbook.
    """
    playbook = Playbook(path.with_suffix(".db") if kept else None)
    if path.exists() or not kept:
        import_json(playbook, path)
    return playbook


def save_playbook(playbook: Playbook, path: Path) -> None:
    """Write the insights that are seen from here to a JSON file, the same bytes for the same
    insights.
    """
    write_atomic(path, export_json(playbook).encode())


def export_json(playbook: Playbook) -> str:
    """Return the visible insights as JSON, by id; tombstones apart, merged insights left out."""
    where, values = playbook.view.visible
    insights = playbook.ledger.insights(f"merged_into = '' AND {where}", values, order="serial, id")
    newest = max(
        (max(one.created_at, one.last_used, one.confirmed_at) for one in insights), default=""
    )
    living = {one.id: insight_json(one) for one in insights if not one.retired}
    dead = {one.id: insight_json(one) for one in insights if one.retired}
    document = {"version": VERSION, "last_updated": newest, "items": living}
    return pretty_json({**document, "retired": dead} if dead else document)


def insight_json(one: Insight) -> dict[str, Json]:
    """Return an insight as it is written to a file."""
    data: dict[str, Json] = {
        "id": one.id,
        "category": one.category.value,
        "content": one.content,
        "helpful_count": one.helpful_count,
        "harmful_count": one.harmful_count,
        "created_at": one.created_at,
        "last_used": one.last_used or None,
        "source_trials": [*one.source_trials],
        "tags": [*one.tags],
    }
    if one.against_count != _usual_against(one.category, one.harmful_count):
        data["against_count"] = one.against_count
    if more := [source.to_json() for source in one.sources if source.to_json().keys() - {"trial"}]:
        data["sources"] = [*more]
    names = (
        "scope",
        "egress",
        "owner",
        "overrides",
        "confirmed_at",
        "valid_from",
        "valid_until",
        "retired",
    )
    return {
        **data,
        **{
            name: value
            for name in names
            if (value := getattr(one, name)) not in ("", "global", "any")
        },
    }


def import_json(playbook: Playbook, path: Path) -> Imported:
    """Add the insights of a file. A second import changes nothing: counts are raised to the file's,
    never summed.

    InputError: the file is not a playbook, or its version is newer than this code.
    """
    document, imported = _read(path), Imported()
    cleaned = playbook.ledger.tables.cleaned
    items = []
    for entry in (*document.items.values(), *document.retired.values()):
        insight = entry.insight()
        items.append(replace(insight, content=cleaned(insight.content)))

    def put(run: Connection) -> None:
        for one in items:
            _put(playbook, run, one, imported)
        for one in items:  # its id may be another one here
            if one.overrides in imported.renamed:
                key = imported.renamed.get(one.id, one.id)
                playbook.ledger.append(
                    run, "edited", key, {"overrides": imported.renamed[one.overrides]}
                )

    playbook.ledger.tables.write(put)
    playbook.embed_missing()
    return imported


def _put(playbook: Playbook, run: Connection, one: Insight, to: Imported) -> None:
    ledger = playbook.ledger
    order = f"id != '{one.id}', retired != ''"
    scope = (one.scope, one.owner)
    if same := equal_insights(ledger, one, "scope = ? AND owner = ?", scope, order):
        here = playbook.require(same[0].merged_into or same[0].id)
        counts = [
            max(0, theirs - ours) for theirs, ours in zip(one.counts, here.counts, strict=True)
        ]
        to.known.append(here.id)
        if here.id != one.id:
            to.renamed[one.id] = here.id
        more = any(counts) or not {*one.tags} <= {*here.tags} or one.last_used > here.last_used
        if more or (one.egress, here.egress) == ("local", "any"):
            raised: dict[str, Json] = {
                "counts": [*counts],
                "tags": [*one.tags],
                "last_used": one.last_used,
            }
            raised |= {
                "sources": [source.to_json() for source in one.sources],
                "egress": one.egress,
            }
            ledger.append(run, "raised", here.id, raised)
            playbook.reindex(run, here.id)
        if one.retired and not same[0].retired:
            ledger.append(run, "retired", here.id, {"why": one.retired})
        return
    taken = playbook.get(one.id) is not None
    neighbour = near(ledger, playbook.index, playbook.view, one, None)
    key = ledger.add(run, replace(one, id="") if taken else one)
    playbook.reindex(run, key)
    if neighbour and not one.retired:
        ledger.append(run, "near", key, {"to": neighbour})
    to.added.append(key)
    if taken:
        to.renamed[one.id] = key


def _usual_against(category: InsightCategory, harmful: int) -> int:
    """Return the default of `against_count`: 0 for a mistake, see `supports`, else the bad
    outcomes.
    """
    if category is InsightCategory.MISTAKE:
        return 0
    return harmful


def _read(path: Path) -> PlaybookDocument:
    try:
        document = PlaybookDocument.model_validate_json(TextFile(path, limit=MOST_BYTES).whole())
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"])) or "the document"
        hint = "give a file that `transom playbook export` wrote, or one of that shape"
        raise InputError(f"{at}: {first['msg']}", where=str(path), hint=hint) from error
    for key, one in [*document.items.items(), *document.retired.items()]:
        if key != one.id or not key.startswith(f"{one.category.value}-"):
            hint = "its key, its id and its category must agree"
            raise InputError(
                f"{key} holds {one.id} of category {one.category.value}", where=str(path), hint=hint
            )
    return document
