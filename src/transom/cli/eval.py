"""`transom eval`: run a suite of scenarios, compare evaluations, see how a suite went over time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command, group
from transom.cli.output import counted, reports_in, style, table
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.canonical import Json
    from transom.evals import Evaluation, Runner, Suite
    from transom.evals.document import Comparison
    from transom.llm import Chain
    from transom.store import SqliteStore

eval_app = group("eval", "Scenario suites: how well a product answers.")

_COLOURS = {"pass": "green", "fail": "red", "error": "red"}
_SHOWN = 3


@command(eval_app, "run", example="transom eval run examples/evals/checklist --save main", asks=True)
async def run(
    session: Session,
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A folder with suite.yaml.")],
    epochs: Annotated[int | None, typer.Option(min=1, help="How often each scenario runs.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ID|TAG", help="Only these scenarios.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many epochs run at once.")] = 1,
    judge: Annotated[str | None, typer.Option(metavar="PROVIDER[:NAME]", help="Who marks the rubrics.")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="Compare with this one, not the newest.")] = None,
    save: Annotated[str | None, typer.Option(metavar="BASELINE", help="Keep the result under this name.")] = None,
    reports: Annotated[
        list[str] | None, typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json or junit.")
    ] = None,
    started: Annotated[str, typer.Option(hidden=True)] = "",
) -> int:
    """Run a suite's scenarios, score them, compare with the baseline.

    Exit code: 0 all passed, 1 a scenario failed or something regressed, 2 a scenario ended in an error.
    """
    from transom import __version__
    from transom.canonical import pretty_json
    from transom.cli.providers import build_chain
    from transom.evals import Fingerprint, compare, load_suite, run_suite
    from transom.evals.history import find_evaluation, newest_baseline, remember
    from transom.llm.naming import Surroundings
    from transom.runs import write_file

    wanted = reports_in(reports or [], ("json", "junit"))
    started = started or datetime.now(UTC).isoformat()
    session.settle(started=started)  # resumed, it is the same evaluation
    chosen = load_suite(suite.absolute()).only(only or [])
    async with session.open_store() as store:
        runner, chain, prompts = _product(session, store, chosen)
        known = find_evaluation(store, baseline, chosen.name) if baseline else newest_baseline(store, chosen.name)
        fingerprint = Fingerprint(transom=__version__, model=chain.name, prompts=prompts)
        around = Surroundings(session.cwd, session.settings, session.base_url, store)
        asked = build_chain(judge, around) if judge else chain
        if any(one.rubric for one in chosen.scenarios) and not judge:
            session.progress("rubrics are not marked; --judge says by whom")
        inputs: dict[str, Json] = {"suite": str(suite.absolute()), "started": started}
        name, kept = f"eval-{chosen.name}", session.entry
        async with session.open_run("eval", inputs, name=name, store=store, chain=asked, entry=kept) as opened:
            judged = bool(judge)
            made = await run_suite(opened, chosen, runner, fingerprint, epochs=epochs, jobs=jobs, judged=judged)
            if known:
                made = made.model_copy(update={"regression_analysis": compare(made, known[1], known[0])})
            await remember(store, made, save)
            await opened.finish("passed" if made.exit_code == 0 else "failed")
    for kind, path in wanted:
        data = _junit(made) if kind == "junit" else pretty_json(made).encode("utf-8", "backslashreplace")
        write_file(path, data)
    return session.report(made, *_lines(made), code=made.exit_code)


def _product(session: Session, store: SqliteStore, suite: Suite) -> tuple[Runner, Chain, str]:
    """A product's runner, who answers it, and a digest of its prompts and rules."""
    if suite.product == "checklist":
        from transom.cli.eval_checklist import checklist_prompts, checklist_runner

        chain = session.chain(store)
        return checklist_runner(session, chain), chain, checklist_prompts(session.settings, chain)
    if suite.product == "investigator":
        from transom.cli.eval_investigator import investigator_prompts, investigator_runner, written_replies
        from transom.cli.investigate import chain_of

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
    from transom.evals import compare
    from transom.evals.history import find_evaluation

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
    from transom.evals import history as kept

    name = Path(suite).resolve().name
    async with session.open_store() as store:
        found = kept.history(store, name)
    told: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    for one, names in found:
        by, summary = one.fingerprint, one.summary
        told.append({"run_id": one.run_id, "baselines": names, "fingerprint": by, "summary": summary})
        passed = f"{summary.passed} of {summary.total_scenarios}"
        rows.append(
            (one.run_id, f"{summary.pass_rate:.2f}", passed, by.model, by.prompts, by.transom, ", ".join(names))
        )
    head = ("RUN", "PASS RATE", "PASSED", "MODEL", "PROMPTS", "VERSION", "BASELINE")
    lines = table(rows, head=head) if rows else [f"{name} was not evaluated in {session.workspace_root}"]
    return session.report({"schema": "transom.eval_history/1", "suite": name, "evaluations": told}, *lines)


def _junit(made: Evaluation) -> bytes:
    """Scenarios, and a failed case for each regression, as build servers read them."""
    from transom.formats.junit_report import JUnitCase, Result, junit_report

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
        yield "  ".join(filter(None, (style(f"{row.status:5}", _COLOURS[row.status]), row.id, passed, scores)))
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
