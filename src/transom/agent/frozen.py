"""JSON values that never change, down to the last list; equal to what they are made of, and written like it."""

from __future__ import annotations

from typing import Any, NoReturn


def _never(*_: object, **__: object) -> NoReturn:
    raise TypeError("this never changes; dict(...) and list(...) make a copy that does")


class _FrozenDict(dict[str, Any]):
    __init__ = __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _never

    def __hash__(self) -> int:  # type: ignore[override]  # a dict may change, and has none
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return _dict_of, (dict(self),)


class _FrozenList(list[Any]):
    __init__ = __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _never
    pop = remove = reverse = sort = _never

    def __hash__(self) -> int:  # type: ignore[override]  # as above
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, tuple[list[Any]]]:
        return _list_of, (list(self),)


def _dict_of(values: dict[str, Any]) -> _FrozenDict:
    made: _FrozenDict = _FrozenDict.__new__(_FrozenDict)  # not by its __init__, which could fill it anew at any time
    dict.update(made, values)
    return made


def _list_of(values: list[Any]) -> _FrozenList:
    made: _FrozenList = _FrozenList.__new__(_FrozenList)
    list.extend(made, values)
    return made


def frozen(value: Any) -> Any:
    """The same value; whoever tries to change anything in it is told TypeError."""
    if isinstance(value, dict):
        return _dict_of({name: frozen(inner) for name, inner in value.items()})
    return _list_of([frozen(inner) for inner in value]) if isinstance(value, list) else value
