"""Code that changes what the functions of a source file return, while they do all they did.

A test that passes with other results checks no result. Only the outermost call is changed: a test
that calls a function which calls another changed one would else see a value that was changed twice.
The code lies in `changed_results/`, in the languages of the files that it is added to.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

ResultKind = Literal[
    "inner",
    "shape",
    "near",
    "lower",
    "higher",
    "varying",
    "inert",
    "turned",
    "no-truth",
    "other-error",
    "no-error",
    "arguments",
    "no-arguments",
    "above",
    "below",
    "no-number",
    "reversed",
    "no-order",
    "no-list",
]
"""What becomes of a result.

`inner`: the values in it are others, and its shape stays. `shape`: it has more of them, and a
single value stays. `lower`, `higher`: the whole is another
one. `varying`: it is another one at each call. `inert`: it stands for nothing. Truth values stay in
all of these, since a function of the product that compares results is no evidence of them.
`near`: a number is a little higher, and a text a little longer.
`above`, `below`: a result that is a number is a tenth more, or less. `no-number`: it stands for
nothing.
`reversed`: a result that is a list or a text, or the lists in an object or a mapping, are in the
reverse order. `no-order`: they stand for nothing. `no-list`: a list stands for nothing, even if it
is its own reverse order.
`turned`: a truth value is turned round. `no-truth`: it stands for nothing.
`other-error`: another error is raised. `no-error`: none is raised.
`arguments`: a function that returns nothing works on other arguments. `no-arguments`: it fails if
it has arguments that could be others.
"""


@cache
def _template(name: str) -> str:
    return (resources.files("transom.formats") / "changed_results" / name).read_text("utf-8")


def _filled(name: str, kind: ResultKind, mark: str, **words: str) -> str:
    text = _template(name).replace("@KIND@", kind).replace("@MARK@", mark)
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def python_tools(kind: ResultKind, mark: str) -> str:
    """Return the code for the beginning of a Python file: the decorators `other_MARK` of functions
    and `other_class_MARK` of classes, and the class `Inert_MARK`.

    An object of that class is equal to nothing, and nearly everything can be done on it. A test
    that checks nothing of a result passes with it.

    Args:
        mark: a random word of letters.
    """
    return _filled("python.py.in", kind, mark)


def javascript_tools(kind: ResultKind, mark: str, *, is_typed: bool) -> str:
    """Return functions for the end of a file: `call_MARK(run)` returns another value than `run()`,
    `stream_MARK` does so for generators, and `argument_MARK(value)` is another argument.

    Args:
        mark: a random word of letters.
        is_typed: whether the file is TypeScript, whose parameters need a type.
    """
    return _filled("javascript.js.in", kind, mark, ANY=": any" if is_typed else "")


def go_tools(kind: ResultKind, mark: str, package: str) -> str:
    """Return a Go file with `enter_MARK()`, and `leave_MARK(results...)`, which changes them."""
    return _filled("golang.go.in", kind, mark, PACKAGE=package)


def rust_tools(kind: ResultKind, mark: str) -> str:
    """Return a module for the end of a Rust file: `enter()` begins a call of a changed function,
    and `Tag(&mut result, 0).alter()` changes its result.
    """
    return _filled("rust.rs.in", kind, mark)
