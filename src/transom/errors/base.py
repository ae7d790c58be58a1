"""The base class of all errors, and the general errors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping


class TransomError(Exception):
    """Base class of every error that Transom raises on purpose.

    Args:
        problem: the problem, a clause without a full stop.
        place: its position: `file`, `file:line`, or a name that the user knows; printed first.
        hint: the next step, an instruction.
        earlier: `where`, the earlier name of `place`, is accepted in 0.2 for the last time.

    Attributes:
        next_step: how to continue the run that the error left open, printed last; "" if it left
            no run open.
    """

    # Exit codes of commands: 0 done or PASS, 1 the answer is no, 2 an error, 3 waiting.
    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        place: str | None = None,
        hint: str | None = None,
        **earlier: str | None,
    ) -> None:
        if earlier:
            place = _renamed_place(earlier)
        self.problem = problem
        self.place = place
        self.hint = hint
        self.next_step = ""
        super().__init__(problem)

    def message(self) -> str:
        """Return the position, the problem and the hint as one text."""
        text = f"{self.place}: {self.problem}" if self.place else self.problem
        if self.hint:
            text = f"{text}; {self.hint}"
        return text

    def __str__(self) -> str:
        return f"{self.message()}; {self.next_step}" if self.next_step else self.message()


def _renamed_place(earlier: dict[str, str | None]) -> str | None:
    """Return the place of an error that was given by its earlier name."""
    # An argument of no such name is refused as Python refuses it.
    if unknown := earlier.keys() - {"where"}:
        raise TypeError(f"an error takes no argument named {sorted(unknown)[0]!r}")
    warnings.warn("`where` of an error is called `place` now", DeprecationWarning, stacklevel=3)
    return earlier["where"]


class InputError(TransomError):
    """An input of the user is wrong."""


class NotFoundError(InputError):
    """A name that the user gave, such as the id of a run, belongs to nothing."""


class SettingsError(InputError):
    """A settings file or a TRANSOM_ environment variable is wrong."""


class VisibilityError(TransomError):
    """A role got a block that it does not declare in `sees`."""


class EgressError(TransomError):
    """A block with egress "local" would have reached a remote provider."""


class WindowOverflow(TransomError):
    """A window exceeds its budget even after all optional blocks were dropped.

    Attributes:
        needed: tokens of the remaining blocks.
        limit: tokens of the budget.
        shares: tokens by part of the window.
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
    """Memory cannot be reached; a run can go on without it."""
