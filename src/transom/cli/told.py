"""What a person tells the commands of `check` beside the common options: one field an option, kept in the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlunsplit

import typer

from transom.canonical import Json
from transom.cli.session import Session
from transom.errors import InputError
from transom.telemetry.address import checked, shown

UNSAFE_OPTION = "--unsafe-no-sandbox"


@dataclass(frozen=True)
class Options:
    """What the commands of `check` take beside the common options. Kept in the run, so that it can be resumed."""

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
    unsafe: Annotated[
        bool, typer.Option(UNSAFE_OPTION, help="Run generated code with your own rights. Marks every verdict.")
    ] = False

    def entry(self, command: str, session: Session, targets: Sequence[Path] = ()) -> dict[str, Json]:
        """As the run keeps it: paths absolute, the day settled, and what the session was told on the command line."""
        # A resumed command does not reset again what it once reset, nor go back twice.
        once: dict[str, Any] = {"reset_iterations": False, "checkpoint": None}
        kept: dict[str, Any] = {**asdict(self), "as_of": self.day, "command": command, **once}
        kept |= {key: str(value.absolute()) for key, value in kept.items() if isinstance(value, Path)}
        kept["variables"] = [_absolute(text, "=") for text in self.variables]
        kept["reports"] = [_absolute(text, ":") for text in self.reports]
        kept["targets"] = [str(target.absolute()) for target in targets]
        origins = session.settings.origins
        told = origins.get("model") == "command line"
        kept |= {"cwd": str(session.cwd), "base_url": without_credentials(session.base_url)}
        kept["model"] = session.settings.model if told else None
        capped = origins.get("execution.max_cost") == "command line"
        kept["max_cost"] = session.settings.execution.max_cost if capped else None
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


def without_credentials(url: str | None) -> str | None:
    """An address without user, password and query, any of which may hold a key: the journal keeps no secrets."""
    if url is None:
        return None
    try:
        parts = checked(url)
    except ValueError:  # of what is no address nobody knows where the password stands
        return shown(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _absolute(text: str, sign: str) -> str:
    """`NAME=PATH` or `FORMAT:PATH` with the path absolute, so that it means the same from any folder."""
    name, found, path = text.partition(sign)
    return f"{name}{found}{Path(path).expanduser().absolute()}" if found and path else text
