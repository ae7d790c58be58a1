"""Evidence that today's files would give for a reading, where reading them is cheap; for people,
never a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transom.checklist.item import ReadsAs
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import read_text
from transom.errors import InputError
from transom.formats.text_files import TextFile, TooLarge

_CHEAP: Final = 1024 * 1024  # bytes; nobody waits for a preview of a longer file
_CUT: Final = 100
_NOTHING: Final = "nothing in today's files"


def evidence_of(told: ReadsAs, knowledge: Knowledge, files: Sequence[Path]) -> str:
    """Return the first line that each file gives for a reading, or the reason why none does."""
    domain = knowledge.domain(told.domain)
    if domain is None or not files:
        return "no input file is there yet"
    return "; ".join(line for file in files for line in _of_file(told, domain, file)) or _NOTHING


def _of_file(told: ReadsAs, domain: Domain, file: Path) -> Iterator[str]:
    try:
        # The limit holds for the text: a small compressed file may hold a long one.
        text = TextFile(file, limit=_CHEAP).whole()
    except TooLarge:
        yield f"{file.name} is not looked at before its check"
        return
    except InputError as error:
        yield f"{file.name}: would be an error: {_cut(error.problem)}"
        return
    try:
        items = [domain.item(key) for key in told.items]
        made = [entry for entry, _ in read_text(domain, items, file.name, text, told.parameters)]
    except ValueError as error:
        yield f"{file.name}: would be an error: {_cut(str(error))}"
        return
    if made:
        more = f" and {len(made) - 1} more" if len(made) > 1 else ""
        yield f"{file.name}:{made[0]['line_number']} {_cut(str(made[0]['matched_content']))}{more}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."
