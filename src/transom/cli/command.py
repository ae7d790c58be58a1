"""How commands are declared: the common options once, a Session handed over, mistakes named in
one line.
"""

from __future__ import annotations

import gc
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from pydantic_core import to_jsonable_python
from typer.core import TyperCommand

from transom.cli.app import HELP_NAMES, TREE, load
from transom.cli.recorded_command import command_line, command_words, recorded_arguments
from transom.cli.session import Options, Session

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Run: its id, the beginning of the id, or its name.")
]
By = Annotated[str, typer.Option(metavar="NAME", help="Your name, recorded with the decision.")]
AgentOption = Annotated[
    str,
    typer.Option("--agent", metavar="MODULE:AGENT", help="Agent, or a function that returns it."),
]
MoreRepairs = Annotated[
    bool, typer.Option("--reset-iterations", help="Allow the full number of repairs again.")
]


Shares: TypeAlias = Literal["", "whole", "items"]
"""What a command can give to workers: nothing, all of it, or its items."""

F = TypeVar("F", bound=Callable[..., Any])


class PlainCommand(TyperCommand):
    """A command whose help names its arguments without the Python types of their values."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:  # a hidden one
                continue
            name, text = row
            if parameter.param_type_name != "argument":
                sections["Options"].append(row)
                continue
            word, _, kind = name.partition(" <")
            # The values to choose from say something; `<str>` and `<list[Path]>` do not.
            sections["Arguments"].append(row if "|" in kind else (word, text))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


_Slot = tuple[str, type | None, list[inspect.Parameter]]
"""A parameter of a command's function: its name, the dataclass that it gathers, and the options
that typer sees.
"""

_COMMANDS: dict[str, tuple[Callable[..., Any], list[_Slot]]] = {}
"""All commands, by what a person types: what does the work, and what it is given beside the
session.
"""


def command(
    app: typer.Typer, name: str, *, example: str, asks: bool = False, shares: Shares = ""
) -> Callable[[F], F]:
    """Add a function as the command `name` of `app`, with the common options.

    The function is `def` or `async def`, takes a `Session` first, then its own parameters declared
    as typer wants them, and returns the exit code. Its docstring is the help text. A parameter that
    is annotated with a dataclass gathers options: its fields, each annotated as typer wants it, or
    those named beside it, as in
    `Annotated[Options, ("out", "strict")]`; the others keep their defaults. A tuple may be given
    several times.

    Args:
        example: a whole command line, shown in the help.
        asks: it may ask a model, so `--model`, `--base-url` and `--max-cost` act.
        shares: what workers may do, so that `--distributed` and `--priority` act: the `whole`
            command, or `items` that the command gives them itself.
    """

    def declare(function: F) -> F:
        hints = get_type_hints(function, include_extras=True)
        parameters = [*inspect.signature(function).parameters.values()][1:]
        own = [_slot(one.replace(annotation=hints[one.name])) for one in parameters]
        path = f"{app.info.name} {name}" if isinstance(app.info.name, str) else name
        _COMMANDS[path] = function, own
        absent = (() if asks else _OF_THE_MODEL) + (() if shares else _OF_WORKERS)
        names = tuple(one.name for one in fields(Options) if one.name not in absent)
        common = _slot(_keyword("common", Annotated[Options, names]))

        def start(context: typer.Context, **given: Any) -> int:
            if not gc.isenabled():
                # all that is imported by now stays to the end; looking at it again and again takes
                # time
                gc.freeze()
                # rules, texts and answers live long: they need no look every time
                gc.set_threshold(50_000)
                gc.enable()
            session = Session.start(_gather([common], given)["common"])
            session.begun_by(
                path, to_jsonable_python({one.name: given[one.name] for one in _options(own)})
            )
            # whoever started the command line looks at it where it ended badly
            if isinstance(context.obj, list):
                context.obj.append(session)
            values = _gather(own, given)
            if session.distributed and shares == "whole":
                from transom.cli.distributing import give_to_workers

                line = shlex.join(words_of(session.local_entry))
                return session.execute(lambda: give_to_workers(session, line))
            if inspect.iscoroutinefunction(function):
                return session.execute(lambda: function(session, **values))
            return int(function(session, **values))

        shown = [_keyword("context", typer.Context), *_options([*own, common])]
        start.__doc__ = function.__doc__
        # typer reads both of these; mypy knows only the second.
        start.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # as said
        start.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        app.command(
            name,
            cls=PlainCommand,
            epilog=f"Example: {example}",
            context_settings=HELP_NAMES,
        )(start)
        return function

    return declare


_OF_THE_MODEL = ("model", "base_url", "max_cost")
_OF_WORKERS = ("distributed", "priority")


def can_resume(entry: Mapping[str, Any]) -> bool:
    """Whether a command of today began the run that keeps this entry."""
    path = entry.get("command", "")
    if path not in _COMMANDS and path.partition(" ")[0] in TREE:
        load(path.partition(" ")[0])
    return path in _COMMANDS


async def give_again(today: Session, entry: Mapping[str, Any], run_id: str) -> int:
    """Give the command again that began a run (`can_resume`); see `Session.again`."""
    function, _ = _COMMANDS[entry["command"]]
    arguments = given_in(entry, run_id)
    return int(await function(today.again(entry), **arguments))


def given_in(entry: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    """Return the arguments of the command that began a run, as its function takes them.

    Raises:
        RunError: this version does not take one of them; see `recorded_arguments`.
    """
    _, own = _COMMANDS[entry["command"]]
    group, others = entry["command"].partition(" ")[0], []
    for path, (_, slots) in _COMMANDS.items():
        if path.partition(" ")[0] == group:
            others += _options(slots)
    return _gather(own, recorded_arguments(entry, _options(own), run_id, others))


def words_of(entry: Mapping[str, Any], *more: str) -> list[str]:
    """Return the words of the command that an entry keeps, without the program's name."""
    _, own = _COMMANDS[entry["command"]]
    return command_words(entry, _options(own), *more)


def line_of(entry: Mapping[str, Any], *more: str) -> str:
    """Return the shell command that gives the command again that began a run (`can_resume`)."""
    _, own = _COMMANDS[entry["command"]]
    return command_line(entry, _options(own), *more)


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _slot(parameter: inspect.Parameter) -> _Slot:
    shape, *marks = get_args(parameter.annotation) or (parameter.annotation,)
    if not is_dataclass(shape):
        return (
            parameter.name,
            None,
            [_keyword(parameter.name, parameter.annotation, parameter.default)],
        )
    kept, hints = cast("type", shape), get_type_hints(shape, include_extras=True)
    names = next((mark for mark in marks if isinstance(mark, tuple)), (*hints,))
    options = []
    for name in names:
        kind, *told = get_args(hints[name])
        if get_origin(kind) is tuple:
            kind = list[get_args(kind)[0]]  # type: ignore[misc]  # typer repeats an option into a list
        annotation = Annotated[(kind, *told)]  # type: ignore[valid-type]  # made while running
        options.append(_keyword(name, annotation, getattr(kept, name)))
    return parameter.name, kept, options


def _options(slots: list[_Slot]) -> list[inspect.Parameter]:
    return [one for _, _, options in slots for one in options]


def _gather(slots: list[_Slot], given: dict[str, Any]) -> dict[str, Any]:
    """What the function's own parameters get."""
    values = {}
    for name, shape, options in slots:
        taken = {one.name: given[one.name] for one in options}
        told = {key: tuple(one) if isinstance(one, list) else one for key, one in taken.items()}
        values[name] = shape(**told) if shape else taken[name]
    return values
