"""`transom check spec|build|run|all`: opens a run, walks the pipeline, prints the answer."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer

from transom.canonical import Json, pretty_json
from transom.checklist.building.checker import SPEC_FILE
from transom.checklist.claiming import claim_of
from transom.checklist.item import Item, load_item
from transom.checklist.item_files import input_problems, own_files
from transom.checklist.judging import Verdict, load_checker, printed
from transom.checklist.known_items import known_item
from transom.checklist.manner import Places
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.verdicts import (
    Judged,
    checker_folder,
    judge_claim,
    try_scenarios,
    verdict_of,
)
from transom.cli.check import answers, registry
from transom.cli.check.options import (
    BUILDING,
    JUDGING,
    WHERE,
    CheckArguments,
    baseline_of,
    check_app,
    comparison_of,
    descriptions_of,
    judging_manner,
    manner_of,
    places_of,
    reports_of,
)
from transom.cli.check.registry import place
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, say
from transom.errors import InputError, TransomError
from transom.runs import Run
from transom.runs.walk import give_help, rewind
from transom.store import Store

VAR = "--var CHECKLIST_ROOT=examples/checks/data"
ItemArgument = Annotated[Path, typer.Argument(metavar="ITEM.yaml", help="Item to check.")]


@command(
    check_app,
    "spec",
    example="transom check spec examples/checks/VER-01.yaml -o specs",
    asks=True,
    shares="whole",
)
async def spec(
    session: Session,
    item: ItemArgument,
    options: Annotated[CheckArguments, ("results", "parallel_rounds", "debug", "strict")],
) -> int:
    """Write an item's ItemSpec: what to extract, check and waive.

    With -o, it also writes ID_ItemSpec.md.
    """
    from transom.checklist.pipeline import spec_of
    from transom.checklist.writing.round_copies import debug_folder, export_rounds
    from transom.checklist.writing.write import WrittenSpec
    from transom.cli.knowledge import opened_memory

    loaded = answers.load_checked(session, item, strict=options.strict)
    places = places_of(session, options, session.settings.paths.item_specs_dir)
    result: SpecResult | None = None
    # Written once more if a person says on the terminal what the description means.
    while result is None:
        async with session.open_store() as store, _run_of(session, store, loaded) as run:
            async with opened_memory(session) as memory:
                manner = manner_of(session, options, needs_sandbox=False, memory=memory)
                written = await spec_of(run, loaded, places, manner)
            if isinstance(written, WrittenSpec):
                await registry.record_spec(store, loaded, written.document.value)
                result = written.result
            else:
                result = await answers.with_interpretations(session, run, loaded, places, written)
            if options.debug and result:
                copies = debug_folder(places.out or run.folder / "spec", loaded.item_id)
                meta = {"meta.json": pretty_json(result).encode("utf-8")}
                await export_rounds(run, copies, loaded, meta)
            await _finish(run, result)
        loaded = answers.load_checked(session, item, strict=options.strict)
    return answers.print_step(session, result)


@command(
    check_app,
    "build",
    example=f"transom check build VER-01_ItemSpec.md --item VER-01.yaml {VAR}",
    asks=True,
    shares="whole",
)
async def build(
    session: Session,
    itemspec: Annotated[
        Path, typer.Argument(metavar="ITEMSPEC.md", help="ItemSpec to build a checker from.")
    ],
    options: Annotated[CheckArguments, ("item", *WHERE, "tests", *BUILDING, "unsafe")],
) -> int:
    """Build a checker from an ItemSpec, and run its gates.

    With -o, it also writes ID_checker/.
    """
    from transom.checklist.building.flow import BuiltChecker
    from transom.checklist.pipeline import checker_of, read_spec
    from transom.cli.check.learned import LEARNED
    from transom.cli.knowledge import learning

    item = load_item(options.item, strict=options.strict) if options.item else None
    itemspec = _found_spec(itemspec, session.settings.paths.item_specs_dir)
    text, item_id = read_spec(itemspec, item, allow_needs_review=options.allow_needs_review)
    places = places_of(session, options, session.settings.paths.output_dir)
    # A resumed run neither goes back nor begins anew a second time.
    session.record_arguments(checkpoint=None, reset_iterations=False)
    async with session.open_store() as store:
        if item is None:
            item = known_item(store, item_id, places)
            # Relative input files are meant from the folder of the item, or else of the ItemSpec.
            places = replace(places, base=None if item else itemspec.absolute().parent)
            if item:
                session.progress(f"item {item.path}; --item names another one")
        inputs: dict[str, Json] = {
            "itemspec": place(itemspec),
            "item": place(item.path) if item else None,
        }
        # Without its item, the ItemSpec's title names the checker.
        name = item.item_id if item else item_id
        if item:
            await registry.claim(store, item)
        # A typing error must not begin a new build in silence.
        if (options.resume or options.checkpoint) and not Run.known(store, "check-build", inputs):
            raise InputError(
                "there is no build to resume", place=str(itemspec), hint="leave out --resume"
            )
        async with session.open_run("check-build", inputs, name=name, store=store) as run:
            await _go_back(run, options)
            target = None
            # Without a folder of one's own, the checker stays in its run.
            if places.out:
                target = places.out / checker_folder(name)
            async with learning(session, LEARNED) as (playbook, memory):
                manner = manner_of(session, options, playbook=playbook, memory=memory)
                built = await checker_of(run, text, item, places, manner, folder=target)
            result = built if isinstance(built, BuildResult) else built.result
            _say_inputs(item, places, run.folder, result)
            if isinstance(built, BuiltChecker) and built.judges and item:
                await registry.record_checker(store, item, built.folder, text)
                for doubt in await try_scenarios(run, built.folder, item, places, manner):
                    session.warn(f"transom: {doubt.gate}: {doubt.message}")
            await _finish(run, result)
    return answers.print_step(session, result)


def _found_spec(name: Path, folder: Path | None) -> Path:
    """Return the ItemSpec of a path; or of a name or an item's id, in the folder of ItemSpecs."""
    if folder is None or name.exists() or name.is_absolute():
        return name
    from transom.checklist.writing.write import READY_NAME, REVIEW_NAME

    # As it was given, and then as `check spec` names its files.
    for file in (name.name, *(form.format(name.name) for form in (READY_NAME, REVIEW_NAME))):
        if (folder / file).is_file():
            return folder / file
    return name


