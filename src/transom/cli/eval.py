"""`transom eval`: run a suite of scenarios, compare evaluations; and how the products are run,
each epoch by itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from transom import __version__, evals
from transom.canonical import Json, digest, pretty_json
from transom.checklist.evaluation import outcome_of, prompts_digest
from transom.checklist.rules import load_knowledge
from transom.cli.app import group
from transom.cli.checking import answer_of
from transom.cli.command import command
from transom.cli.investigate import InvestigateOptions, answered, inquiry_of, opened_run
from transom.cli.learn import remembered as opened_memory
from transom.cli.options import Options
from transom.cli.output import reports_in, table, toned
from transom.cli.session import Session
from transom.errors import InputError, Paused, ProviderError
from transom.evals import history as kept
from transom.evals.replies import WrittenReplies
from transom.evals.report import change_lines, junit, text_lines
from transom.investigator import evaluation
from transom.investigator.dialogue import follow_up
from transom.investigator.inquiry import Inquiry
from transom.investigator.remembering import assessment_key, dependants
from transom.investigator.result import Investigation
from transom.investigator.rules import investigator_rules
from transom.llm import Chain
from transom.memory import Memory
from transom.runs import Run, write_file
from transom.store import Store

eval_app = group("eval")
SuiteArgument = Annotated[Path, typer.Argument(metavar="SUITE", help="Folder with suite.yaml.")]
Before = Annotated[
    str, typer.Argument(metavar="A", help="Earlier result: a baseline, a run, or a JSON file.")
]
After = Annotated[str, typer.Argument(metavar="B", help="Later result, in the same forms.")]
SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="Folder or name of a suite.")]


@dataclass(frozen=True)
class EvalOptions:
    """What `eval run` takes beside the common options."""

    epochs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs of each scenario.")
    ] = None
    only: Annotated[
        tuple[str, ...], typer.Option(metavar="ID|TAG", help="Run only these scenarios.")
    ] = ()
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Number of epochs to run at once."),
    ] = 1
    judge: Annotated[
        str | None, typer.Option(metavar="PROVIDER[:NAME]", help="Model that marks the rubrics.")
    ] = None
    save: Annotated[
        str | None,
        typer.Option(metavar="BASELINE", help="Save the result as a baseline with this name."),
    ] = None
    reports: Annotated[
        tuple[str, ...],
        typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json or junit."),
    ] = ()
    started: Annotated[str, typer.Option(hidden=True)] = ""


@command(
    eval_app,
    "run",
    example="transom eval run examples/evals/checklist --save main",
    asks=True,
    shares="whole",
)
async def run(session: Session, suite: SuiteArgument, options: EvalOptions) -> int:
    """Run and score a suite's scenarios, and compare them with the baseline.

    Exit code: 0 all passed, 1 a scenario failed or something regressed, 2 a scenario ended in an
    error.
    """
    wanted = reports_in(options.reports, ("json", "junit"))
    options = replace(options, started=options.started or datetime.now(UTC).isoformat())
    session.settle(started=options.started)  # resumed, it is the same evaluation
    chosen = evals.load_suite(suite.absolute()).only(options.only)
    if any(one.rubric for one in chosen.scenarios) and not options.judge:
        session.progress("rubrics are not marked; --judge says by whom")
    async with session.open_store() as store:
        made = await _evaluated(session, store, chosen, options)
    for kind, path in wanted:
        write_file(
            path,
            junit(made)
            if kind == "junit"
            else pretty_json(made).encode("utf-8", "backslashreplace"),
        )
    return session.report(made, *text_lines(made, toned), code=made.exit_code)


async def _evaluated(
    session: Session, store: Store, suite: evals.Suite, options: EvalOptions
) -> evals.Evaluation:
    """The suite run, compared with its baseline, and kept."""
    judge, known = options.judge, kept.newest_baseline(store, suite.name)
    if suite.product == "checklist":
        chain, knowledge = (
            session.chain(store),
            load_knowledge(session.settings.paths.knowledge_dirs).digests,
        )
        runner, prompts = checklist_runner(session, chain), prompts_digest(chain, knowledge)
    elif suite.product == "investigator":
        files = [
            name.strip()
            for name in session.settings.model.split(",")
            if name.strip().startswith("replies:")
        ]
        written = {
            name: partial(WrittenReplies, session.cwd / name.removeprefix("replies:"))
            for name in files
        }
        chain = session.chain(store, own={"rules": investigator_rules, **written})
        runner, prompts = investigator_runner(session, chain), evaluation.prompts_digest(chain)
    else:
        what, hint = (
            f"no product {suite.product!r} can be evaluated",
            "write checklist or investigator",
        )
        raise InputError(what, where=str(suite.folder / "suite.yaml"), hint=hint)
    by = evals.Fingerprint(transom=__version__, model=chain.name, prompts=prompts)
    inputs: dict[str, Json] = {"suite": str(suite.folder), "started": options.started}
    name, asked = (
        f"eval-{suite.name}",
        session.chain(store, judge, option="--judge") if judge else chain,
    )
    async with session.open_run("eval", inputs, name=name, store=store, chain=asked) as run:
        made = await evals.run_suite(
            run, suite, runner, by, epochs=options.epochs, jobs=options.jobs, judged=bool(judge)
        )
        if known:
            made = made.model_copy(
                update={"regression_analysis": evals.compare(made, known[1], known[0])}
            )
        await kept.remember(store, made, options.save)
        await run.finish("passed" if made.exit_code == 0 else "failed")
    return made


@command(eval_app, "compare", example="transom eval compare main 20261123-0930")
async def compare_(session: Session, before: Before, after: After) -> int:
    """Report changes from A to B that chance does not explain. Exit 1: something regressed."""
    async with session.known_workspace.open_store_for_reading() as store:
        (name, old), (_, new) = (
            kept.find_evaluation(store, before),
            kept.find_evaluation(store, after),
        )
    told = evals.compare(new, old, name)
    document = new.model_copy(update={"regression_analysis": told})
    lines = [f"{name} → {after}: {new.suite}", *change_lines(told, toned)]
    return session.report(document, *lines, code=1 if told.regressions else 0)


@command(eval_app, "history", example="transom eval history examples/evals/checklist")
async def history(session: Session, suite: SuiteName) -> int:
    """List a suite's evaluations, the newest last."""
    name = Path(suite).resolve().name
    async with session.known_workspace.open_store_for_reading() as store:
        found = kept.history(store, name)
    told = [
        one.model_dump(include={"run_id", "fingerprint", "summary"}) | {"baselines": names}
        for one, names in found
    ]
    rows = []
    for one, names in found:
        by, passed = one.fingerprint, f"{one.summary.passed} of {one.summary.total_scenarios}"
        rows.append((one.run_id, passed, by.model, by.prompts, by.transom, ", ".join(names)))
    lines = table(rows, head=("RUN", "PASSED", "MODEL", "PROMPTS", "VERSION", "BASELINE"))
    lines = lines or [f"{name} was not evaluated in {session.workspace_root}"]
    return session.report(
        {"schema": "transom.eval_history/1", "suite": name, "evaluations": told}, *lines
    )


