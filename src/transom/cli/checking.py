"""The work behind `transom check`: open the run, walk the pipeline, print the answer."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

from transom.canonical import Json, digest
from transom.checklist.build.checker import SPEC_FILE
from transom.checklist.build.flow import FOLDER, BuildSettings, BuiltChecker
from transom.checklist.item import Item, load_item
from transom.checklist.pipeline import (
    Manner,
    Places,
    check_all,
    checker_folder,
    checker_of,
    refuse_unready,
    spec_of,
    verdict_of,
)
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.run import Verdict, gravest, load_checker, printed, text_report, text_reports, together
from transom.checklist.run.stage import Occasion
from transom.cli.output import print_json, print_text, style
from transom.cli.session import Session
from transom.errors import InputError
from transom.llm import CallSettings
from transom.runs import Run
from transom.sandbox import Level, Sandbox
from transom.store import SqliteStore
from transom.tools.files import ViewLimits

ITEMS, CHECKERS = "items", "checkers"
_TONES = {"pass": "green", "fail": "red", "error": "red", "warn": "yellow", "dim": "dim"}


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

    def entry(self, command: str, target: Path | None = None) -> dict[str, Json]:
        """As the run keeps it: paths absolute, the day settled."""
        kept: dict[str, Any] = {**asdict(self), "as_of": self.day, "command": command}
        kept |= {key: str(value.absolute()) for key, value in kept.items() if isinstance(value, Path)}
        kept |= {"reports": list(self.reports), "variables": [_absolute(text) for text in self.variables]}
        return cast("dict[str, Json]", {**kept, "target": str((target or Path()).absolute())})

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


def _absolute(variable: str) -> str:
    """`NAME=PATH` with the path absolute, so that it means the same from any folder."""
    name, equals, path = variable.partition("=")
    return f"{name}={Path(path).expanduser().absolute()}" if equals and path else variable


async def spec_command(session: Session, options: Options) -> int:
    """`check spec`."""
    item = load_item(_item_path(options), strict=options.strict)
    places = _places(session, options, session.settings.paths.item_specs_dir)
    async with session.open_store() as store, _run_of(session, store, item, options, "spec") as run:
        spec = await spec_of(run, item, places, _manner(session, options, needs_sandbox=False))
        result = spec if isinstance(spec, SpecResult) else spec.result
        if options.debug:
            _copy_rounds(run, places.out or run.folder / "spec", item.item_id)
        await run.finish(result.status)
    return _print_spec(session, result)


async def build_command(session: Session, itemspec: Path, options: Options) -> int:
    """`check build`."""
    text = _read_spec(itemspec)
    if not options.allow_needs_review:
        refuse_unready(text, itemspec)
    item = load_item(options.item, strict=options.strict) if options.item else None
    places = _places(session, options, session.settings.paths.output_dir)
    inputs: dict[str, Json] = {
        "itemspec": str(itemspec.absolute()),
        "item": str(item.path.absolute()) if item else None,
    }
    name = item.item_id if item else itemspec.stem.removesuffix("_ItemSpec")
    entry = options.entry("build", itemspec)
    async with session.open_store() as store:
        if item:
            await claim_id(store, item)
        async with session.open_run("check-build", inputs, name=name, store=store, entry=entry) as run:
            target = places.out / checker_folder(name) if places.out else None
            built = await checker_of(run, text, item, places, _manner(session, options), folder=target)
            result = built if isinstance(built, BuildResult) else built.result
            if isinstance(built, BuiltChecker) and built.done and item:
                await _register(store, item, built.folder, text)
            await run.finish(result.status)
    return _print_build(session, result)


async def run_command(session: Session, targets: Sequence[Path], options: Options) -> int:
    """`check run`."""
    reports = [_report(text) for text in options.reports]
    verdicts: list[Verdict] = []
    async with session.open_store() as store:
        for target in targets:
            verdicts.append(await _run_one(session, store, target, options))
    return _print_verdicts(session, verdicts, reports)


async def all_command(session: Session, options: Options) -> int:
    """`check all`."""
    async with session.open_store() as store:
        result = await answer_of(session, store, options)
    if isinstance(result, SpecResult):
        code = _print_spec(session, result)
        return 3 if code == 1 else code  # a person is needed before there can be a verdict
    if isinstance(result, BuildResult):
        return _print_build(session, result)
    return _print_verdicts(session, [result], [])


async def answer_of(session: Session, store: SqliteStore, options: Options) -> SpecResult | BuildResult | Verdict:
    """Spec, build and run of one item; where one of them stops, its own answer."""
    started = time.monotonic()
    item = load_item(_item_path(options), strict=options.strict)
    places = _places(session, options, session.settings.paths.output_dir)
    async with _run_of(session, store, item, options, "all") as run:
        result = await check_all(run, item, places, _manner(session, options))
        await run.finish(result.status)
        if not isinstance(result, Verdict):
            return result
        built = places.out / checker_folder(item.item_id) if places.out else run.folder / FOLDER
        await _register(store, item, built, (built / SPEC_FILE).read_text(encoding="utf-8"))
    return _shown(result, run.id, started)


@asynccontextmanager
async def _run_of(
    session: Session, store: SqliteStore, item: Item, options: Options, command: str
) -> AsyncIterator[Run]:
    """The one run of an item, in which `check spec` and `check all` both work."""
    await claim_id(store, item)
    inputs: dict[str, Json] = {"item": str(item.path.absolute()), "item_id": item.item_id}
    entry = options.entry(command)
    async with session.open_run("check", inputs, name=item.item_id, store=store, entry=entry) as run:
        yield run


async def _run_one(session: Session, store: SqliteStore, target: Path, options: Options) -> Verdict:
    started = time.monotonic()
    folder, item = await _checker_of(store, target, strict=options.strict)
    checker = load_checker(folder)
    inputs: dict[str, Json] = {"checker": str(folder.absolute()), "item": _path_of(item)}
    entry = options.entry("run", target)
    name = checker.config.item_id
    async with session.open_run("check-run", inputs, name=name, store=store, entry=entry) as run:
        places = _places(session, options, None)
        verdict = await verdict_of(run, folder, item, places, _manner(session, options), copy_to=places.out)
        await run.finish(verdict.status)
    return _shown(verdict, run.id, started)


async def _checker_of(store: SqliteStore, target: Path, *, strict: bool) -> tuple[Path, Item | None]:
    """A checker folder, or the newest checker that was built for an item.

    Raises:
        InputError: no checker was built for the item as it is described today; the command to run is named.
    """
    if target.is_dir():
        return target, None
    item = load_item(target, strict=strict)
    row = cast("dict[str, str] | None", store.get(CHECKERS, str(target.absolute())))
    if row is None or not Path(row["folder"]).is_dir() or row["description"] != digest(item.description):
        why = "no checker was built for this item" if row is None else "its checker is gone or its description changed"
        raise InputError(why, where=str(target), hint=f"build one with: transom check all {target}")
    return Path(row["folder"]), item


async def _register(store: SqliteStore, item: Item, folder: Path, spec: str) -> None:
    row: dict[str, Json] = {
        "folder": str(folder.absolute()),
        "description": digest(item.description),
        "itemspec": digest(spec),
    }
    await store.put(CHECKERS, str(item.path.absolute()), row)


async def claim_id(store: SqliteStore, item: Item) -> None:
    """Make an item's id its own in this workspace.

    Raises:
        InputError: another file that still exists has the same id; both are named.
    """
    mine = str(item.path.absolute())
    holder = str(await store.put_if_absent(ITEMS, item.item_id, mine))
    if holder == mine:
        return
    if Path(holder).is_file() and _id_of(Path(holder)) == item.item_id:
        raise InputError(
            f"the item id {item.item_id} belongs to {holder} in this workspace",
            where=mine,
            hint="write an item_id of its own into one of them",
        )
    await store.put(ITEMS, item.item_id, mine)


def _id_of(path: Path) -> str | None:
    try:
        return load_item(path).item_id
    except InputError:
        return None


def _path_of(item: Item | None) -> str | None:
    return str(item.path.absolute()) if item else None


def _item_path(options: Options) -> Path:
    if options.item is None:
        raise InputError("no item was given", hint="name its YAML file")
    return options.item


def _places(session: Session, options: Options, default_out: Path | None) -> Places:
    from transom.cli.variables import parse_variables

    variables = parse_variables(options.variables, session.cwd, None)
    for name, folder in variables.items():
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder", where=f"--var {name}", hint="name a folder that exists")
    if options.root and not options.root.is_dir():
        raise InputError(f"{options.root} is no folder", where="--root", hint="name a folder that exists")
    return Places(variables, session.settings.paths.search_root, options.root, options.out or default_out)


def _manner(session: Session, options: Options, *, needs_sandbox: bool = True) -> Manner:
    settings = session.settings
    limits = ViewLimits(
        header_lines=settings.tool_constraints.header_lines_default,
        total_bytes=settings.tool_constraints.max_total_read_bytes,
    )
    build = BuildSettings(
        session.call_settings("agent_a", CallSettings()), session.call_settings("agent_b", CallSettings()), limits
    )
    level = settings.sandbox.level
    sandbox = Sandbox(level=Level(level) if level else None) if needs_sandbox else cast("Sandbox", None)
    return Manner(Occasion(options.day, options.fail_on_unused), sandbox, build=build)


def _read_spec(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise InputError(f"cannot read the ItemSpec: {what}", where=str(path), hint="name an ItemSpec.md") from error


def _copy_rounds(run: Run, out: Path, item_id: str) -> None:
    """Every round's prompt and reply, under the names that a person knows, in `<id>_debug/`."""
    target = out / f"{item_id}_debug"
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted((run.folder / "spec").glob("round*/*.md")):
        shutil.copyfile(file, target / file.name)


