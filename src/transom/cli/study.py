"""`transom study`: runs an optimisation with a solver that may fail, and reports it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transom.canonical import Json
from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.knowledge import PlaybookScope, opened
from transom.errors import InputError, RunBusy, SettingsError, install_hint
from transom.runs import write_file

if TYPE_CHECKING:
    from transom.studies.result import StudyResult
    from transom.studies.runner import StudyRunner
    from transom.studies.study import Study

study_app = group("study")

_Study = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="Study: its YAML file, or its name in this workspace."),
]
Trials = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Total number of solves [the study's budget]."),
]
ReportFolder = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files.")
]
TrialsFile = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write: .csv or .jsonl.")
]

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="Table (.csv, .jsonl), or journal or URL of a storage of Optuna."
    ),
]
StoredName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the study in Optuna's storage."),
]
Forgotten = Annotated[
    str,
    typer.Option("--trials", metavar="NUMBERS", help="Trials to forget, such as 3,5-9."),
]


@command(
    study_app,
    "run",
    example="transom study run examples/studies/bracket.yaml",
    asks=True,
    shares="whole",
)
async def run(session: Session, study: _Study, trials: Trials = None) -> int:
    """Run a study, or resume an interrupted one.

    If you start it twice, the second process works on trials of the same study. With `--model`, a
    model explains the failures at the end and proposes rules; a rule counts only if the solves
    confirm it.
    """
    result, lines = await _solved(session, _study_named(session, study), trials)
    if result is None:
        # The process that leads the study reports it.
        return 0
    return session.show(result, *lines, code=0 if result.best else 1)


async def demo(session: Session, examples: Path) -> StudyResult | None:
    """Run and print the shipped bracket, by the real solver where it is installed."""
    study = _study_named(session, str(examples / "studies" / "bracket.yaml"))
    result, lines = await _solved(session, study)
    session.tell(*lines)
    return result


async def _solved(
    session: Session, study: Study, trials: int | None = None
) -> tuple[StudyResult | None, list[str]]:
    """Return the result of a study, and the lines that show it.

    The result is None if another process leads the study, and this one only helped.
    """
    from transom.studies.study_stages import run_study

    inputs: dict[str, Json] = {"study": study.study, "problem": study.definition}
    # Rules explain nothing, so only a model is asked for advice.
    advise = session.settings.model != "rules"
    async with session.open_store() as store:
        with _opened(session, study) as runner:
            session.progress(
                f"{study.study}: {trials or study.budget.trials} designs, solved by"
                f" {runner.solver.by}"
            )
            try:
                async with session.open_run("study", inputs, name=study.study, store=store) as run_:
                    result = await run_study(run_, runner, trials, advise=advise)
                    await run_.finish("done" if result.best else "failed")
            except RunBusy:
                session.progress("another process runs this study; this one helps with its trials")
                # Solvers block, so they work in a thread.
                await asyncio.to_thread(runner.run, trials)
                session.progress("the trials are used up; the other process reports")
                return None, []
            return result, _lines(runner, result, run_.folder / "report" / "report.html")


def _lines(runner: StudyRunner, result: StudyResult, report: Path) -> list[str]:
    from transom.studies.report import report_text

    insights = runner.guide.advice.insights(runner.study.scope)
    lines = report_text(runner.study, result, insights, runner.trials()).rstrip("\n").split("\n")
    lines.append(f"  report: {report}")
    # A study without a good trial, or without two parameters, has no picture.
    best = report.with_name("best.svg")
    if best.is_file():
        lines.append(f"  picture: {best}")
    return lines


@command(study_app, "report", example="transom study report bracket -o out")
async def report(session: Session, name: _Study, folder: ReportFolder = None) -> int:
    """Report a study: plots, failures, insights, in one page that needs no network."""
    study = _study_named(session, name)
    from transom.studies.pictures import write_pictures
    from transom.studies.report import report_html
    from transom.studies.study_stages import standing

    with _opened(session, study, is_known=True) as runner:
        trials, result = runner.trials(), standing(runner)
        folder = folder or runner.folder / "report"
        pictures = write_pictures(runner, trials, folder, result.best)
        insights = runner.guide.advice.insights(study.scope)
        path = folder / "report.html"
        write_file(path, report_html(study, trials, result, insights, pictures).encode("utf-8"))
        return session.show(result, *_lines(runner, result, path), code=0 if result.best else 1)


@command(study_app, "export", example="transom study export bracket -o trials.csv")
async def export(session: Session, name: _Study, file: TrialsFile = None) -> int:
    """Export a study's trials with provenance, as CSV or JSON lines."""
    study = _study_named(session, name)
    from transom.studies.report import as_csv, as_jsonl, rows_of

    with _opened(session, study, is_known=True) as runner:
        trials = runner.trials()
    if file is not None:
        text = as_csv(study, trials) if file.suffix == ".csv" else as_jsonl(study, trials)
        write_file(file, text.encode("utf-8"))
        session.progress(f"{len(trials)} trials in {file}")
        return 0
    lines = as_jsonl(study, trials).rstrip("\n").split("\n")
    return session.show(rows_of(study, trials), *lines)


