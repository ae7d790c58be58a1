"""Loads report formats from YAML files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.reports.format_rules import CompiledFormat, compile_format
from transom.formats.reports.report_format import TRUSTED, ReportExamples, ReportFormat
from transom.formats.yaml_files import load_yaml, parse_yaml, read_text
from transom.formats.yaml_models import validate_yaml

SHIPPED: Final = Path(__file__).parent


def load_format(path: Path) -> CompiledFormat:
    """Return the report format of a YAML file.

    Raises:
        InputError: the file cannot be read, or does not fit the schema; with file:line.
    """
    file = load_yaml(path)
    model = validate_yaml(ReportFormat, file)
    try:
        return compile_format(model)
    except ValueError as error:
        raise InputError(
            str(error), place=str(path), hint="write the pattern without it"
        ) from error


def format_of(data: Mapping[str, Json]) -> CompiledFormat:
    """Return the report format that a checker carries."""
    return compile_format(ReportFormat.model_validate(data))


def load_formats(folders: Sequence[Path]) -> tuple[CompiledFormat, ...]:
    """Return the report formats of folders; a later file takes the place of one of the same name.

    Raises:
        InputError: as `load_format`; or two files describe one format.
    """
    paths = dict[str, Path]()
    for folder in folders:
        if not folder.is_dir():
            raise InputError("is not a folder", place=str(folder), hint="name a folder of formats")
        for path in sorted(folder.glob("*.yaml")):
            # By file name, so that a folder of your own can replace a shipped file.
            paths[path.name] = path
    formats = dict[str, CompiledFormat]()
    for path in paths.values():
        report_format = load_format(path)
        # Sections name their format, so two formats of one name could not be told apart.
        if report_format.name in formats:
            raise InputError(
                f"the format {report_format.name} is described twice",
                place=str(path),
                hint="give one of the files another format name",
            )
        formats[report_format.name] = report_format
    return tuple(formats.values())


@lru_cache(maxsize=1)
def shipped_formats() -> tuple[CompiledFormat, ...]:
    """Return the report formats that Transom ships, without their examples.

    Examples make up half of a file, and only tests read them: see `load_formats`.
    """
    # In the order of the names, so that two formats with one beginning are always tried alike.
    return tuple(_load_without_examples(path) for path in sorted(SHIPPED.glob("*.yaml")))


def _load_without_examples(path: Path) -> CompiledFormat:
    """Return a shipped report format; its examples stand at the end of its file."""
    text, _, _ = read_text(path).partition("\nexamples:\n")
    data = parse_yaml(text, path).data
    assert isinstance(data, dict)
    # Not validated: a format has at least one good and one bad example.
    without = ReportExamples.model_construct(good=(), bad=())
    return compile_format(
        ReportFormat.model_validate({**data, "examples": without}, context=TRUSTED)
    )
