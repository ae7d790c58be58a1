"""What a person tells the commands of `check` beside the common options: one field an option."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from transom.errors import InputError

UNSAFE_OPTION = "--unsafe-no-sandbox"


@dataclass(frozen=True)
class Options:
    """What the commands of `check` take beside the common options."""

    item: Annotated[Path | None, typer.Option(metavar="ITEM.yaml", help="The item it belongs to.")] = None
    variables: Annotated[
        tuple[str, ...], typer.Option("--var", metavar="NAME=PATH", help="What ${NAME} stands for.")
    ] = ()
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to look for logs beside the item's own.")] = (
        None
    )
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where copies for you go.")] = None
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="The day by which waivers expire; today by default.")
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="What is read differently than written is an error.")] = False
    fail_on_unused: Annotated[
        bool, typer.Option("--fail-on-unused-waivers", help="A waiver that nothing needed fails the check.")
    ] = False
    allow_needs_review: Annotated[
        bool, typer.Option("--allow-needs-review", help="Build although the ItemSpec has findings.")
    ] = False
    tests: Annotated[
        bool, typer.Option("--tests", help="Try each combination of requirements and waivers that fits the type.")
    ] = False
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the build of this ItemSpec; there must be one.")
    ] = False
    checkpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="Go back to this checkpoint; `runs show` lists them.")
    ] = None
    reset_iterations: Annotated[
        bool, typer.Option("--reset-iterations", help="A build that gave up may repair as often again as at first.")
    ] = False
    approved_only: Annotated[
        bool, typer.Option("--approved-only", help="Refuse a checker that nobody approved as it is today.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Copy every round's prompt and reply too.")] = False
    reports: Annotated[
        tuple[str, ...],
        typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json, text, junit, sarif, csv, html."),
    ] = ()
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier result (--report json:FILE): only what is new since then fails."),
    ] = None
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many items at once.")] = 8
    unsafe: Annotated[
        bool, typer.Option(UNSAFE_OPTION, help="Run generated code with your own rights. Marks every verdict.")
    ] = False

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
    end: Annotated[
        tuple[str, ...], typer.Option(metavar="FILE:LINE", help="The last line of a whole log; `none`: none shows it.")
    ] = ()


def day_of(as_of: str | None) -> date:
    """The day of `--as-of`; today by default."""
    try:
        return date.fromisoformat(as_of) if as_of is not None else date.today()
    except ValueError as error:
        raise InputError(f"{as_of!r} is no date", where="--as-of", hint="write YYYY-MM-DD") from error
