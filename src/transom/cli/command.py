"""The declaration of commands: each is a function that gets a session and its own options."""

from __future__ import annotations

import gc
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
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
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.cli.recorded_command import command_line, command_words, recorded_arguments

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Run: its id, the beginning of the id, or its name.")
]
PersonOption = Annotated[
    str, typer.Option("--by", metavar="NAME", help="Your name, recorded with the decision.")
]
AgentOption = Annotated[
    str,
    typer.Option("--agent", metavar="MODULE:AGENT", help="Agent, or a function that returns it."),
]
MoreRepairs = Annotated[
    bool, typer.Option("--reset-iterations", help="Allow the full number of repairs again.")
]


Shares: TypeAlias = Literal["", "whole", "items"]
"""What a command can give to workers: nothing, all of it, or its items."""

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])

OLD_NAMES = frozenset({"--beside", "--continue"})
"""Earlier names of options. They work in scripts, and the help does not list them."""

_MODEL_OPTIONS = ("model", "base_url", "max_cost")
_WORKER_OPTIONS = ("distributed", "priority")


class PlainCommand(TyperCommand):
    """A command whose help names its arguments without the Python types of their values."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            # A hidden option has no row.
            if row is None:
                continue
            name, text = row
            if parameter.param_type_name == "argument":
                word, _, kind = name.partition(" <")
                # The values to choose from say something; `<str>` and `<list[Path]>` do not.
                arguments.append(row if "|" in kind else (word, text))
            else:
                for old_name in OLD_NAMES:
                    name = name.replace(f", {old_name}", "")
                options.append((name, text))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@dataclass(frozen=True)
class _Slot:
    """A parameter of a command's function.

    Attributes:
        name: its name.
        shape: the dataclass that gathers its options; None if it is a single option.
        options: the options that typer sees.
    """

    name: str
    shape: type | None
    options: tuple[inspect.Parameter, ...]


_COMMANDS: dict[str, tuple[Callable[..., Any], list[_Slot]]] = {}
"""All commands by their words: the function of each, and its parameters after the session."""


def command(
    app: typer.Typer, name: str, *, example: str, asks: bool = False, shares: Shares = ""
) -> Callable[[CommandFunction], CommandFunction]:
    """Add a function as the command `name` of `app`, with the common options.

    The function is `def` or `async def`, takes a `Session` first, then its own parameters declared
    as typer wants them, and returns the exit code. Its docstring is the help text. A parameter that
    is annotated with a dataclass gathers options: its fields, each annotated as typer wants it, or
    those that a tuple names, as in
    `Annotated[CheckOptions, ("item", "strict")]`; the others keep their defaults. A tuple may be
    given several times.

    Args:
        example: a whole command line, shown in the help.
        asks: whether it may ask a model, so that `--model`, `--base-url` and `--max-cost` act.
        shares: what workers may do, so that `--distributed` and `--priority` act: the `whole`
            command, or `items` that the command gives them itself.
    """

    def declare(function: CommandFunction) -> CommandFunction:
        hints = get_type_hints(function, include_extras=True)
        own: list[_Slot] = []
        for parameter in [*inspect.signature(function).parameters.values()][1:]:
            own.append(_slot(parameter.replace(annotation=hints[parameter.name])))
        words = f"{app.info.name} {name}" if isinstance(app.info.name, str) else name
        _COMMANDS[words] = function, own
        common = _common_slot(asks=asks, shares=bool(shares))

        def start(context: typer.Context, **values: Any) -> int:
            _tune_collector()
            session = Session.start(_gathered([common], values)["common"])
            recorded = {option.name: values[option.name] for option in _options(own)}
            session.record_command(words, to_jsonable_python(recorded))
            # `app.main` looks at the session if the command fails or is interrupted.
            if isinstance(context.obj, list):
                context.obj.append(session)
            arguments = _gathered(own, values)
            if session.distributed and shares == "whole":
                from transom.cli.distributing import give_to_workers

                line = shlex.join(words_of(session.local_entry))
                return session.execute(lambda: give_to_workers(session, line))
            if inspect.iscoroutinefunction(function):
                return session.execute(lambda: function(session, **arguments))
            return int(function(session, **arguments))

        parameters = [_keyword("context", typer.Context), *_options([*own, common])]
        start.__doc__ = function.__doc__
        # typer reads both of these; mypy knows only the second.
        start.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as said
        start.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        app.command(
            name,
            cls=PlainCommand,
            epilog=f"Example: {example}",
            context_settings=HELP_NAMES,
        )(start)
        return function

    return declare


def can_resume(entry: Mapping[str, Any]) -> bool:
    """Return whether a command of this version began the run that keeps this entry."""
    words = entry.get("command", "")
    # The module of a command is imported when the command is first needed.
    group = words.partition(" ")[0]
    if words not in _COMMANDS and group in TREE:
        load(group)
    return words in _COMMANDS


async def resume_command(session: Session, entry: Mapping[str, Any], run_id: str) -> int:
    """Run the command again that began a run (`can_resume`); see `Session.recorded_session`."""
    function, _ = _COMMANDS[entry["command"]]
    arguments = arguments_of(entry, run_id)
    return int(await function(session.recorded_session(entry), **arguments))


def arguments_of(entry: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    """Return the arguments of the command that began a run, as its function takes them.

    Raises:
        RunError: this version does not take one of them; see `recorded_arguments`.
    """
    _, own = _COMMANDS[entry["command"]]
    group = entry["command"].partition(" ")[0]
    # A batch begins the runs of its items as `check all`, with its own options in their entries.
    group_options: list[inspect.Parameter] = []
    for words, (_, slots) in _COMMANDS.items():
        if words.partition(" ")[0] == group:
            group_options += _options(slots)
    return _gathered(own, recorded_arguments(entry, _options(own), run_id, group_options))


def words_of(entry: Mapping[str, Any], *more_words: str) -> list[str]:
    """Return the words of the command that an entry keeps, without the program's name."""
    _, own = _COMMANDS[entry["command"]]
    return command_words(entry, _options(own), *more_words)


