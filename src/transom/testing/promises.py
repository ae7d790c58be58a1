"""Promises of an interface, each tried by a function of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Subject = TypeVar("Subject")


async def check_promises(
    promises: Sequence[Callable[[Subject], Awaitable[None]]], subject: Subject
) -> None:
    """Try all promises on a subject, one after another.

    Args:
        promises: functions that raise if a promise does not hold. Their names say what is promised.
        subject: what they are tried on.

    Raises:
        AssertionError: names each promise that does not hold, with the reason.
    """
    failures: list[str] = []
    for promise in promises:
        # Each error is a finding: a person wants to see all of them at once.
        try:
            await promise(subject)
        except Exception as error:  # noqa: BLE001  code of the user's, which may raise anything
            name = getattr(promise, "__name__", "promise").strip("_").replace("_", " ")
            failures.append(f"{name}: {type(error).__name__}: {error}")
    if failures:
        raise AssertionError("\n".join(failures))
