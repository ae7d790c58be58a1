"""Python blocks of the documents, from the folder that TRANSOM_DATA names."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_OPENS = re.compile(r"(?:for|with|if|else|class|def|async def|while|try|except)\b.*:\s*(?:#.*)?$")
_CLASS = re.compile(r"class (\w+)")

FOLDER = Path(os.environ.get("TRANSOM_DATA", "/nonexistent")) / "seeds"
"""Read when this module is imported: tests run without the variables of whoever runs them."""

IMPORTS = {
    "optimization_engine.context.runner_integration": "transom.compat.ace",
    "optimization_engine.context": "transom.compat.ace",
}


def blocks(document: str) -> list[str]:
    """The Python blocks of a document, in order; its import lines are ours."""
    (path,) = FOLDER.glob(f"{document}_*.txt")
    found = []
    for text in _BLOCK.findall(path.read_text("utf-8")):
        for old, new in IMPORTS.items():
            text = text.replace(f"from {old} import", f"from {new} import")
        found.append(indented(text))
    return found


def indented(text: str) -> str:
    """Indent a block that lost its indentation when the document was copied."""
    try:
        ast.parse(text)
    except IndentationError:
        pass
    except SyntaxError:
        return text  # no program
    else:
        return text
    lines: list[str] = []
    level, opened = 0, False
    classes: set[str] = set()
    brackets = 0
    for line in text.splitlines():
        stripped = line.strip()
        if brackets == 0 and not opened and level:
            named = any(re.search(rf"\b{name}\(", stripped) for name in classes)
            if not stripped or stripped.startswith("#") or named:
                level = 0
            elif stripped.startswith(("def ", "async def ")):
                level = 1
        lines.append("    " * (level + (1 if brackets else 0)) + stripped)
        brackets += sum(map(stripped.count, "([{")) - sum(map(stripped.count, ")]}"))
        opened = brackets == 0 and bool(_OPENS.match(stripped))
        if opened:
            level += 1
            if match := _CLASS.match(stripped):
                classes.add(match[1])
    return "\n".join(lines) + "\n"
