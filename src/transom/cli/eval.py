"""`transom eval`: runs a suite of scenarios, and compares evaluations.

Each epoch of a scenario runs a product in a workspace of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from transom import __version__, evals
from transom.canonical import Json, digest, pretty_json, write_atomic
from transom.checklist.embedded import digests_of_data
from transom.checklist.evaluation import outcome_of, prompts_digest
from transom.cli.app import group
from transom.cli.check.options import CheckArguments
from transom.cli.check.steps import answer_of
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.investigate import InvestigateOptions, answered, inquiry_of, opened_run
from transom.cli.knowledge import opened_memory
from transom.cli.output import report_files, table, toned
from transom.errors import InputError, Paused, ProviderError
from transom.evals import stored_evaluations
from transom.evals.evaluation_report import change_lines, junit, text_lines
from transom.evals.inspect_log import inspect_log, log_name
from transom.evals.replies import WrittenReplies
from transom.evals.side_by_side import html_comparison, markdown_comparison
from transom.investigator import evaluation
from transom.investigator.dependants import dependants
from transom.investigator.dialogue import follow_up
from transom.investigator.inquiry import Inquiry
from transom.investigator.remembering import assessment_key
from transom.investigator.result import Investigation
from transom.investigator.rules import investigator_rules
from transom.llm import Chain, Provider
from transom.memory import Memory
from transom.runs import Run
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
    """The options of `eval run`, besides the common ones."""

    epochs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of runs of each scenario.")
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
    reports = report_files(options.reports, {"json": _json_report, "junit": junit})
    options = replace(options, started=options.started or datetime.now(UTC).isoformat())
    # Resumed, it is the same evaluation.
    session.record_arguments(started=options.started)
    chosen = evals.load_suite(suite.absolute()).only(options.only)
    if any(scenario.rubric for scenario in chosen.scenarios) and not options.judge:
        session.progress("rubrics are not marked; name a model that marks them with --judge")
    async with session.open_store() as store:
        result = await _evaluated(session, store, chosen, options)
    lines = text_lines(result, toned, saved=options.save or "")
    return session.show(result, *lines, code=result.exit_code, reports=reports)


def _json_report(evaluation: evals.Evaluation) -> bytes:
    return pretty_json(evaluation).encode("utf-8", "backslashreplace")


async def _evaluated(
    session: Session, store: Store, suite: evals.Suite, options: EvalOptions
) -> evals.Evaluation:
    """Run a suite, compare the result with the suite's baseline, and save it."""
    judge = options.judge
    # Read before the result is saved, which may be the next baseline.
    baseline = stored_evaluations.newest_baseline(store, suite.name)
    chain, runner, prompts = _runner_of(session, store, suite)
    fingerprint = evals.Fingerprint(transom=__version__, model=chain.name, prompts=prompts)
    inputs: dict[str, Json] = {"suite": str(suite.folder), "started": options.started}
    name = f"eval-{suite.name}"
    # The run itself asks only the judge; each epoch has a run of its own.
    run_chain = chain
    if judge:
        run_chain = session.chain(store, judge, option="--judge")
    async with session.open_run("eval", inputs, name=name, store=store, chain=run_chain) as run:
        result = await evals.run_suite(
            run,
            suite,
            runner,
            fingerprint,
            epochs=options.epochs,
            jobs=options.jobs,
            judged=bool(judge),
        )
        if baseline:
            changes = evals.compare(result, baseline[1], baseline[0])
            result = result.model_copy(update={"regression_analysis": changes})
        await stored_evaluations.remember(store, result, options.save)
        await run.finish("passed" if result.exit_code == 0 else "failed")
    return result


def _runner_of(
    session: Session, store: Store, suite: evals.Suite
) -> tuple[Chain, evals.Runner, str]:
    """Return the models of a suite's product, what runs its scenarios, and a digest of its prompts.

    Raises:
        InputError: the product cannot be evaluated.
    """
    if suite.product == "checklist":
        chain = session.chain(store)
        runner = checklist_runner(session, chain)
        return chain, runner, prompts_digest(chain, digests_of_data())
    if suite.product == "investigator":
        own: dict[str, Callable[[], Provider]] = {"rules": investigator_rules}
        for part in session.settings.model.split(","):
            # `replies:FILE` answers a role with a text of a file, for tests of what a model may do.
            if (name := part.strip()).startswith("replies:"):
                path = session.cwd / name.removeprefix("replies:")
                own[name] = partial(WrittenReplies, path)
        chain = session.chain(store, own=own)
        runner = investigator_runner(session, chain)
        return chain, runner, evaluation.prompts_digest(chain)
    raise InputError(
        f"no product {suite.product!r} can be evaluated",
        place=str(suite.folder / "suite.yaml"),
        hint="write checklist or investigator",
    )