@command(
    study_app,
    "import",
    example="transom study import examples/studies/beam.yaml trials.csv",
)
async def import_(session: Session, name: _Study, source: Source, study: StoredName = None) -> int:
    """Take over trials that were solved elsewhere; they use no budget.

    A table has a column for each variable, and one for each output that objectives and constraints
    use. `transom study export` and Optuna's `trials_dataframe()` write such tables.
    """
    to_run = _study_named(session, name)
    from transom.studies.importing import import_trials

    with _opened(session, to_run) as runner:
        imported = import_trials(runner, source, study)
    skipped = [{"place": place, "reason": reason} for place, reason in imported.skipped]
    lines = [f"{imported.added} trials were taken over"]
    lines += [f"  not taken over: {place}: {reason}" for place, reason in imported.skipped]
    document = {"imported": imported.added, "skipped": skipped}
    return session.show(document, *lines, code=0 if imported.added else 1)


@command(study_app, "forget", example="transom study forget bracket --trials 3,5-9")
async def forget(session: Session, name: _Study, trials: Forgotten = "all") -> int:
    """Forget trials of a study, for example those of a broken machine or a wrong set-up.

    Samplers and rules no longer learn from them, and the budget is free for others. Their records
    stay in the storage.
    """
    study = _study_named(session, name)
    from transom.studies.study_stages import forget as forget_trials
    from transom.studies.study_stages import forgotten_best

    with _opened(session, study, is_known=True, learns=True) as runner:
        numbers = _numbers(trials, [trial.number for trial in runner.trials()])
        forgotten = forget_trials(runner, numbers)
        best = forgotten_best(runner)
    lines = [f"{forgotten} trials are forgotten"]
    if best is not None:
        lines.append(
            f"  Optuna and optuna-dashboard still show trial {best} as the best; the best of those"
            f" that count: transom study report {study.study}"
        )
    return session.show({"forgotten": forgotten}, *lines)


def _numbers(text: str, all_numbers: list[int]) -> list[int]:
    """Read numbers of trials, such as `3,5-9` or `all`."""
    if text == "all":
        return all_numbers
    numbers: list[int] = []
    for part in text.split(","):
        # `5` is a range of one trial.
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise InputError(
                f"{part.strip()!r} is not a trial", place="--trials", hint="write e.g. 3,5-9 or all"
            )
        numbers += range(int(first), int(last or first) + 1)
    return numbers


@contextmanager
def _opened(
    session: Session, study: Study, *, is_known: bool = False, learns: bool = False
) -> Iterator[StudyRunner]:
    """Open a study with the workspace's playbook.

    Args:
        is_known: whether it must have been run in the workspace before.
        learns: whether the playbook of a known study is written to.
    """
    from transom.studies.study_stages import runner_of

    root = session.workspace_root / "studies"
    access: Literal["read", "make"] = "read" if is_known and not learns else "make"
    with opened(session, PlaybookScope(domain=study.scope), access) as playbook:
        yield runner_of(study, root, playbook, session.progress, must_have_run=is_known)


def _study_named(session: Session, study: str) -> Study:
    """Return the study of that file or name."""
    # Checked here, since the modules of studies import them at once.
    if not all(find_spec(name) for name in ("optuna", "psutil", "matplotlib")):
        raise SettingsError("the extra `studies` is not installed", hint=install_hint("studies"))
    from transom.studies.study_stages import find_study

    return find_study(study, session.workspace_root / "studies")
