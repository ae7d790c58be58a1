"""Does the product know the acceptance data? It must not: its rules and prompts come from the
field's language alone.

    python -m scripts.leak [--data DIR]        exit 0: no hit; 1: hits, each as `file:line token`;
                                               2: bad kept list

The data lies outside the repository (`../shared/data`); where it is absent the check says so and
ends with 0.

What counts as a token of the data, at least six characters, compared without case:

- every word, name and number in the items and in their expected results (values, not JSON's keys);
- every part of the data's file and folder names;
- from inside the big files only what names *this* data: modules, cells, instances and ports of
  netlists; designs, vendors, programs and nets of SPEFs; start and end points of timing reports.
  Their prose is the language that every such tool speaks ("slack", "arrival"), and a product that
  may not use it could not read any log.

A name is compared whole and in its parts (`gcd_top` is found in `my_gcd_top_x`, `sky130hd` in
`gcd_sky130hd`). The kept words (`tests/acceptance/common_words.txt`) hold no digit; a compound
(`input_files`) is kept only where it is listed itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
KEPT = ROOT / "tests" / "acceptance" / "common_words.txt"
SOURCE = ROOT / "src" / "transom"
SHORTEST = 6

_NAME = re.compile(r"[A-Za-z0-9$][A-Za-z0-9_$.\-]*[A-Za-z0-9$]")
_PART = re.compile(r"[A-Za-z0-9$]+")
_KEPT_LINE = re.compile(r"(?=.{6,}$)[a-z]+([_-][a-z]+)*")
_IN_FILES = (
    re.compile(r"^\s*module\s+(\S+?)\s*[(;]", re.M),
    re.compile(r"^\s*([A-Za-z]\w*)\s+(\\?\S+)\s*\(\s*\.", re.M),
    re.compile(r"^\s*(?:input|output|inout|wire)\s+(?:\[[^\]]*\]\s*)?(\S+?)\s*[,;)]", re.M),
    re.compile(r'^\*(?:DESIGN|VENDOR|PROGRAM)\s+"([^"]*)"', re.M),
    re.compile(r"^\*\d+\s+([A-Za-z_]\S*)\s*$", re.M),
    re.compile(r"^\s*(?:Startpoint|Endpoint):\s+(\S+)", re.M),
)
_VERILOG_WORDS = frozenset({"module", "endmodule", "assign", "always", "output", "function"})


def tokens(text: str) -> Iterator[str]:
    """Names of the text whole and in their parts, lower case, from the shortest length on."""
    for name in _NAME.findall(text):
        for token in {name, *_PART.findall(name)}:
            if len(token) >= SHORTEST:
                yield token.lower()


def data_tokens(data: Path) -> set[str]:
    """All tokens that name the acceptance data."""
    found: set[str] = set()
    for item in sorted((data / "eda-items").glob("*/item.yaml")):
        found.update(tokens(item.read_text(encoding="utf-8")))
    for expected in sorted((data / "eda-items").glob("*/expected.json")):
        for text in _values(json.loads(expected.read_text(encoding="utf-8"))):
            found.update(tokens(text))
    for path in sorted((data / "eda").rglob("*")):
        found.update(tokens(path.name))
        if path.is_file() and path.name != "SOURCES.tsv":
            found.update(_names_inside(path))
    return found - _VERILOG_WORDS


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif value is not None:
        yield str(value)


def _names_inside(path: Path) -> Iterator[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    for pattern in _IN_FILES:
        for match in pattern.finditer(text):
            for name in match.groups():
                yield from tokens(name)


def kept_words(path: Path = KEPT) -> frozenset[str]:
    """The reviewed words.

    Raises:
        ValueError: the file is not sorted, has doubles, or keeps something that is no plain word.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    words = [line for line in lines if line and not line.startswith("#")]
    for word in words:
        if not _KEPT_LINE.fullmatch(word):
            raise ValueError(
                f"{path}: {word!r} is no word of six or more lower-case letters (parts joined by -"
                " or _)"
            )
    if words != sorted(set(words)):
        raise ValueError(f"{path}: not sorted, or a word stands twice")
    return frozenset(words)


def hits(source: Path, forbidden: Iterable[str]) -> list[str]:
    """`file:line token` for each forbidden token in the text files under a folder."""
    wanted = frozenset(forbidden)
    found = []
    for path in sorted(source.rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        ):
            found += [
                f"{path.relative_to(source.parent)}:{number} {token}"
                for token in sorted(set(tokens(line)) & wanted)
            ]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the hits and their number."""
    parser = argparse.ArgumentParser(prog="leak")
    parser.add_argument("--data", type=Path, default=DATA)
    data: Path = parser.parse_args(arguments).data
    try:
        kept = kept_words()
    except ValueError as error:
        sys.stderr.write(f"leak: {error}\n")
        return 2
    if not (data / "eda-items").is_dir():
        sys.stdout.write("leak: skipped, the acceptance data is not on this machine\n")
        return 0
    forbidden = data_tokens(data) - kept
    found = hits(SOURCE, forbidden)
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.stdout.write(f"leak: {len(found)} hits of {len(forbidden)} tokens\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