def line_of(entry: Mapping[str, Any], *more_words: str) -> str:
    """Return the shell command that runs the command of an entry again (`can_resume`)."""
    _, own = _COMMANDS[entry["command"]]
    return command_line(entry, _options(own), *more_words)


def _tune_collector() -> None:
    """Have the garbage collector pass over all that is imported by now: it stays to the end.

    `transom.cli.main` disabled the collector while Python imported. If it is enabled, this process
    serves more than one command, and its settings are left alone.
    """
    if gc.isenabled():
        return
    gc.freeze()
    # Rules, texts and answers live long, too, so the collector need not look at them often.
    gc.set_threshold(50_000)
    gc.enable()


def _common_slot(*, asks: bool, shares: bool) -> _Slot:
    """Return the parameter of the common options, without those that have no effect."""
    idle: tuple[str, ...] = ()
    if not asks:
        idle += _MODEL_OPTIONS
    if not shares:
        idle += _WORKER_OPTIONS
    names = tuple(option.name for option in fields(CommonOptions) if option.name not in idle)
    return _slot(_keyword("common", Annotated[CommonOptions, names]))


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _slot(parameter: inspect.Parameter) -> _Slot:
    """Return a parameter with the options that typer sees in its place."""
    shape, *marks = get_args(parameter.annotation) or (parameter.annotation,)
    if not is_dataclass(shape):
        option = _keyword(parameter.name, parameter.annotation, parameter.default)
        return _Slot(parameter.name, None, (option,))
    dataclass_type = cast("type", shape)
    hints = get_type_hints(shape, include_extras=True)
    names: tuple[str, ...] = (*hints,)
    for mark in marks:
        if isinstance(mark, tuple):
            names = mark
    options: list[inspect.Parameter] = []
    for name in names:
        kind, *details = get_args(hints[name])
        if get_origin(kind) is tuple:
            # typer repeats an option into a list.
            kind = list[get_args(kind)[0]]  # type: ignore[misc]
        annotation = Annotated[(kind, *details)]  # type: ignore[valid-type]  # made while running
        options.append(_keyword(name, annotation, getattr(dataclass_type, name)))
    return _Slot(parameter.name, dataclass_type, tuple(options))


def _options(slots: list[_Slot]) -> list[inspect.Parameter]:
    options: list[inspect.Parameter] = []
    for slot in slots:
        options += slot.options
    return options


def _gathered(slots: list[_Slot], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command's function, from the values of all options."""
    arguments: dict[str, Any] = {}
    for slot in slots:
        if slot.shape is None:
            arguments[slot.name] = values[slot.name]
            continue
        chosen: dict[str, Any] = {}
        for option in slot.options:
            value = values[option.name]
            # A frozen dataclass keeps a tuple where typer made a list.
            chosen[option.name] = tuple(value) if isinstance(value, list) else value
        arguments[slot.name] = slot.shape(**chosen)
    return arguments
