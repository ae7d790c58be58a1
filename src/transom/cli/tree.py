"""The tree of commands: a module of commands is imported when one of its commands is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from transom.errors import InputError

COMMON = ("--format", "--model", "--base-url", "--max-cost", "--workspace", "--quiet", "-q", "--verbose", "-v")
HELP_NAMES = {"help_option_names": ["-h", "--help"]}

TREE = {
    "demo": ("demo", "Show every product on the shipped examples, without a model."),
    "check": ("checking batch linting verdicts teaching", "From a one-line description to a verdict on real files."),
    "investigate": ("investigate", "Judge whether a feature is ready for its next stage."),
    "story": ("story", "An epic's stories from SM to the merge, by evidence."),
    "study": ("study", "Optimisation studies that learn from failed solves."),
    "eval": ("eval", "Scenario suites: how well a product answers."),
    "runs": ("runs", "Runs: what was started, how far it came, what it waits for."),
    "waiting": ("waiting", "List what waits for a person in all runs, and how to answer."),
    "answer": ("waiting", "Answer what waits for a person."),
    "resume": ("runs", "Go on with a run. Nothing that was paid for is asked again."),
    "window": ("window", "Windows: what each model call saw."),
    "trace": ("window", "Traces: what happened when, and how long it took."),
    "playbook": ("playbook", "The playbook: what was learned, and how it stands."),
    "memory": ("learn", "Memory: texts, found by words, meaning and relations."),
    "session": ("learn", "The session of a workspace: what is done and relied on."),
    "learning": ("learn", "What was learned."),
    "cache": ("learn", "What vendors' caches did."),
    "serve": ("learn", "Serve the playbook over HTTP until Ctrl-C."),
    "doctor": ("doctor", "Say what is installed, and what works on this machine."),
}
"""The commands and groups of `transom`: each with its modules and its line in the help."""

_LIKE = 55  # of 100; below it two words have no more in common than any two
_ALIASES = {
    **dict.fromkeys(("ls", "ps", "status"), "runs list"),
    **dict.fromkeys(("rm", "delete", "clean"), "runs clean"),
    **dict.fromkeys(("continue", "rerun"), "resume"),
    **dict.fromkeys(("learn", "insights"), "playbook"),
    **{"show": "runs show", "log": "trace show", "ask": "waiting", "version": "--version", "help": "--help"},
}
"""What people type for commands that are called otherwise here."""


def nearest(name: str, known: Sequence[str], least: float = 0) -> str:
    """The one of `known` that is most like `name`; "" where they have less in common than `least`, of 100."""
    from rapidfuzz import fuzz, process

    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=least)
    return str(found[0]) if found else ""


class Group(TyperGroup):
    """A group of commands that names the nearest one when it is given a name that it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # a shell that completes wants no help
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            meant = _ALIASES.get(args[0], "")
            if ctx.parent is not None:  # `runs rm`: of what is meant the last word, where this group has it
                meant = meant.rpartition(" ")[2] if meant.rpartition(" ")[2] in self.commands else ""
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
    """A new group of commands, e.g. `runs`; the help of one that stands in `TREE` is written there."""
    line = help or TREE[name][1]
    made = typer.Typer(name=name, help=line, cls=Group, rich_markup_mode=None, context_settings=HELP_NAMES)
    parent.add_typer(made)
    return made


def load(name: str) -> Any:
    """The command or group of that name in `TREE`, with all below it."""
    for module in TREE[name][0].split():
        import_module(f"transom.cli.{module}")
    return typer.main.get_group(root).commands[name]