@command(
    check_app, "run", example=f"transom check run checkers/VER-01_checker {VAR}", shares="whole"
)
async def run(
    session: Session,
    targets: Annotated[
        list[Path],
        typer.Argument(
            metavar="CHECKER|ITEM.yaml", help="Checkers to run, or items that have one."
        ),
    ],
    options: Annotated[
        CheckArguments, (*WHERE, *JUDGING, "approved_only", "reports", "baseline", "unsafe")
    ],
) -> int:
    """Run checkers on the current files.

    With -o, it also writes ID_verdict.json.
    """
    copied_items: set[str] = set()
    async with session.open_store() as store:

        async def work(target: Path) -> answers.Answer:
            return await run_one(session, store, target, options, copied_items)

        return await _judge(session, targets, options, work)


@command(
    check_app,
    "all",
    example=f"transom check all examples/checks/VER-01.yaml {VAR}",
    asks=True,
    shares="whole",
)
async def all_(
    session: Session,
    items: Annotated[list[Path], typer.Argument(metavar="ITEM.yaml", help="Items to check.")],
    options: Annotated[
        CheckArguments,
        (*WHERE, *JUDGING, "parallel_rounds", "tests", "reports", "baseline", "unsafe"),
    ],
) -> int:
    """Run spec, build and run in one go. A checker that is not stale is reused.

    With -o, it also writes ID_verdict.json, ID_ItemSpec.md and ID_checker/.
    """
    async with session.open_store() as store:

        async def work(item: Path) -> answers.Answer:
            return await answer_of(session, store, replace(options, item=item))

        return await _judge(session, items, options, work)


async def _judge(
    session: Session,
    targets: Sequence[Path],
    options: CheckArguments,
    work: Callable[[Path], Awaitable[answers.Answer]],
) -> int:
    """Print one verdict for every target, in their order.

    An error is printed at once, and ends the work on no other target.
    """
    day = options.day
    # A wrong option is an error before any target is judged.
    baseline = baseline_of(options)
    reports = reports_of(session, options, targets, baseline)
    compared = comparison_of(options, baseline)
    verdicts: list[Verdict] = []
    for target in targets:
        outcome: answers.Answer | TransomError
        try:
            outcome = await work(target)
        except TransomError as error:
            if len(targets) == 1:
                raise
            session.warn(f"transom: {error}")
            outcome = error
        verdicts.append(compared(answers.verdict_for(target, outcome, day)))
    return answers.print_verdicts(session, verdicts, reports, descriptions_of(targets))


