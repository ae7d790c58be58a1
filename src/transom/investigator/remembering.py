"""Memory of past assessments: recalled before a verdict, stored after it, and never evidence.

An investigation goes on when memory is off or broken; the answer tells that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal

from transom.canonical import Json
from transom.errors import MemoryUnavailable
from transom.formats.measurements import MeasurementShape, Reading
from transom.investigator.reading.vocabulary import plain_words
from transom.investigator.result import Investigation
from transom.memory import Memory
from transom.memory.observing import observed
from transom.runs import Run, Stage, model_file
from transom.telemetry import keys

_log = logging.getLogger(__name__)

Status = Literal["ok", "off", "broken"]
DEPENDS, HAS = "depends_on", "has_component"
SIMILAR_WORDS = {"similar", "alike", "comparable", "resembling"}


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
    readings: Sequence[Reading],
    as_of: str,
    status: Status,
) -> Status:
    """Store an assessment, and the feature's components and dependencies, each with its source."""
    # A broken memory is not written either: half of an assessment would be compared later.
    if memory is None or status == "broken":
        return status
    try:
        await _keep(memory, result, readings, as_of)
    except MemoryUnavailable as error:
        _log.warning("%s; the assessment is not stored", error)
        return "broken"
    return status


async def _keep(
    memory: Memory, result: Investigation, readings: Sequence[Reading], as_of: str
) -> None:
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
    for reading in readings:
        for observation in reading.observations:
            kind = {"document.depends": "dependency", "document.component": "component"}.get(
                observation.measure
            )
            if kind is None:
                continue
            name = " ".join(str(observation.value).split())
            place = f"{reading.source}#{observation.locator}"
            target = (
                f"{kind}/{slug_of(name if kind == 'dependency' else f'{result.feature_id} {name}')}"
            )
            # Several features depend on one thing, so its sources are added up.
            entry = await memory.get(target)
            metadata: dict[str, Json] = (
                dict(entry.metadata) if entry is not None else {"kind": kind, "name": name}
            )
            sources = metadata.get("sources")
            places = {place, *(map(str, sources) if isinstance(sources, list) else ())}
            await memory.store(name, {**metadata, "sources": [*sorted(places)]}, key=target)
            await memory.relate(feature, target, DEPENDS if kind == "dependency" else HAS)


async def similar_with_issues(memory: Memory | None, question: str, feature_id: str) -> list[str]:
    """Return sentences on the similar features whose last assessment left something open.

    Similar features depend on the same things. A question that does not ask for similar ones has
    no such sentences.
    """
    if memory is None or not SIMILAR_WORDS & set(plain_words(question)):
        return []
    own = f"feature/{feature_id}"
    try:
        if await memory.get(own) is None:
            return []
        shared = dict[str, list[str]]()
        for used in await memory.neighbours(own, 1, relationship=DEPENDS, direction="out"):
            key = used.entry.id
            for other in await memory.neighbours(key, 1, relationship=DEPENDS, direction="in"):
                if other.entry.id != own:
                    shared.setdefault(other.entry.id, []).append(used.entry.content)
        sentences = list[str]()
        for other_key, names in shared.items():
            assessments = await memory.neighbours(
                other_key, 1, relationship="assesses", direction="in"
            )
            for assessment in assessments:
                data = Earlier.model_validate(assessment.entry.metadata["assessment"])
                if data.verdict != "READY":
                    same = ", ".join(names)
                    sentences.append(f"{assessment.entry.content} (depends on {same}, too).")
    except MemoryUnavailable as error:
        _log.warning("%s; the answer leaves out similar features", error)
        return []
    return sentences or ["No similar feature with an open issue was investigated."]


def assessment_key(feature_id: str, target: str) -> str:
    """Return memory's key for a feature's last assessment for a stage."""
    return f"assessment/{feature_id}/{target}"


def slug_of(name: str) -> str:
    """Return a name as a part of a key of the memory."""
    return "-".join(plain_words(name))[:120]