ComparisonReports = Annotated[
    list[str] | None,
    typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: markdown or html."),
]


@command(eval_app, "compare", example="transom eval compare main 20261123-0930")
async def compare_(
    session: Session, before: Before, after: After, reports: ComparisonReports = None
) -> int:
    """Report changes from A to B that chance does not explain. Exit 1: something regressed.

    A report has the answers side by side with their tokens and cost, what got worse first.
    """
    async with session.known_workspace.open_store_for_reading() as store:
        name, old = stored_evaluations.find_evaluation(store, before)
        _, new = stored_evaluations.find_evaluation(store, after)
    names = (name, after)
    renderers = {
        "markdown": lambda _: markdown_comparison(old, new, names),
        "html": lambda _: html_comparison(old, new, names),
    }
    changes = evals.compare(new, old, name)
    document = new.model_copy(update={"regression_analysis": changes})
    lines = [f"{name} → {after}: {new.suite}", *change_lines(changes, toned)]
    code = 1 if changes.regressions else 0
    return session.show(document, *lines, code=code, reports=report_files(reports or (), renderers))


@command(eval_app, "export", example="transom eval export main --inspect logs")
async def export(
    session: Session,
    evaluation: Annotated[
        str, typer.Argument(metavar="A", help="A baseline, a run, or a JSON file.")
    ],
    inspect: Annotated[
        Path, typer.Option("--inspect", metavar="DIR", help="Folder of the logs of Inspect.")
    ],
) -> int:
    """Write an evaluation into a folder as a log that `inspect view --log-dir DIR` opens."""
    async with session.known_workspace.open_store_for_reading() as store:
        name, document = stored_evaluations.find_evaluation(store, evaluation)
    path = session.cwd / inspect / log_name(document)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, pretty_json(inspect_log(document)).encode("utf-8", "backslashreplace"))
    rows = sum(row.epochs for row in document.scenarios)
    lines = [
        f"wrote {inspect / path.name}: {rows} samples of {name}",
        f"open it with: inspect view --log-dir {inspect}",
    ]
    return session.show({"schema": "transom.eval_export/1", "file": str(path)}, *lines)


@command(eval_app, "history", example="transom eval history examples/evals/checklist")
async def history(session: Session, suite: SuiteName) -> int:
    """List a suite's evaluations, the newest last."""
    name = Path(suite).resolve().name
    documents: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    async with session.known_workspace.open_store_for_reading() as store:
        for result, baselines in stored_evaluations.history(store, name):
            document = result.model_dump(include={"run_id", "fingerprint", "summary"})
            documents.append(document | {"baselines": baselines})
            models, summary = result.fingerprint, result.summary
            passed = f"{summary.passed} of {summary.total_scenarios}"
            names = ", ".join(baselines)
            rows.append(
                (result.run_id, passed, models.model, models.prompts, models.transom, names)
            )
    lines = table(rows, head=("RUN", "PASSED", "MODEL", "PROMPTS", "VERSION", "BASELINE"))
    # The name of a folder is enough, so a wrong one cannot be told from a new suite.
    lines = lines or [f"{name} was not evaluated in {session.workspace_root}"]
    return session.show(
        {"schema": "transom.eval_history/1", "suite": name, "evaluations": documents}, *lines
    )


def apart(session: Session, case: evals.ScenarioCase, chain: Chain) -> Session:
    """Return a session with a workspace of the case's own.

    Otherwise an epoch would be answered from the journal of another one.
    """
    settings = session.settings
    state_dir = settings.state_dir
    if state_dir:
        state_dir /= digest(str(case.folder))[:16]
    settings = settings.model_copy(
        update={"workspace": case.folder / ".transom", "state_dir": state_dir, "store": None}
    )
    return replace(
        session, settings=settings, answers=case.chain(chain), verbosity=-1, open_runs=[], entry={}
    )


