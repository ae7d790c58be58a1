"""A person's approval of a checker: kept beside it, and void as soon as a file that it is for
has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from transom.checklist.atoms import Shape
from transom.errors import InputError
from transom.formats.yaml_files import read_bytes

APPROVAL = "approval.json"
_LONGEST = 200


class Approval(Shape):
    """`approval.json`.

    Attributes:
        by: who approved.
        at: when, UTC, ISO 8601.
        files: name -> SHA-256 of what was approved: the atoms, `checker.yaml`, the ItemSpec, and of
            `build.json` what a verdict tells of it.
    """

    schema_: Literal["transom.approval/1"] = Field(default="transom.approval/1", alias="schema")
    by: str = Field(min_length=1, max_length=_LONGEST)
    at: str
    files: dict[str, str]


@dataclass(frozen=True)
class SignOff:
    """Whether a checker is approved as it lies there today: by whom, else why not; `void` where
    an approval was.
    """

    by: str | None = None
    why_not: str = "nobody approved it"
    void: bool = False


def approve(digests: Mapping[str, str], by: str, at: str) -> Approval:
    """Contents of a checker's `approval.json`.

    Raises:
        InputError: `by` is no name.
    """
    name = " ".join(by.split())
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise InputError(f"{by[:40]!r} is no name", where="--by", hint="say who approves")
    return Approval(by=name, at=at, files=dict(digests))


def sign_off(folder: Path, digests: Mapping[str, str]) -> SignOff:
    """Whether the approval in a checker's folder holds for files of these digests."""
    path = folder / APPROVAL
    if not path.exists():
        return SignOff()
    try:
        approval = Approval.model_validate_json(read_bytes(path))
    except (ValidationError, InputError):
        return SignOff(why_not=f"its {APPROVAL} cannot be read", void=True)
    changed = sorted(
        name
        for name in {*approval.files, *digests}
        if approval.files.get(name) != digests.get(name)
    )
    if changed:
        return SignOff(
            why_not=f"{', '.join(changed)} changed since {approval.by} approved it", void=True
        )
    return SignOff(by=approval.by, why_not="")
