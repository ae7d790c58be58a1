"""The composition root: the tree of commands, the entry of the console script, and how a command
may end.

A module of commands is imported when one of its commands is asked for. A function of a command
raises a
`TransomError` for whatever is wrong with its input: one line, and an exit code.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from transom import __version__
from transom.cli.output import abandon_stdout, open_streams, print_text, say, unread
from transom.errors import InputError, TransomError

COMMON = (
    "--format",
    "--model",
    "--base-url",
    "--max-cost",
    "--workspace",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
)
HELP_NAMES = {"help_option_names": ["-h", "--help"]}

TREE = {
    "demo": ("demo", "Show every product on the shipped examples, without a model."),
    "check": (
        "checking batch linting verdicts teaching",
        "Check a one-line description on real files.",
    ),
    "files": ("files", "Show what each file is taken for, and by what."),
    "investigate": ("investigate", "Judge whether a feature is ready for its next stage."),
    "release": ("releasing", "Judge all features of a release: one table, worst first."),
    "story": ("story", "Take an epic's stories from SM to the merge, by evidence."),
    "study": ("study", "Run optimisation studies that learn from failed solves."),
    "eval": ("eval", "Measure how well a product answers, by scenario suites."),
    "chat": ("chat", "Talk with an agent in the terminal."),
    "agent": ("agents", "Show what an agent is made of."),
    "runs": ("runs cleaning", "List, show and remove runs."),
    "waiting": ("waiting", "List what waits for a person or a model, and how to go on."),
    "answer": ("waiting", "Answer an open question."),
    "resume": ("runs", "Continue a run. Completed model calls are not repeated."),
    "window": ("window", "Show what each model call saw."),
    "trace": ("window", "Show traces: what happened when, and how long it took."),
    "playbook": ("playbook", "Manage the playbook: insights and their scores."),
    "memory": ("learn", "Keep texts, and find them by words, meaning and relations."),
    "session": ("learn", "Record a session: what you did and relied on."),
    "learning": ("learn", "Report what was learned."),
    "cache": ("learn", "Report the use of vendors' caches."),
    "serve": ("learn", "Serve pages in the browser: runs, questions, results."),
    "view": ("viewing", "Write a run as one HTML file, for a mail or a build server."),
    "worker": ("workers", "Do the work of --distributed commands, on any machine."),
    "workers": ("workers", "List the workers, and the jobs that wait for them."),
    "migrate": ("migrate", "Copy the workspace's database to PostgreSQL, or back."),
    "mcp": ("mcp_server", "Serve the products to an MCP client, over stdio or HTTP."),
    "schema": ("schemas", "Print the JSON Schema of a file or document."),
    "init": ("init", "Write a settings file to start from."),
    "doctor": ("doctor", "Report what is installed, and what works on this machine."),
}
"""The commands and groups of `transom`: each with its modules and its line in the help."""

_LIKE = 55  # of 100; below it two words have no more in common than any two
_ALIASES = {
    **dict.fromkeys(("ls", "ps", "status"), "runs list"),
    **dict.fromkeys(("rm", "delete", "clean"), "runs clean"),
    **dict.fromkeys(("continue", "rerun"), "resume"),
    **dict.fromkeys(("learn", "insights"), "playbook"),
    **{
        "show": "runs show",
        "log": "trace show",
        "ask": "waiting",
        "version": "--version",
        "help": "--help",
    },
}
"""What people type for commands that are called otherwise here."""


def nearest(name: str, known: Sequence[str], least: float = 0) -> str:
    """The one of `known` that is most like `name`; "" where they have less in common than
    `least`, of 100.
    """
    from rapidfuzz import fuzz, process

    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=least)
    return str(found[0]) if found else ""


class Group(TyperGroup):
    """A group of commands that names the nearest one when it is given a name that it does not
    have.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # a shell that completes wants no help
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if (
            args[0] not in self.commands
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            meant = _ALIASES.get(args[0], "")
            # `runs rm`: of what is meant the last word, where this group has it
            if ctx.parent is not None:
                meant = (
                    meant.rpartition(" ")[2] if meant.rpartition(" ")[2] in self.commands else ""
                )
            meant = meant or nearest(args[0], list(self.commands), _LIKE)
            hint = f"{f'did you mean {meant}? ' * bool(meant)}see: {ctx.command_path} --help"
            raise InputError(f"{ctx.command_path} has no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


class Trunk(Group):
    """`transom` itself, which lists its commands without importing them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=line) for name, (_, line) in TREE.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in TREE else None, rest


root = typer.Typer(cls=Group, rich_markup_mode=None, add_completion=False)
"""The commands and groups whose modules are imported."""


def group(name: str, help: str = "", parent: typer.Typer = root) -> typer.Typer:  # noqa: A002  as typer calls it
    """A new group of commands, e.g. `runs`; the help of one that stands in `TREE` is written
    there.
    """
    line = help or TREE[name][1]
    made = typer.Typer(
        name=name, help=line, cls=Group, rich_markup_mode=None, context_settings=HELP_NAMES
    )
    parent.add_typer(made)
    return made


def load(name: str) -> Any:
    """The command or group of that name in `TREE`, with all below it."""
    for module in TREE[name][0].split():
        import_module(f"transom.cli.{module}")
    return typer.main.get_group(root).commands[name]


COMPLETE = "_TRANSOM_COMPLETE"
"""The variable by which a shell asks what may follow: `source_bash`, `complete_bash`, and so of
zsh and fish.
"""

_OF_THE_MACHINE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EMFILE,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code. Whatever happens, a person sees one line and
    no traceback.
    """
    if asked := os.environ.get(COMPLETE):
        from typer._completion_classes import completion_init
        from typer.completion import shell_complete

        completion_init()
        return int(shell_complete(build_app(), {}, "transom", COMPLETE, asked))
    open_streams()
    begun: list[Any] = []
    argv = sys.argv[1:] if argv is None else [*argv]
    try:
        code = _invoke(argv, begun)
        with unread():
            sys.stdout.flush()
    except typer.TyperException as error:
        return _usage(error)
    except TransomError as error:
        say(f"transom: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted(begun, argv)
    except Exception as error:  # noqa: BLE001 - the last resort: a full disk, or a defect of ours, logged in full
        number = getattr(error, "errno", None)
        if number not in _OF_THE_MACHINE:
            return _defect(error, begun)
        where = getattr(error, "filename", None) or "output"
        say(
            f"transom: {where}: {os.strerror(number)}; make room or choose another folder, then try"
            f" again{_next_steps(error)}"
        )
        abandon_stdout()
        return 2
    return code


def _invoke(argv: list[str], begun: list[Any]) -> int:
    for odd in (one for one in argv if any("\udc80" <= sign <= "\udcff" for sign in one)):
        # such a name can stand neither in the journal nor in a verdict
        hint = "rename that file or folder"
        raise InputError(f"{odd!a} is not UTF-8", where="command line", hint=hint)
    try:
        with build_app().make_context("transom", argv, obj=begun) as context:
            return int(context.command.invoke(context) or 0)
    # --help and --version end so; what they printed is flushed like any output
    except typer.Exit as error:
        return error.exit_code


def build_app() -> Any:
    """The command `transom`; the modules of its commands are imported when they are asked for."""
    trunk = typer.Typer(
        cls=Trunk, rich_markup_mode=None, add_completion=False, context_settings=HELP_NAMES
    )
    trunk.callback()(_root)
    return typer.main.get_group(trunk)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"transom {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version),
]


def _root(version: Version = False) -> None:
    """Context-engineered agents with evidence: checklists, release readiness, stories, studies, and
    what they learn.

    Every model call sees only what it should; every step is kept, and its word is checked. Begin
    with `transom demo`.
    """


def _usage(error: typer.TyperException) -> int:
    """An option or value that the command does not take, in one line with the nearest that it
    does.
    """
    context: Any = getattr(error, "ctx", None)
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities") and context:
        known = [
            name
            for parameter in context.command.params
            for name in parameter.opts
            if name.startswith("--")
        ]
        message = f"no option {option}; did you mean {nearest(option, known)}?"
        if context.parent is None and option in COMMON:
            message = f"{option} stands behind the command"
    path = context.command_path if context else "transom"
    epilog = context.command.epilog if context else None
    if message.startswith("Missing argument") and epilog:
        # The example shows which words stand where.
        message += f"; {epilog[:1].lower()}{epilog[1:]}"
    say(f"transom: {message}{'' if message.endswith('?') else ';'} see: {path} --help")
    return 2


def _interrupted(begun: list[Any], argv: Sequence[str]) -> int:
    """Say how to go on: each run that was cut off; the demonstration, whose runs are its own, as
    a whole.
    """
    commands = [session.next_command(run) for session in begun for run in session.open_runs]
    commands = [shlex.join(["transom", *argv])] if argv[:1] == ["demo"] else commands
    say("\ntransom: interrupted" + "".join(f"; go on with: {command}" for command in commands))
    return 130  # as a shell shows Ctrl-C


def _defect(error: Exception, begun: list[Any]) -> int:
    """Something that nobody foresaw: one line for the person, the rest into a file for whoever
    mends it.
    """
    from transom.telemetry import Redactor

    redact = (begun[0].redact if begun else None) or Redactor()
    if damage := _damage(begun):
        say(f"transom: {damage}{_next_steps(error)}")
        return 2
    said = " ".join(redact(str(error)).split())[:200] or "no message"
    place = begun[0].workspace_root if begun else Path.cwd() / ".transom"
    path = place / "logs" / f"defect-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.log"
    details = redact("".join(traceback.format_exception(error)))
    kept = f"its details are in {path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"transom {__version__}\n{details}", encoding="utf-8", errors="backslashreplace"
        )
    except OSError as failed:
        kept = f"and its details could not be kept ({failed.strerror})"
    say(
        f"transom: {type(error).__name__}: {said}; this is a defect of transom,"
        f" {kept}{_next_steps(error)}"
    )
    return 2


def _damage(begun: list[Any]) -> str:
    """Return what is damaged in the workspace's database: a row that was altered on the disk may
    make any command fail. "" if nothing is.
    """
    from transom.store import RECOVERY, find_damage

    try:
        path = begun[0].known_store if begun else None
        damage = find_damage(path, limit=1) if isinstance(path, Path) else []
    except TransomError as error:
        return str(error)
    return f"{path}: the database is damaged: {damage[0]}; {RECOVERY}" if damage else ""


def _next_steps(error: Exception) -> str:
    """Return how to go on with the runs that an error left open; see `Run`."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
