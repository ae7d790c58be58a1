"""The root of the error tree, and what may be wrong whatever is done."""

from __future__ import annotations

from collections.abc import Mapping


class TransomError(Exception):
    """Root of every error that Transom raises on purpose.

    Args:
        what: what is wrong, one clause, no trailing full stop.
        where: `file`, `file:line`, or a name that a person knows; printed first.
        hint: what to do about it.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text


class InputError(TransomError):
    """What a person gave is wrong."""


class SettingsError(InputError):
    """A settings file or a TRANSOM_ environment variable is wrong."""


class VisibilityError(TransomError):
    """A role was given a block that it does not declare in `sees`."""


class EgressError(TransomError):
    """A block with egress "local" was about to reach a remote provider."""


class WindowOverflow(TransomError):
    """A window does not fit its budget even after everything droppable was dropped.

    Attributes:
        needed: tokens that the kept blocks take.
        limit: tokens that there is room for.
        shares: what each part of the window takes of those.
    """

    def __init__(
        self,
        what: str,
        *,
        needed: int,
        limit: int,
        shares: Mapping[str, int] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, hint=hint)
        self.needed = needed
        self.limit = limit
        self.shares = dict(shares or {})


class StoreError(TransomError):
    """The database cannot be opened, read or written."""


class MemoryUnavailable(TransomError):
    """Memory cannot be reached. Whoever asked can go on without it."""
