"""The options of `transom check`, and what follows from them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias, cast

import typer

from transom.agent.setup import seated
from transom.checklist.building.inputs import BuildSettings
from transom.checklist.item import load_item
from transom.checklist.judging import REPORTS, Occasion, Verdict, Verdicts, load_checker, report
from transom.checklist.judging.baseline import Baseline
from transom.checklist.pipeline import Manner, Places
from transom.checklist.writing.rounds import ROUNDS
from transom.cli.answers import Writer
from transom.cli.app import group
from transom.cli.command import MoreRepairs
from transom.cli.output import day_of, reports_in, say
from transom.cli.session import Session
from transom.errors import InputError
from transom.learning import Playbook
from transom.llm import CallSettings
from transom.memory import Memory
from transom.runs import write_file
from transom.sandbox import Level, Sandbox
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits

check_app = group("check")

WHERE = ("variables", "roots", "out")
BUILDING = ("allow_needs_review", "resume", "checkpoint", "reset_iterations")
JUDGING = ("as_of", "strict", "fail_on_unused")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
UNSAFE_RISK = (
    "generated code runs with your rights; it may read, change and send away all that you can, "
    "also because a log told it to; every verdict is marked"
)
UNSAFE_OPTION = "--unsafe-no-sandbox"
MARKS = ("good", "bad", "limit", "beside", "end")
Several: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Options:
    """What the commands of `check` take beside the common options."""

    item: Annotated[
        Path | None, typer.Option(metavar="ITEM.yaml", help="Item that the ItemSpec belongs to.")
    ] = None
    variables: Annotated[
        Several, typer.Option("--var", metavar="NAME=PATH", help="Value of ${NAME} in paths.")
    ] = ()
    roots: Annotated[
        tuple[Path, ...],
        typer.Option(
            "--root", metavar="DIR", help="Also search this folder for files and files they name."
        ),
    ] = ()
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Also write the results to this folder."),
    ] = None
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="Day on which waivers must be valid [today].")
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat any reinterpretation of the input as an error.")
    ] = False
    fail_on_unused: Annotated[
        bool, typer.Option("--fail-on-unused-waivers", help="Fail if a waiver is not used.")
    ] = False
    allow_needs_review: Annotated[
        bool, typer.Option("--allow-needs-review", help="Build even if the ItemSpec has findings.")
    ] = False
    tests: Annotated[
        bool,
        typer.Option(
            "--tests", help="Run the checker with each combination of requirements and waivers."
        ),
    ] = False
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the build of this ItemSpec.")
    ] = False
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Restart from this checkpoint (see `runs show`)."),
    ] = None
    reset_iterations: MoreRepairs = False
    approved_only: Annotated[
        bool,
        typer.Option("--approved-only", help="Refuse checkers that nobody approved unchanged."),
    ] = False
    debug: Annotated[
        bool, typer.Option("--debug", help="Also copy the prompt and reply of every round.")
    ] = False
    reports: Annotated[
        Several,
        typer.Option(
            "--report", metavar="FORMAT:PATH", help=f"Write a report: {', '.join(REPORTS)}."
        ),
    ] = ()
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known failures, from an earlier JSON report."),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, help="Number of items to process at once."
        ),
    ] = 8
    unsafe: Annotated[
        bool,
        typer.Option(
            UNSAFE_OPTION, help="Run generated code without a sandbox, with your own rights."
        ),
    ] = False
    good: Annotated[
        Several, typer.Option(metavar="FILE:LINE", help="Good line; repeat the option for several.")
    ] = ()
    bad: Annotated[
        Several, typer.Option(metavar="FILE:LINE", help="Bad line; repeat the option for several.")
    ] = ()
    limit: Annotated[
        Several,
        typer.Option(
            metavar="FILE:LINE>=N",
            help="Limit for the number in a line, such as 'cov.log:12 >= 98'.",
        ),
    ] = ()
    beside: Annotated[
        Several,
        typer.Option(metavar="FILE:LINE", help="Line to ignore; repeat the option for several."),
    ] = ()
    end: Annotated[
        Several, typer.Option(metavar="FILE:LINE", help="Last line of a complete log, or `none`.")
    ] = ()

    @property
    def day(self) -> str:
        """The day by which waivers expire, ISO."""
        return day_of(self.as_of).isoformat()


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
    roots = tuple(Path(session.cwd, root.expanduser()) for root in options.roots)
    named = [(f"--var {name}", folder) for name, folder in variables.items()]
    named += [("--root", root) for root in options.roots]
    for where, folder in named:
        if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir it never raises
            raise InputError(
                f"{folder} is no folder", where=where, hint="name a folder that exists"
            )
    search_root = session.settings.paths.search_root
    return Places(variables, search_root, roots, options.out or default_out)


def writer_of(session: Session, options: Options, targets: Sequence[Path]) -> Writer:
    """Return what writes each `--report`; it shows lines of files in the folders of `--var`,
    `--root`, the settings and the targets.
    """
    wanted, root = reports_in(options.reports, REPORTS), session.settings.paths.search_root
    places = {
        *parse_variables(options.variables, session.cwd).values(),
        *(Path(session.cwd, root.expanduser()) for root in options.roots),
        *(one.absolute().parent for one in targets),
    }
    places |= {root, root / "logs"} if root else set()
    # names begin at the outermost
    folders = tuple(sorted(places, key=lambda place: (len(place.parts), place)))

    def write(document: Verdict | Verdicts) -> None:
        for kind, path in wanted:
            descriptions = descriptions_of(targets) if kind == "html" else {}
            write_file(path, report(kind, document, folders, descriptions))

    return write


def descriptions_of(targets: Sequence[Path]) -> dict[str, str]:
    """Return the description of each item by its id; a target that cannot be read has none."""
    descriptions: dict[str, str] = {}
    for target in targets:
        try:
            if os.path.isdir(target):  # noqa: PTH112  unlike Path.is_dir it never raises
                config = load_checker(target).config
                item_id, description = config.item_id, config.description
            else:
                item = load_item(target)
                item_id, description = item.item_id, item.description
        except InputError:
            continue
        descriptions[item_id] = " ".join(description.split())
    return descriptions


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
    """How the check is made, from the settings and the options; with what was learned, and what
    is remembered.
    """
    settings, held, llm = session.settings, session.settings.tool_constraints, session.settings.llm
    header, most = held.header_lines_default, held.max_total_read_bytes
    limits = ViewLimits(header_lines=header, total_bytes=most)
    tools = FileLimits(
        held.max_read_lines_per_call, most, header, held.require_discovery_before_read
    )
    parser, logic, repair = (
        seated(CallSettings(), seat) for seat in (llm.agent_a, llm.agent_b, llm.reflect)
    )
    rounds = {each.tag: seated(CallSettings(), getattr(llm, each.tag)) for each in ROUNDS}
    repairs, level = settings.execution.max_iterations, settings.sandbox.level
    build = BuildSettings(
        parser, logic, repair, limits, tools, held.max_turns, repairs, playbook, options.tests
    )
    if options.unsafe and level:
        what = f"the settings insist on sandbox.level {level}"
        raise InputError(what, where=UNSAFE_OPTION, hint="take one of the two back")
    if options.unsafe:
        say(f"transom: {UNSAFE_OPTION}: {UNSAFE_RISK}")
    wanted = Level.NONE if options.unsafe else Level(level) if level else None
    sandbox = Sandbox(level=wanted) if needs_sandbox else cast("Sandbox", None)
    return Manner(Occasion(options.day, options.fail_on_unused), sandbox, rounds, build, memory)
