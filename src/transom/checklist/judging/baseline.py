"""`--baseline`: what of a verdict is new against an earlier result of the same item.

A finding is known by its item, what it is, its file and the text of its line; lines move from day
to day. Of equal findings as many are known as there were. What was waived before and is not any
more is new.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from transom.checklist.judging.verdict import Counted, Verdict, Verdicts
from transom.checklist.judging.verdict_rows import Compared, Violation
from transom.errors import InputError
from transom.formats.yaml_files import read_bytes

_LARGEST = 1 << 30


class VerdictBaseline:
    """An earlier result: `transom.check/1` or `transom.checks/1`, as `--report json:FILE` writes
    it.

    Attributes:
        statuses: for each item, what its verdict counted as, once for each of its checks.

    Raises:
        InputError: the file cannot be read as one.
    """

    def __init__(self, path: Path) -> None:
        data = read_bytes(path, _LARGEST)
        is_collection = b'"transom.checks/1"' in data[:200]
        try:
            document = (Verdicts if is_collection else Verdict).model_validate_json(data)
        except ValidationError as error:
            hint = "write one with --report json:FILE"
            raise InputError("is no result of transom check", place=str(path), hint=hint) from error
        checks = document.checks if isinstance(document, Verdicts) else (document,)
        self._accepted = dict[str, Counter[tuple[object, ...]]]()
        self.statuses = dict[str, list[Counted]]()
        for check in checks:
            entries = (*check.missing_items, *check.extra_items, *check.known_items)
            self._accepted.setdefault(check.item_id, Counter()).update(map(_identity, entries))
            self.statuses.setdefault(check.item_id, []).append(check.counted_as)

    def compare(self, verdict: Verdict, *, fail_on_unused: bool = False) -> Verdict:
        """Return the verdict with the violations that are not new among `known_items`.

        Unused waivers may count.
        """
        # A count, not a set: of three equal findings two may be known and one new.
        remaining = Counter(self._accepted.get(verdict.item_id, ()))
        known_items: list[Violation] = []

        def is_new(violation: Violation) -> bool:
            was = remaining[_identity(violation)] > 0
            remaining[_identity(violation)] -= was
            known_items.extend([violation] if was else [])
            return not was

        lists = {}
        for name in ("missing_items", "extra_items"):
            lists[name] = tuple(filter(is_new, getattr(verdict, name)))
        new = sum(map(len, lists.values())) + (len(verdict.unused_waivers) if fail_on_unused else 0)
        compared = Compared(
            new=new, known=len(known_items), gone=0 if verdict.errors else remaining.total()
        )
        return verdict.model_copy(
            update={**lists, "known_items": tuple(known_items), "baseline": compared}
        )


def _identity(violation: Violation) -> tuple[object, ...]:
    return (
        violation.id,
        violation.name,
        violation.value,
        violation.source_file,
        violation.matched_content,
    )
