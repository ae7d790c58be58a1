"""What each file of a folder is taken for, and what it adds to a verdict.

    python benchmarks/field.py FOLDER            # all files below the folder, one by one
    python benchmarks/field.py FOLDER --as-of 2026-09-20

Each file is read alone, as a file of a feature, by its content. The table names the reader, the
facts, and for each criterion that rests on such a file what it would be by this file alone; a file
that nobody reads shows the reason. Reports are never copied: the folder may hold public samples
of tools. Their dates are old, so freshness is not judged unless `--as-of` is given.
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from transom.formats.measurements import Reading
from transom.investigator.features import Feature
from transom.investigator.judging import Judge
from transom.investigator.ledger import Ledger
from transom.investigator.policy import Policy, load_policy
from transom.investigator.reading.analysis import read_analysis_file
from transom.investigator.reading.documents import read_document
from transom.investigator.reading.issues import read_changelog_file, read_issue_file
from transom.investigator.reading.recognition import recognise
from transom.investigator.subject import RequiredSubject
from transom.investigator.verdict_caps import find_caps

_MOST_FACTS = 6
_FRESH = timedelta(days=30)
# No approval of a sample has expired by then.
_LONG_AGO = date(1990, 1, 1)
_FEATURE = Feature("field", "", "field", "", "", "")


class Row(NamedTuple):
    """One file: what read it, what it says, and what it adds."""

    file: str
    reader: str
    facts: str
    verdict: str


def rows_of(folder: Path, policy: Policy, as_of: date | None) -> list[Row]:
    """Return a row for each file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [_row(path, folder, policy, as_of) for path in paths]


def _row(path: Path, folder: Path, policy: Policy, as_of: date | None) -> Row:
    name = path.relative_to(folder).as_posix()
    recognition = recognise(PurePosixPath(name), path.read_bytes)
    if recognition.kind is None:
        verdict = "caps READY" if recognition.could_matter else "no matter"
        return Row(name, "-", recognition.reason, verdict)
    if recognition.kind == "document":
        reading = read_document(path, name, path.name)
    elif recognition.kind == "jira":
        read = read_issue_file if recognition.name == "jira" else read_changelog_file
        reading = read(path.read_bytes(), name)
    else:
        reading = read_analysis_file(path, name, recognition.name)
    facts = [
        f"{fact.measure}={fact.value}{fact.unit}"
        for fact in reading.observations
        if fact.nature == "measured"
    ]
    remarks = [f"{remark.kind}: {remark.quote or remark.text}"[:80] for remark in reading.remarks]
    told = ", ".join(dict.fromkeys(facts[:_MOST_FACTS])) or reading.why or "no fact"
    if remarks:
        told += f" | {len(remarks)} remarks, first {remarks[0]}"
    return Row(
        name,
        f"{recognition.name}: {recognition.reason}",
        told,
        _verdict(reading, policy, path, as_of),
    )


def _verdict(reading: Reading, policy: Policy, path: Path, as_of: date | None) -> str:
    """Return what the criteria that rest on such a file are by it alone."""
    wanted = RequiredSubject(_FEATURE, as_of or _LONG_AGO, max_age=_FRESH if as_of else None)
    judge = Judge([reading], Ledger(lambda _: path.read_bytes()), wanted)
    results = [
        judge.judge(criterion)
        for criterion in policy.criteria
        if criterion.source == reading.name and criterion.document is None
    ]
    states = [
        f"{result.id} {result.status}"
        + (f" ({result.why[:70]})" if result.status != "pass" else "")
        for result in results
    ]
    states += [f"cap: {cap.text[:70]}" for cap in find_caps([reading], [])]
    return "; ".join(states) or "-"


def main() -> None:
    """Print the table of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--as-of", type=date.fromisoformat, default=None)
    options = parser.parse_args()
    for row in rows_of(options.folder, load_policy(), options.as_of):
        print(
            f"{row.file}\n    reader   {row.reader}\n    facts    {row.facts}\n    verdict  {row.verdict}"
        )


if __name__ == "__main__":
    main()