async def answer_of(session: Session, store: Store, options: CheckArguments) -> answers.Answer:
    """Return the verdict on one item after spec, build and run; if a step stops, its own answer."""
    started = time.monotonic()
    item = answers.load_checked(session, cast("Path", options.item), strict=options.strict)
    places = places_of(session, options, session.settings.paths.output_dir)
    # An undefined variable is an error before a run opens.
    own_files(item, places.roots(item, item.path.parent))
    session.record_arguments(as_of=options.day)
    async with _run_of(session, store, item) as run:
        result = await _judge_item(session, run, item, places, options)
        checker: Path | None = None
        answer: answers.Answer | None
        if isinstance(result, Judged):
            checker = result.checker
            spec_text = (checker / SPEC_FILE).read_text("utf-8")
            await registry.record_checker(store, item, checker, spec_text)
            verdict = await answers.with_other_interpretations(
                session, run, item, places, result.verdict
            )
            answer = verdict
            if verdict is not None:
                seconds = time.monotonic() - started
                answer = printed(verdict, run_id=run.id, seconds=seconds)
        elif isinstance(result, SpecResult):
            answer = await answers.with_interpretations(session, run, item, places, result)
        else:
            answer = result
        if answer:
            _say_inputs(item, places, run.folder, answer)
            await _finish(run, answer, checker)
    # Once more: the files corrected Section 4, or a person said on the terminal what is meant.
    if answer is None:
        return await answer_of(session, store, options)
    if isinstance(result, Judged) and result.verdict.doubted:
        session.warn(
            f"transom: {item.item_id}: the gates doubt its checker, see the verdict; it is"
            f" {result.checker}"
        )
    return answer


async def _judge_item(
    session: Session, run: Run, item: Item, places: Places, options: CheckArguments
) -> SpecResult | BuildResult | Judged | None:
    """Judge an item by its claim, or else by a checker that roles write for it."""
    claim = claim_of(item, run.chain)
    if claim is not None:
        manner = judging_manner(session, options)
        return await judge_claim(run, item, claim, places, manner)
    # Most items are claims, which need none of these, and they take longest to import.
    from transom.checklist.pipeline import check_all
    from transom.cli.check.learned import LEARNED
    from transom.cli.knowledge import learning

    async with learning(session, LEARNED) as (playbook, memory):
        manner = manner_of(session, options, playbook=playbook, memory=memory)
        return await check_all(run, item, places, manner)


async def run_one(
    session: Session, store: Store, target: Path, options: CheckArguments, copied_items: set[str]
) -> Verdict:
    """Judge one target.

    Args:
        copied_items: ids of the items whose verdicts this command copied to `-o`.
    """
    started = time.monotonic()
    if os.path.isdir(target):  # noqa: PTH112  unlike Path.is_dir it never raises
        item = None
        folder = target
    else:
        item = load_item(target, strict=options.strict)
        folder = registry.newest_checker(store, item)
    checker = load_checker(folder, strict=options.strict)
    if options.approved_only and not checker.approved.by:
        raise InputError(
            f"not approved: {checker.approved.why_not}",
            place=str(checker.folder),
            hint=f"approve it with: transom check approve {checker.folder} --by NAME",
        )
    inputs: dict[str, Json] = {
        "checker": place(checker.folder),
        "item": place(item.path) if item else None,
    }
    name = checker.config.item_id
    session.record_arguments(as_of=options.day)
    base = None if item else registry.home(store, checker.folder)
    places = replace(places_of(session, options, None), base=base)
    async with session.open_run("check-run", inputs, name=name, store=store) as run:
        # The second verdict would overwrite the first one.
        if places.out and name in copied_items:
            raise InputError(
                f"another target of this command is for {name}, too; its verdict lies in"
                f" {places.out}",
                place=str(target),
                hint="run it by itself, with an -o of its own",
            )
        copied_items.add(name)
        verdict = await verdict_of(run, checker, item, places, judging_manner(session, options))
        await _finish(run, verdict, checker.folder)
    _say_inputs(item or checker.item, places, checker.folder, verdict)
    return printed(verdict, run_id=run.id, seconds=time.monotonic() - started)


@asynccontextmanager
async def _run_of(session: Session, store: Store, item: Item) -> AsyncIterator[Run]:
    """Open the run of an item, in which `check spec` and `check all` both work."""
    await registry.claim(store, item)
    inputs: dict[str, Json] = {"item": place(item.path), "item_id": item.item_id}
    async with session.open_run("check", inputs, name=item.item_id, store=store) as run:
        yield run


async def _finish(run: Run, result: answers.Answer | None, checker: Path | None = None) -> None:
    """Close the run, unless it waits for a person's answer or goes on after one.

    Args:
        checker: the folder of the checker that came to a verdict.
    """
    # A question about the meaning is open, and its answer goes on with this run.
    if result is None or (not isinstance(result, BuildResult) and result.choose):
        return
    status = result.counted_as if isinstance(result, Verdict) else result.status
    await run.finish(status, waits=answers.waits_for(result, checker))


async def _go_back(run: Run, options: CheckArguments) -> None:
    """Take a build back to an earlier stage, or give it new attempts, if the options say so."""
    if options.reset_iterations:
        await give_help(run, reset=True)
    if options.checkpoint:
        stages = rewind(run, options.checkpoint)
        run.progress(f"back to {options.checkpoint}: {counted(len(stages), 'stage')} to do again")


def _say_inputs(item: Item | None, places: Places, fallback: Path, result: answers.Answer) -> None:
    """Print what is wrong with the input files of an item."""
    for line in input_problems(item, places.roots(item, fallback), result):
        say(f"transom: {line}")
