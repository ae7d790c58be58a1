"""Attributes that are found out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  it is used like a property
    """`functools.cached_property` without the lock that it has in Python 3.11, which costs more than what it guards.

    For what follows from values that never change: two threads may find it out twice, and find the same.
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
        found = thing.__dict__[self._name] = self._find(thing)
        return found
