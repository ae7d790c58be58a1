"""Measure how plainly the source is written, and compare each room with its ceilings.

    python -m scripts.plain             print the table: all rooms, then each one
    python -m scripts.plain --check     also exit with 1 if a room is above one of its ceilings
    python -m scripts.plain --lower     write lower ceilings where a room has improved
    python -m scripts.plain --worst 15  also list the files and names to look at first

The ceilings are in `scripts/ceilings.json`. They only ever fall; a new room starts with `GOALS`.

Columns (the range of six well-kept packages of the field in brackets):
    tok/stmt   tokens of code for each statement; the line length does not change it (9.5 - 10.6)
    tok/line   tokens of code on a code line, for information                        (4.8 - 7.5)
    >100       code lines longer than 100 characters                                 (0 - 5 %)
    vague      share of names (variables, parameters, fields, attributes, functions)
               that are a bare pronoun, adverb or participle: one, told, found, what (0 - 0.3 %)
    comment    comment lines for each 100 statements                                 (5 - 13)
    comp, ifx  comprehensions and conditional expressions in 1,000 statements  (6 - 31, 8 - 24)
    D401       docstrings that do not begin as a command, as Ruff counts them
    english    phrases in messages, help texts and docs that `scripts/english.yaml` lists
    twins      public class names that more than one class has
    modules    module names that occur more than twice
"""

from __future__ import annotations

import argparse
import ast
import collections
import io
import json
import subprocess
import sys
import tokenize
from collections.abc import Iterable
from pathlib import Path

from scripts.english import count_phrases, pages

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "transom"
CEILINGS = ROOT / "scripts" / "ceilings.json"

