"""The composition root: all commands, the entry of the console script, and how a command may end.

A function of a command raises a `TransomError` for whatever is wrong with its input: one line, and an exit code.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from transom import __version__
from transom.cli.output import abandon_stdout, open_streams, print_text, say, unread
from transom.cli.tree import COMMON, HELP_NAMES, Trunk, nearest
from transom.errors import InputError, TransomError

COMPLETE = "_TRANSOM_COMPLETE"
"""The variable by which a shell asks what may follow: `source_bash`, `complete_bash`, and so of zsh and fish."""

_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code. Whatever happens, a person sees one line and no traceback."""
    if asked := os.environ.get(COMPLETE):
        from typer._completion_classes import completion_init
        from typer.completion import shell_complete

        completion_init()
        return int(shell_complete(build_app(), {}, "transom", COMPLETE, asked))
    open_streams()
    begun: list[Any] = []
    try:
        code = _invoke(sys.argv[1:] if argv is None else list(argv), begun)
        with unread():
            sys.stdout.flush()
    except typer.TyperException as error:
        return _usage(error)
    except TransomError as error:
        say(f"transom: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted(begun)
    except Exception as error:  # noqa: BLE001 - the last resort: a full disk, or a defect of ours, logged in full
        number = getattr(error, "errno", None)
        if number not in _OF_THE_MACHINE:
            return _defect(error, begun)
        where = getattr(error, "filename", None) or "output"
        say(f"transom: {where}: {os.strerror(number)}; make room or choose another folder, then try again")
        abandon_stdout()
        return 2
    return code


def _invoke(argv: list[str], begun: list[Any]) -> int:
    for argument in argv:  # a name that is no UTF-8 can stand neither in the journal nor in a verdict
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError as error:
            hint = "rename that file or folder"
            raise InputError(f"{argument!a} is not UTF-8", where="command line", hint=hint) from error
    try:
        with build_app().make_context("transom", argv, obj=begun) as context:
            return int(context.command.invoke(context) or 0)
    except typer.Exit as error:  # --help and --version end so; what they printed is flushed like any output
        return error.exit_code


def build_app() -> Any:
    """The command `transom`; the modules of its commands are imported when they are asked for."""
    trunk = typer.Typer(cls=Trunk, rich_markup_mode=None, add_completion=False, context_settings=HELP_NAMES)
    trunk.callback()(_root)
    return typer.main.get_group(trunk)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"transom {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)]


def _root(version: Version = False) -> None:
    """Context-engineered agents with evidence: checklists, release readiness, stories, studies, and what they learn.

    Every model call sees only what it should; every step is kept, and its word is checked. Begin with `transom demo`.
    """


def _usage(error: typer.TyperException) -> int:
    """An option or value that the command does not take, in one line with the nearest that it does."""
    context: Any = getattr(error, "ctx", None)
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities") and context:
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
        message = f"no option {option}; did you mean {nearest(option, known)}?"
        if context.parent is None and option in COMMON:
            message = f"{option} stands behind the command"
    path = context.command_path if context else "transom"
    say(f"transom: {message}{'' if message.endswith('?') else ';'} see: {path} --help")
    return 2


def _interrupted(begun: list[Any]) -> int:
    """Say how to go on: each run that was cut off; the demonstration, whose runs are its own, as a whole."""
    commands = [f"transom resume {run}" for session in begun for run in session.open_runs]
    for session in begun:
        if session.entry["command"] == "demo":
            commands = [" ".join(["transom demo", *(session.entry["given"]["products"] or ())])]
    say("\ntransom: interrupted" + "".join(f"; go on with: {command}" for command in commands))
    return 130  # as a shell shows Ctrl-C


def _defect(error: Exception, begun: list[Any]) -> int:
    """Something that nobody foresaw: one line for the person, the rest into a file for whoever mends it."""
    from transom.telemetry import Redactor

    redact = (begun[0].redact if begun else None) or Redactor()
    said = " ".join(redact(str(error)).split())[:200] or "no message"
    place = begun[0].workspace_root if begun else Path.cwd() / ".transom"
    path = place / "logs" / f"defect-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.log"
    details = redact("".join(traceback.format_exception(error)))
    kept = f"its details are in {path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"transom {__version__}\n{details}", encoding="utf-8", errors="backslashreplace")
    except OSError as failed:
        kept = f"and its details could not be kept ({failed.strerror})"
    say(f"transom: {type(error).__name__}: {said}; this is a defect of transom, {kept}")
    return 2
