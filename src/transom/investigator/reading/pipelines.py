"""Reads results of a pipeline: the outcome of its latest run, and its failed stages."""

from __future__ import annotations

from collections.abc import Sequence

from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.outcomes import outcome_of, outcomes_of
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, key_words, word_set

_WORST: tuple[Status, ...] = ("fail", "conditional", "pending", "progress", "skipped", "pass")
_BY_END = word_set("success successful passed green good stable fail failed")
_RUNS = {"run", "build", "execution", "pipeline", "workflow"}
_STAGES = word_set("stage step job check gate phase task")
# Keys by which servers name what a run built, and how; two of them beside an outcome are a run.
_MARKS = (
    "sha head_sha commit head_commit ref branch head_branch source_branch source_version"
    " build_number run_number workflow_name workflow_id workflow building full_display_name"
    " pipeline stage allow_failure definition queue_time run_attempt started_at web_url event"
    " build_type_id branch_name finish_date status_text project_slug pipeline_id pipeline_number"
    " event_type ref_name target blocked created_on completed_on stopped_at started_by"
    " duration job_id run_id head_ref vcs_revision reason slug workflows check_suite"
)
_RUN_MARKS = {key_words(name) for name in _MARKS.split()}
_MOST_SHOWN = 5
_FEWEST_MARKS = 2
_OUTCOMES = (("status",), ("state",), ("result",), ("conclusion",))
_CANCELLED = ("cancelled", "canceled")
_LATEST = {"latest", "last", "current", "recent"}


def read_pipeline(root: Node) -> tuple[list[Observation], list[Remark]]:
    """Return observations `pipeline.status` of the latest run and `pipeline.failed_stages` in
    it.
    """
    # Only one run is released; a green one of last week does not help a red one of today.
    run, certain = _latest_run(root)
    stages = _stages(run)
    failed = [node for node, status in stages if status == "fail"]
    own, status = _status_of(run)
    observations: list[Observation] = []
    if not certain:
        # Runs of several branches: the one that is released is not known.
        text = "nothing tells which of several runs counts, and they ended differently"
        observations.append(observe("pipeline.status", run, "conditional", label=text))
    elif own is not None and status is not None:
        observations.append(
            observe("pipeline.status", own, status, label=_label(run), nature=run.nature)
        )
    elif stages:
        worst = _status_of_stages([entry for _, entry in stages])
        observations.append(observe("pipeline.status", run, worst, label=_label(run)))
    if stages:
        count = "count of failed stages"
        operands = [(1.0, stage) for stage in failed[:_MOST_SHOWN]]
        observations.append(
            derived("pipeline.failed_stages", run, float(len(failed)), count, operands)
        )
        for node in failed[:_MOST_SHOWN]:
            observations.append(observe("pipeline.stage", node, "fail", label=node.label))
    for node, stage_status in stages:
        # A job that a condition skips was not needed; one that somebody stopped was.
        if stage_status == "skipped" and _was_cancelled(node):
            label = f"{node.label} was cancelled"
            observations.append(observe("source.outcome", node, "conditional", label=label))
    remarks = _stages_read(root, run)
    # A server may call a run successful whose optional steps failed, or a person edited it.
    if failed and status == "pass":
        name = own.value if own else ""
        text = f"the run is called {name}, and {len(failed)} of its stages failed"
        measure = "pipeline.failed_stages"
        remarks.append(
            Remark(kind="contradiction", text=text, locator=run.pointer, measure=measure)
        )
    return observations, remarks


def _was_cancelled(stage: Node) -> bool:
    values = [stage.value, *(child.value for child in stage.children)]
    return any(str(value).casefold() in _CANCELLED for value in values)


def _status_of_stages(statuses: Sequence[Status]) -> Status:
    """Return the status of a run that states none itself."""
    if "fail" in statuses:
        return "fail"
    return "pass" if {*statuses} <= {"pass", "skipped"} else "progress"


