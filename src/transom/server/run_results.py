"""The result of a run as its page shows it: a verdict, an investigation, a study, or an epic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from transom.checklist import verdict_review
from transom.checklist.batch_trend import batch_targets, batch_trend
from transom.checklist.judging import Verdict
from transom.checklist.judging.rollup import WORST_FIRST, block_items, roll_up
from transom.checklist.judging.verdict import VERDICT_FILE, together
from transom.checklist.judging.verdict_report import headline, part_of, reason_of, summary
from transom.errors import InputError, NotFoundError, SettingsError, install_hint
from transom.formats.html_report import evidence_lines
from transom.investigator.concluding import kept_answer
from transom.investigator.report import page_parts
from transom.investigator.result import Investigation
from transom.investigator.verdict_review import objection_to
from transom.runs.history import RunView, all_runs
from transom.runs.summarising import RunRow
from transom.server.site import Site
from transom.stories import kept_diffs, kept_results

_MOST_ITEMS = 300
"""Items of a batch whose verdicts its page reads."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        template: the template of the part of the page that shows it.
        document: the result as JSON, as the product's own command prints it.
        values: what the template shows.
        verdict: the verdict of a check or an investigation; "" for others.
    """

    template: str
    document: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    verdict: str = ""


def result_of(site: Site, run: RunView) -> RunResult | None:
    """Return the result of a run; None if it has none yet, or is no run of a product."""
    reader = _READERS.get(run.row.kind)
    return reader(site, run) if reader else None


def investigation_of(site: Site, row: RunRow) -> Investigation | None:
    """Return the investigation of a run; None if it has no answer yet."""
    answer = kept_answer(site.runs.workspace.run_folder(row.name, row.id))
    return answer.investigation if answer else None


def _verdict_of(site: Site, row: RunRow) -> Verdict | None:
    """Return the verdict of a check; None if it has none yet."""
    folder = site.runs.workspace.run_folder(row.name, row.id)
    path = folder / "run" / "verdict" / VERDICT_FILE
    return Verdict.model_validate_json(path.read_bytes()) if path.is_file() else None


def _check(site: Site, run: RunView) -> RunResult | None:
    verdict = _verdict_of(site, run.row)
    if verdict is None:
        return None
    part = part_of(verdict)
    values: dict[str, Any] = {"part": part}
    # No other file is shown: a verdict may name any, e.g. after somebody edited it.
    values["lines_of"] = evidence_lines([part], verdict_review.input_paths(run, verdict).get)
    ends = [record for record in run.records if record.kind == "closed"]
    # Each time that the item was checked again; the last one is the verdict itself.
    values["earlier"] = [(record.at, cast("Any", record.data)["status"]) for record in ends[:-1]]
    values["objection"] = verdict_review.objection_to(run.row, verdict)
    return RunResult("_result_check.html", _document(verdict), values, verdict.status)


def _batch(site: Site, run: RunView) -> RunResult | None:
    """Return the items of a batch, each by its newest check, as one table of blocks and items."""
    checks: dict[str, RunRow] = {}
    for row in all_runs(site.runs.store):
        if row.kind == "check":
            checks.setdefault(str(row.inputs.get("item")), row)
    targets = batch_targets(run.records, map(str, run.row.inputs.get("targets", ())))
    rows: list[tuple[RunRow, Verdict]] = []
    paths: list[Path] = []
    for target in targets[:_MOST_ITEMS]:
        check = checks.get(target)
        verdict = _verdict_of(site, check) if check else None
        if check and verdict:
            rows.append((check, verdict))
            paths.append(Path(target))
    if not rows:
        return None
    verdicts = [verdict for _, verdict in rows]
    document, trend = together(verdicts), batch_trend(run.records)
    values = {
        "rows": sorted(rows, key=lambda row: WORST_FIRST.index(row[1].counted_as)),
        "totals": summary(document),
        "table": roll_up(verdicts, block_items(paths)),
        "hidden": len(targets) - len(rows),
        "trend": trend,
        "runs_of_items": {verdict.item_id: check.id for check, verdict in rows},
        "headline": headline,
        "reason_of": reason_of,
    }
    with_trend = _document(document) | {"trend": trend.to_json()}
    return RunResult("_result_batch.html", with_trend, values)


def _investigation(site: Site, run: RunView) -> RunResult | None:
    investigation = investigation_of(site, run.row)
    if investigation is None:
        return None
    values = {"investigation": investigation, "parts": page_parts(investigation)}
    values["objection"] = objection_to(site.playbook, investigation)
    document, verdict = _document(investigation), investigation.verdict
    return RunResult("_result_investigation.html", document, values, verdict)


def _study(site: Site, run: RunView) -> RunResult | None:
    try:
        return study_result(site, run.row.name)
    except (InputError, SettingsError):
        # The folder of a study is made when its first design is drawn, and goes with the study.
        return None


def study_result(site: Site, name: str) -> RunResult:
    """Return a study by its name.

    Raises:
        NotFoundError: it did not run in this workspace.
        SettingsError: the extra `studies` is not installed.
    """
    # The command also takes the path of a file, which a page must not read.
    if name not in studies_of(site):
        raise NotFoundError(f"unknown study {name!r}", hint="see the page Studies")
    record = _reading().read_study(name, _folder_of(site), site.playbook)
    values = {"kept": record, "study": record.study}
    return RunResult("_result_study.html", _document(record.result), values)


def studies_of(site: Site) -> list[str]:
    """Return the names of the studies; SettingsError if the extra `studies` is not installed."""
    # Without the extra, an empty list would be a lie only if a study ran here.
    if not _folder_of(site).is_dir():
        return []
    names: list[str] = _reading().kept_studies(_folder_of(site))
    return names


def _folder_of(site: Site) -> Path:
    return site.runs.workspace.root / "studies"


def _reading() -> Any:
    """Return the module that reads studies, which needs an extra."""
    try:
        return import_module("transom.studies.reading")
    except ImportError as error:
        problem = "the extra `studies` is not installed"
        raise SettingsError(problem, hint=install_hint("studies")) from error


def _epic(site: Site, run: RunView) -> RunResult | None:
    folder = site.runs.workspace.run_folder(run.row.name, run.row.id)
    stories = kept_results(folder)
    if not stories:
        return None
    document = {"stories": [_document(story) for story in stories]}
    values = {"stories": stories, "diffs": kept_diffs(folder)}
    return RunResult("_result_epic.html", document, values)


def _document(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True)


# Runs of programs that use `transom` as a library have other kinds, and no result to show.
_READERS: Mapping[str, Callable[[Site, RunView], RunResult | None]] = {
    "check": _check,
    "check-batch": _batch,
    "investigate": _investigation,
    "study": _study,
    "story": _epic,
}
