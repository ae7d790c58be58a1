"""Attributes that are computed at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  it is used like a property
    """`functools.cached_property` without its lock of Python 3.11, which costs more than the
    computation.

    Use it for functions of immutable values: two threads may compute it twice, with equal results.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, thing: None, owner: type) -> Self: ...

    @overload
    def __get__(self, thing: object, owner: type) -> T: ...

    def __get__(self, thing: object | None, owner: type) -> Self | T:
        if thing is None:
            return self
        found = self._find(thing)
        # works for frozen objects, and avoids creating a `__dict__`
        object.__setattr__(thing, self._name, found)
        return found
