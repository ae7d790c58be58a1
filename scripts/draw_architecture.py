"""Draw the generated parts of the pages on the architecture from the code itself.

    python -m scripts.draw_architecture            write them
    python -m scripts.draw_architecture --check    exit with 1 if a page is out of date

A function below returns the text between `<!-- drawn: NAME -->` and `<!-- end: NAME -->`:

    layers     the import contracts of pyproject.toml, the rooms drawn as a stack
    contracts  what the other contracts forbid
    rooms      the first sentences of each room's docstring
    journal    the records of a run's journal (docstring of `runs/journal.py`)
    resume     the table of decisions (docstring of `runs/artifact.py`)
    views      which role sees which blocks (`checklist/writing/views.py`)
    build      where each node of a build may lead (`checklist/building/routes.py`)
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transom.checklist.building.routes import ROUTES
from transom.checklist.writing.earlier import EARLIER
from transom.checklist.writing.views import VIEWS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "docs" / name
    for name in (
        "architecture.md",
        "how-a-run-survives.md",
        "what-a-call-sees.md",
        "how-a-checker-is-built.md",
    )
]
PACKAGE = ROOT / "src" / "transom"

_REGION = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- end: \2 -->)", re.S)


def contracts() -> list[dict[str, Any]]:
    """The import contracts, as pyproject.toml has them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return found


def layers() -> list[list[str]]:
    """The stack of rooms, from the front door down; a line is a list of rooms side by side."""
    stack = next(contract for contract in contracts() if contract["id"] == "rooms")
    return [[name.strip(" ()") for name in re.split(r"[|:]", line)] for line in stack["layers"]]


def rooms() -> list[Path]:
    """The `__init__.py` or module of each room that exists, from the front door down."""
    names = [name for line in layers() for name in line]
    candidates = [
        path for name in names for path in (PACKAGE / name / "__init__.py", PACKAGE / f"{name}.py")
    ]
    return [path for path in candidates if path.is_file()]


def room_name(path: Path) -> str:
    """`transom.NAME` without the package's name."""
    return path.parent.name if path.name == "__init__.py" else path.stem


def draw_layers() -> str:
    """The stack of rooms; what is not built yet stands in parentheses."""
    built = {room_name(path) for path in rooms()}
    lines = [
        " | ".join(name if name in built else f"({name})" for name in line) for line in layers()
    ]
    return _text("\n".join(lines))


def draw_contracts() -> str:
    """The names of the other contracts."""
    return "".join(
        f"- {contract['name']}.\n" for contract in contracts() if contract["id"] != "rooms"
    )


def draw_rooms() -> str:
    """Return a table of the rooms, each in its own words."""
    rows = ["| room | in its own words |", "|---|---|"]
    for path in rooms():
        summary = " ".join(_docstring(path).split("\n\n")[0].split())
        rows.append(f"| `{room_name(path)}` | {summary} |")
    return "\n".join(rows) + "\n"


def draw_journal() -> str:
    """The kinds of records."""
    return _text(_indented(PACKAGE / "runs" / "journal.py"))


def draw_resume() -> str:
    """When a stage runs again."""
    docstring = _docstring(PACKAGE / "runs" / "artifact.py")
    return _text(docstring.split("\n\n", 1)[1])


def draw_build() -> str:
    """The table of the build flow."""
    width = max(map(len, ROUTES))
    return _text(
        "\n".join(
            f"{name:<{width}}  > {', '.join(route.targets)}" for name, route in ROUTES.items()
        )
    )


def draw_views() -> str:
    """A table of roles and their blocks."""
    head = (
        "role",
        "blocks of its prompt (`checklist/prompts/`), as sent",
        "blocks that differ from run to run",
        "answers in",
    )
    rows = [f"| {' | '.join(head)} |", "|---|---|---|---|"]
    for role, view in VIEWS.items():
        ours = ", ".join(
            f"`{block}`" for block in dict.fromkeys(prompt.block for prompt in view.prompt)
        )
        given = ", ".join(f"`{block}`" for block in view.dynamic)
        rows.append(
            f"| `{role}` | {ours} | {given} | {', '.join(f'`<{tag}>`' for tag in view.tags)} |"
        )
    return "\n".join(rows) + "\n"


def draw_excerpts() -> str:
    """A table of rounds and what each sees of the earlier ones."""
    rows = ["| role | block | of | without |", "|---|---|---|---|"]
    for role, excerpts in EARLIER.items():
        for each in excerpts:
            rows.append(f"| `{role}` | `{each.block}` | `{each.of}` | {', '.join(each.without)} |")
    return "\n".join(rows) + "\n"


DRAWINGS: Mapping[str, Callable[[], str]] = {
    "layers": draw_layers,
    "contracts": draw_contracts,
    "rooms": draw_rooms,
    "journal": draw_journal,
    "resume": draw_resume,
    "views": draw_views,
    "excerpts": draw_excerpts,
    "build": draw_build,
}


def drawn(page: str) -> str:
    """The page with every drawing made anew.

    Raises:
        KeyError: the page asks for a drawing that nobody makes.
    """
    return _REGION.sub(lambda match: f"{match[1]}\n{DRAWINGS[match[2]]()}\n{match[3]}", page)


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _indented(path: Path) -> str:
    lines = [line for line in _docstring(path).split("\n") if line.startswith("    ")]
    return "\n".join(line[4:] for line in lines)


def _text(body: str) -> str:
    return f"```text\n{body}\n```\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or with `--check` only report those that differ; return the exit code."""
    parser = argparse.ArgumentParser(prog="draw_architecture")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    code = 0
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        wanted = drawn(page)
        if wanted == page:
            continue
        if check:
            sys.stdout.write(f"{path.relative_to(ROOT)} is out of date; run: make generated\n")
            code = 1
        else:
            path.write_text(wanted, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
