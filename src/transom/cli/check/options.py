"""The options of `transom check`, and the places, reports and settings that follow from them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

import typer

from transom.checklist.building.settings import BuildSettings
from transom.checklist.item import load_item
from transom.checklist.judging import (
    REPORTS,
    BlockItem,
    Occasion,
    ReportContext,
    Verdict,
    Verdicts,
    block_items,
    load_checker,
    report,
    trend_of,
)
from transom.checklist.judging.baseline import VerdictBaseline
from transom.checklist.manner import Manner, Places
from transom.cli.app import group
from transom.cli.command import MoreRepairs
from transom.cli.command_session import Session
from transom.cli.output import ReportFile, day_of, report_files, say
from transom.errors import InputError
from transom.llm import CallSettings
from transom.sandbox import Level, Sandbox
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits

if TYPE_CHECKING:
    from transom.learning import Playbook
    from transom.memory import Memory

check_app = group("check")

WHERE = ("variables", "roots", "results")
BUILDING = ("allow_needs_review", "resume", "checkpoint", "reset_iterations")
JUDGING = ("as_of", "strict", "fail_on_unused")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
UNSAFE_RISK = (
    "generated code runs with your rights; it may read, change and send away all that you can, "
    "also because a log told it to; every verdict is marked"
)
UNSAFE_OPTION = "--unsafe-no-sandbox"
MARKS = ("good", "bad", "limit", "ignore", "end")
"""The options that mark lines of a log."""
Several: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class CheckArguments:
    """The options of the commands of `check`, besides the common ones."""

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
    results: Annotated[
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
    resume: Annotated[bool, typer.Option("--resume", help="Resume the build of this ItemSpec.")] = (
        False
    )
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Resume from this checkpoint (see `runs show`)."),
    ] = None
    reset_iterations: MoreRepairs = False
    approved_only: Annotated[
        bool,
        typer.Option(
            "--approved-only", help="Refuse checkers that are not approved in their current form."
        ),
    ] = False
    parallel_rounds: Annotated[
        bool,
        typer.Option(
            "--parallel-rounds", help="Draft sections 2 and 3 while section 1 is written."
        ),
    ] = False
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Also copy the prompt and reply of every round that a model answered."
        ),
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
        Several,
        typer.Option(metavar="FILE:LINE", help="Mark a good line; repeat the option for several."),
    ] = ()
    bad: Annotated[
        Several,
        typer.Option(metavar="FILE:LINE", help="Mark a bad line; repeat the option for several."),
    ] = ()
    limit: Annotated[
        Several,
        typer.Option(
            metavar="FILE:LINE>=N",
            help="Limit for the number in a line, such as 'cov.log:12 >= 98'.",
        ),
    ] = ()
    ignore: Annotated[
        Several,
        typer.Option(
            "--ignore",
            "--beside",
            metavar="FILE:LINE",
            help="Ignore a line; repeat the option for several.",
        ),
    ] = ()
    end: Annotated[
        Several,
        typer.Option(metavar="FILE:LINE", help="Mark the last line of a complete log, or `none`."),
    ] = ()

    @property
    def day(self) -> str:
        """The day by which waivers expire, ISO."""
        return day_of(self.as_of).isoformat()

    @property
    def marks(self) -> list[tuple[str, str]]:
        """The marked lines of a log: each a mark, and FILE:LINE."""
        lines_of_mark = {
            "good": self.good,
            "bad": self.bad,
            "limit": self.limit,
            "beside": self.ignore,
            "end": self.end,
        }
        marks: list[tuple[str, str]] = []
        for mark, lines in lines_of_mark.items():
            marks += [(mark, line) for line in lines]
        return marks


def parse_variables(texts: Sequence[str], cwd: Path) -> dict[str, Path]:
    """Return the folders of `--var NAME=PATH` by name, absolute.

    A relative path is meant from `cwd`.
    """
    folders: dict[str, Path] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not path or not _NAME.match(name):
            raise InputError(f"{text!r} is no variable", place="--var", hint="write NAME=PATH")
        if name in folders:
            raise InputError(f"{name} is given twice", place="--var", hint="give each name once")
        folders[name] = Path(cwd, Path(path).expanduser())
    return folders


def places_of(session: Session, options: CheckArguments, default_results: Path | None) -> Places:
    """Return the folders in which files are looked for, and the one for results."""
    variables = parse_variables(options.variables, session.cwd)
    roots = tuple(Path(session.cwd, root.expanduser()) for root in options.roots)
    folders = [(f"--var {name}", folder) for name, folder in variables.items()]
    folders += [("--root", root) for root in options.roots]
    # A missing folder is an error here, and not only "file not found" later.
    for option, folder in folders:
        if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir it never raises
            raise InputError(
                f"{folder} is no folder", place=option, hint="name a folder that exists"
            )
    search_root = session.settings.paths.search_root
    return Places(variables, search_root, roots, options.results or default_results)


def reports_of(
    session: Session,
    options: CheckArguments,
    targets: Sequence[Path],
    baseline: VerdictBaseline | None = None,
) -> tuple[ReportFile, ...]:
    """Return the files of each `--report`.

    They show lines of files in the folders of `--var`, `--root`, the settings and the targets.
    """
    root = session.settings.paths.search_root
    places = {*parse_variables(options.variables, session.cwd).values()}
    for folder in options.roots:
        places.add(Path(session.cwd, folder.expanduser()))
    for target in targets:
        places.add(target.absolute().parent)
    if root:
        places.add(root)
        # Logs of the settings' folder are named without it, too.
        places.add(root / "logs")
    # A file is named from the outermost folder that holds it.
    folders = tuple(sorted(places, key=lambda place: (len(place.parts), place)))

    def rendered(kind: str, document: Verdict | Verdicts) -> bytes:
        if kind == "json":
            return report(kind, document)
        places_in_table = list[BlockItem]()
        trend = ""
        if isinstance(document, Verdicts):
            places_in_table = block_items(targets)
            trend = trend_of(document.checks, baseline.statuses) if baseline else ""
        context = ReportContext(folders, descriptions_of(targets), tuple(places_in_table), trend)
        return report(kind, document, context)

    return report_files(options.reports, {kind: partial(rendered, kind) for kind in REPORTS})


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
            # The verdict says already what is wrong with it.
            continue
        descriptions[item_id] = " ".join(description.split())
    return descriptions


def comparison_of(
    options: CheckArguments, baseline: VerdictBaseline | None
) -> Callable[[Verdict], Verdict]:
    """Return the function that compares a verdict with the baseline, if there is one."""
    if baseline is None:
        return lambda verdict: verdict
    return partial(baseline.compare, fail_on_unused=options.fail_on_unused)


def baseline_of(options: CheckArguments) -> VerdictBaseline | None:
    """Return the earlier result of `--baseline`, if there is one."""
    return None if options.baseline is None else VerdictBaseline(options.baseline)


def manner_of(
    session: Session,
    options: CheckArguments,
    *,
    needs_sandbox: bool = True,
    playbook: Playbook | None = None,
    memory: Memory | None = None,
) -> Manner:
    """Return how a check is made, from the settings and the options.

    Args:
        needs_sandbox: whether code will run; if not, no sandbox has to be there.
        playbook: the insights that a build may use.
        memory: earlier texts that a specification may use.
    """
    from transom.agent.setup import seated
    from transom.checklist.writing.rounds import ROUNDS

    settings = session.settings
    manner = judging_manner(session, options, needs_sandbox=needs_sandbox)
    rounds = {each.tag: seated(CallSettings(), getattr(settings.llm, each.tag)) for each in ROUNDS}
    build = _build_settings(session, options, playbook)
    parallel = options.parallel_rounds or settings.execution.parallel_rounds
    return replace(manner, spec=rounds, build=build, memory=memory, parallel_rounds=parallel)


def judging_manner(
    session: Session, options: CheckArguments, *, needs_sandbox: bool = True
) -> Manner:
    """Return how a check is made for which no role is asked."""
    level = session.settings.sandbox.level
    if options.unsafe and level:
        raise InputError(
            f"the settings insist on sandbox.level {level}",
            place=UNSAFE_OPTION,
            hint="take one of the two back",
        )
    if options.unsafe:
        say(f"transom: {UNSAFE_OPTION}: {UNSAFE_RISK}")
        sandbox_level: Level | None = Level.NONE
    else:
        sandbox_level = Level(level) if level else None
    sandbox = Sandbox(level=sandbox_level) if needs_sandbox else cast("Sandbox", None)
    occasion = Occasion(options.day, options.fail_on_unused)
    return Manner(occasion, sandbox, build=BuildSettings(tests=options.tests))


def _build_settings(
    session: Session, options: CheckArguments, playbook: Playbook | None
) -> BuildSettings:
    """Return how checkers are built, from the settings."""
    from transom.agent.setup import seated
    from transom.checklist.writing.views import check_prompts

    settings = session.settings
    seats = settings.llm
    constraints = settings.tool_constraints
    header = constraints.header_lines_default
    total_bytes = constraints.max_total_read_bytes
    # Both the window of a call and its file tools are limited, by the same settings.
    views = ViewLimits(header_lines=header, total_bytes=total_bytes)
    tools = FileLimits(
        constraints.max_read_lines_per_call,
        total_bytes,
        header,
        constraints.require_discovery_before_read,
    )
    parser = seated(CallSettings(), seats.agent_a)
    logic = seated(CallSettings(), seats.agent_b)
    repair = seated(CallSettings(), seats.reflect)
    turns = constraints.max_turns
    repairs = settings.execution.max_iterations
    prompts = settings.paths.prompts_dir
    # A misspelled file would be passed over in silence.
    if prompts:
        check_prompts(prompts)
    return BuildSettings(
        *(parser, logic, repair, views, tools, turns, repairs, playbook, options.tests, prompts)
    )
