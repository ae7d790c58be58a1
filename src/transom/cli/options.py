"""The options of `transom check`, and what follows from them; and what a workspace remembers of items."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from transom.agent.setup import seated
from transom.canonical import Json, digest
from transom.checklist.build.inputs import BuildSettings
from transom.checklist.item import Item, load_item
from transom.checklist.pipeline import Manner, Places
from transom.checklist.run import Verdict
from transom.checklist.run.baseline import Baseline
from transom.checklist.run.check import Occasion
from transom.checklist.run.reports import REPORTS, report
from transom.checklist.run.verdict import Verdicts
from transom.checklist.spec.document import clean
from transom.checklist.spec.rounds import ROUNDS
from transom.cli.answers import Writer
from transom.cli.command import MoreRepairs
from transom.cli.output import day_of, reports_in, say
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.learning import Playbook
from transom.llm import CallSettings
from transom.memory import Memory
from transom.runs import write_file
from transom.sandbox import Level, Sandbox
from transom.store import SqliteStore
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits

check_app = group("check")

WHERE = ("variables", "root", "out")
BUILDING = ("allow_needs_review", "resume", "checkpoint", "reset_iterations")
JUDGING = ("as_of", "strict", "fail_on_unused")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
UNSAFE_RISK = (
    "generated code runs with your rights; it may read, change and send away all that you can, "
    "also because a log told it to; every verdict is marked"
)
UNSAFE_OPTION = "--unsafe-no-sandbox"


_Variables = Annotated[tuple[str, ...], typer.Option("--var", metavar="NAME=PATH", help="What ${NAME} stands for.")]
_Reports = Annotated[
    tuple[str, ...],
    typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json, text, junit, sarif, csv, html."),
]


@dataclass(frozen=True)
class Options:
    """What the commands of `check` take beside the common options."""

    item: Annotated[Path | None, typer.Option(metavar="ITEM.yaml", help="The item it belongs to.")] = None
    variables: _Variables = ()
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="Where logs may lie beside the item's place.")] = None
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where copies for you go.")] = None
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="The day by which waivers expire; today.")] = None
    strict: Annotated[bool, typer.Option("--strict", help="What is read differently than written is an error.")] = False
    fail_on_unused: Annotated[bool, typer.Option("--fail-on-unused-waivers", help="One unused waiver fails it.")] = (
        False
    )
    allow_needs_review: Annotated[
        bool, typer.Option("--allow-needs-review", help="Build although the ItemSpec has findings.")
    ] = False
    tests: Annotated[bool, typer.Option("--tests", help="Try each combination of requirements and waivers.")] = False
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the build of this ItemSpec.")] = False
    checkpoint: Annotated[str | None, typer.Option(metavar="ID", help="Go back to one that `runs show` lists.")] = None
    reset_iterations: MoreRepairs = False
    approved_only: Annotated[bool, typer.Option("--approved-only", help="Refuse what nobody approved as is.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Copy every round's prompt and reply too.")] = False
    reports: _Reports = ()
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="Only what is new since this JSON fails.")] = (
        None
    )
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many items at once.")] = 8
    unsafe: Annotated[bool, typer.Option(UNSAFE_OPTION, help="Run generated code with your own rights.")] = False

    @property
    def day(self) -> str:
        """The day by which waivers expire, ISO."""
        return day_of(self.as_of).isoformat()


@dataclass(frozen=True)
class NamedLines:
    """The lines that `check teach` learns from, each `FILE:LINE`."""

    good: Annotated[tuple[str, ...], typer.Option(metavar="FILE:LINE", help="A good line; as often as you like.")] = ()
    bad: Annotated[tuple[str, ...], typer.Option(metavar="FILE:LINE", help="A bad line.")] = ()
    beside: Annotated[tuple[str, ...], typer.Option(metavar="FILE:LINE", help="A line beside the point.")] = ()
    end: Annotated[tuple[str, ...], typer.Option(metavar="FILE:LINE", help="A whole log's last line, or `none`.")] = ()


def parse_variables(given: Sequence[str], cwd: Path) -> dict[str, Path]:
    """The folders of `--var NAME=PATH` by name, absolute; a relative path is meant from `cwd`."""
    found: dict[str, Path] = {}
    for text in given:
        name, _, path = text.partition("=")
        if not path or not _NAME.match(name):
            raise InputError(f"{text!r} is no variable", where="--var", hint="write NAME=PATH")
        if name in found:
            raise InputError(f"{name} is given twice", where="--var", hint="give each name once")
        found[name] = Path(cwd, Path(path).expanduser())
    return found


def places_of(session: Session, options: Options, default_out: Path | None) -> Places:
    """Where files are looked for, and where copies go."""
    variables = parse_variables(options.variables, session.cwd)
    named = {f"--var {name}": folder for name, folder in variables.items()}
    for where, folder in (named | ({"--root": options.root} if options.root else {})).items():
        if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir it never raises
            raise InputError(f"{folder} is no folder", where=where, hint="name a folder that exists")
    return Places(variables, session.settings.paths.search_root, options.root, options.out or default_out)


def writer_of(session: Session, options: Options, targets: Sequence[Path]) -> Writer:
    """What writes each `--report`; it shows lines of files in the folders of `--var`, the settings and the targets."""
    wanted, root = reports_in(options.reports, REPORTS), session.settings.paths.search_root
    places = {*parse_variables(options.variables, session.cwd).values(), *(one.absolute().parent for one in targets)}
    places |= {root, root / "logs"} if root else set()
    folders = tuple(sorted(places, key=lambda place: (len(place.parts), place)))  # names begin at the outermost

    def write(document: Verdict | Verdicts) -> None:
        for kind, path in wanted:
            write_file(path, report(kind, document, folders))

    return write


def compared_by(options: Options) -> Callable[[Verdict], Verdict]:
    """What holds a verdict against `--baseline`; without one it stays as it is."""
    if options.baseline is None:
        return lambda verdict: verdict
    return partial(Baseline(options.baseline).compare, fail_on_unused=options.fail_on_unused)


def manner_of(
    session: Session,
    options: Options,
    *,
    needs_sandbox: bool = True,
    playbook: Playbook | None = None,
    memory: Memory | None = None,
) -> Manner:
    """How the check is made, from the settings and the options; with what was learned, and what is remembered."""
    settings, held, llm = session.settings, session.settings.tool_constraints, session.settings.llm
    header, most = held.header_lines_default, held.max_total_read_bytes
    limits = ViewLimits(header_lines=header, total_bytes=most)
    tools = FileLimits(held.max_read_lines_per_call, most, header, held.require_discovery_before_read)
    parser, logic, repair = (seated(CallSettings(), seat) for seat in (llm.agent_a, llm.agent_b, llm.reflect))
    rounds = {each.tag: seated(CallSettings(), getattr(llm, each.tag)) for each in ROUNDS}
    repairs = settings.execution.max_iterations
    build = BuildSettings(parser, logic, repair, limits, tools, held.max_turns, repairs, playbook, options.tests)
    level = settings.sandbox.level
    if options.unsafe and level:
        what = f"the settings insist on sandbox.level {level}"
        raise InputError(what, where=UNSAFE_OPTION, hint="take one of the two back")
    if options.unsafe:
        say(f"transom: {UNSAFE_OPTION}: {UNSAFE_RISK}")
    wanted = Level.NONE if options.unsafe else Level(level) if level else None
    sandbox = Sandbox(level=wanted) if needs_sandbox else cast("Sandbox", None)
    return Manner(Occasion(options.day, options.fail_on_unused), sandbox, rounds, build, memory)


ITEMS, SPECS, CHECKERS, HOMES = "items", "specs", "checkers", "homes"


def place(path: Path) -> str:
    """A path as the workspace keeps it: absolute, without `..`, links as they are."""
    return os.path.abspath(path)  # noqa: PTH100  resolve() would follow the links


async def claim_id(store: SqliteStore, item: Item) -> None:
    """Make an item's id its own in this workspace; one whose item is gone, moved or called otherwise now is free."""
    mine = place(item.path)
    other = Path(str(await store.put_if_absent(ITEMS, item.item_id, mine)))
    try:
        taken = str(other) != mine and not other.samefile(mine) and load_item(other).item_id == item.item_id
    except (OSError, InputError):
        taken = False
    if taken:
        what = f"the item id {item.item_id} belongs to {other} in this workspace"
        raise InputError(what, where=mine, hint="write an item_id of its own into one of them")
    if str(other) != mine:
        await store.put(ITEMS, item.item_id, mine)