def _report(text: str) -> tuple[str, Path]:
    kind, colon, path = text.partition(":")
    if kind not in ("json", "text") or not colon or not path:
        raise InputError(f"{text!r} is no report", where="--report", hint="write json:PATH or text:PATH")
    return kind, Path(path)


def _shown(verdict: Verdict, run_id: str, started: float) -> Verdict:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return printed(verdict, run_id=run_id, seconds=time.monotonic() - started, applied_at=now)


def _print_verdicts(session: Session, verdicts: list[Verdict], reports: list[tuple[str, Path]]) -> int:
    document = verdicts[0] if len(verdicts) == 1 else together(verdicts)
    text = text_report(document) if isinstance(document, Verdict) else text_reports(document)
    for kind, path in reports:
        from transom.canonical import pretty_json
        from transom.runs import write_file

        write_file(path, (pretty_json(document) if kind == "json" else text).encode("utf-8", "backslashreplace"))
    if session.format == "json":
        print_json(document)
    elif isinstance(document, Verdict):
        print_text(text_report(document, _toned).rstrip("\n"))
    else:
        print_text(text_reports(document, _toned).rstrip("\n"))
    return gravest(verdict.exit_code for verdict in verdicts)


def _toned(tone: str, text: str) -> str:
    return style(text, _TONES[tone])


def _print_spec(session: Session, result: SpecResult) -> int:
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(f"{result.status}  {result.item_id}" + (f"  {result.itemspec_path}" if result.itemspec_path else ""))
    if result.capability_type:
        print_text(f"  capability type {result.capability_type}")
    for finding in result.findings:
        print_text(f"  {finding.artifact}:{finding.line or 1}: {finding.message} [{finding.gate}]")
    for words in result.needs_model:
        print_text(f'  not understood: "{words.text}" in {words.where}')
    print_text(f"  run {result.run_id}")
    return result.exit_code


def _print_build(session: Session, result: BuildResult) -> int:
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(result.status + (f"  {result.checker_path}" if result.checker_path else ""))
    if result.waits_for:
        print_text(f"  waits for a person: {result.waits_for}")
    for gate in result.gates:
        print_text(f"  {'passed' if gate.passed else 'FAILED'}  {gate.gate}")
        for finding in gate.findings:
            print_text(f"    {finding.artifact}:{finding.line or 1}: {finding.message}")
    for words in result.needs_model:
        print_text(f'  not understood: "{words.text}" in {words.where}')
    print_text(f"  run {result.run_id}")
    return result.exit_code