def _stages_read(root: Node, run: Node) -> list[Remark]:
    """Return the entries of lists of stages, so that nobody asks what they mean."""
    remarks = list[Remark]()
    is_job_list = _is_job_list(run)
    for node in root.walk():
        is_entry = node.place >= 0 and isinstance(node.value, dict)
        # Of a list of runs the latest counts, and the others were compared with it.
        is_earlier = run.place >= 0 and node is not run and node.parent is run.parent
        is_stage = bool(_STAGES & set(node.words)) or (node.parent is run and is_job_list)
        if is_entry and (is_stage or is_earlier):
            text = f"{node.label} was read"
            remarks.append(Remark(kind="settled", text=text, locator=node.pointer))
    return remarks


def is_run(root: Node) -> bool:
    """Return whether data is a run as a CI server returns it, a list of runs, or a run's jobs.

    A server names a run by what it built: a commit, a branch, a number, a definition.
    """
    candidates = [root]
    for child in root.children:
        if isinstance(child.value, list):
            candidates += child.children[:1]
        elif child.place >= 0:
            candidates.append(child)
    for node in candidates:
        if not isinstance(node.value, dict) or not outcome_keys(node):
            continue
        # A status alone may be anything; servers name what they built beside it.
        marks = sum(child.words in _RUN_MARKS for child in node.children)
        if marks >= _FEWEST_MARKS:
            return True
    return False


def outcome_keys(node: Node) -> list[Node]:
    """Return the members that hold the outcome of a run, also if it has none yet."""
    return [child for child in node.children if child.words in _OUTCOMES]


def is_pipeline(root: Node) -> bool:
    """Return whether data has runs or stages with an outcome."""
    stages = _stages(root)
    # One object with a status may be anything: `scan: {status: success}`.
    is_named = any((_STAGES | _RUNS) & set(node.words) for node in root.walk())
    if len(stages) > 1 or (stages and is_named):
        return True
    for node in root.walk():
        run_words = _RUNS & set(node.words)
        if run_words and any(_status_of(child)[1] for child in node.children):
            return True
    return False


def _status_of(run: Node) -> tuple[Node | None, Status | None]:
    """Return a run's outcome, the worst that it states: `completed` beside `conclusion: failure`
    is a failure.
    """
    return min(
        [*outcomes_of(run, is_past=run.place >= 0), *_nested_outcomes(run)],
        key=lambda entry: _WORST.index(entry[1]),
        default=(None, None),
    )


def _nested_outcomes(run: Node) -> list[tuple[Node, Status]]:
    """Return the outcome that stands inside a state, as Bitbucket writes it."""
    outcomes = list[tuple[Node, Status]]()
    for state in outcome_keys(run):
        if not isinstance(state.value, dict):
            continue
        inner = state.get("result", "stage") or state
        name = inner.get("name") if isinstance(inner.value, dict) else inner
        status = outcome_of(name) if name is not None else None
        if name is not None and status is not None:
            outcomes.append((name, status))
    return outcomes


def _label(run: Node) -> str:
    number = (
        run.get("number", "run_number", "build_number", "id", "run_id")
        if isinstance(run.value, dict)
        else None
    )
    if number is not None:
        return f"run {number.value}"
    if run.parent is not None:
        return run.label
    return "the pipeline"


def _latest_run(root: Node) -> tuple[Node, bool]:
    """Return the latest run, and whether that is certain."""
    if _is_job_list(root):
        return root, True
    for node in root.walk():
        is_latest = isinstance(node.value, dict) and bool(_LATEST & set(node.words))
        # `last_successful_build` names a run by its end, and is not the latest of all.
        if node.parent is None or not is_latest or _BY_END & set(node.words):
            continue
        if _ended(node):
            return node, True
    for node in root.walk():
        is_of_runs = not node.words or bool(_RUNS & set(node.words))
        if isinstance(node.value, list) and is_of_runs:
            latest = _latest_of_list(node)
            if latest is not None:
                return latest
    own = []
    for child in root.children:
        if _RUNS & set(child.words) and isinstance(child.value, dict):
            own.append(child)
    return (own[0] if len(own) == 1 and not outcomes_of(root) else root), True


