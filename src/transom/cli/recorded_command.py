"""The command that began a run, as its journal keeps it, in the terms of this version.

A run may be older than this version, which may have renamed or dropped options. Their values are
never dropped in silence: a run that goes on without an option could come to another verdict.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from typer.models import ArgumentInfo, OptionInfo

from transom.errors import RunError

_SETTINGS = {"model": "--model", "execution.max_cost": "--max-cost"}
"""The common options that a run keeps as settings, by the setting's key."""


def recorded_arguments(
    entry: Mapping[str, Any],
    parameters: Sequence[inspect.Parameter],
    run_id: str,
    group_options: Sequence[inspect.Parameter] = (),
) -> dict[str, Any]:
    """Return the value of each parameter that the command was given, and defaults for the others.

    Args:
        entry: what the run keeps of the command.
        parameters: the command's parameters in this version, annotated as typer wants them.
        group_options: parameters of all commands of its group. A batch begins the runs of its
            items as another command, and they keep its own options too.

    Raises:
        RunError: this version does not take what the command was given. The error's hint is the
            command that begins the run anew.
    """
    arguments = {parameter.name: parameter.default for parameter in parameters}
    problem = _unknown_setting(entry)
    for name, value in entry.get("given", {}).items():
        parameter = _parameter_called(name, parameters)
        if parameter is None:
            # None, False, "" and [] are options that were not given.
            if value and not _parameter_called(name, group_options):
                problem = f"an option {_option_name(name)}, which this version does not have"
            continue
        try:
            arguments[parameter.name] = _validated(parameter, value)
        except ValidationError:
            problem = f"{_spelling(parameter)} {value!r}, which this version does not take"
    for parameter in parameters:
        if arguments[parameter.name] is inspect.Parameter.empty:
            problem = problem or f"no {_spelling(parameter)}, which this version requires"
    if problem:
        line = command_line(entry, parameters)
        raise RunError(
            f"the run was begun with {problem}", place=run_id, hint=f"begin it anew with: {line}"
        )
    return arguments


def command_line(
    entry: Mapping[str, Any], parameters: Sequence[inspect.Parameter], *more_words: str
) -> str:
    """Return the shell command that gives a recorded command again, as far as this version has
    its options.

    Args:
        more_words: further words, which come before the positional arguments.
    """
    line = shlex.join(["transom", *command_words(entry, parameters, *more_words)])
    folder = entry.get("cwd", "")
    if folder and folder != os.path.realpath("."):
        line = f"cd {shlex.quote(folder)} && {line}"
    return line


def command_words(
    entry: Mapping[str, Any], parameters: Sequence[inspect.Parameter], *more_words: str
) -> list[str]:
    """Return the words of a recorded command behind `transom`; see `command_line`."""
    options = [*more_words]
    positional: list[str] = []
    recorded: set[str] = set()
    for name, value in entry.get("given", {}).items():
        parameter = _parameter_called(name, parameters)
        if parameter is None:
            continue
        try:
            validated = _validated(parameter, value)
        except ValidationError:
            continue
        recorded.add(parameter.name)
        if validated == parameter.default:
            continue
        words = _words(parameter, to_jsonable_python(validated))
        if _is_positional(parameter):
            positional += words
        else:
            options += words
    options += _common_words(entry)
    # A placeholder stands for what the person has to fill in.
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.name not in recorded:
            positional.append(parameter.name.upper())
    # Behind `--`, a file name that begins with a hyphen is no option.
    if any(word.startswith("-") for word in positional):
        positional.insert(0, "--")
    return [*entry["command"].split(), *options, *positional]


def _common_words(entry: Mapping[str, Any]) -> list[str]:
    """Return the words of the common options that an entry keeps."""
    words: list[str] = []
    for key, value in entry.get("settings", {}).items():
        if key in _SETTINGS:
            words += [_SETTINGS[key], str(value)]
    if entry.get("base_url"):
        words += ["--base-url", entry["base_url"]]
    return words


def _unknown_setting(entry: Mapping[str, Any]) -> str:
    for key, value in entry.get("settings", {}).items():
        if key not in _SETTINGS:
            return f"{key} {value!r}, which this version does not take"
    return ""


def _parameter_called(
    name: str, parameters: Sequence[inspect.Parameter]
) -> inspect.Parameter | None:
    """Return the parameter of that name; after a renaming, the one whose option keeps the old
    name.
    """
    for parameter in parameters:
        if parameter.name == name:
            return parameter
    for parameter in parameters:
        if _option_name(name) in _declared_names(parameter):
            return parameter
    return None


def _validated(parameter: inspect.Parameter, value: Any) -> Any:
    """Return a recorded value as the parameter's type; ValidationError if it is none."""
    adapter = TypeAdapter(get_args(parameter.annotation)[0])
    try:
        return adapter.validate_python(value)
    except ValidationError:
        if isinstance(value, list):
            raise
        # An option that may be repeated in this version may have been a single value before.
        return adapter.validate_python([] if value is None else [value])


def _words(parameter: inspect.Parameter, value: Any) -> list[str]:
    """Return a parameter's words on the command line."""
    values = value if isinstance(value, list) else [value]
    if _is_positional(parameter):
        return [str(single) for single in values]
    name = _spelling(parameter)
    # A flag has no value of its own.
    if value is True:
        return [name]
    if value is False:
        return [f"--no-{name.removeprefix('--')}"]
    words = []
    for single in values:
        words += [name, str(single)]
    return words


def _is_positional(parameter: inspect.Parameter) -> bool:
    return any(isinstance(mark, ArgumentInfo) for mark in get_args(parameter.annotation))


def _declared_names(parameter: inspect.Parameter) -> list[str]:
    """Return the names of an option that are written out where it is declared."""
    for mark in get_args(parameter.annotation):
        if isinstance(mark, OptionInfo):
            names = [*(mark.param_decls or ())]
            # typer keeps the first name as the default of an option that is annotated.
            if isinstance(mark.default, str) and mark.default.startswith("-"):
                names.insert(0, mark.default)
            return names
    return []


def _spelling(parameter: inspect.Parameter) -> str:
    """Return how a parameter is typed."""
    if _is_positional(parameter):
        return parameter.name.upper()
    long_names = [name for name in _declared_names(parameter) if name.startswith("--")]
    return long_names[0] if long_names else _option_name(parameter.name)


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"
