"""`transom eval`: run a suite of scenarios, compare evaluations, see how a suite went over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from transom import __version__
from transom.canonical import Json, pretty_json
from transom.cli.command import command
from transom.cli.eval_products import checklist_prompts, checklist_runner, investigator_runner, written_replies
from transom.cli.investigate import chain_of
from transom.cli.output import reports_in, table, toned
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.evals import Evaluation, Fingerprint, Runner, Suite, compare, load_suite, run_suite
from transom.evals import history as kept
from transom.evals.history import find_evaluation, newest_baseline, remember
from transom.evals.report import change_lines, junit, text_lines
from transom.investigator.evaluation import prompts_digest
from transom.llm import Chain
from transom.runs import write_file
from transom.store import SqliteStore

eval_app = group("eval")


@dataclass(frozen=True)
class EvalOptions:
    """What `eval run` takes beside the common options."""

    epochs: Annotated[int | None, typer.Option(metavar="N", min=1, help="How often each scenario runs.")] = None
    only: Annotated[tuple[str, ...], typer.Option(metavar="ID|TAG", help="Only these scenarios.")] = ()
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many epochs run at once.")] = 1
    judge: Annotated[str | None, typer.Option(metavar="PROVIDER[:NAME]", help="Who marks the rubrics.")] = None
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="Compare with this one, not the newest.")] = None
    save: Annotated[str | None, typer.Option(metavar="BASELINE", help="Keep the result under this name.")] = None
    reports: Annotated[
        tuple[str, ...], typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json or junit.")
    ] = ()
    started: Annotated[str, typer.Option(hidden=True)] = ""


@command(eval_app, "run", example="transom eval run examples/evals/checklist --save main", asks=True)
async def run(
    session: Session,
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A folder with suite.yaml.")],
    options: EvalOptions,
) -> int:
    """Run a suite's scenarios, score them, compare with the baseline.

    Exit code: 0 all passed, 1 a scenario failed or something regressed, 2 a scenario ended in an error.
    """
    wanted = reports_in(options.reports, ("json", "junit"))
    options = replace(options, started=options.started or datetime.now(UTC).isoformat())
    session.settle(started=options.started)  # resumed, it is the same evaluation
    chosen = load_suite(suite.absolute()).only(options.only)
    if any(one.rubric for one in chosen.scenarios) and not options.judge:
        session.progress("rubrics are not marked; --judge says by whom")
    async with session.open_store() as store:
        made = await _evaluated(session, store, chosen, options)
    for kind, path in wanted:
        data = junit(made) if kind == "junit" else pretty_json(made).encode("utf-8", "backslashreplace")
        write_file(path, data)
    return session.report(made, *text_lines(made, toned), code=made.exit_code)


async def _evaluated(session: Session, store: SqliteStore, suite: Suite, options: EvalOptions) -> Evaluation:
    """The suite run, compared with its baseline, and kept."""
    named, judge = options.baseline, options.judge
    known = find_evaluation(store, named, suite.name) if named else newest_baseline(store, suite.name)
    runner, chain, prompts = _product(session, store, suite)
    by = Fingerprint(transom=__version__, model=chain.name, prompts=prompts)
    inputs: dict[str, Json] = {"suite": str(suite.folder), "started": options.started}
    name, asked = f"eval-{suite.name}", session.chain(store, judge) if judge else chain
    async with session.open_run("eval", inputs, name=name, store=store, chain=asked, entry=session.entry) as run:
        made = await run_suite(run, suite, runner, by, epochs=options.epochs, jobs=options.jobs, judged=bool(judge))
        if known:
            made = made.model_copy(update={"regression_analysis": compare(made, known[1], known[0])})
        await remember(store, made, options.save)
        await run.finish("passed" if made.exit_code == 0 else "failed")
    return made


def _product(session: Session, store: SqliteStore, suite: Suite) -> tuple[Runner, Chain, str]:
    """A product's runner, who answers it, and a digest of its prompts and rules."""
    if suite.product == "checklist":
        chain = session.chain(store)
        return checklist_runner(session, chain), chain, checklist_prompts(session.settings, chain)
    if suite.product == "investigator":
        chain = chain_of(session, store, written_replies(session.settings.model, session.cwd))
        return investigator_runner(session, chain), chain, prompts_digest(chain)
    what, hint = f"no product {suite.product!r} can be evaluated", "write checklist or investigator"
    raise InputError(what, where=str(suite.folder / "suite.yaml"), hint=hint)


@command(eval_app, "compare", example="transom eval compare main 20261123-0930")
async def compare_(
    session: Session,
    before: Annotated[str, typer.Argument(metavar="A", help="What was: a baseline, a run, or a JSON file.")],
    after: Annotated[str, typer.Argument(metavar="B", help="What is: the same.")],
) -> int:
    """Say what changed from A to B that chance does not explain. Exit 1: something regressed."""
    async with session.open_store() as store:
        (name, old), (_, new) = find_evaluation(store, before), find_evaluation(store, after)
    told = compare(new, old, name)
    document = new.model_copy(update={"regression_analysis": told})
    lines = [f"{name} → {after}: {new.suite}", *change_lines(told, toned)]
    return session.report(document, *lines, code=1 if told.regressions else 0)


@command(eval_app, "history", example="transom eval history examples/evals/checklist")
async def history(
    session: Session, suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite's folder or name.")]
) -> int:
    """List a suite's evaluations, the newest last."""
    name = Path(suite).resolve().name
    async with session.open_store() as store:
        found = kept.history(store, name)
    told = [
        {"run_id": one.run_id, "baselines": names, "fingerprint": one.fingerprint, "summary": one.summary}
        for one, names in found
    ]
    rows = [
        (
            one.run_id,
            f"{one.summary.pass_rate:.2f}",
            f"{one.summary.passed} of {one.summary.total_scenarios}",
            *(one.fingerprint.model, one.fingerprint.prompts, one.fingerprint.transom, ", ".join(names)),
        )
        for one, names in found
    ]
    head = ("RUN", "PASS RATE", "PASSED", "MODEL", "PROMPTS", "VERSION", "BASELINE")
    lines = table(rows, head=head) or [f"{name} was not evaluated in {session.workspace_root}"]
    return session.report({"schema": "transom.eval_history/1", "suite": name, "evaluations": told}, *lines)
