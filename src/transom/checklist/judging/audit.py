"""`waiver_audit.jsonl`: every waiver that was applied, with the finding as it was. Only ever
appended to.

{"time", "user", "run_id", "item_id", "checker_sha256", "reason", "approver", "expires", "pattern",
"match",
 "matched_text", "finding": {"origin", "id", "name", "value", "source_file", "line_number",
 "matched_content", "reason"}}
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from transom.canonical import canonical_json
from transom.checklist.judging.verdict import Verdict
from transom.errors import InputError

AUDIT_FILE: Final = "waiver_audit.jsonl"
_FINDING = {
    "origin",
    "id",
    "name",
    "value",
    "source_file",
    "line_number",
    "matched_content",
    "reason",
}


def audit_waivers(folder: Path, verdict: Verdict, run_id: str) -> None:
    """Append a line for every finding that was waived.

    They are written at once, whatever others append meanwhile.

    Raises:
        InputError: it cannot be written: then no waiver may count.
    """
    data = "".join(f"{canonical_json(row)}\n" for row in _rows(verdict, run_id)).encode(
        "utf-8", "backslashreplace"
    )
    # A run without waivers leaves no empty file behind.
    if not data:
        return
    path = folder / AUDIT_FILE
    try:
        # One unbuffered append: rows of parallel runs do not mix, and the record survives a crash.
        with path.open("ab", buffering=0) as file:
            file.write(data)
            os.fsync(file.fileno())
    except OSError as error:
        hint = "make room, or mend its permissions"
        raise InputError(
            f"cannot be written: {error.strerror}", place=str(path), hint=hint
        ) from error


def _rows(verdict: Verdict, run_id: str) -> Iterator[dict[str, Any]]:
    when = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": user_name(),
        "run_id": run_id,
    }
    identity = {"item_id": verdict.item_id, "checker_sha256": verdict.made_by.checker_sha256}
    for row in verdict.waived:
        use = row.waiver.model_dump(
            include={"reason", "expires", "pattern", "match", "matched_text"}
        )
        finding = row.model_dump(mode="json", include=_FINDING)
        yield {**when, **identity, **use, "approver": row.waiver.owner, "finding": finding}


def user_name() -> str | None:
    """Return who is logged in; None if the machine does not say."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return None
