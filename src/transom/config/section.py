"""What all sections of the settings share: strict models, and the types of their values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo


def _to_path(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and value:
        # The context is the folder of the setting's source; see `load`.
        return Path(info.context or ".", Path(value).expanduser())
    return value


def _to_paths(value: object, info: ValidationInfo) -> object:
    # A single path may be written without the brackets of a list.
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        return value
    return tuple(_to_path(entry, info) for entry in values)


def to_texts(value: object) -> object:
    """Return a list of texts as a tuple; a single text may be written without brackets."""
    values = [value] if isinstance(value, str) else value
    return tuple(values) if isinstance(values, list) else value


def _to_upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


PathValue = Annotated[Path, BeforeValidator(_to_path)]
PathValues = Annotated[tuple[Path, ...], BeforeValidator(_to_paths)]
TextValues = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(to_texts)]
# `logging` has its levels in capitals; people write `level: info`.
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_to_upper)
]


class SettingsSection(BaseModel):
    """A part of the settings: its keys are checked strictly, and do not change later."""

    # Strict, since `max_cost: "5"` is more likely a mistake than a number. Most commands use few
    # sections, so each is built at its first use.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