# What a new room is held to, and where every room is going. `comment` is a floor.
GOALS = {
    "tok/stmt": 10.5,
    ">100": 0,
    "vague": 1.0,
    "comment": 5.0,
    "comp": 45,
    "ifx": 30,
    "D401": 0,
    "english": 0,
}
FLOORS = frozenset({"comment"})
VAGUE = frozenset(
    "told given found known came said made shown one heard taken asked wanted kept left meant seen"
    " gone begun done held named called tried used mine rest beside here there where at by how what"
    " whose who which more most both others hers his it this that these those thing things stuff"
    " such whole out same many few again now ever yet so".split()
)
CODE_TOKENS = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
NO_REMARKS = ("# noqa", "# type:", "# --", "# pragma")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NAMING = (ast.arg, ast.Name, ast.Attribute, *FUNCTIONS)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_name(node: ast.AST) -> str | None:
    """Return the name that a node gives to something, or None."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    if isinstance(node, FUNCTIONS):
        return node.name
    return None


class Tally:
    """The counts of one set of files."""

    def __init__(self, files: Iterable[Path], d401: int = 0, english: int = 0) -> None:
        self.count: collections.Counter[str] = collections.Counter()
        self.vague: collections.Counter[str] = collections.Counter()
        self.classes: collections.Counter[str] = collections.Counter()
        self.modules: collections.Counter[str] = collections.Counter()
        self.count["D401"] = d401
        self.count["english"] = english
        for file in files:
            self.add_file(file)

    def add_tally(self, tally: Tally) -> None:
        """Add the counts of another tally, whose files are read no second time."""
        self.count.update(tally.count)
        self.vague.update(tally.vague)
        self.classes.update(tally.classes)
        self.modules.update(tally.modules)

    def add_file(self, file: Path) -> None:
        """Add the counts of one file."""
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if not file.stem.startswith("__"):
            self.modules[file.stem] += 1
        docstring_lines: set[int] = set()
        kinds: collections.Counter[type[ast.AST]] = collections.Counter()
        for node in ast.walk(tree):
            kinds[type(node)] += 1
            if isinstance(node, NAMING):
                self.add_name(node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                docstring_lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for kind, number in kinds.items():
            self.count["statements"] += number * issubclass(kind, ast.stmt)
            self.count["comprehensions"] += number * issubclass(kind, COMPREHENSIONS)
            self.count["conditionals"] += number * issubclass(kind, ast.IfExp)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                self.classes[node.name] += 1
        self.add_tokens(text, docstring_lines)

    def add_name(self, node: ast.AST) -> None:
        """Count the name that a node gives to something."""
        name = bound_name(node)
        if name is None:
            return
        self.count["names"] += 1
        # "_told", "told_" and "told2" are no better than "told".
        if name.strip("_0123456789") in VAGUE:
            self.count["vague"] += 1
            self.vague[name] += 1

    def add_tokens(self, text: str, docstring_lines: set[int]) -> None:
        """Count tokens, code lines, long lines and comments of one file."""
        code_lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in CODE_TOKENS and token.start[0] not in docstring_lines:
                self.count["tokens"] += 1
                code_lines.add(token.start[0])
            elif token.type == tokenize.COMMENT and not token.string.startswith(NO_REMARKS):
                self.count["comments"] += 1
        lines = text.splitlines()
        self.count["code"] += len(code_lines)
        self.count["lines"] += len(lines)
        for number in code_lines:
            self.count["long"] += len(lines[number - 1].rstrip()) > 100

    def figures(self) -> dict[str, float]:
        """Return the figures that have a ceiling, by the names of their columns."""
        count = self.count
        statements = max(1, count["statements"])
        return {
            "tok/stmt": round(count["tokens"] / statements, 1),
            ">100": count["long"],
            "vague": round(100 * count["vague"] / max(1, count["names"]), 1),
            "comment": round(100 * count["comments"] / statements, 1),
            "comp": round(1000 * count["comprehensions"] / statements),
            "ifx": round(1000 * count["conditionals"] / statements),
            "D401": count["D401"],
            "english": count["english"],
            "twins": sum(number > 1 for number in self.classes.values()),
            "modules": sum(number > 2 for number in self.modules.values()),
        }

    def row(self, label: str) -> str:
        """Return the figures as one line of the table."""
        figures = self.figures()
        per_line = self.count["tokens"] / max(1, self.count["code"])
        return (
            f"{label:16} {self.count['lines']:7,} {self.count['tokens'] / 1000:6.0f}k"
            f" {figures['tok/stmt']:8.1f} {per_line:8.1f} {figures['>100']:5}"
            f" {figures['vague']:6.1f}% {figures['comment']:7.1f} {figures['comp']:5}"
            f" {figures['ifx']:4} {figures['D401']:5} {figures['english']:7}"
            f" {figures['twins']:5} {figures['modules']:7}"
        )


HEAD = (
    f"{'':16} {'lines':>7} {'tokens':>7} {'tok/stmt':>8} {'tok/line':>8} {'>100':>5}"
    f" {'vague':>7} {'comment':>7} {'comp':>5} {'ifx':>4} {'D401':>5} {'english':>7}"
    f" {'twins':>5} {'modules':>7}"
)


def room_of(file: Path) -> str:
    """Return the name of a file's room: its folder below `src/transom`, or the module itself."""
    return file.relative_to(SOURCE).parts[0]


def source_files() -> list[Path]:
    """Return the modules of the package, without the examples that it ships."""
    files = []
    for file in sorted(SOURCE.rglob("*.py")):
        if "examples" not in file.relative_to(SOURCE).parts:
            files.append(file)
    return files


