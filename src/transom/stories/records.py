"""What the stages of a story leave: small records, each written before the next act begins."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Baseline(_Record):
    """Where a story begins: recorded before its worktree is made."""

    base: str
    branch: str
    target: str
    at: str


class Said(_Record):
    """What a seat answered. `kept`: the branch that keeps what it changed and must not have."""

    reply: str
    at: str
    kept: str = ""


class Begun(_Record):
    """Where an attempt begins, and what lay outside the worktree then."""

    start: str
    outside: dict[str, str]


class Worked(_Record):
    """What an attempt left: its commit, and what it did where it must not."""

    reply: str
    at: str
    head: str
    strayed: str = ""
    outside: tuple[str, ...] = ()


class Merged(_Record):
    """The commit that brought a story's work into the target."""

    commit: str
    problem: str = ""
