"""What the first solve of a study shows of its set-up: outputs, units, the mark of a finish."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from transom.studies.study import Extractor, Study
from transom.studies.trials import StudyTrial

_LISTED = 6  # files of a solve that a line names, at most


def rehearsal_lines(study: Study, trial: StudyTrial, folder: Path) -> list[str]:
    """Return what a person should know after the first solve, whose files are in the folder."""
    lines = []
    if trial.kind == "solved":
        values = ", ".join(f"{name} = {value:.4g}" for name, value in trial.outputs.items())
        lines.append(f"first solve: {values}")
    elif trial.failure == "no_result":
        lines += [f"first solve: {problem}" for problem in _missing_outputs(study, folder)]
    # Many solvers end with 0 after their last iteration, converged or not.
    if study.solver.command and study.solver.finished is None:
        lines.append(
            "first solve: return code 0 counts as solved; if your solver also ends so when it did"
            " not converge, add solver.finished, a pattern that only a good run prints"
        )
    if problem := missing_units(study):
        lines.append(f"first solve: {problem}")
    return lines


def missing_units(study: Study) -> str:
    """Return that rules can use no ratio, since no variable has a unit; else ""."""
    numeric = []
    for name, range_ in study.variables.items():
        if not range_.choices:
            numeric.append(name)
    if len(numeric) < 2 or study.features or any(study.variables[name].unit for name in numeric):
        return ""
    return (
        f"{', '.join(numeric)} have no unit, so no ratio of them can be learned; add `unit: mm`"
        " to each"
    )


def _missing_outputs(study: Study, folder: Path) -> Iterator[str]:
    """Yield for each output that was not found where it was looked for."""
    from transom.studies.job_files import extract  # noqa: PLC0415  slow: Nastran's reader

    written = sorted(path.name for path in folder.iterdir() if path.is_file())
    for name, extractor in study.solver.outputs.items():
        if extract(extractor, folder) is not None:
            continue
        if (folder / extractor.file).is_file():
            yield f"output {name}: {extractor.file} has nothing at {_place(extractor)}"
        else:
            files = ", ".join(written[:_LISTED]) or "nothing"
            yield f"output {name}: there is no file {extractor.file}; the solve wrote {files}"


def _place(extractor: Extractor) -> str:
    """Return where an output is looked for in its file, as the study file has it."""
    fields = extractor.model_dump(exclude={"file"}, exclude_none=True, by_alias=True)
    return ", ".join(f"{key}: {value}" for key, value in fields.items())
