"""Code that changes what the functions of a source file return, while they do all they did.

A test that passes with a lower and with a higher value checks no value. Only the outermost call is
changed: a test that calls a function which calls another changed one would else see a truth value
that was turned round twice.
"""

from __future__ import annotations

from typing import Literal

ValueKind = Literal["raise-at-return", "lower", "higher", "inert"]
"""The result that comes out: none, since the function fails when it returns a plain value; a value
that is lower or higher than the function's own; or one that stands for nothing.
"""

INERT = """class {name}:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self
    def __call__(self, *arguments, **options):
        return self
    def __bool__(self):
        return False
    def __len__(self):
        return 0
    def __iter__(self):
        return iter(())
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return None
    def _refuse(self, *others):
        return False
    def _stay(self, *others):
        return self
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __getitem__ = _stay
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __neg__ = __abs__ = __round__ = _stay
    __hash__ = object.__hash__
"""
"""An object that is equal to nothing, and on which nearly everything can be done. A test that
checks nothing of a result passes with it."""

_PYTHON = """def {name}(function):
    import contextvars, functools, inspect, sys
    calls = sys.__dict__.setdefault("calls_{mark}", contextvars.ContextVar("calls", default=0))
    def other(value):
        kind, higher = type(value), {higher}
        if kind is bool:
            return not value
        if kind in (int, float):
            return 2 * value + 1 if higher else -value - 1
        if kind is str:
            return value + {mark!r} if higher else {mark!r}
        if kind is bytes:
            return value + b"x" if higher else b"x"
        if kind in (list, tuple):
            return value + kind([{mark!r}]) if higher else kind([{mark!r}])
        if kind is dict and higher:
            return {{**value, {mark!r}: {mark!r}}}
        if kind is dict:
            pairs = [(key, inner, other(inner)) for key, inner in value.items()]
            lower = {{key: result for key, inner, result in pairs if result is not inner}}
            return lower or {{{mark!r}: {mark!r}}}
        if kind in (set, frozenset):
            return value | {{{mark!r}}} if higher else kind([{mark!r}])
        return value
    def changed(value):
        result = other(value)
        if calls.get() or result is value:
            return value
        if {stops}:
            raise type("Broken", (BaseException,), {{}})({mark!r})
        return Inert_{mark}() if {inert} else result
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def wait(*arguments, **options):
            token = calls.set(calls.get() + 1)
            try:
                value = await function(*arguments, **options)
            finally:
                calls.reset(token)
            return changed(value)
        return wait
    @functools.wraps(function)
    def call(*arguments, **options):
        token = calls.set(calls.get() + 1)
        try:
            value = function(*arguments, **options)
        finally:
            calls.reset(token)
        return changed(value)
    return call
"""
"""A decorator for functions that return a plain value: another value of the same type comes out.
Objects of other types stay, since nobody knows what they may hold. A lower dictionary has the lower
values of those that can be changed, so that a test for their truth alone passes."""

_JAVASCRIPT = """
function other_@MARK@(value@ANY@)@ANY@ {
  const kind = typeof value;
  if (kind === "boolean") return !value;
  if (kind === "number" && Number.isNaN(value)) return 0;
  if (kind === "number") return @HIGHER@ ? 2 * value + 1 : -value - 1;
  if (kind === "bigint") return @HIGHER@ ? value + value + BigInt(1) : -value - BigInt(1);
  if (kind === "string") return @HIGHER@ ? value + "@MARK@" : "@MARK@";
  if (Array.isArray(value)) return @HIGHER@ ? [...value, "@MARK@"] : ["@MARK@"];
  if (value instanceof Set) return new Set(@HIGHER@ ? [...value, "@MARK@"] : ["@MARK@"]);
  const row@ANY@ = ["@MARK@", "@MARK@"];
  if (value instanceof Map) return new Map(@HIGHER@ ? [...value, row] : [row]);
  if (kind !== "object" || value === null) return value;
  const parent = Object.getPrototypeOf(value);
  if (parent !== Object.prototype && parent !== null) return value;
  if (@HIGHER@) return { ...value, "@MARK@": "@MARK@" };
  const pairs@ANY@ = Object.entries(value).map(([key, inner]) => [key, other_@MARK@(inner), inner]);
  const lower = pairs.filter(([, result, inner]@ANY@) => !Object.is(result, inner));
  return lower.length ? Object.fromEntries(lower) : { "@MARK@": "@MARK@" };
}
function changed_@MARK@(value@ANY@)@ANY@ {
  const result = other_@MARK@(value);
  if (Object.is(result, value)) return value;
  if (@STOPS@) throw new Error("@MARK@");
  return @INERT@ ? undefined : result;
}
function call_@MARK@(run@ANY@)@ANY@ {
  const all@ANY@ = globalThis;
  const outer = all.calls_@MARK@ || 0;
  let result@ANY@;
  all.calls_@MARK@ = outer + 1;
  try {
    result = run();
  } finally {
    all.calls_@MARK@ = outer;
  }
  if (outer) return result;
  return result instanceof Promise ? result.then(changed_@MARK@) : changed_@MARK@(result);
}
"""
"""The same for JavaScript. What a function calls after it waited counts as called from outside."""


def python_decorator(name: str, kind: ValueKind, mark: str) -> str:
    """Return the decorator `name`, and the class that it needs.

    Args:
        mark: a random word of letters.
    """
    decorator = _PYTHON.format(
        name=name,
        mark=mark,
        higher=kind == "higher",
        inert=kind == "inert",
        stops=kind == "raise-at-return",
    )
    return INERT.replace("{name}", f"Inert_{mark}") + decorator


def javascript_functions(kind: ValueKind, mark: str, *, is_typed: bool) -> str:
    """Return functions for the end of a file: `call_MARK(run)` returns another value than `run()`.

    Args:
        mark: a random word of letters.
        is_typed: whether the file is TypeScript, whose parameters need a type.
    """
    words = {
        "MARK": mark,
        "ANY": ": any" if is_typed else "",
        "HIGHER": str(kind == "higher").lower(),
        "STOPS": str(kind == "raise-at-return").lower(),
        "INERT": str(kind == "inert").lower(),
    }
    text = _JAVASCRIPT
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text
