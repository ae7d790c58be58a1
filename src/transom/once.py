"""Attributes that are computed at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  it is used like a property
    """A property that keeps its first value, like `functools.cached_property`.

    It has no lock; that of Python 3.11's cached_property costs more than most computations.

    Use it for functions of immutable values: two threads may compute it twice, with equal results.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        # Read from the class itself, as documentation tools do.
        if instance is None:
            return self
        value = self._compute(instance)
        # Works for frozen objects too, and creates no `__dict__`.
        object.__setattr__(instance, self._name, value)
        return value
