"""JSON values that never change, down to the last list; equal to what they are made of, and written like it."""

from __future__ import annotations

from typing import Any, NoReturn, Self


def _never(*_: object, **__: object) -> NoReturn:
    raise TypeError("this never changes; dict(...) and list(...) make a copy that does")


class _FrozenDict(dict[str, Any]):
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _never

    def __hash__(self) -> int:  # type: ignore[override]  # a dict may change, and has none
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Any]]]:
        return type(self), (dict(self),)


class _FrozenList(list[Any]):
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _never
    pop = remove = reverse = sort = _never

    def __hash__(self) -> int:  # type: ignore[override]  # as above
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Self], tuple[list[Any]]]:
        return type(self), (list(self),)


def frozen(value: Any) -> Any:
    """The same value; whoever tries to change anything in it is told TypeError."""
    if isinstance(value, dict):
        return _FrozenDict({name: frozen(inner) for name, inner in value.items()})
    return _FrozenList([frozen(inner) for inner in value]) if isinstance(value, list) else value
