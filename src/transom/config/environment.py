"""Reads settings from `TRANSOM_` variables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from transom.config.model import PREFIX, Settings, known_keys, unknown_key, variable_of

RESERVED = frozenset({"TRANSOM_FAILPOINT", "TRANSOM_RUN_PATIENCE"})
"""Variables with the prefix that are not settings."""
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    """Yield key, value and variable of every setting in the environment; empty variables are
    ignored.
    """
    keys = {variable_of(key): key for key in known_keys()}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in RESERVED or not environ[name]:
            continue
        if name not in keys:
            raise unknown_key(name, "environment", list(keys))
        yield keys[name], _from_text(keys[name], environ[name]), name


def _from_text(key: str, text: str) -> object:
    """Convert a variable's text to its key's type; unchanged if that fails, so that the model
    reports the error.
    """
    kinds = _types(key)
    # A list of paths is separated like PATH, since a path may hold a comma.
    if Path in kinds and tuple in kinds:
        return [part for part in text.split(os.pathsep) if part]
    if tuple in kinds:
        return [part.strip() for part in text.split(",") if part.strip()]
    if dict in kinds:
        try:
            return json.loads(text)
        except ValueError:
            return text
    if bool in kinds:
        return _WORDS.get(text.lower(), text)
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                return text
    return text


def _types(key: str) -> set[object]:
    """Return the types of a key, with the parts of unions and containers."""
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
