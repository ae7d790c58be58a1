"""An investigation from end to end: identify the feature, read its sources, judge, answer."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from transom.agent import call
from transom.canonical import Json
from transom.errors import NotFoundError, ReplyError
from transom.formats.measurements import MeasurementShape, Reading
from transom.investigator.concluding import conclude
from transom.investigator.deciding import decide
from transom.investigator.feature_parts import parts_by_feature
from transom.investigator.features import Feature
from transom.investigator.gathering import gather, together, unread
from transom.investigator.inquiry import Case, Inquiry
from transom.investigator.lessons import learn, recalled
from transom.investigator.merging import merge
from transom.investigator.overturning import overturned_before
from transom.investigator.remembering import recall, remember
from transom.investigator.replies import read_as
from transom.investigator.result import Investigation, Unsupported, unsupported_of
from transom.investigator.roles import IDENTIFY, json_rows, ours, role_of
from transom.investigator.rules import near_names, words_beside
from transom.investigator.statements import Standing
from transom.investigator.subject import named_in
from transom.llm import Usage
from transom.llm.rules import RULES
from transom.runs import Run, Stage, model_file

_NONE = "none of them"


class Identified(MeasurementShape):
    """The features that a question may refer to."""

    feature_ids: list[str]


async def investigate(run: Run, inquiry: Inquiry) -> Investigation:
    """Judge whether a feature is ready for a stage.

    Raises:
        NotFoundError: the question refers to no known feature.
        Paused: a person must choose the feature with `transom answer`; then `transom resume`.
    """
    feature, spent = await identify(run, inquiry)
    current, target = _stages_of(inquiry, feature)
    run.progress(f"{feature.summary} ({feature.feature_id}): {current or 'no stage'} -> {target}")
    learned = await recalled(run, inquiry, target)
    reports, read_usage = await gather(run, inquiry.question, inquiry.data, feature, learned)
    readings = [report.reading for report in reports]
    ledger, summaries = together(reports, inquiry.data)
    decision = decide(
        inquiry.policy,
        feature,
        readings,
        ledger,
        current=current,
        target=target,
        waivers=inquiry.waivers,
        as_of=inquiry.as_of,
        unread=unread(inquiry.data, feature, reports),
        named=named_in(inquiry.question),
        overturned=overturned_before(inquiry.playbook, feature.feature_id, target),
    )
    # The rules' own sentences come from the evidence itself; only a model's are checked.
    by_rules = {report.reading.source for report in reports if report.by == RULES}
    names = (inquiry.question, feature.summary, feature.feature_id, target, current or "")
    rows = {row.id: row for row in ledger}
    limits = dict[tuple[str, str, str], float]()
    for reading in readings:
        for observation in reading.observations:
            if observation.limit is not None:
                key = (reading.source, observation.measure, observation.label)
                limits[key] = observation.limit
    standing = Standing(decision.criteria, decision.verdict, rows, names, limits=limits)
    kinds = {reading.source: kind_of_criteria(reading) for reading in readings}
    summaries, false = held_summaries(summaries, by_rules, standing, kinds)
    digests = [reading.sha256 for reading in readings]
    before = await recall(run, inquiry.memory, feature.feature_id, target, digests)
    merged_summaries, struck, merged_use = await merge(run, summaries, ledger)
    case = Case(
        feature,
        current,
        target,
        decision,
        ledger,
        reports,
        summaries,
        merged_summaries,
        [*false, *struck],
        learned,
        before,
    )
    conclusion = await conclude(run, inquiry, case, spent + read_usage + merged_use)
    # Learning and memory come last: an investigation that stops before leaves neither behind.
    if inquiry.playbook:
        learn(run, inquiry.playbook, reports, conclusion)
    result = conclusion.investigation
    day = inquiry.as_of.isoformat()
    with run.telemetry.span("remember"):
        parts = parts_by_feature(inquiry.data, [feature])[feature.feature_id]
        status = await remember(inquiry.memory, result, parts, day, before.status)
    return result.model_copy(update={"memory_status": status})


def _stages_of(inquiry: Inquiry, feature: Feature) -> tuple[str | None, str]:
    """Return the stage in Jira, and the stage to judge for.

    The latter is the one of `--target`, else the one that the question names, else the next one.
    """
    policy = inquiry.policy
    current = policy.stage_of(feature.status, feature.category) if feature.status else None
    if inquiry.target:
        target = policy.stage_named(inquiry.target)
    else:
        target = policy.stage_in(inquiry.question)
    if target is None:
        target = policy.after(current) if current else policy.stages[-1]
    return current, target


def held_summaries(
    summaries: Mapping[str, str],
    by_rules: Container[str],
    standing: Standing,
    kinds: Mapping[str, str],
) -> tuple[dict[str, str], list[Unsupported]]:
    """Return the readers' summaries without sentences that contradict the criteria, and those.

    What a reader says of its own source, with a citation, contradicts no criterion on another
    kind of source: a review without a grave finding says nothing of the scan.

    Args:
        kinds: the kind of each source, as the criteria name it.
    """
    summaries_by_key, struck = dict[str, str](), list[Unsupported]()
    for source, text in summaries.items():
        if source in by_rules:
            summaries_by_key[source] = text
            continue
        of_source = replace(standing, source=kinds[source], file=source)
        checked = of_source.check(text, marks=False)
        summaries_by_key[source] = checked.text
        struck += unsupported_of(checked.removed, source)
    return summaries_by_key, struck


def kind_of_criteria(reading: Reading) -> str:
    """Return the kind of source by which criteria name a reading."""
    if reading.kind == "document":
        return "documents"
    return "jira" if reading.kind == "jira" else reading.name


async def identify(run: Run, inquiry: Inquiry) -> tuple[Feature, Usage]:
    """Return the feature that the question refers to, and the usage."""
    features = [feature.to_json() for feature in inquiry.data.features]
    role = role_of(IDENTIFY)

    async def find(stage: Stage, question: str, rows: Sequence[dict[str, Json]]) -> Identified:
        def read(text: str) -> Identified:
            identified = read_as(Identified, text)
            for feature_id in identified.feature_ids:
                if feature_id not in feature_ids:
                    known_ids = ", ".join(feature_ids)
                    raise ReplyError(f"unknown feature {feature_id!r}; known: {known_ids}")
            return identified

        feature_ids = [str(row["feature_id"]) for row in rows]
        return (
            await call(stage, role, [ours("question", question), json_rows("features", rows)], read)
        ).value

    artifact_form = model_file("identified.json", Identified)
    artifact = await run.stage(
        "identify", find, inquiry.question, features, out=artifact_form, uses=[role]
    )
    ids = artifact.value.feature_ids
    if len(ids) == 1 and words_beside(inquiry.question, ids[0], features):
        # A model may take a near name for the feature as well.
        ids = []
    if not ids:
        ids = await _ids_asked(run, inquiry, features)
    if not ids:
        names = "; ".join(
            f"{feature.summary} ({feature.feature_id})" for feature in inquiry.data.features
        )
        raise NotFoundError(
            "the question refers to no known feature", place="QUESTION", hint=f"known: {names}"
        )
    # Several features fit equally well; a guess would judge the wrong one.
    if len(ids) > 1:
        answer = await run.ask("feature", "Which feature is meant?", options=ids)
        ids = [answer.text]
    return inquiry.data.feature(ids[0]), artifact.usage


async def _ids_asked(run: Run, inquiry: Inquiry, features: list[dict[str, Json]]) -> list[str]:
    """Ask a person about features whose names the question fits only in part.

    What fits only in part is never judged without a word of the asker.
    """
    near = near_names(inquiry.question, features)
    if not near:
        return []
    names = "; ".join(inquiry.data.feature(feature_id).summary for feature_id in near)
    prompt = f"The question fits the name only in part: {names}. Which feature is meant?"
    other_words = list[str]()
    for feature_id in near:
        other_words += words_beside(inquiry.question, feature_id, features)
    if other_words:
        unknown = ", ".join(dict.fromkeys(other_words))
        prompt = prompt.replace(" Which", f" No part of the name: {unknown}. Which")
    answer = await run.ask("feature", prompt, options=[*near, _NONE])
    return [] if answer.text == _NONE else [answer.text]
