"""Settings from `TRANSOM_` variables."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from transom.config.model import PREFIX, Settings, known_keys, unknown_key, variable_of

RESERVED = frozenset({"TRANSOM_FAILPOINT", "TRANSOM_RUN_PATIENCE"})
"""Variables with the prefix that are not settings."""
# Of 100: MODELL and MODEL have 91, PORT and STORE 67.
_NEAR = 75
# The model is strict: it takes no text for a bool.
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    """Yield key, value and variable of every setting in the environment.

    A variable that resembles no setting belongs to somebody else: a test set-up names folders so,
    and Kubernetes tells each container of a service `transom` its address in `TRANSOM_PORT`.

    Raises:
        SettingsError: a variable that was meant as a setting is none.
    """
    keys = {variable_of(key): key for key in known_keys()}
    # Sorted, so that of two wrong variables always the same one is reported.
    for name in sorted(environ):
        # `NAME= transom ...` does without a variable for one command.
        if not name.startswith(PREFIX) or name in RESERVED or not environ[name]:
            continue
        if name in keys:
            yield keys[name], _from_text(keys[name], environ[name]), name
        elif _is_meant_as_setting(name, keys):
            raise unknown_key(name, "environment", list(keys))


def _is_meant_as_setting(name: str, variables: Collection[str]) -> bool:
    """Return whether a variable begins with a section, or is spelt nearly like a setting."""
    # Imported here, since most environments hold no such variable.
    from rapidfuzz import fuzz  # noqa: PLC0415

    name = name.removeprefix(PREFIX)
    sections = {variable.removeprefix(PREFIX).split("__")[0] for variable in variables}
    if "__" in name or name.split("_")[0] in sections:
        return True
    return any(fuzz.ratio(name, variable.removeprefix(PREFIX)) >= _NEAR for variable in variables)


def _from_text(key: str, text: str) -> object:
    """Return a variable's text as a value of its key's type.

    A text that cannot be converted is unchanged, so that the model reports it.
    """
    kinds = _types(key)
    # A list of paths is separated like PATH, since a path may hold a comma.
    if Path in kinds and tuple in kinds:
        return [part for part in text.split(os.pathsep) if part]
    if tuple in kinds:
        return [part.strip() for part in text.split(",") if part.strip()]
    # A table has no other usual form in one line.
    if any(isinstance(kind, type) and issubclass(kind, dict | BaseModel) for kind in kinds):
        try:
            return json.loads(text)
        except ValueError:
            return text
    if bool in kinds:
        return _WORDS.get(text.lower(), text)
    # In this order: 3 is also a float, and a key of a whole number accepts no float.
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                return text
    return text


def _types(key: str) -> set[object]:
    """Return the types that a key accepts, with the parts of unions and containers."""
    model: Any = Settings
    *sections, name = key.split(".")
    for section in sections:
        model = model.model_fields[section].annotation
    return set(_flat(model.model_fields[name].annotation))


def _flat(annotation: Any) -> Iterator[object]:
    origin = getattr(annotation, "__origin__", None)
    yield origin or annotation
    for argument in get_args(annotation):
        yield from _flat(argument)
