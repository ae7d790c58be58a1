"""The composition root: the tree of commands, the console script, and the ends of a command.

A module of commands is imported when one of its commands is used. A function of a command raises a
`TransomError` if its input is wrong: one line, and an exit code.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
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
        "check.steps check.batch check.linting check.review check.authoring check.formats",
        "Check a one-line description on real files.",
    ),
    "files": ("files", "Show what each file is taken for, and by what."),
    "investigate": ("investigate", "Judge whether a feature is ready for its next stage."),
    "investigate policy": ("policies", "Show and check the policy of an investigation."),
    "release": ("releasing", "Judge all features of a release: one table, worst first."),
    "story": ("story", "Run an epic's stories, from the draft to the merge."),
    "study": ("study", "Run optimisation studies that learn from failed solves."),
    "eval": ("eval", "Measure how well a product answers, by scenario suites."),
    "chat": ("chat", "Talk with an agent in the terminal."),
    "agent": ("agents", "Show what an agent is made of."),
    "runs": ("runs cleaning", "List, show and remove runs."),
    "waiting": ("waiting", "List what waits for a person or a model, and how to go on."),
    "answer": ("waiting", "Answer an open question."),
    "resume": ("runs", "Resume a run. Completed model calls are not repeated."),
    "window": ("window", "Show what each model call saw."),
    "trace": ("window", "Show traces: what happened when, and how long it took."),
    "playbook": ("playbook", "Manage the playbook: insights and their scores."),
    "memory": ("memory", "Keep texts, and find them by words, meaning and relations."),
    "session": ("learn", "Record a session: what you did and relied on."),
    "learning": ("learn", "Report what was learned."),
    "cache": ("learn", "Report the use of vendors' caches."),
    "serve": ("serve", "Serve pages in the browser: runs, questions, results."),
    "view": ("viewing", "Write a run as one HTML file, for a mail or a build server."),
    "worker": ("workers", "Do the work of --distributed commands, on any machine."),
    "workers": ("workers", "List the workers, and the jobs that wait for them."),
    "migrate": ("migrate", "Copy the workspace's database to PostgreSQL, or back."),
    "backup": ("backup", "Write the workspace into one archive."),
    "restore": ("backup", "Unpack a backup as a new workspace."),
    "mcp": ("mcp_server", "Serve the products to an MCP client, over stdio or HTTP."),
    "schema": ("schemas", "Print the JSON Schema of a file or document."),
    "init": ("init", "Write a settings file to start from."),
    "doctor": ("doctor", "Report what is installed, and what works on this machine."),
}
"""The commands and groups of `transom`, each with its modules and its line in the help."""

_LIKE = 55  # of 100; below that, two words have no more in common than any two
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
"""Words that people type for commands with other names, and these commands."""


def nearest(name: str, choices: Sequence[str], least: float = 0) -> str:
    """Return the choice that is most like a name.

    Args:
        least: how much they must have in common, of 100; if none reaches it, the result is "".
    """
    from rapidfuzz import fuzz, process

    match = process.extractOne(name, choices, scorer=fuzz.ratio, score_cutoff=least)
    return str(match[0]) if match else ""


class CommandGroup(TyperGroup):
    """A group of commands that names the nearest one if it does not have a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A shell that completes a line wants no help.
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            likely = self._alias(ctx, name) or nearest(name, list(self.commands), _LIKE)
            question = f"did you mean {likely}? " if likely else ""
            hint = f"{question}see: {ctx.command_path} --help"
            raise InputError(f"{ctx.command_path} has no command {name!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def _alias(self, ctx: Any, name: str) -> str:
        """Return the command that another name stands for; "" if it stands for none here."""
        command = _ALIASES.get(name, "")
        if ctx.parent is None:
            return command
        # In a group, as in `runs rm`, its own word is enough: `clean` for `runs clean`.
        word = command.rpartition(" ")[2]
        return word if word in self.commands else ""


class Trunk(CommandGroup):
    """`transom` itself, which lists its commands without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # A name of two words is told by the help of the command that is its first word.
        self.commands = {
            name: TyperCommand(name, help=line, hidden=" " in name)
            for name, (_, line) in TREE.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # `investigate` takes a question, so the group below it is found by two words.
        if " ".join(args[:2]) in TREE:
            args = [" ".join(args[:2]), *args[2:]]
        name, _, words = super().resolve_command(ctx, args)
        return name, load(name) if name in TREE else None, words


root = typer.Typer(cls=CommandGroup, rich_markup_mode=None, add_completion=False)
"""The commands and groups whose modules are imported."""


def group(
    name: str,
    help: str = "",  # noqa: A002  as typer calls it
    parent: typer.Typer = root,
) -> typer.Typer:
    """Return a new group of commands, e.g. `runs`.

    Args:
        help: its line in the help; that of a group in `TREE` is written there.
    """
    line = help or TREE[name][1]
    commands = typer.Typer(
        name=name, help=line, cls=CommandGroup, rich_markup_mode=None, context_settings=HELP_NAMES
    )
    parent.add_typer(commands)
    return commands


@cache
def load(name: str) -> Any:
    """Return the command or group of that name in `TREE`, with all below it."""
    for module in TREE[name][0].split():
        import_module(f"transom.cli.{module}")
    return typer.main.get_group(root).commands[name]


COMPLETE = "_TRANSOM_COMPLETE"
"""The variable by which a shell asks for completions: `source_bash`, `complete_bash`, and the same
for zsh and fish.
"""

_MACHINE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EMFILE,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code.

    Every error ends in one line for a person, and in no traceback.
    """
    if instruction := os.environ.get(COMPLETE):
        from typer._completion_classes import completion_init
        from typer.completion import shell_complete

        completion_init()
        return int(shell_complete(build_app(), {}, "transom", COMPLETE, instruction))
    open_streams()
    # Filled by the command: see `transom.cli.command`.
    sessions: list[Any] = []
    argv = sys.argv[1:] if argv is None else [*argv]
    try:
        code = _invoke(argv, sessions)
        with unread():
            sys.stdout.flush()
    except typer.TyperException as error:
        return _usage(error)
    except TransomError as error:
        message = f"transom: {error}"
        say(sessions[0].in_this_workspace(message) if sessions else message)
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted(sessions, argv)
    # The last resort: a full disk, or a defect of Transom, which is logged in full.
    except Exception as error:  # noqa: BLE001
        number = getattr(error, "errno", None)
        if number not in _MACHINE_ERRORS:
            return _defect(error, sessions)
        place = getattr(error, "filename", None) or "output"
        say(
            f"transom: {place}: {os.strerror(number)}; make room or choose another folder, then try"
            f" again{_next_steps(error)}"
        )
        abandon_stdout()
        return 2
    return code


def _invoke(argv: list[str], sessions: list[Any]) -> int:
    for argument in argv:
        # Neither the journal nor a verdict can hold a name that is not UTF-8. Python shows its
        # bytes as these surrogates.
        if any("\udc80" <= sign <= "\udcff" for sign in argument):
            raise InputError(
                f"{argument!a} is not UTF-8",
                place="command line",
                hint="rename that file or folder",
            )
    try:
        with build_app().make_context("transom", argv, obj=sessions) as context:
            return int(context.command.invoke(context) or 0)
    # --help and --version end like this; what they printed is flushed like any output.
    except typer.Exit as error:
        return error.exit_code


def build_app() -> Any:
    """Return the command `transom`; the modules of its commands are imported when needed."""
    trunk = typer.Typer(
        cls=Trunk, rich_markup_mode=None, add_completion=False, context_settings=HELP_NAMES
    )
    trunk.callback()(_root)
    return typer.main.get_group(trunk)


def _print_version(is_set: bool) -> None:
    if is_set:
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
    """Print why the command does not take an option or value, in one line with the nearest that
    it takes.
    """
    context: Any = getattr(error, "ctx", None)
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities") and context:
        message = _unknown_option(option, context)
    path = context.command_path if context else "transom"
    epilog = context.command.epilog if context else None
    if message.startswith("Missing argument") and epilog:
        # The example shows which words stand where.
        message += f"; {epilog[:1].lower()}{epilog[1:]}"
    end = "" if message.endswith("?") else ";"
    say(f"transom: {message}{end} see: {path} --help")
    return 2


def _unknown_option(option: str, context: Any) -> str:
    """Return the message about an option that a command does not have."""
    if context.parent is None and option in COMMON:
        return f"{option} stands behind the command"
    names: list[str] = []
    for parameter in context.command.params:
        names += [name for name in parameter.opts if name.startswith("--")]
    return f"no option {option}; did you mean {nearest(option, names)}?"


def _interrupted(sessions: list[Any], argv: Sequence[str]) -> int:
    """Say how to go on with each run that was cut off."""
    commands: list[str] = []
    for session in sessions:
        commands += [session.next_command(run) for run in session.open_runs]
    # The runs of the demo are its own: it is started again as a whole.
    if argv[:1] == ["demo"]:
        commands = [shlex.join(["transom", *argv])]
    hints = "".join(f"; to continue, run: {command}" for command in commands)
    say(f"\ntransom: interrupted{hints}")
    return 130  # as a shell shows Ctrl-C


def _defect(error: Exception, sessions: list[Any]) -> int:
    """Report an error that nobody foresaw: one line for the person, and a file with the details."""
    from transom.telemetry import Redactor

    redact = (sessions[0].redact if sessions else None) or Redactor()
    # A row that was altered on the disk may make any command fail.
    if damage := _damage(sessions):
        say(f"transom: {damage}{_next_steps(error)}")
        return 2
    message = " ".join(redact(str(error)).split())[:200] or "no message"
    folder = sessions[0].workspace_root if sessions else Path.cwd() / ".transom"
    path = folder / "logs" / f"defect-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.log"
    details = redact("".join(traceback.format_exception(error)))
    report = f"its details are in {path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"transom {__version__}\n{details}", encoding="utf-8", errors="backslashreplace"
        )
    except OSError as failure:
        report = f"and its details could not be kept ({failure.strerror})"
    say(
        f"transom: {type(error).__name__}: {message}; this is a defect of transom,"
        f" {report}{_next_steps(error)}"
    )
    return 2


def _damage(sessions: list[Any]) -> str:
    """Return what is damaged in the workspace's database; "" if nothing is."""
    from transom.store import RECOVERY, find_damage

    try:
        path = sessions[0].known_store if sessions else None
        damage = find_damage(path, limit=1) if isinstance(path, Path) else []
    except TransomError as error:
        return str(error)
    return f"{path}: the database is damaged: {damage[0]}; {RECOVERY}" if damage else ""


def _next_steps(error: Exception) -> str:
    """Return how to go on with the runs that an error left open; see `Run`."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
