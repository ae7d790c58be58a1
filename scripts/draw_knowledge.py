"""Draws the table of `docs/understands.md` from the shipped knowledge.

python -m scripts.draw_knowledge            writes
python -m scripts.draw_knowledge --check    exit 1 where the page is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from transom.checklist.rules import load_knowledge
from transom.checklist.rules.plan import item_name

PAGE = Path(__file__).resolve().parents[1] / "docs" / "understands.md"
_REGION = re.compile(r"(<!-- drawn: knowledge -->\n).*?(<!-- end: knowledge -->)", re.DOTALL)


def table() -> str:
    """A row for each domain."""
    rows = ["| domain | answers | items | files |", "|---|---|---|---|"]
    for domain in load_knowledge().domains:
        items = ", ".join(dict.fromkeys(item_name(item, {}) for item in domain.items))
        files = ", ".join(
            dict.fromkeys(f"`{glob}`" for source in domain.sources for glob in source.files)
        )
        rows.append(f"| `{domain.domain}` | {domain.question} | {items} | {files} |")
    return "\n".join(rows)


def drawn(text: str) -> str:
    """The page with today's table."""
    return _REGION.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", text)


def main() -> int:
    """Write the page, or say whether it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    old = PAGE.read_text(encoding="utf-8")
    new = drawn(old)
    if parser.parse_args().check:
        return int(old != new)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
