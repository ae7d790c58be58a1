"""A whole release: each feature against each criterion, worst first, and what is left to do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field

from transom.canonical import digest
from transom.errors import InputError
from transom.formats.measurements import MeasurementShape
from transom.formats.text_files import TextFile
from transom.formats.yaml_models import nearest_key
from transom.investigator.deciding import ORDER, Decision, decide
from transom.investigator.features import Feature
from transom.investigator.gathering import read_source, sources_of, unread
from transom.investigator.ledger import Ledger
from transom.investigator.policy import CriterionWaiver, Policy
from transom.investigator.result import EXIT_CODES, CriterionStatus, Verdict
from transom.investigator.sources import DataFolder
from transom.investigator.subject import named_in
from transom.runs import write_file

# A year of working days; older ones would only make the file long.
_MOST_KEPT = 400  # assessments of one release
_MOST_SHOWN = 30  # days of a trend
_LONGEST_NAME = 120  # bytes; most file systems allow 255
_KEPT_OF_NAME = 25  # characters, each of up to four bytes
_DIGITS = 16
_CAPS_OWNER = "release manager"


class FeatureCriterion(MeasurementShape):
    """A criterion of a feature, with the reason and the owner who has to act if it is not met."""

    id: str
    name: str
    required: bool
    status: CriterionStatus
    why: str = ""
    owner: str = ""


class FeatureRow(MeasurementShape):
    """A feature of a release.

    Attributes:
        caps: what holds a READY back beside the criteria.
        change: what changed since the last assessment; "" if nothing did.
    """

    feature_id: str
    name: str
    stage: str | None
    verdict: Verdict
    confidence: float
    criteria: list[FeatureCriterion]
    caps: list[str] = Field(default_factory=list)
    change: str = ""

    @property
    def open_criteria(self) -> list[FeatureCriterion]:
        """The required criteria that do not hold."""
        open_rows = list[FeatureCriterion]()
        for row in self.criteria:
            if row.required and row.status in ("fail", "unknown"):
                open_rows.append(row)
        return open_rows


class OwnerTask(MeasurementShape):
    """What one owner has to do for one feature."""

    owner: str
    feature_id: str
    text: str


class TrendPoint(MeasurementShape):
    """The number of features by verdict on one day."""

    as_of: str
    ready: int
    total: int


class ReleaseAssessment(MeasurementShape):
    """The assessment of a release.

    Attributes:
        verdict: the worst verdict of its features.
        tasks: what is left to do, by owner.
        changes: what changed since the last assessment.
        trend: earlier days and this one, the oldest first.
    """

    schema_: Literal["transom.release/1"] = Field(default="transom.release/1", alias="schema")
    name: str
    target_stage: str
    as_of: str
    verdict: Verdict
    features: list[FeatureRow]
    tasks: list[OwnerTask] = Field(default_factory=list)
    changes: list[str] = Field(default_factory=list)
    trend: list[TrendPoint] = Field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 if all features are READY, 1 if one is NOT_READY, else 3."""
        return EXIT_CODES[self.verdict]


class KeptFeature(MeasurementShape):
    """A feature in an earlier assessment."""

    verdict: Verdict
    open_criteria: list[str]


class KeptAssessment(MeasurementShape):
    """An earlier assessment of a release."""

    as_of: str
    features: dict[str, KeptFeature]


def features_of_version(data: DataFolder, version: str) -> list[Feature]:
    """Return the features whose issue has a fix version.

    Raises:
        InputError: no feature has it; names the nearest version.
    """
    features = []
    for feature in data.features:
        if version in feature.fix_versions:
            features.append(feature)
    if features:
        return features
    # The known versions are named, since teams write one version in many ways.
    versions = sorted({name for feature in data.features for name in feature.fix_versions})
    near = nearest_key(version, versions)
    hint = f"known: {', '.join(versions)}" if versions else "no issue names a fix version"
    if near:
        hint = f"did you mean {near}? {hint}"
    raise InputError(
        f"no feature has the fix version {version!r}", place="--fix-version", hint=hint
    )


def assess_release(
    name: str,
    data: DataFolder,
    features: Sequence[Feature],
    policy: Policy,
    target: str,
    as_of: date,
    waivers: Sequence[CriterionWaiver] = (),
    history: Sequence[KeptAssessment] = (),
) -> ReleaseAssessment:
    """Judge each feature of a release by the rules, and compare it with the last assessment."""
    last = history[-1] if history else None
    rows = list[FeatureRow]()
    for feature in features:
        row = _row_of(feature, policy, judge_feature(data, feature, policy, target, as_of, waivers))
        if last is not None:
            row = row.model_copy(update={"change": _change(row, last.features.get(row.feature_id))})
        rows.append(row)
    # The worst comes first: a reader of forty rows acts on the top of the table.
    rows.sort(key=_gravity)
    changes = [f"{row.name} ({row.feature_id}): {row.change}" for row in rows if row.change]
    if last is not None:
        # A feature that vanished must not look as if it had become ready.
        closed_count = sorted(set(last.features) - {row.feature_id for row in rows})
        for feature_id in closed_count:
            changes.append(f"{feature_id}: is no longer part of the release")
    assessment = ReleaseAssessment(
        name=name,
        target_stage=target,
        as_of=as_of.isoformat(),
        verdict=min((row.verdict for row in rows), key=ORDER.index),
        features=rows,
        tasks=_tasks(rows),
        changes=changes,
    )
    trend = _trend([*history, kept_form(assessment)])
    return assessment.model_copy(update={"trend": trend})


