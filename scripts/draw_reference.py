"""Write the page of the library's public names from their docstrings.

python -m scripts.draw_reference            write docs/reference.md
python -m scripts.draw_reference --check    exit with 1 if the page is not that of the code
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

import transom

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"
HEAD = """\
# Python reference

Every public name of `transom` and of the packages below it that a program uses, with its signature
and what its docstring says. This page is written by `python -m scripts.draw_reference`. A name
that `transom` has itself stands there alone.
"""
PACKAGES = (
    "transom.llm",
    "transom.tools",
    "transom.testing",
    "transom.context",
    "transom.errors",
    "transom.server",
)
"""The packages whose names have an entry, beside `transom` itself."""
_SECTIONS = re.compile(r"^(Args|Attributes|Returns|Raises|Example|Source|Yields):\s*$")
_FIELD = re.compile(r"^(?:\*{0,2}[\w, `.]+): ")


def _signature(value: Any) -> str:
    # The signature of a pydantic model depends on the version of Python.
    if inspect.isclass(value) and issubclass(value, BaseModel):
        return ""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    # Annotations are texts, and shown with quotes; a default may be an object with its address.
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    # Those of named tuples are objects around their texts.
    text = re.sub(r"ForwardRef\('([^']*)'[^()]*\)", r"\1", text)
    text = re.sub(r"<[^=]* at 0x[0-9a-f]+>", "...", text)
    return re.sub(r"<([\w.]+)[^<>]*>", r"\1", text)


def _docstring(value: Any) -> list[str]:
    """Return a docstring as Markdown: its sections as headings in bold, its fields as a list."""
    lines: list[str] = []
    is_section = False
    for line in (inspect.getdoc(value) or "").splitlines():
        if match := _SECTIONS.match(line):
            is_section = True
            lines += ["", f"**{match[1]}**", ""]
        elif is_section and line.startswith("    ") and not line.startswith("     "):
            text = line.strip()
            # A field begins an entry; any other line goes on with the one before.
            name, colon, rest = text.partition(": ")
            if colon and _FIELD.match(text):
                lines.append(f"- `{name.strip('`')}`: {rest}")
            else:
                lines.append(text)
        elif is_section and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            is_section = is_section and not line.strip()
            lines.append(line)
    return lines


def _methods(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class documents, or a base without a page."""
    members = dict(vars(value))
    for base in value.__mro__[1:]:
        if base.__module__.startswith("transom.") and base.__name__ not in transom.__all__:
            members = {**vars(base), **members}
    for name, member in members.items():
        function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if not name.startswith("_") and inspect.getdoc(function) and _is_documented(function):
            yield name, function


def _is_documented(member: Any) -> bool:
    return inspect.isfunction(member) or isinstance(member, property)


def _parts(value: Any) -> str:
    """Return what an alias of types, or another value, stands for."""
    if get_origin(value) is Literal:
        return f"One of: {', '.join(f'`{part!r}`' for part in get_args(value))}."
    if get_origin(value) in (Union, UnionType):
        return f"One of: {', '.join(f'`{part.__name__}`' for part in get_args(value))}."
    return f"`{inspect.formatannotation(value)}`"


def entries() -> dict[str, list[str]]:
    """Return the names that have an entry, by package: each name once."""
    names = {"transom": [name for name in transom.__all__ if name != "__version__"]}
    values = [getattr(transom, name) for name in names["transom"]]
    for package in PACKAGES:
        module = import_module(package)
        names[package] = []
        for name in module.__all__:
            value = getattr(module, name)
            if not any(value is other for other in values):
                names[package].append(name)
                values.append(value)
    return names


def entry(package: str, name: str) -> list[str]:
    """Return the lines of a public name."""
    value: Any = getattr(import_module(package), name)
    lines = ["", f"{'##' if package == 'transom' else '###'} {name}", ""]
    if inspect.isclass(value) or inspect.isfunction(value):
        lines += ["```text", f"{name}{_signature(value)}", "```", ""]
        lines += _docstring(value)
    else:
        lines += [_parts(value)]
    if inspect.isclass(value):
        for method, member in _methods(value):
            call = "" if isinstance(member, property) else _signature(member)
            first = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
            lines += ["", f"**`{name}.{method}{call}`**", "", first]
    return lines


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD.rstrip("\n")]
    for package, names in entries().items():
        if package != "transom":
            lines += ["", f"## {package}", "", *_docstring(import_module(package))[:1]]
        for name in sorted(names, key=str.lower):
            lines += entry(package, name)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)) + "\n"


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return int(not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
