"""Memory of past assessments: recalled before a verdict, stored after it, and never evidence.

An investigation goes on when memory is off or broken; the answer tells that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from transom.canonical import Json
from transom.errors import MemoryUnavailable
from transom.formats.measurements import MeasurementShape
from transom.investigator.feature_parts import FeatureParts
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.vocabulary import plain_words
from transom.investigator.result import Investigation
from transom.memory import Memory
from transom.memory.observing import observed
from transom.runs import Run, Stage, model_file
from transom.telemetry import keys

_log = logging.getLogger(__name__)

Status = Literal["ok", "off", "broken"]
DEPENDS_ON, HAS = "depends_on", "has_component"
_MOST_FOUND = 8  # features that a search may find


class Earlier(MeasurementShape):
    """The previous assessment."""

    verdict: str
    confidence: float
    as_of: str
    criteria: dict[str, str]


class Remembered(MeasurementShape):
    """The state of the memory before the verdict."""

    status: Status
    earlier: Earlier | None = None


async def recall(
    run: Run, memory: Memory | None, feature_id: str, target: str, sources: Sequence[str]
) -> Remembered:
    """Recall a feature's last assessment for a stage; journaled, so that a resumed run recalls the
    same.

    Args:
        sources: digests of the sources; if they changed, memory is asked again.
    """

    async def look(_: Stage, feature_id: str, target: str, __: Sequence[str]) -> Remembered:
        if memory is None:
            return Remembered(status="off")
        try:
            with observed("retrieve") as span:
                entry = await memory.get(assessment_key(feature_id, target))
                span.set(keys.FOUND, int(entry is not None))
        except MemoryUnavailable as error:
            _log.warning("%s; the investigation goes on without memory", error)
            return Remembered(status="broken")
        earlier = (
            Earlier.model_validate(entry.metadata["assessment"]) if entry is not None else None
        )
        return Remembered(status="ok", earlier=earlier)

    artifact_form = model_file("remembered.json", Remembered)
    return (
        await run.stage("recall", look, feature_id, target, [*sources], out=artifact_form)
    ).value


def changed(earlier: Earlier | None, result: Investigation) -> str | None:
    """Describe the changes since the last assessment in a sentence; None if there was none."""
    if earlier is None:
        return None
    parts = [f"the verdict was {earlier.verdict}"] if earlier.verdict != result.verdict else []
    pairs = [
        (criterion, earlier.criteria.get(criterion.id, criterion.status))
        for criterion in result.criteria
    ]
    for entry, was in pairs:
        if was != entry.status:
            parts.append(f"{entry.id} was {was} and is {entry.status}")
    differences = "; ".join(parts) or "nothing changed"
    return f"on {earlier.as_of}: {differences}"


async def remember(
    memory: Memory | None,
    result: Investigation,
    parts: FeatureParts,
    as_of: str,
    status: Status,
) -> Status:
    """Store an assessment, and the feature's components and dependencies, each with its source."""
    # A broken memory is not written either: half of an assessment would be compared later.
    if memory is None or status == "broken":
        return status
    try:
        await _keep(memory, result, parts, as_of)
    except MemoryUnavailable as error:
        _log.warning("%s; the assessment is not stored", error)
        return "broken"
    return status


async def _keep(memory: Memory, result: Investigation, parts: FeatureParts, as_of: str) -> None:
    feature = f"feature/{result.feature_id}"
    about: dict[str, Json] = {"feature": result.feature_id, "timestamp": as_of}
    assessment_data = Earlier(
        verdict=result.verdict,
        confidence=result.confidence,
        as_of=as_of,
        criteria={item.id: item.status for item in result.criteria},
    )
    open_ = []
    for criterion in result.criteria:
        if criterion.required and criterion.status in ("fail", "unknown"):
            open_.append(criterion.name)
    text = f"{result.feature_name} was judged {result.verdict} for {result.target_stage} on {as_of}"
    text += f"; open: {', '.join(open_)}" if open_ else ""
    await memory.store(
        f"{result.feature_name} ({result.feature_id})", {**about, "kind": "feature"}, key=feature
    )
    key = assessment_key(result.feature_id, result.target_stage)
    assessment: dict[str, Json] = {
        **about,
        "kind": "assessment",
        "assessment": assessment_data.model_dump(mode="json"),
    }
    await memory.store(text, assessment, key=key)
    await memory.relate(key, feature, "assesses")
    for name, places in parts.components.items():
        # A component belongs to one feature, whatever others call theirs.
        target = f"component/{slug_of(f'{result.feature_id} {name}')}"
        await _relate(memory, feature, target, HAS, name, places)
    for name, places in parts.dependencies.items():
        await _relate(memory, feature, f"dependency/{slug_of(name)}", DEPENDS_ON, name, places)


async def _relate(
    memory: Memory, feature: str, key: str, relationship: str, name: str, places: Sequence[str]
) -> None:
    """Store a component or a dependency, and its relation to a feature.

    Several features depend on one thing, so its places are added up.
    """
    entry = await memory.get(key)
    kind = key.partition("/")[0]
    metadata: dict[str, Json] = dict(entry.metadata) if entry else {"kind": kind, "name": name}
    sources = metadata.get("sources")
    kept = map(str, sources) if isinstance(sources, list) else ()
    await memory.store(name, {**metadata, "sources": [*sorted({*places, *kept})]}, key=key)
    await memory.relate(feature, key, relationship)


@dataclass(frozen=True)
class RememberedFeature:
    """What an earlier investigation said of a feature.

    Attributes:
        text: its verdict with the day, and what was open.
        shared: names of the things that it depends on, of those that were looked for.
    """

    feature_id: str
    text: str
    shared: tuple[str, ...]


async def remembered_features(
    memory: Memory | None, things: Sequence[str], topic: str = ""
) -> list[RememberedFeature]:
    """Return the assessments that left something open, of features that depend on a thing.

    Args:
        things: names of the things.
        topic: features whose names have this text are returned, too; "" for none.
    """
    if memory is None:
        return []
    shared = dict[str, list[str]]()
    remembered = list[RememberedFeature]()
    try:
        for name in things:
            key = f"dependency/{slug_of(name)}"
            if await memory.get(key) is None:
                continue
            for other in await memory.neighbours(key, 1, relationship=DEPENDS_ON, direction="in"):
                shared.setdefault(other.entry.id, []).append(name)
        if topic:
            for entry_found in await memory.retrieve(topic, _MOST_FOUND, {"kind": "feature"}):
                if NamedThing(topic).find(entry_found.entry.content):
                    shared.setdefault(entry_found.entry.id, [])
        for feature, names in shared.items():
            for assessment in await memory.neighbours(
                feature, 1, relationship="assesses", direction="in"
            ):
                entry = assessment.entry
                if Earlier.model_validate(entry.metadata["assessment"]).verdict != "READY":
                    feature_id = str(entry.metadata["feature"])
                    remembered.append(RememberedFeature(feature_id, entry.content, tuple(names)))
    except MemoryUnavailable as error:
        _log.warning("%s; the answer leaves out earlier investigations", error)
        return []
    return remembered


def assessment_key(feature_id: str, target: str) -> str:
    """Return memory's key for a feature's last assessment for a stage."""
    return f"assessment/{feature_id}/{target}"


def slug_of(name: str) -> str:
    """Return a name as a part of a key of the memory."""
    return "-".join(plain_words(name))[:120]
