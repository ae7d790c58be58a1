"""What the last round sees of the earlier ones: every name it must not miss, then as much text as there is room for."""

from __future__ import annotations

from transom.checklist.spec.document import parse_section1, parse_section2, parse_section3

SUMMARY_TOKENS = 2_500
_BYTES_PER_TOKEN = 3


def summarise(section1: str, section2: str, section3: str, *, tokens: int = SUMMARY_TOKENS) -> str:
    """Field names, item ids and names, waiver ids, then the sections' text, each cut at a line's end.

    Args:
        section1, section2, section3: Markdown of the sections.
        tokens: room for the text; the names are never cut.
    """
    parsing, check = parse_section1(section1), parse_section2(section2)
    waiver = parse_section3(section3, known=check.item_ids())
    names = [
        "Fields: " + (", ".join(parsing.dotted_fields()) or "none"),
        f"Capability type: {check.capability_type if check.capability_type else 'not stated'}",
        "Validation items: " + ("; ".join(f"{item.id} {item.name}" for item in check.items) or "none"),
        "Waiver scenarios: "
        + ("; ".join(f"{s.id} {s.name} ({', '.join(s.items)})" for s in waiver.scenarios) or "none"),
    ]
    share = tokens * _BYTES_PER_TOKEN // 3
    texts = [_cut(text, share) for text in (section1, section2, section3)]
    return "\n".join(names) + "\n\n" + "\n\n".join(texts)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = text[:most].rsplit("\n", 1)[0]
    return f"{kept}\n(the remaining {len(text) - len(kept)} characters are left out)"
