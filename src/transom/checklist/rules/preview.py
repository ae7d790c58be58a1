"""What today's files would give as evidence for a reading, where reading them is cheap; for people, never a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transom.checklist.item import ReadsAs
from transom.checklist.rules.extract import reader_of
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import wanted_for

_CHEAP: Final = 1024 * 1024  # bytes; nobody waits for a preview of a longer file
_CUT: Final = 100
_NOTHING: Final = "nothing in today's files"


def evidence_of(told: ReadsAs, knowledge: Knowledge, files: Sequence[Path]) -> str:
    """The first line that each file would give, or why there is none.

    Args:
        told: a reading without slips.
        knowledge: that it is of.
        files: the item's input files that exist.
    """
    domain = knowledge.domain(told.domain)
    if domain is None or not files:
        return "no input file is there yet"
    return "; ".join(line for file in files for line in _of_file(told, domain, file)) or _NOTHING


def _of_file(told: ReadsAs, domain: Domain, file: Path) -> Iterator[str]:
    try:
        if file.stat().st_size > _CHEAP or file.suffix == ".gz":
            yield f"{file.name} is not looked at before its check"
            return
        wanted = wanted_for(domain, [domain.item(key) for key in told.items], told.parameters)
        reader = reader_of(domain, wanted, file.name)
        made = [*reader.feed(file.read_text("utf-8", "replace")), *reader.finish()]
    except (OSError, ValueError) as error:
        yield f"{file.name}: would be an error: {_cut(str(error))}"
        return
    if made:
        first = min(made, key=lambda one: one["line_number"] or 0)
        more = f" and {len(made) - 1} more" if len(made) > 1 else ""
        yield f"{file.name}:{first['line_number']} {_cut(first['matched_content'])}{more}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."


__all__ = ["evidence_of"]
