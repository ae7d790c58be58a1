"""`transom eval`: run a suite of scenarios, compare evaluations, see how a suite went over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from transom import __version__
from transom.canonical import Json, pretty_json
from transom.cli.command import command
from transom.cli.eval_checklist import checklist_prompts, checklist_runner
from transom.cli.eval_investigator import investigator_prompts, investigator_runner, written_replies
from transom.cli.investigate import chain_of
from transom.cli.output import counted, reports_in, style, style_status, table
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.evals import Evaluation, Fingerprint, Runner, Suite, compare, load_suite, run_suite
from transom.evals import history as kept
from transom.evals.document import Comparison
from transom.evals.history import find_evaluation, newest_baseline, remember
from transom.formats.junit_report import JUnitCase, Result, junit_report
from transom.llm import Chain
from transom.runs import write_file
from transom.store import SqliteStore

eval_app = group("eval")

_SHOWN = 3


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
        data = _junit(made) if kind == "junit" else pretty_json(made).encode("utf-8", "backslashreplace")
        write_file(path, data)
    return session.report(made, *_lines(made), code=made.exit_code)


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
        return investigator_runner(session, chain), chain, investigator_prompts(chain)
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
    lines = [f"{name} → {after}: {new.suite}", *_change_lines(told)]
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


def _junit(made: Evaluation) -> bytes:
    """Scenarios, and a failed case for each regression, as build servers read them."""

    results: dict[str, Result] = {"pass": "passed", "fail": "failed", "error": "error"}
    cases = []
    for row in made.scenarios:
        why = list(dict.fromkeys(text for epoch in row.details.epochs for text in epoch.why))
        scores = "\n".join(f"{name} {value:.3f}" for name, value in row.scores.items())
        seconds = sum(epoch.used.seconds for epoch in row.details.epochs)
        message = (why or [f"{sum(row.passes)} of {row.epochs} epochs passed"])[0]
        cases.append(JUnitCase(row.id, made.suite, results[row.status], message, "\n".join(why), seconds, scores))
    for number, text in enumerate(made.regression_analysis.regressions, 1):
        cases.append(JUnitCase(f"regression {number}", made.suite, "failed", text))
    return junit_report(made.suite, cases, made.fingerprint.model_dump())


def _lines(made: Evaluation) -> Iterator[str]:
    """Scenarios, then the summary, then what changed against the baseline."""
    for row in made.scenarios:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row.scores.items() if value < 1)
        passed = f"{sum(row.passes)}/{row.epochs}" if row.epochs > 1 else ""
        yield "  ".join(filter(None, (style_status(f"{row.status:5}"), row.id, passed, scores)))
        why = list(dict.fromkeys(text for epoch in row.details.epochs for text in epoch.why))
        if row.abstains:
            yield f"         abstains, as foreseen: {row.abstains}"
        yield from (f"         {text}" for text in why[:_SHOWN])
        if len(why) > _SHOWN:
            yield f"         and {len(why) - _SHOWN} more (--format json lists all)"
    summary = made.summary
    k, always = list(summary.pass_k.items())[-1]
    shown = [f"{summary.passed} of {counted(summary.total_scenarios, 'scenario')} passed"]
    shown += [f"{summary.abstained} of them by an abstention that was foreseen"] if summary.abstained else []
    shown += [f"pass rate {summary.pass_rate:.2f}", *([f"pass^{k} {always:.2f}"] if k != "1" else [])]
    yield ""
    yield style(", ".join(shown), "bold")
    yield from (f"  {name} {value:.2f}" for name, value in summary.avg_scores.items())
    yield f"  {made.usage.tokens} tokens, {made.usage.seconds:.1f} s, by {made.fingerprint.model}, run {made.run_id}"
    told = made.regression_analysis
    yield f"against {told.baseline}:" if told.baseline else "no baseline; --save NAME keeps one"
    if told.baseline:
        yield from _change_lines(told)


def _change_lines(told: Comparison) -> Iterator[str]:
    """What changed against a baseline."""
    yield from (style(f"  regression: {text}", "red") for text in told.regressions)
    yield from (style(f"  warning: {text}", "yellow") for text in told.warnings)
    yield from (style(f"  better: {text}", "green") for text in told.improvements)
    if told.bound is not None and told.minimum_detectable_drop is not None:
        drop = 100 * told.minimum_detectable_drop
        yield f"  pass rate: 95 % bound of the change {100 * told.bound:+.1f} points"
        yield f"  a drop of {drop:.1f} points would be found four times out of five"
    if not told.regressions:
        yield "  no regression"
