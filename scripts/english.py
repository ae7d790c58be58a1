"""Find constructions that a reader has to parse twice, in messages, help texts, prompts and pages.

    python -m scripts.english             list them in the pages and in the source
    python -m scripts.english docs/x.md   list them in these files

`scripts/english.yaml` lists the constructions and what to write in their place. In Python files the
texts are string literals of at least three words, without docstrings; in Markdown everything but
code. `scripts.plain` counts them for each room.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PHRASES = ROOT / "scripts" / "english.yaml"
FEWEST_WORDS = 3

_WORD = re.compile(r"[A-Za-z]{2,}")
_FENCE = re.compile(r"^\s*(```|~~~)")
_CODE = re.compile(r"`[^`]*`")
# Calls and keyword arguments whose text a person reads at its beginning.
_HELP = frozenset({"help", "short_help", "epilog", "description"})


@dataclass(frozen=True)
class Phrase:
    """A construction to avoid, and the advice for it."""

    pattern: re.Pattern[str]
    advice: str
    is_only_at_start: bool


@dataclass(frozen=True)
class Hit:
    """A construction found in a file."""

    file: Path
    line: int
    text: str
    advice: str


@cache
def phrases() -> tuple[Phrase, ...]:
    """Return the constructions of the data file."""
    listed = []
    for row in yaml.safe_load(PHRASES.read_text(encoding="utf-8")):
        pattern = re.compile(row["pattern"].replace(" ", r"\s+"))
        listed.append(Phrase(pattern, row["write"], row.get("in") == "start"))
    return tuple(listed)


def texts_of_module(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text, and whether it is a help text, for each literal that a person reads."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped: set[int] = set()
    helps: set[int] = set()
    # `walk` yields a node before its parts, so it is known by then whether they are skipped.
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg in _HELP:
            helps.add(id(node.value))
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in skipped and len(_WORD.findall(node.value)) >= FEWEST_WORDS:
            yield node.lineno, node.value, id(node) in helps


def texts_of_page(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield line and text of each line of a Markdown page, without code."""
    in_code = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, _CODE.sub("`code`", line), False


def hits_of(file: Path) -> Iterator[Hit]:
    """Yield the constructions of one file."""
    texts = texts_of_module(file) if file.suffix == ".py" else texts_of_page(file)
    for line, text, is_help in texts:
        for phrase in phrases():
            if phrase.is_only_at_start:
                match = phrase.pattern.match(text) if is_help else None
            else:
                match = phrase.pattern.search(text)
            if match:
                yield Hit(file, line, match[0].strip(), phrase.advice)


def count_phrases(files: Iterable[Path]) -> int:
    """Return the number of constructions in some files."""
    return sum(len(list(hits_of(file))) for file in files)


def pages() -> list[Path]:
    """Return the pages that users read, without the one that is drawn from docstrings."""
    names = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "reference.md"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *names]


def main() -> None:
    """Print the constructions of the files that are named, or of all."""
    files = [Path(argument) for argument in sys.argv[1:]]
    if not files:
        files = [*pages(), *sorted((ROOT / "src" / "transom").rglob("*.py"))]
    for file in files:
        for hit in hits_of(file):
            print(f"{hit.file}:{hit.line}: {hit.text!r}: {hit.advice}")


if __name__ == "__main__":
    main()
