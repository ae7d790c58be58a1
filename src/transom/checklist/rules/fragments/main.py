"""What every atom does around its readers: tell the kind of file before, and that nothing was overlooked after."""

import re
from typing import Any

from transom.checklist.file_kinds import kind_by_name


def file_kind(lines: list[str], source_file: str, sources: list[dict[str, Any]], files: dict[str, Any]) -> str:
    """By the name's pattern, else by what stands in it, else the first source."""
    named = kind_by_name(source_file, sources)
    if named is not None:
        return named
    for source in sources:
        signs = files[source["kind"]]["signs"]
        if signs and any(re.match(signs, line) for line in lines):
            return str(source["kind"])
    return str(sources[0]["kind"])


def check_known(lines: list[str], kind: str, about: dict[str, Any]) -> None:
    """The file is of a dialect that the readers were made for: what a build refuses, a run refuses too."""
    for number, line in enumerate(lines, 1):
        for pattern, why in about.get("refuse", {}).items():
            if re.search(pattern, line):
                raise ValueError(f"line {number}: {why}: {line.strip()}")
    must = about.get("must", ())
    if must and not any(re.search(pattern, line) for pattern in must for line in lines):
        first = next((number for number, line in enumerate(lines, 1) if line.strip()), 1)
        raise ValueError(f"line {first}: no line of a kind that is known for {kind}: {lines[first - 1].strip()}")


def check_counts(lines: list[str], patterns: list[str]) -> None:
    """A line says how many there were, and none was read."""
    for number, line in enumerate(lines, 1):
        told = [match for pattern in patterns for match in re.finditer(pattern, line)]
        if any(int(match["count"]) for match in told):
            raise ValueError(f"line {number}: it counts what was not seen: {line.strip()}")


def check_complete(lines: list[str], about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Nothing was overlooked, and something was read where it has to be."""
    check_account(lines, about, results)
    for category, patterns in about.get("counts", {}).items():
        if not any(category in made["parsed_fields"] for made in results):
            check_counts(lines, patterns)
    if about["expect"] and not results and any(re.search(about["speaks"], line) for line in lines):
        raise ValueError(about["expect"])


def check_account(lines: list[str], about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Every line that speaks of a verdict must have been read, or be known to tell nothing."""
    read = {made["line_number"] for made in results}
    for number, line in enumerate(lines, 1):
        overlooked = number not in read and any(re.search(told, line) for told in about["account"])
        if overlooked and not any(re.search(passed, line) for passed in about.get("passes", ())):
            raise ValueError(f"line {number}: not understood: {line.strip()}")