def apart(session: Session, case: evals.Case, chain: Chain) -> Session:
    """A session whose workspace is the case's own, so that no epoch is answered from another
    one's journal.
    """
    settings = session.settings
    state = settings.state_dir / digest(str(case.folder))[:16] if settings.state_dir else None
    settings = settings.model_copy(
        update={"workspace": case.folder / ".transom", "state_dir": state, "store": None}
    )
    return replace(
        session, settings=settings, answers=case.chain(chain), verbosity=-1, open_runs=[], entry={}
    )


def checklist_runner(session: Session, chain: Chain) -> evals.Runner:
    """`input.item` is an item's YAML and `input.variables` are folders, both below the
    scenario's data.
    """

    async def run(case: evals.Case) -> evals.Outcome:
        item, given = case.below("item"), case.scenario.input.get("variables") or {}
        if not isinstance(given, dict):
            raise InputError(
                "input.variables is no mapping",
                where=case.scenario.id,
                hint="write NAME: folder lines",
            )
        folders = {name: case.inside(str(folder)) for name, folder in given.items()}
        own = apart(session, case, chain)
        variables = tuple(f"{name}={folder}" for name, folder in folders.items())
        async with own.open_store() as store:
            answer = await answer_of(own, store, Options(item=item, variables=variables))
            replies = [
                row.data for row in store.read(f"run/{answer.run_id}") if row.kind == "model_reply"
            ]
        made = outcome_of(answer, evals.Used.of(replies), [*folders.values()], case.data)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


def investigator_runner(session: Session, chain: Chain) -> evals.Runner:
    """Investigates a scenario's question."""

    async def run(case: evals.Case) -> evals.Outcome:
        asked, own = evaluation.asked_in(case), apart(session, case, chain)
        async with opened_memory(own) as memory:
            attempt = _Attempt(own, case, asked, case.memory(memory))
            for question in asked.before:
                await attempt.investigate(question)
            result = await attempt.investigate(asked.question)
            if result is None:
                return evals.Outcome(questions=tuple(attempt.questions))
            said = []
            for question in asked.then:
                async with attempt.opened(asked.question) as (run, inquiry):
                    recalled = await dependants(inquiry.memory, question)
                    said.append(await follow_up(run, question, inquiry.data, recalled))
            key, known = (
                assessment_key(result.feature_id, result.target_stage),
                result.memory_status == "ok",
            )
            entry = await attempt.memory.get(key) if known else None
        made = evaluation.outcome_of(
            result, said, attempt.questions, [entry.content] if entry else []
        )
        async with own.open_store() as store:
            made = evaluation.with_usage(made, store, attempt.runs)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


class _Attempt:
    """One epoch: its runs, and what a person was asked in them."""

    def __init__(
        self, session: Session, case: evals.Case, asked: evaluation.Asked, memory: Memory
    ) -> None:
        self._session, self._asked, self.memory = session, asked, memory
        self.runs: dict[str, None] = {}
        self.questions: list[str] = []
        beside = case.scenario.folder.resolve()
        policy, waivers = (
            beside / name if name else None for name in (asked.policy, asked.waivers)
        )
        self._options = InvestigateOptions(
            case.data, None, asked.target, policy, waivers, asked.as_of
        )

    @asynccontextmanager
    async def opened(self, question: str) -> AsyncIterator[tuple[Run, Inquiry]]:
        inquiry = replace(inquiry_of(self._session, question, self._options), memory=self.memory)
        async with opened_run(self._session, inquiry, self._options) as run:
            self.runs[run.id] = None
            yield run, inquiry

    async def investigate(self, question: str, *, again: bool = True) -> Investigation | None:
        """The answer, also behind a call that failed once; None where something is asked back
        that nobody answers.
        """
        while True:
            async with self.opened(question) as (run, inquiry):
                try:
                    return (await answered(run, inquiry))[0]
                except Paused as pause:
                    asked_before = pause.what in self.questions
                    self.questions.append(pause.what)
                    if self._asked.answer is None or asked_before:
                        return None
                    await run.decide(self._asked.answer, by="the scenario")
                except ProviderError as error:
                    if not (again and error.retryable):
                        raise
                    again = False