def docstring_findings() -> collections.Counter[str]:
    """Return how many docstrings of each room Ruff's rule D401 objects to."""
    command = [sys.executable, "-m", "ruff", "check", "--select", "D401", "--exit-zero"]
    command += ["--no-cache", "--output-format", "json", str(SOURCE)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counter: collections.Counter[str] = collections.Counter()
    for finding in json.loads(output):
        file = Path(finding["filename"])
        if "examples" not in file.relative_to(SOURCE).parts:
            counter[room_of(file)] += 1
    return counter


def measure() -> tuple[Tally, dict[str, Tally]]:
    """Return the tally of the whole tree and that of each room, the largest room first."""
    rooms: dict[str, list[Path]] = collections.defaultdict(list)
    for file in source_files():
        rooms[room_of(file)].append(file)
    docstrings = docstring_findings()
    whole = Tally([])
    tallies = {}
    for room, room_files in rooms.items():
        tallies[room] = Tally(room_files, docstrings[room], count_phrases(room_files))
        whole.add_tally(tallies[room])
    by_size = sorted(tallies.items(), key=lambda item: -item[1].count["tokens"])
    return whole, dict(by_size)


def whole_figures(whole: Tally) -> dict[str, float]:
    """Return the figures that belong to no room: names used twice, and phrases of the pages."""
    figures = whole.figures()
    return {
        "twins": figures["twins"],
        "modules": figures["modules"],
        "english in pages": count_phrases(pages()),
    }


def current_ceilings() -> dict[str, dict[str, float]]:
    """Return the ceilings of each room, and those of the whole tree as `all`."""
    ceilings: dict[str, dict[str, float]] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    return ceilings


def is_above(column: str, figure: float, ceiling: float) -> bool:
    """Return whether a figure is on the wrong side of its ceiling, or floor."""
    return figure < ceiling if column in FLOORS else figure > ceiling


def violations(whole: Tally, rooms: dict[str, Tally]) -> list[str]:
    """Return one line for each figure that is above its ceiling."""
    ceilings = current_ceilings()
    lines = []
    for room, tally in rooms.items():
        figures = tally.figures()
        for column, ceiling in ceilings.get(room, GOALS).items():
            if is_above(column, figures[column], ceiling):
                lines.append(f"{room}: {column} is {figures[column]}, its ceiling {ceiling}")
    for column, ceiling in ceilings["all"].items():
        figure = whole_figures(whole)[column]
        if is_above(column, figure, ceiling):
            lines.append(f"all: {column} is {figure}, its ceiling {ceiling}")
    return lines


def lower_ceilings(whole: Tally, rooms: dict[str, Tally]) -> None:
    """Write the ceilings again, each as low as the tree allows and never below its goal."""
    ceilings = current_ceilings()
    lowered: dict[str, dict[str, float]] = {}
    for room in sorted(rooms):
        figures = rooms[room].figures()
        lowered[room] = {}
        for column, goal in GOALS.items():
            ceiling = ceilings.get(room, {}).get(column, figures[column])
            pick = max if column in FLOORS else min
            reached = pick(ceiling, figures[column])
            # Better than the goal is welcome, and not demanded.
            lowered[room][column] = (min if column in FLOORS else max)(reached, goal)
    lowered["all"] = {}
    for column, figure in whole_figures(whole).items():
        lowered["all"][column] = min(ceilings["all"].get(column, figure), figure)
    rows = [f'  "{room}": {json.dumps(values)}' for room, values in lowered.items()]
    CEILINGS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def print_worst(whole: Tally, number: int) -> None:
    """Print the densest files, the most frequent vague names and the twins."""
    dense = []
    for file in source_files():
        tally = Tally([file])
        if tally.count["statements"] > 20:
            dense.append((tally.figures()["tok/stmt"], file.relative_to(ROOT)))
    print("\ndensest files (tokens a statement):")
    for density, path in sorted(dense, reverse=True)[:number]:
        print(f"  {density:5.1f}  {path}")
    vague = ", ".join(f"{name} {uses}" for name, uses in whole.vague.most_common(number))
    print("most frequent vague names:", vague)
    twins = [f"{name} {uses}" for name, uses in whole.classes.most_common(number) if uses > 1]
    print("class names with twins:", ", ".join(twins))
    modules = [f"{name} {uses}" for name, uses in whole.modules.most_common(number) if uses > 2]
    print("module names used more than twice:", ", ".join(modules))


def main() -> int:
    """Print the table, and compare or lower the ceilings; return the exit code."""
    parser = argparse.ArgumentParser(prog="plain")
    parser.add_argument("--check", action="store_true", help="Fail if a ceiling is exceeded.")
    parser.add_argument("--lower", action="store_true", help="Write lower ceilings.")
    parser.add_argument("--worst", type=int, default=0, help="List this many files and names.")
    options = parser.parse_args()
    whole, rooms = measure()
    print(HEAD)
    print(whole.row("all"))
    for room, tally in rooms.items():
        print(tally.row(room))
    if options.worst:
        print_worst(whole, options.worst)
    if options.lower:
        lower_ceilings(whole, rooms)
    if not options.check:
        return 0
    lines = violations(whole, rooms)
    for line in lines:
        print(f"plain: {line}", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
