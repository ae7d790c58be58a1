"""A YAML file read as a model: what is wrong is said with its line, a misspelled key with the one that was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from rapidfuzz import fuzz, process

from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile

M = TypeVar("M", bound=BaseModel)


def nearest_key(word: str, known: Mapping[str, object] | tuple[str, ...] | list[str]) -> str | None:
    """The known word that an unknown one was probably meant to be."""
    found = process.extractOne(word.lower(), list(known), scorer=fuzz.ratio, score_cutoff=60)
    return found[0] if found else None


def validate_yaml(model: type[M], file: YamlFile) -> M:
    """Read a file's data as a pydantic model.

    Raises:
        InputError: the first thing that is wrong, with file:line; an unknown key names the nearest known one.
    """
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        # A misspelled key also leaves the right one missing; the misspelling is what helps.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        at = _location(file, first["loc"])
        name = ".".join(str(part) for part in at) or "the document"
        if first["type"] == "extra_forbidden":
            word = str(first["loc"][-1])
            near = nearest_key(word, _known_keys(model))
            hint = f"did you mean {near}?" if near else "remove it"
            raise InputError(f"unknown key {name}", where=file.where(*at), hint=hint) from error
        message = first["msg"][:1].lower() + first["msg"][1:]
        raise InputError(f"{name}: {message}", where=file.where(*at)) from error


def _location(file: YamlFile, loc: tuple[int | str, ...]) -> tuple[Key, ...]:
    """Pydantic's location without the union tags that it mixes in."""
    at: tuple[Key, ...] = ()
    for part in loc:
        if (*at, part) in file.lines:
            at = (*at, part)
    missing = loc[-1] if loc else ""
    return at if not isinstance(missing, str) or at[-1:] == (missing,) or not missing.isidentifier() else (*at, missing)


def _known_keys(model: type[BaseModel]) -> list[str]:
    schema = model.model_json_schema()
    shapes = [schema, *schema.get("$defs", {}).values()]
    return sorted({key for shape in shapes for key in shape.get("properties", {})})
