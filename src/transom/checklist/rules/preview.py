"""What today's files would give as evidence for a reading, where reading them is cheap; for people, never a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transom.checklist.file_kinds import kind_by_name
from transom.checklist.item import ReadsAs
from transom.checklist.rules.extract import make_rules, read_with
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
        lines = file.read_text("utf-8", "replace").splitlines()
        made = [one for rule in _rules(told, domain, file.name) for one in read_with(rule, lines)[0]]
    except (OSError, ValueError) as error:
        yield f"{file.name}: would be an error: {_cut(str(error))}"
        return
    if made:
        first = min(made, key=lambda one: one["line_number"] or 0)
        more = f" and {len(made) - 1} more" if len(made) > 1 else ""
        yield f"{file.name}:{first['line_number']} {_cut(first['matched_content'])}{more}"


def _rules(told: ReadsAs, domain: Domain, name: str) -> list[dict[str, object]]:
    """The domain's rules for a file of this name and the items that are meant."""
    wanted = wanted_for(domain, [domain.item(key) for key in told.items], told.parameters)
    kind = kind_by_name(name, [one.model_dump(mode="json") for one in wanted.sources]) or wanted.sources[0].kind
    return [rule for rule in make_rules(domain, wanted) if rule["file"] == kind]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."


__all__ = ["evidence_of"]
