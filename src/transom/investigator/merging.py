"""Merges the summaries of many sources, so that the main thread's window holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transom.agent import call
from transom.canonical import Json, digest
from transom.errors import (
    ReplyError,
)
from transom.formats.measurements import MeasurementShape
from transom.investigator.gathering import MOST_SUMMARY, within
from transom.investigator.ledger import Ledger
from transom.investigator.replies import read_plain
from transom.investigator.result import Unsupported, unsupported_of
from transom.investigator.roles import MERGE, json_rows, role_of
from transom.llm import Usage
from transom.runs import Run, Stage, model_file

# Up to here the main thread reads every summary itself, which costs no call.
_MOST_SUMMARIES = 24
_GROUP = 12
_OF_MANY = 260  # characters of a summary among many


class MergedSummary(MeasurementShape):
    """One summary of several sources."""

    summary: str
    struck: list[Unsupported]


async def merge(
    run: Run, summaries: Mapping[str, str], ledger: Ledger
) -> tuple[list[str], list[Unsupported], Usage]:
    """Return the summaries for the main thread, merged if there are many; the struck claims; and
    the usage.
    """
    rows: list[dict[str, Json]] = []
    for source, text in summaries.items():
        if text:
            rows.append({"source": source, "summary": text})
    role, total_usage, level, struck = role_of(MERGE), Usage(), 0, list[Unsupported]()

    async def put_together(stage: Stage, group: Sequence[dict[str, Json]]) -> MergedSummary:
        answer = await call(stage, role, [json_rows("summaries", group)], read_plain)
        checked = ledger.check(within(answer.value, MOST_SUMMARY))
        struck = unsupported_of((*checked.removed, *checked.undecided), stage.name)
        return MergedSummary(summary=checked.text, struck=struck)

    # Each round shortens the list by the size of a group, until the window holds it.
    while len(rows) > _MOST_SUMMARIES:
        level += 1
        groups = [rows[position : position + _GROUP] for position in range(0, len(rows), _GROUP)]
        merged = await run.map(
            f"merge/{level}",
            put_together,
            groups,
            # The same sources keep their key, so that a resumed run finds the merge it paid for.
            key=lambda group: digest([row["source"] for row in group])[:12],
            out=model_file("merged.json", MergedSummary),
            uses=[role],
        )
        rows = []
        for group, entry in zip(groups, merged, strict=True):
            if entry.artifact is None:
                raise entry.error or entry.question or ReplyError("a merge of summaries failed")
            total_usage += entry.artifact.usage
            struck += entry.artifact.value.struck
            name = f"{len(group)} sources from {group[0]['source']}"
            rows.append({"source": name, "summary": entry.artifact.value.summary})
    length_limit = _OF_MANY
    if len(rows) <= _GROUP:
        length_limit = MOST_SUMMARY
    return (
        [f"{row['source']}: {within(str(row['summary']), length_limit)}" for row in rows],
        struck,
        total_usage,
    )
