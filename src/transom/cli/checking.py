"""The work behind `transom check`: open the run, walk the pipeline, print the answer."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

from transom.canonical import Json
from transom.checklist.build.checker import SPEC_FILE
from transom.checklist.build.flow import FOLDER, BuildSettings, BuiltChecker
from transom.checklist.item import Item, load_item
from transom.checklist.pipeline import (
    Manner,
    Places,
    check_all,
    checker_folder,
    checker_of,
    open_checker,
    read_spec,
    spec_of,
    verdict_of,
)
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.run import LoadedChecker, Verdict, printed
from transom.checklist.run.stage import Occasion
from transom.checklist.spec.write import WrittenSpec
from transom.cli.answers import parse_report, print_build, print_spec, print_verdicts
from transom.cli.output import gravest, say
from transom.cli.registry import claim_id, home, newest_checker, place, register_checker, register_spec
from transom.cli.session import Session
from transom.config import load_settings
from transom.errors import InputError, TransomError
from transom.llm import CallSettings
from transom.runs import Run, export
from transom.sandbox import Level, Sandbox
from transom.store import SqliteStore
from transom.tools.files import ViewLimits

UNSAFE_OPTION = "--unsafe-no-sandbox"
UNSAFE_RISK = (
    "generated code runs with your rights; it may read, change and send away all that you can, "
    "also because a log told it to; every verdict is marked"
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """What the commands of `check` take beside the common options. Kept in the run, so that it can be resumed."""

    item: Path | None = None
    variables: tuple[str, ...] = ()
    root: Path | None = None
    out: Path | None = None
    as_of: str | None = None
    strict: bool = False
    fail_on_unused: bool = False
    allow_needs_review: bool = False
    debug: bool = False
    reports: tuple[str, ...] = ()
    unsafe: bool = False

    def entry(self, command: str, session: Session, targets: Sequence[Path] = ()) -> dict[str, Json]:
        """As the run keeps it: paths absolute, the day settled, and what the session was told on the command line."""
        kept: dict[str, Any] = {**asdict(self), "as_of": self.day, "command": command}
        kept |= {key: str(value.absolute()) for key, value in kept.items() if isinstance(value, Path)}
        kept["variables"] = [_absolute(text, "=") for text in self.variables]
        kept["reports"] = [_absolute(text, ":") for text in self.reports]
        kept["targets"] = [str(target.absolute()) for target in targets]
        told = session.settings.origins.get("model") == "command line"
        kept |= {"cwd": str(session.cwd), "base_url": session.base_url}
        kept["model"] = session.settings.model if told else None
        return cast("dict[str, Json]", kept)

    @staticmethod
    def from_entry(entry: Mapping[str, Any]) -> Options:
        """The inverse of `entry`."""
        kept = {field.name: entry[field.name] for field in fields(Options) if field.name in entry}
        kept |= {name: Path(kept[name]) for name in ("item", "root", "out") if kept.get(name)}
        kept |= {name: tuple(kept.get(name, ())) for name in ("variables", "reports")}
        return Options(**kept)

    @property
    def day(self) -> str:
        """The day by which waivers expire, ISO.

        Raises:
            InputError: `--as-of` is no date.
        """
        if self.as_of is None:
            return date.today().isoformat()
        try:
            return date.fromisoformat(self.as_of).isoformat()
        except ValueError as error:
            raise InputError(f"{self.as_of!r} is no date", where="--as-of", hint="write YYYY-MM-DD") from error


def _absolute(text: str, sign: str) -> str:
    """`NAME=PATH` or `FORMAT:PATH` with the path absolute, so that it means the same from any folder."""
    name, found, path = text.partition(sign)
    return f"{name}{found}{Path(path).expanduser().absolute()}" if found and path else text


def session_of(entry: Mapping[str, Any], today: Session) -> Session:
    """The session of the command that opened a run: its folder, so its settings file, and its chain.

    A `--model` of today counts more: a person may resume with another one.
    """
    cwd = Path(entry.get("cwd") or today.cwd)
    given: dict[str, object] = {"workspace": str(today.workspace_root)}
    told = today.settings.origins.get("model") == "command line"
    model = today.settings.model if told else entry.get("model")
    if model:
        given["model"] = model
    base_url = today.base_url or entry.get("base_url")
    return replace(today, settings=load_settings(cwd, command_line=given), cwd=cwd, base_url=base_url)


async def resume_check(today: Session, entry: Mapping[str, Any]) -> int:
    """Give the command again that a run was opened by, as if in the same folder."""
    session, options = session_of(entry, today), Options.from_entry(entry)
    targets = [Path(target) for target in entry.get("targets", ())]
    match entry.get("command"):
        case "spec":
            return await spec_command(session, options)
        case "build":
            return await build_command(session, targets[0], options)
        case "run":
            return await run_command(session, targets, options)
        case _:
            return await all_command(session, options)


async def spec_command(session: Session, options: Options) -> int:
    """`check spec`."""
    item = load_item(_item_path(options), strict=options.strict)
    places = _places(session, options, session.settings.paths.item_specs_dir)
    async with session.open_store() as store, _run_of(session, store, item, options, "spec") as run:
        spec = await spec_of(run, item, places, _manner(session, options, needs_sandbox=False))
        if isinstance(spec, WrittenSpec):
            await register_spec(store, item, spec.document.value)
        result = spec if isinstance(spec, SpecResult) else spec.result
        if options.debug:
            await _copy_rounds(run, places.out or run.folder / "spec", item.item_id)
        await _finish(run, result.status)
    return print_spec(session, result)


async def build_command(session: Session, itemspec: Path, options: Options) -> int:
    """`check build`."""
    item = load_item(options.item, strict=options.strict) if options.item else None
    spec = read_spec(itemspec, item, allow_needs_review=options.allow_needs_review)
    places = _places(session, options, session.settings.paths.output_dir)
    places = places if item else replace(places, base=itemspec.absolute().parent)
    inputs: dict[str, Json] = {"itemspec": place(itemspec), "item": place(item.path) if item else None}
    name = item.item_id if item else spec.item_id
    entry = options.entry("build", session, [itemspec])
    async with session.open_store() as store:
        if item:
            await claim_id(store, item)
        async with _opened(session, store, "check-build", name, inputs, entry) as run:
            target = places.out / checker_folder(name) if places.out else None
            built = await checker_of(run, spec.text, item, places, _manner(session, options), folder=target)
            result = built if isinstance(built, BuildResult) else built.result
            if isinstance(built, BuiltChecker) and built.done and item:
                await register_checker(store, item, built.folder, spec.text)
            await _finish(run, result.status)
    return print_build(session, result)


async def run_command(session: Session, targets: Sequence[Path], options: Options) -> int:
    """`check run`. Of several targets one that cannot be judged costs the others nothing."""
    reports = [parse_report(text) for text in options.reports]
    verdicts: list[Verdict] = []
    codes: list[int] = []
    async with session.open_store() as store:
        for target in targets:
            try:
                verdicts.append(await _run_one(session, store, target, targets, options))
            except TransomError as error:
                if len(targets) == 1:
                    raise
                say(f"transom: {error}")
                codes.append(error.exit_code)
    codes += [print_verdicts(session, verdicts, reports)] if verdicts else []
    return gravest(codes)


async def all_command(session: Session, options: Options) -> int:
    """`check all`."""
    async with session.open_store() as store:
        result = await answer_of(session, store, options)
    if isinstance(result, SpecResult):
        code = print_spec(session, result)
        return 3 if code == 1 else code  # a person is needed before there can be a verdict
    if isinstance(result, BuildResult):
        return print_build(session, result)
    return print_verdicts(session, [result])


async def answer_of(session: Session, store: SqliteStore, options: Options) -> SpecResult | BuildResult | Verdict:
    """Spec, build and run of one item; where one of them stops, its own answer."""
    started = time.monotonic()
    item = load_item(_item_path(options), strict=options.strict)
    places = _places(session, options, session.settings.paths.output_dir)
    async with _run_of(session, store, item, options, "all") as run:
        result = await check_all(run, item, places, _manner(session, options))
        if isinstance(result, Verdict):
            built = places.out / checker_folder(item.item_id) if places.out else run.folder / FOLDER
            await register_checker(store, item, built, (built / SPEC_FILE).read_text(encoding="utf-8"))
        await _finish(run, result.status)
    return _shown(result, run.id, started) if isinstance(result, Verdict) else result


@asynccontextmanager
async def _run_of(
    session: Session, store: SqliteStore, item: Item, options: Options, command: str
) -> AsyncIterator[Run]:
    """The one run of an item, in which `check spec` and `check all` both work."""
    await claim_id(store, item)
    inputs: dict[str, Json] = {"item": place(item.path), "item_id": item.item_id}
    entry = options.entry(command, session)
    async with _opened(session, store, "check", item.item_id, inputs, entry) as run:
        yield run


@asynccontextmanager
async def _opened(
    session: Session,
    store: SqliteStore,
    kind: str,
    name: str,
    inputs: Mapping[str, Json],
    entry: Mapping[str, Json],
) -> AsyncIterator[Run]:
    async with session.open_run(kind, inputs, name=name, store=store, entry=entry) as run:
        _log.info("run %s: %s %s in %s", run.id, kind, name, run.folder)
        yield run


async def _finish(run: Run, status: str) -> None:
    await run.finish(status)
    _log.info("run %s: %s", run.id, status)


async def _run_one(
    session: Session, store: SqliteStore, target: Path, targets: Sequence[Path], options: Options
) -> Verdict:
    started = time.monotonic()
    checker, item = _checker_of(store, target, strict=options.strict)
    inputs: dict[str, Json] = {"checker": place(checker.folder), "item": place(item.path) if item else None}
    entry = options.entry("run", session, targets)
    name = checker.config.item_id
    places = replace(_places(session, options, None), base=None if item else home(store, checker.folder))
    async with _opened(session, store, "check-run", name, inputs, entry) as run:
        copy_to = places.out / name if places.out and len(targets) > 1 else places.out
        verdict = await verdict_of(run, checker, item, places, _manner(session, options), copy_to=copy_to)
        await _finish(run, verdict.status)
    return _shown(verdict, run.id, started)


def _checker_of(store: SqliteStore, target: Path, *, strict: bool) -> tuple[LoadedChecker, Item | None]:
    """A checker folder, or the newest checker that was built for an item.

    Raises:
        InputError: no checker was built for the item as it is described today; the command to run is named.
    """
    if os.path.isdir(target):  # noqa: PTH112  unlike Path.is_dir it never raises
        return open_checker(target, strict=strict), None
    item = load_item(target, strict=strict)
    return open_checker(newest_checker(store, item)), item


def _item_path(options: Options) -> Path:
    if options.item is None:
        raise InputError("no item was given", hint="name its YAML file")
    return options.item


def _places(session: Session, options: Options, default_out: Path | None) -> Places:
    from transom.cli.variables import parse_variables

    variables = parse_variables(options.variables, session.cwd, None)
    for where, folder in _named_folders(options, variables):
        if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir it never raises
            raise InputError(f"{folder} is no folder", where=where, hint="name a folder that exists")
    return Places(variables, session.settings.paths.search_root, options.root, options.out or default_out)


def _named_folders(options: Options, variables: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    yield from ((f"--var {name}", folder) for name, folder in variables.items())
    if options.root:
        yield "--root", options.root


def _manner(session: Session, options: Options, *, needs_sandbox: bool = True) -> Manner:
    settings = session.settings
    limits = ViewLimits(
        header_lines=settings.tool_constraints.header_lines_default,
        total_bytes=settings.tool_constraints.max_total_read_bytes,
    )
    build = BuildSettings(
        session.call_settings("agent_a", CallSettings()), session.call_settings("agent_b", CallSettings()), limits
    )
    sandbox = _sandbox(session, options) if needs_sandbox else cast("Sandbox", None)
    return Manner(Occasion(options.day, options.fail_on_unused), sandbox, build=build)


def _sandbox(session: Session, options: Options) -> Sandbox:
    """Where generated code is run.

    Raises:
        InputError: `--unsafe-no-sandbox` where the settings insist on a level.
        SandboxUnavailable: this machine does not offer the level, or none.
    """
    level = session.settings.sandbox.level
    if not options.unsafe:
        return Sandbox(level=Level(level) if level else None)
    if level:
        what = f"the settings insist on sandbox.level {level}"
        raise InputError(what, where=UNSAFE_OPTION, hint="take one of the two back")
    say(f"transom: {UNSAFE_OPTION}: {UNSAFE_RISK}")
    return Sandbox(level=Level.NONE)


async def _copy_rounds(run: Run, out: Path, item_id: str) -> None:
    """Every round's prompt and reply, under the names that a person knows, in `<id>_debug/`."""
    for file in sorted((run.folder / "spec").glob("round*/*.md")):
        await export(run.store, out / f"{item_id}_debug" / file.name, file.read_bytes(), progress=run.progress)


def _shown(verdict: Verdict, run_id: str, started: float) -> Verdict:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return printed(verdict, run_id=run_id, seconds=time.monotonic() - started, applied_at=now)
