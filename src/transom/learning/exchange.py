"""Playbooks as JSON files, for git and other tools."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transom.canonical import Json, pretty_json, write_atomic
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.learning.insight import Insight, InsightCategory, InsightSource
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
    # From here on, the fields are our own.
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
        """Return the insight as a playbook has it."""
        usual = _usual_against(self.category, self.harmful_count)
        tested = self.helpful_count + self.harmful_count
        against = usual if self.against_count is None else min(self.against_count, tested)
        sources = [InsightSource.from_json(source) for source in self.sources]
        # Other tools write only the numbers of trials.
        trials_with_source = {source.trial for source in sources}
        for trial in self.source_trials:
            if trial not in trials_with_source:
                sources.append(InsightSource(trial=trial))
        return Insight(
            **self.model_dump(
                exclude={"content", "last_used", "source_trials", "sources", "against_count"}
            ),
            content=self.content.strip(),
            against_count=against,
            sources=tuple(sources),
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
class ImportedInsights:
    """The result of an import.

    Attributes:
        added: ids of new insights.
        known: ids of insights that the playbook has already.
        renamed: id in the file -> another id in the playbook.
        unreadable: `file:line: problem` of each line that cannot be read.
    """

    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def load_playbook(path: Path, *, kept: bool = False) -> Playbook:
    """Return a playbook with the insights of a JSON file.

    Args:
        path: the file.
        kept: whether the playbook is in a database in the same folder; the file may then be
            missing. Otherwise it is in memory.

    Raises:
        InputError: the file cannot be read as a playbook.
    """
    playbook = Playbook(path.with_suffix(".db") if kept else None)
    if path.exists() or not kept:
        import_json(playbook, path)
    return playbook


def save_playbook(playbook: Playbook, path: Path) -> None:
    """Write the visible insights to a JSON file, with the same bytes for the same insights."""
    write_atomic(path, export_json(playbook).encode())


def export_json(playbook: Playbook) -> str:
    """Return the visible insights as JSON, by id. Retired entries have a list of their own; merged
    insights are left out.
    """
    condition, values = playbook.view.visible
    insights = playbook.ledger.insights(
        f"merged_into = '' AND {condition}", values, order="serial, id"
    )
    newest = ""
    living: dict[str, Json] = {}
    retired: dict[str, Json] = {}
    for insight in insights:
        newest = max(newest, insight.created_at, insight.last_used, insight.confirmed_at)
        (retired if insight.retired else living)[insight.id] = insight_json(insight)
    document: dict[str, Json] = {"version": VERSION, "last_updated": newest, "items": living}
    if retired:
        document["retired"] = retired
    return pretty_json(document)


def insight_json(insight: Insight) -> dict[str, Json]:
    """Return an insight as it is written to a file."""
    data: dict[str, Json] = {
        "id": insight.id,
        "category": insight.category.value,
        "content": insight.content,
        "helpful_count": insight.helpful_count,
        "harmful_count": insight.harmful_count,
        "created_at": insight.created_at,
        "last_used": insight.last_used or None,
        "source_trials": [*insight.source_trials],
        "tags": [*insight.tags],
    }
    # Fields of our own are left out if they have their default, so that other tools read the file.
    if insight.against_count != _usual_against(insight.category, insight.harmful_count):
        data["against_count"] = insight.against_count
    sources = []
    for source in map(InsightSource.to_json, insight.sources):
        # `source_trials` has the number of a trial already.
        if source.keys() - {"trial"}:
            sources.append(source)
    if sources:
        data["sources"] = [*sources]
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
    for name in names:
        value = getattr(insight, name)
        if value not in ("", "global", "any"):
            data[name] = value
    return data


def import_json(playbook: Playbook, path: Path) -> ImportedInsights:
    """Add the insights of a file.

    A second import changes nothing: counts are raised to those of the file, and never added up.

    Raises:
        InputError: the file is not a playbook, or its version is newer than this code.
    """
    document = _read_document(path)
    imported = ImportedInsights()
    cleaned = playbook.ledger.tables.cleaned
    items = []
    for entry in (*document.items.values(), *document.retired.values()):
        insight = entry.insight()
        items.append(replace(insight, content=cleaned(insight.content)))

    def put(run: Connection) -> None:
        for insight in items:
            _put(playbook, run, insight, imported)
        # Only now all ids are known: an overridden insight may follow in the file.
        for insight in items:
            if insight.overrides in imported.renamed:
                key = imported.renamed.get(insight.id, insight.id)
                change: dict[str, Json] = {"overrides": imported.renamed[insight.overrides]}
                playbook.ledger.append(run, "edited", key, change)

    playbook.ledger.tables.write(put)
    # After the transaction, since a large file has thousands of texts to embed.
    playbook.embed_missing()
    return imported


def _put(playbook: Playbook, run: Connection, insight: Insight, imported: ImportedInsights) -> None:
    """Add an insight of a file, or raise the counts of the equal insight of the playbook."""
    ledger = playbook.ledger
    # The insight with the same id comes first, and living ones come before retired ones.
    order = f"id != '{insight.id}', retired != ''"
    scope = (insight.scope, insight.owner)
    equal = equal_insights(ledger, insight, "scope = ? AND owner = ?", scope, order)
    if equal:
        present = playbook.require(equal[0].merged_into or equal[0].id)
        imported.known.append(present.id)
        if present.id != insight.id:
            imported.renamed[insight.id] = present.id
        _raise_counts(playbook, run, insight, present)
        if insight.retired and not equal[0].retired:
            ledger.append(run, "retired", present.id, {"why": insight.retired})
        return
    # Two playbooks number their insights independently.
    is_id_in_use = playbook.get(insight.id) is not None
    neighbour = near(ledger, playbook.index, playbook.view, insight, None)
    key = ledger.add(run, replace(insight, id="") if is_id_in_use else insight)
    playbook.reindex(run, key)
    if neighbour and not insight.retired:
        ledger.append(run, "near", key, {"to": neighbour})
    imported.added.append(key)
    if is_id_in_use:
        imported.renamed[insight.id] = key


def _raise_counts(playbook: Playbook, run: Connection, insight: Insight, present: Insight) -> None:
    """Raise what the playbook has of an insight to what a file has of it."""
    counts = []
    for file_count, present_count in zip(insight.counts, present.counts, strict=True):
        counts.append(max(0, file_count - present_count))
    has_news = (
        any(counts)
        or not {*insight.tags} <= {*present.tags}
        or insight.last_used > present.last_used
        or (insight.egress, present.egress) == ("local", "any")
    )
    # An event without news would make the history grow with each import.
    if not has_news:
        return
    data: dict[str, Json] = {
        "counts": [*counts],
        "tags": [*insight.tags],
        "last_used": insight.last_used,
        "sources": [source.to_json() for source in insight.sources],
        "egress": insight.egress,
    }
    playbook.ledger.append(run, "raised", present.id, data)
    playbook.reindex(run, present.id)


def _usual_against(category: InsightCategory, harmful: int) -> int:
    """Return the default of `against_count`: 0 for a mistake, see `supports`, else the bad
    outcomes.
    """
    if category is InsightCategory.MISTAKE:
        return 0
    return harmful


def _read_document(path: Path) -> PlaybookDocument:
    try:
        document = PlaybookDocument.model_validate_json(TextFile(path, limit=MOST_BYTES).whole())
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        hint = "give a file that `transom playbook export` wrote, or one of that shape"
        raise InputError(f"{place}: {first['msg']}", place=str(path), hint=hint) from error
    for key, entry in [*document.items.items(), *document.retired.items()]:
        if key != entry.id or not key.startswith(f"{entry.category.value}-"):
            hint = "its key, its id and its category must agree"
            raise InputError(
                f"{key} holds {entry.id} of category {entry.category.value}",
                place=str(path),
                hint=hint,
            )
    return document
