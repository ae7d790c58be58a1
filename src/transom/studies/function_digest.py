"""Digest of a Python function and of the values that it holds, to tell problems apart.

Equal source is not enough: a partial, a closure or an object that can be called has values beside
it, and two of them with one source are two problems. The digest is the same in every process, so
nothing in it depends on an address or on the order of a set.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import inspect
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

from transom.canonical import Json, digest

_PLAIN = (bool, int, float, complex, str, type(None), type(...), range)
"""Values whose `repr` says all."""
_MOST = 20_000  # values of one function, above which they are not compared
_DEEPEST = 60  # values within values
# Files of the methods that dataclasses and named tuples write.
_GENERATED = re.compile(r"<string>|namedtuple_.*")
# Members of a class that say nothing about what its objects do.
_NO_BEHAVIOUR = re.compile(
    r"__(module|doc|dict|weakref|qualname|annotations|dataclass_\w+|match_args|abstractmethods"
    r"|firstlineno|static_attributes|orig_bases|parameters|slots|hash|repr)__|_abc_impl"
)


class UnknownFunction(Exception):
    """The source of a function, or a value that it holds, cannot be compared between processes."""


def function_digest(function: Callable[..., object]) -> str:
    """Return a digest of the source of a function or callable object and of its values.

    Values are the arguments of partials, defaults, closures, attributes of objects, and the plain
    global values and functions of its own module that it names.

    Raises:
        UnknownFunction: the source or a value is unknown; the text says which.
    """
    description = _Description()
    # The function itself is always compared, also if its package is installed.
    return digest(description.of(function, is_outermost=True))


class _Description:
    """Describes values by what is equal in every process."""

    def __init__(self) -> None:
        self._path: list[int] = []
        self._count = 0

    def of(self, value: Any, *, is_outermost: bool = False) -> Json:
        """Return the description of a value."""
        if isinstance(value, _PLAIN) and not isinstance(value, Enum):
            return [type(value).__name__, repr(value)]
        if isinstance(value, bytes | bytearray):
            return [type(value).__name__, hashlib.sha256(value).hexdigest()]
        # A value that holds itself, as a recursive closure does.
        if id(value) in self._path:
            return ["again", self._path.index(id(value))]
        self._count += 1
        if self._count > _MOST or len(self._path) > _DEEPEST:
            raise UnknownFunction("it holds too many values to compare")
        self._path.append(id(value))
        try:
            return self._of_kind(value, is_outermost)
        finally:
            self._path.pop()

    def _of_kind(self, value: Any, is_outermost: bool) -> Json:
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if isinstance(value, functools.partial):
            return ["partial", self.of(value.func, is_outermost=is_outermost),
                    self.of(value.args), self.of(value.keywords)]  # fmt: skip
        if isinstance(value, types.MethodType):
            bound = self.of(value.__self__)
            return ["method", self.of(value.__func__, is_outermost=is_outermost), bound]
        if isinstance(value, types.FunctionType):
            return self._function(value, is_outermost)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, Enum):
            return ["enum", type(value).__qualname__, value.name]
        if isinstance(value, PurePath):
            return ["path", str(value)]
        if type(value) in (list, tuple):
            return [type(value).__name__, *map(self.of, value)]
        if type(value) in (set, frozenset):
            return [type(value).__name__, *sorted(map(self.of, value), key=digest)]
        if type(value) is dict:
            pairs: list[Json] = [[self.of(key), self.of(item)] for key, item in value.items()]
            return ["dict", *sorted(pairs, key=digest)]
        return self._object(value)

    def _function(self, function: types.FunctionType, is_outermost: bool) -> Json:
        code = function.__code__
        # One that was made by a call has values beside its name.
        is_named = not is_outermost and "<locals>" not in code.co_qualname
        if is_named and _is_installed(code.co_filename):
            return ["function", function.__module__, code.co_qualname]
        text = _source(function)
        parts: list[Json] = [text]
        if function.__name__ == "<lambda>":  # a line may have several
            parts.append(["column", *_columns(code)])
        defaults = [function.__defaults__, function.__kwdefaults__]
        if any(defaults):
            parts.append(["defaults", *map(self.of, defaults)])
        attributes = dict(function.__dict__)
        attributes.pop("__wrapped__", None)  # a closure has it
        if attributes:
            parts.append(["attributes", self.of(attributes)])
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                contents = cell.cell_contents
            except ValueError:  # it is not set yet
                continue
            parts.append(["closure", name, self.of(contents)])
        for name, value in _globals(function):
            parts.append(["global", name, self.of(value)])
        # A function without such values keeps the digest of earlier versions.
        return text if len(parts) == 1 else parts

    def _class(self, cls: type) -> Json:
        name: list[Json] = ["class", cls.__qualname__]
        if cls.__module__ in sys.builtin_module_names:
            return [*name, cls.__module__]
        module = sys.modules.get(cls.__module__)
        if _is_installed(getattr(module, "__file__", None) or ""):
            return [*name, cls.__module__]
        for field in cls.__dict__.get("__dataclass_fields__", {}).values():
            default = [self.of(field.default), self.of(field.default_factory)]
            name.append([field.name, str(field.type), field.init, *default])
        for member, value in sorted(cls.__dict__.items()):
            if not _NO_BEHAVIOUR.fullmatch(member):
                name += self._member(member, value)
        bases = []
        for base in cls.__bases__:
            if base is not object:
                bases.append(self.of(base))
        return [*name, ["bases", *bases]]

    def _member(self, member: str, value: Any) -> list[Json]:
        """Return the descriptions of what stands under a name in a class."""
        functions = [value]
        if isinstance(value, property):
            functions = [value.fget, value.fset]
        elif isinstance(value, staticmethod | classmethod):
            functions = [value.__func__]
        elif isinstance(value, functools.cached_property):
            functions = [value.func]
        elif isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
            functions = []  # a slot, whose value is the object's
        described: list[Json] = []
        for function in functions:
            code = getattr(function, "__code__", None)
            # The fields of its class say what a generated method does.
            if code is None or not _GENERATED.fullmatch(code.co_filename):
                described.append([member, self.of(function)])
        return described

    def _object(self, value: Any) -> Json:
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            has_owner = owner is not None and not isinstance(owner, types.ModuleType)
            return [
                "builtin",
                str(value.__module__),
                str(name),
                self.of(owner) if has_owner else "",
            ]
        # As pickle takes it apart: objects of C, such as arrays, say in this way what they hold.
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            parts = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except Exception as error:
            raise _unknown(value) from error
        if isinstance(parts, str):
            # Pickle would look it up by this name; a decorator's object wraps a function.
            wrapped = getattr(value, "__wrapped__", None)
            return ["named", parts, "" if wrapped is None else self.of(wrapped)]
        described: list[Json] = ["object", self.of(type(value))]
        for part in parts:
            # The elements of lists and mappings come as iterators.
            elements: Any = part
            if isinstance(part, Iterator):
                elements = list(part)
            described.append(self.of(elements))
        return described


def _unknown(value: object) -> UnknownFunction:
    return UnknownFunction(f"it holds a {type(value).__name__}, which cannot be compared")


def _source(function: types.FunctionType) -> str:
    """Return the source of a function itself, also if it says that it wraps another one."""
    try:
        return inspect.getsource(function.__code__)
    except (OSError, TypeError) as error:
        raise UnknownFunction(f"the source of {function.__name__} is unknown") from error


def _columns(code: types.CodeType) -> tuple[int, int]:
    """Return where the body of a lambda begins: lines below its first one, and the column."""
    places = []
    for line, end_line, column, end_column in code.co_positions():
        # Instructions that no text stands for have an empty place.
        if line is not None and column is not None and (line, column) != (end_line, end_column):
            places.append((line - code.co_firstlineno, column))
    return min(places, default=(0, 0))


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the plain global values that a function names, and its module's own functions."""
    for name in sorted(_names(function.__code__)):
        value = function.__globals__.get(name)
        is_own = isinstance(value, int | float | complex | str)
        if isinstance(value, types.FunctionType | functools.partial):
            inner = value.func if isinstance(value, functools.partial) else value
            is_own = getattr(inner, "__module__", None) == function.__module__
        if is_own:
            yield name, value


def _names(code: types.CodeType) -> set[str]:
    """Return the global names in a function and in the functions within it."""
    names = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package, which has a version."""
    if file.startswith("<frozen"):
        return True
    folders = {"site-packages", "dist-packages", *Path(sysconfig.get_path("stdlib")).parts[-1:]}
    return not folders.isdisjoint(Path(file).parts)
