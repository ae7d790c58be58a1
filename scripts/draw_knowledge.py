"""Draws the tables of `docs/understands.md` from the shipped claims and formats, and the
table of measures in `docs/investigator.md` from the code.

python -m scripts.draw_knowledge            writes
python -m scripts.draw_knowledge --check    exit 1 if a page is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from transom.checklist.claims.claim_data import shipped_claims
from transom.formats.reports import shipped_formats
from transom.investigator.measures import MEASURES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = (DOCS / "understands.md", DOCS / "investigator.md")
_REGION = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)


_PROVENANCE = {
    "tool": "output of the tool",
    "file": "files of its users",
    "documentation": "documentation, not seen from the tool",
}


def claims() -> str:
    """Return a row for each claim: its title, and the sentences that are read at once."""
    rows = ["| Claim | Name | Sentences |", "|---|---|---|"]
    for name, claim in shipped_claims().claims.items():
        sentences = "; ".join(claim.says).replace("<", "&lt;").replace(">", "&gt;")
        rows.append(f"| {claim.title} | `{name}` | {sentences} |")
    return "\n".join(rows)


def formats() -> str:
    """Return a row for each report format: its name, its title, and from where it is known."""
    rows = ["| Format | Report | Known from |", "|---|---|---|"]
    for report_format in shipped_formats():
        known_from = _PROVENANCE[report_format.seen]
        rows.append(f"| `{report_format.name}` | {report_format.model.title} | {known_from} |")
    return "\n".join(rows)


def measures() -> str:
    """A row for each family of measures that a policy can name."""
    families: dict[str, list[str]] = {}
    for measure in sorted(MEASURES):
        family, _, name = measure.rpartition(".")
        families.setdefault(family, []).append(name)
    rows = ["| family | measures |", "|---|---|"]
    for family, names in families.items():
        rows.append(f"| `{family}` | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(rows)


_TABLES = {
    "claims": claims,
    "formats": formats,
    "measures": measures,
}


def drawn(text: str) -> str:
    """The page with today's tables."""
    return _REGION.sub(lambda found: f"{found[1]}\n{_TABLES[found[2]]()}\n\n{found[3]}", text)


def main() -> int:
    """Write the pages, or say whether one is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    is_old = False
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = drawn(old)
        is_old = is_old or old != new
        if not is_check:
            page.write_text(new, encoding="utf-8")
    return int(is_check and is_old)


if __name__ == "__main__":
    sys.exit(main())