async def register_spec(store: SqliteStore, item: Item, spec: str) -> None:
    """Remember an item's newest ItemSpec."""
    await store.put(SPECS, place(item.path), digest(clean(spec)))


async def register_checker(store: SqliteStore, item: Item, folder: Path, spec: str) -> None:
    """Remember an item's newest checker, and for the checker whose it is."""
    row: dict[str, Json] = {
        "folder": place(folder),
        "description": digest(item.meaning),
        "itemspec": digest(clean(spec)),
    }
    await register_spec(store, item, spec)
    await store.put(CHECKERS, place(item.path), row)
    await store.put(HOMES, place(folder), str(Path(place(item.path)).parent))


def newest_checker(store: SqliteStore, item: Item) -> Path:
    """The folder of the newest checker that was built for an item."""
    row, why = cast("dict[str, str] | None", store.get(CHECKERS, place(item.path))), ""
    if row is None:
        why = "no checker was built for this item"
    elif not Path(row["folder"]).is_dir():
        why = f"its checker {row['folder']} is gone"
    elif row["description"] != digest(item.meaning):
        why = "its description changed since its checker was built"
    elif store.get(SPECS, place(item.path)) != row["itemspec"]:
        why = "its ItemSpec changed since its checker was built"
    if row is None or why:
        raise InputError(why, where=str(item.path), hint=f"build one with: transom check all {item.path}")
    return Path(row["folder"])


def home(store: SqliteStore, folder: Path) -> Path | None:
    """The folder of the item that a checker was built for; its relative input files are meant from there."""
    known = store.get(HOMES, place(folder))
    return Path(str(known)) if known else None