def _latest_of_list(runs: Node) -> tuple[Node, bool] | None:
    """Return the latest run of a list, and whether that is certain; None if no run has ended."""
    ended = []
    for child in runs.children:
        if isinstance(child.value, dict) and _ended(child) is not None:
            ended.append(child)
    if not ended:
        return None
    newest_ends = {_ended(run) for run in _newest_of_each(ended)}
    if len({_line_of(run) for run in ended}) > 1 and len(newest_ends) > 1:
        return runs, False
    if runs.latest is not None:
        return runs.children[runs.latest], True
    # Without dates the order of a list tells nothing; it matters only if the ends differ.
    if len({_ended(run) for run in ended}) == 1:
        return ended[-1], True
    return runs, False


def _is_job_list(root: Node) -> bool:
    """Return whether a list holds the jobs of one run, as GitLab returns them."""
    if not isinstance(root.value, list) or not root.children:
        return False
    runs = set[str]()
    for job in root.children:
        run = job.get("pipeline") or job.get("run_id")
        number = run.get("id") if run is not None and isinstance(run.value, dict) else run
        if number is None:
            return False
        runs.add(str(number.value))
    return len(runs) == 1


def _line_of(run: Node) -> tuple[str, str]:
    """Return the branch and the workflow of a run: a run replaces only earlier ones of both."""
    branch = run.get("head_branch", "branch", "ref", "git_branch")
    workflow = run.get("workflow_name", "workflow")
    if workflow is None and run.get("workflow_id") is not None:
        workflow = run.get("name")
    return str(branch.value if branch else ""), str(workflow.value if workflow else "")


def _newest_of_each(runs: Sequence[Node]) -> list[Node]:
    """Return the newest run of each branch and workflow."""
    newest = dict[tuple[str, str], Node]()
    for run in runs:
        parent = run.parent
        mates = [other for other in runs if _line_of(other) == _line_of(run)]
        latest = parent.latest_of(mates) if parent is not None else None
        newest[_line_of(run)] = latest or run
    return list(newest.values())


def _ended(run: Node) -> Status | None:
    _, status = _status_of(run)
    if status is None and (stages := _stages(run)):
        if any(entry == "fail" for _, entry in stages):
            return "fail"
        return "pass"
    return status


def _stages(run: Node) -> list[tuple[Node, Status]]:
    """Return the stages of a run, from a list or an object by name, with their status; optional
    ones excluded.
    """
    stages: list[tuple[Node, Status]] = []
    if _is_job_list(run):
        return _jobs(run)
    for child in run.children if isinstance(run.value, dict) else ():
        # `failed_jobs: 2`, `failed_stages: [deploy]`
        if _STAGES & set(child.words) and "failed" in child.words:
            names = (
                child.children
                if isinstance(child.value, list)
                else (child,)
                if child.number
                else ()
            )
            for name in names:
                stages.append((name, "fail"))
        elif (
            isinstance(child.value, dict)
            and child.nature != "history"
            and not {*_LATEST, *_RUNS} & set(child.words)
        ):
            status = _status_of(child)[1]
            stages += [(child, status)] if status is not None else []
    for node in run.walk() if isinstance(run.value, dict) else ():
        if node.parent is None or not _STAGES & set(node.words) or node.nature == "history":
            continue
        if node.place >= 0 and isinstance(node.value, dict):
            continue  # an entry of a list of stages, whose outcome was read with the list
        for child in node.children:
            if any(child.pointer.startswith(f"{entry.pointer}/") for entry, _ in stages):
                continue
            status = _status_of(child)[1] if isinstance(child.value, dict) else _leaf_status(child)
            if status is not None and not _is_optional(child):
                stages.append((child, status))
    return stages


def _jobs(jobs: Node) -> list[tuple[Node, Status]]:
    """Return the jobs of a list that may not fail; one without an outcome still runs."""
    stages = list[tuple[Node, Status]]()
    for job in jobs.children:
        if not _is_optional(job):
            stages.append((job, _status_of(job)[1] or "progress"))
    return stages


def _is_optional(stage: Node) -> bool:
    """Return whether a stage, or the one that a value belongs to, may fail."""
    around: Node | None = stage
    while around is not None and around.place < 0 and around.parent is not None:
        if isinstance(around.value, dict):
            break
        around = around.parent
    flag = around.get("allow_failure", "optional", "continue_on_error") if around else None
    return flag is not None and flag.value is True


def _leaf_status(node: Node) -> Status | None:
    if isinstance(node.value, str):
        return outcome_of(node)
    return None
