"""Reads YAML files as models: errors have their line, a misspelled key the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from rapidfuzz import fuzz, process

from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile

M = TypeVar("M", bound=BaseModel)


def nearest_key(
    word: str, choices: Mapping[str, object] | tuple[str, ...] | list[str]
) -> str | None:
    """Return the known word that is nearest to an unknown one, or None."""
    match = process.extractOne(word.lower(), list(choices), scorer=fuzz.ratio, score_cutoff=60)
    return match[0] if match else None


def validate_yaml(model: type[M], file: YamlFile) -> M:
    """Validate a file's data as a pydantic model.

    Raises:
        InputError: the first error, with file:line; for an unknown key with the nearest known one.
    """
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        # A misspelled key also leaves the right one missing; the misspelling is the more useful
        # error.
        first = min(
            error.errors(include_url=False),
            key=lambda problem: problem["type"] != "extra_forbidden",
        )
        location = _location(file, first["loc"])
        name = ".".join(str(part) for part in location) or "the document"
        if first["type"] == "extra_forbidden":
            word = str(first["loc"][-1])
            near = nearest_key(word, _known_keys(model))
            hint = f"did you mean {near}?" if near else "remove it"
            raise InputError(
                f"unknown key {name}", place=file.place_of(*location), hint=hint
            ) from error
        message = first["msg"][:1].lower() + first["msg"][1:]
        raise InputError(f"{name}: {message}", place=file.place_of(*location)) from error


def _location(file: YamlFile, loc: tuple[int | str, ...]) -> tuple[Key, ...]:
    """Return pydantic's location without its union tags."""
    keys: tuple[Key, ...] = ()
    for part in loc:
        if (*keys, part) in file.lines:
            keys = (*keys, part)
    missing = loc[-1] if loc else ""
    # The last part may name a key that is missing, or a tag of a union, which is no identifier.
    if not isinstance(missing, str) or keys[-1:] == (missing,) or not missing.isidentifier():
        return keys
    return (*keys, missing)


def _known_keys(model: type[BaseModel]) -> list[str]:
    schema = model.model_json_schema()
    shapes = [schema, *schema.get("$defs", {}).values()]
    return sorted({key for shape in shapes for key in shape.get("properties", {})})
