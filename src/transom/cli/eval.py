"""`transom eval`: run a suite of scenarios, compare evaluations, see how a suite went over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command, group
from transom.cli.eval_report import change_lines, evaluation_lines, junit
from transom.cli.output import print_json, print_text, table
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.evals import Evaluation, Runner, Suite
    from transom.llm import Chain
    from transom.store import SqliteStore

eval_app = group("eval", "Scenario suites: how well a product answers, and what changed.")


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
    where = str(suite.folder / "suite.yaml")
    raise InputError(
        f"no product {suite.product!r} can be evaluated", where=where, hint="write checklist or investigator"
    )


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
) -> int:
    """Run a suite's scenarios, score them, compare with the baseline.

    Exit code: 0 all passed, 1 a scenario failed or something regressed, 2 a scenario ended in an error.
    """
    from transom.cli.told import Options

    given = {"epochs": epochs, "only": only, "jobs": jobs, "judge": judge, "baseline": baseline, "save": save}
    places = [(kind, str(path.absolute())) for kind, path in map(_report, reports or [])]
    entry = Options().entry("run", session, [suite])
    return await _run(session, {**entry, **given, "reports": places, "started": datetime.now(UTC).isoformat()})


async def resume_eval(today: Session, entry: Mapping[str, Any]) -> int:
    """Go on with an evaluation: answers that it has are not asked for again."""
    from transom.cli.options import session_of

    return await _run(session_of(entry, today), dict(entry))


RESUME = {"eval": resume_eval}


async def _run(session: Session, entry: dict[str, Any]) -> int:
    from transom import __version__
    from transom.canonical import pretty_json
    from transom.cli.providers import build_chain
    from transom.evals import Fingerprint, compare, load_suite, run_suite
    from transom.evals.history import find_evaluation, newest_baseline, remember
    from transom.llm.naming import Surroundings
    from transom.runs import write_file

    suite = load_suite(Path(entry["targets"][0])).only(entry["only"] or [])
    async with session.open_store() as store:
        runner, chain, prompts = _product(session, store, suite)
        other = entry["baseline"]
        known = find_evaluation(store, other, suite.name) if other else newest_baseline(store, suite.name)
        fingerprint = Fingerprint(transom=__version__, model=chain.name, prompts=prompts)
        judge = entry["judge"]
        around = Surroundings(session.cwd, session.settings, session.base_url, store)
        asked = build_chain(judge, around) if judge else chain
        if any(one.rubric for one in suite.scenarios) and not judge:
            session.progress("rubrics are not marked; --judge says by whom")
        inputs = {"suite": entry["targets"][0], "started": entry["started"]}
        name = f"eval-{suite.name}"
        async with session.open_run("eval", inputs, name=name, store=store, chain=asked, entry=entry) as opened:
            how = {"epochs": entry["epochs"], "jobs": entry["jobs"], "judged": bool(judge)}
            made = await run_suite(opened, suite, runner, fingerprint, **how)
            if known:
                made = made.model_copy(update={"regression_analysis": compare(made, known[1], known[0])})
            await remember(store, made, entry["save"])
            await opened.finish("passed" if made.exit_code == 0 else "failed")
    if session.format == "json":
        print_json(made)
    else:
        print_text(*evaluation_lines(made))
    for kind, path in entry["reports"]:
        data = junit(made) if kind == "junit" else pretty_json(made).encode("utf-8", "backslashreplace")
        write_file(Path(path), data)
    return made.exit_code


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
    if session.format == "json":
        print_json(new.model_copy(update={"regression_analysis": told}))
    else:
        print_text(f"{name} → {after}: {new.suite}", *change_lines(told))
    return 1 if told.regressions else 0


@command(eval_app, "history", example="transom eval history examples/evals/checklist")
async def history(
    session: Session, suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite's folder or name.")]
) -> int:
    """List a suite's evaluations, the newest last."""
    from transom.evals import history as kept

    name = Path(suite).resolve().name
    async with session.open_store() as store:
        rows = kept.history(store, name)
    if session.format == "json":
        told = [
            {"run_id": one.run_id, "baselines": names, "fingerprint": one.fingerprint, "summary": one.summary}
            for one, names in rows
        ]
        print_json({"schema": "transom.eval_history/1", "suite": name, "evaluations": told})
    elif rows:
        head = ("RUN", "PASS RATE", "PASSED", "MODEL", "PROMPTS", "VERSION", "BASELINE")
        print_text(*table([head, *(_row(one, names) for one, names in rows)]))
    else:
        print_text(f"{name} was not evaluated in {session.workspace_root}")
    return 0


def _row(one: Evaluation, names: list[str]) -> tuple[str, ...]:
    by, summary = one.fingerprint, one.summary
    passed = f"{summary.passed} of {summary.total_scenarios}"
    return (one.run_id, f"{summary.pass_rate:.2f}", passed, by.model, by.prompts, by.transom, ", ".join(names))


def _report(text: str) -> tuple[str, Path]:
    kind, colon, path = text.partition(":")
    if kind not in ("json", "junit") or not colon or not path:
        raise InputError(f"{text!r} is no report", where="--report", hint="write json:PATH or junit:PATH")
    return kind, Path(path)