def checklist_runner(session: Session, chain: Chain) -> evals.Runner:
    """Return what checks a scenario's item.

    `input.item` is an item's YAML and `input.variables` are folders, both below the
    scenario's data.
    """

    async def run(case: evals.ScenarioCase) -> evals.ScenarioOutcome:
        item = case.below("item")
        variables = case.scenario.input.get("variables") or {}
        if not isinstance(variables, dict):
            raise InputError(
                "input.variables is no mapping",
                place=case.scenario.id,
                hint="write NAME: folder lines",
            )
        folders = {name: case.inside(str(folder)) for name, folder in variables.items()}
        own_session = apart(session, case, chain)
        texts = tuple(f"{name}={folder}" for name, folder in folders.items())
        options = CheckArguments(item=item, variables=texts)
        async with own_session.open_store() as store:
            answer = await answer_of(own_session, store, options)
            # The journal has the tokens of every call.
            replies: list[Any] = []
            for row in store.read(f"run/{answer.run_id}"):
                if row.kind == "model_reply":
                    replies.append(row.data)
        usage = evals.Used.of(replies)
        outcome = outcome_of(answer, usage, [*folders.values()], case.data)
        return outcome.model_copy(update={"egress": session.settings.egress.logs})

    return run


def investigator_runner(session: Session, chain: Chain) -> evals.Runner:
    """Return what investigates a scenario's question."""

    async def run(case: evals.ScenarioCase) -> evals.ScenarioOutcome:
        inputs = evaluation.asked_in(case)
        own_session = apart(session, case, chain)
        async with opened_memory(own_session) as memory:
            attempt = _Attempt(own_session, case, inputs, case.memory(memory))
            # Earlier questions of the scenario fill the memory.
            for question in inputs.before:
                await attempt.investigate(question)
            result = await attempt.investigate(inputs.question)
            if result is None:
                return evals.ScenarioOutcome(questions=tuple(attempt.questions))
            replies = []
            for question in inputs.then:
                async with attempt.opened(inputs.question) as (run, inquiry):
                    recalled = await dependants(inquiry.memory, question)
                    replies.append(await follow_up(run, question, inquiry.data, recalled))
            remembered: list[str] = []
            if result.memory_status == "ok":
                key = assessment_key(result.feature_id, result.target_stage)
                if entry := await attempt.memory.get(key):
                    remembered.append(entry.content)
        outcome = evaluation.outcome_of(result, replies, attempt.questions, remembered)
        async with own_session.open_store() as store:
            outcome = evaluation.with_usage(outcome, store, attempt.runs)
        return outcome.model_copy(update={"egress": session.settings.egress.logs})

    return run


class _Attempt:
    """One epoch of a scenario: its runs, and the questions they asked a person."""

    def __init__(
        self, session: Session, case: evals.ScenarioCase, inputs: evaluation.Asked, memory: Memory
    ) -> None:
        self._session = session
        self._inputs = inputs
        self.memory = memory
        self.runs: dict[str, None] = {}
        self.questions: list[str] = []
        folder = case.scenario.folder.resolve()
        self._options = InvestigateOptions(
            data=case.data,
            jira=None,
            target=inputs.target,
            policy=folder / inputs.policy if inputs.policy else None,
            waivers=folder / inputs.waivers if inputs.waivers else None,
            as_of=inputs.as_of,
        )

    @asynccontextmanager
    async def opened(self, question: str) -> AsyncIterator[tuple[Run, Inquiry]]:
        inquiry = replace(inquiry_of(self._session, question, self._options), memory=self.memory)
        async with opened_run(self._session, inquiry, self._options) as run:
            self.runs[run.id] = None
            yield run, inquiry

    async def investigate(self, question: str, *, retries: int = 1) -> Investigation | None:
        """Return the answer to a question.

        If a person is asked back, the scenario's own answer is given, if it has one.

        Args:
            question: the question.
            retries: how often a failed provider is asked again.

        Returns:
            The answer; None if the question back has no answer.
        """
        while True:
            async with self.opened(question) as (run, inquiry):
                try:
                    return (await answered(run, inquiry))[0]
                except Paused as pause:
                    is_repeated = pause.problem in self.questions
                    self.questions.append(pause.problem)
                    # The same question again means that the answer did not help.
                    if self._inputs.answer is None or is_repeated:
                        return None
                    await run.decide(self._inputs.answer, by="the scenario")
                except ProviderError as error:
                    if not (retries and error.retryable):
                        raise
                    retries -= 1