def judge_feature(
    data: DataFolder,
    feature: Feature,
    policy: Policy,
    target: str,
    as_of: date,
    waivers: Sequence[CriterionWaiver] = (),
    question: str = "",
) -> Decision:
    """Judge one feature for a stage by the rules alone, without a run."""
    return decide(
        policy,
        feature,
        [read_source(data, source) for source in sources_of(data, feature)],
        Ledger(data.read),
        current=policy.stage_of(feature.status, feature.category) if feature.status else None,
        target=target,
        waivers=waivers,
        as_of=as_of,
        unread=unread(data, feature),
        named=named_in(question),
    )


def _row_of(feature: Feature, policy: Policy, decision: Decision) -> FeatureRow:
    criteria = list[FeatureCriterion]()
    for result in decision.criteria:
        criteria.append(
            FeatureCriterion(
                **result.model_dump(include={"id", "name", "required", "status", "why", "owner"})
            )
        )
    return FeatureRow(
        feature_id=feature.feature_id,
        name=feature.summary,
        stage=policy.stage_of(feature.status, feature.category) if feature.status else None,
        verdict=decision.verdict,
        confidence=decision.confidence,
        criteria=criteria,
        caps=[cap.text for cap in decision.capped_by],
    )


def _gravity(row: FeatureRow) -> tuple[int, int, str]:
    """Return the sort key of a feature: the worst first."""
    return ORDER.index(row.verdict), -len(row.open_criteria), row.name.casefold()


def _tasks(rows: Sequence[FeatureRow]) -> list[OwnerTask]:
    """Return what is left to do, by owner, in the order of the features."""
    tasks = list[OwnerTask]()
    for row in rows:
        for criterion in row.open_criteria:
            # Without an owner in the policy the one who asked has to find one.
            owner = criterion.owner or _CAPS_OWNER
            text = f"{criterion.name}: {criterion.why}" if criterion.why else criterion.name
            tasks.append(OwnerTask(owner=owner, feature_id=row.feature_id, text=text))
        for cap in row.caps:
            tasks.append(OwnerTask(owner=_CAPS_OWNER, feature_id=row.feature_id, text=cap))
    return sorted(tasks, key=lambda task: task.owner)


def _change(row: FeatureRow, before: KeptFeature | None) -> str:
    """Return what changed for a feature since it was judged the last time."""
    if before is None:
        return "is new in the release"
    parts = list[str]()
    if before.verdict != row.verdict:
        parts.append(f"was {before.verdict}, is {row.verdict}")
    open_ids = [criterion.id for criterion in row.open_criteria]
    closed = []
    for key in before.open_criteria:
        if key not in open_ids:
            closed.append(key)
    opened = []
    for key in open_ids:
        if key not in before.open_criteria:
            opened.append(key)
    if closed:
        parts.append(f"now met: {', '.join(closed)}")
    if opened:
        parts.append(f"no longer met: {', '.join(opened)}")
    return "; ".join(parts)


def _trend(history: Sequence[KeptAssessment]) -> list[TrendPoint]:
    """Return the number of ready features by day; the last assessment of a day counts."""
    # Several assessments of one day are one point of the trend.
    by_day = dict[str, TrendPoint]()
    for assessment in history:
        verdicts = Counter(feature.verdict for feature in assessment.features.values())
        total = len(assessment.features)
        by_day[assessment.as_of] = TrendPoint(
            as_of=assessment.as_of, ready=verdicts["READY"], total=total
        )
    return [by_day[day] for day in sorted(by_day)][-_MOST_SHOWN:]


# The history of a release, as one line for each assessment


def kept_form(assessment: ReleaseAssessment) -> KeptAssessment:
    """Return what later assessments are compared with."""
    features = dict[str, KeptFeature]()
    for row in assessment.features:
        open_criteria = [criterion.id for criterion in row.open_criteria]
        features[row.feature_id] = KeptFeature(verdict=row.verdict, open_criteria=open_criteria)
    return KeptAssessment(as_of=assessment.as_of, features=features)


def history_file(folder: Path, name: str, target: str) -> Path:
    """Return the file of a release's history in a workspace."""
    plain = re.sub(r"[^\w.-]+", "-", f"{name} for {target}").strip("-.")
    if len(plain.encode()) > _LONGEST_NAME:
        # A release of many chosen features is named after all of them.
        plain = f"{plain[:_KEPT_OF_NAME]}-{digest([name, target])[:_DIGITS]}"
    return folder / "releases" / f"{plain}.jsonl"


def read_history(path: Path) -> list[KeptAssessment]:
    """Return the earlier assessments of a release, the oldest first.

    Raises:
        InputError: the file is damaged.
    """
    if not path.is_file():
        return []
    history = list[KeptAssessment]()
    # A damaged line is an error: a history with a gap would tell wrong changes.
    for number, line in enumerate(TextFile(path).lines(), 1):
        if not line.strip():
            continue
        try:
            history.append(KeptAssessment.model_validate(json.loads(line)))
        except ValueError as error:
            raise InputError(
                "is no assessment of a release",
                place=f"{path}:{number}",
                hint="remove the line, or give --no-memory",
            ) from error
    return history


def add_to_history(
    path: Path, history: Sequence[KeptAssessment], assessment: ReleaseAssessment
) -> None:
    """Keep an assessment, so that the next one tells what changed."""
    rows = [*history, kept_form(assessment)][-_MOST_KEPT:]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, "".join(f"{row.model_dump_json()}\n" for row in rows).encode())
