"""Files of JavaScript, TypeScript, Go and Rust whose functions work, and return something else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from transom.formats.brace_functions import (
    BRACES,
    JAVASCRIPT,
    brace_functions,
    brace_pairs,
    braces_of,
    closing_brackets,
    plain_text,
)
from transom.formats.other_values import ResultKind, go_tools, javascript_tools, rust_tools
from transom.formats.typed_values import (
    go_named_results,
    go_parameters,
    rust_changes,
    rust_other,
    rust_result_type,
    rust_statics,
)

_VALUES = ("near", "inner", "lower", "higher", "varying", "inert")
# What a function of Rust cannot do around its body, or what its type cannot be.
_RUST_OUTSIDE = re.compile(r"\b(?:const|async)\b[\w\s\"]{0,40}$")
_RUST_OPAQUE = re.compile(r"\bimpl\b|&(?:'\w+\s)?mut\b|^!$")
_OF_ERRORS = ("other-error", "no-error")
_ARGUMENTS = ("arguments", "no-arguments")
_NAME = re.compile(r"[A-Za-z_$][\w$]*+")
_RUST_MODULE = re.compile(r"\bmod\s+\w+\s*\{")
_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_RETURNS = re.compile(r"\breturn\b[ \t]*[^;\s}]|\byield\b")


def other_results(
    path: str, text: str, messages: Mapping[int, str], kind: ResultKind, mark: str
) -> str | None:
    """Return a text whose functions return something else; None if the language has no such kind,
    or no function is of it.

    Args:
        text: a text of JavaScript has blocks for its arrow functions.
        messages: first line of a function -> what it says when it raises.
        mark: a random word of letters.
    """
    suffix = PurePosixPath(path).suffix
    if suffix in JAVASCRIPT:
        return _javascript_results(suffix, text, messages, kind, mark)
    if suffix == ".go" and kind != "no-truth":
        return _go_results(text, messages, kind, mark)
    if suffix == ".rs" and kind not in (*_ARGUMENTS, *_OF_ERRORS):
        return _rust_results(text, messages, kind, mark)
    return None


def further_files(path: str, text: str, kind: ResultKind, mark: str) -> dict[str, str]:
    """Return the files that a file with other results needs beside it: path -> text."""
    package = _PACKAGE.search(text)
    if not path.endswith(".go") or package is None:
        return {}
    name = str(PurePosixPath(path).parent / f"other_{mark}.go")
    return {name: go_tools(kind, mark, package[1])}


def _with_insertions(text: str, inserted: list[tuple[int, int, str]]) -> str:
    """Return a text with (start, end, code) put in the place of its parts."""
    pieces, place = [], 0
    for start, end, code in sorted(inserted):
        pieces += [text[place:start], code]
        place = end
    return "".join([*pieces, text[place:]])


def _javascript_results(
    suffix: str, text: str, messages: Mapping[int, str], kind: ResultKind, mark: str
) -> str | None:
    language = BRACES[JAVASCRIPT]
    plain = plain_text(language, text)
    closing = dict(brace_pairs(plain))
    inserted: list[tuple[int, int, str]] = []
    is_changed = kind not in _ARGUMENTS
    for function, opening, head in brace_functions(language, text):
        if function.first_line not in messages:
            continue
        before, end = plain[: opening - len(head)], closing[opening]
        body = plain[opening:end]
        names: list[str] = []
        # A function without a result is known by what it does with its arguments.
        if kind in _ARGUMENTS and not _RETURNS.search(body) and function.name != "constructor":
            names = _parameters(before, head)
            is_changed = is_changed or bool(names)
        is_generator = before.endswith("*") or re.match(r"function\s*\*|\*", head)
        if is_generator and re.search(r"\b(?:await|super|arguments)\b", body):
            continue
        # An arrow function has the `this`, `super` and `arguments` of the one around it.
        begin, values = "", ""
        if kind == "arguments":
            begin = "".join(f" {name} = argument_{mark}({name});" for name in names)
        elif names:
            values = f", [{', '.join(names)}]"
        call, over = f" return call_{mark}({_waits(before, head)}() => {{", f"}}{values}); "
        if is_generator:
            call, over = f" return yield* stream_{mark}((function* () {{", "}).call(this)); "
        inserted.append((opening + 1, opening + 1, begin + call))
        inserted.append((end, end, over))
    if not is_changed:
        return None
    is_typed = suffix.endswith("ts") or suffix == ".tsx"
    return _with_insertions(text, inserted) + javascript_tools(kind, mark, is_typed=is_typed)


def _parameters(before: str, head: str) -> list[str]:
    """Return the names of the parameters of a JavaScript function that are plain names."""
    code = head
    if head.startswith("=>"):
        code = before.rstrip()
        if not code.endswith(")"):
            match = re.search(r"[\w$]{1,100}$", code)
            return [match[0]] if match else []
        code = code[_opening(code) :]
    opening = code.find("(")
    closing = closing_brackets(code, opening)
    names = []
    for part in code[opening + 1 : max(closing, opening)].split(","):
        # A type and a default come behind the name.
        name = part.partition("=")[0].partition(":")[0].strip().removesuffix("?").strip()
        if _NAME.fullmatch(name):
            names.append(name)
    return names


def _opening(code: str) -> int:
    """Return the place of the parenthesis that is closed at the end of a text."""
    depth = 0
    for place in range(len(code) - 1, -1, -1):
        depth += (code[place] == ")") - (code[place] == "(")
        if depth == 0:
            return place
    return 0


def _waits(before: str, head: str) -> str:
    """Return `async ` for an asynchronous function of JavaScript, else "".

    Args:
        before: the code before its head; for an arrow function it ends with the parameters.
    """
    if head.startswith("=>"):
        before = re.sub(r":[^=;(){}]{1,100}$", "", before.rstrip()).rstrip()
        end = len(before)
        if before.endswith(")"):
            end = _opening(before)
        else:
            # Not a pattern: one that ends at the end of a text is tried from each character.
            while end and (before[end - 1].isalnum() or before[end - 1] in "_$"):
                end -= 1
        before = before[:end]
    is_async = re.search(r"\basync\s*$", before[-30:])
    return "async " * bool(is_async)


def _go_results(text: str, messages: Mapping[int, str], kind: ResultKind, mark: str) -> str | None:
    language = braces_of("x.go")
    if language is None:
        return None
    inserted: list[tuple[int, int, str]] = []
    for function, opening, head in brace_functions(language, text):
        # A literal is part of the function around it.
        if function.first_line not in messages or function.name in ("function", "init"):
            continue
        results = go_named_results(head, mark)
        if results is None:
            continue
        start, code, names = results
        if kind in _ARGUMENTS:
            # A truth value is often right for other arguments, too.
            if code.strip().endswith(" bool)") and len(names) == 1:
                continue
            names = go_parameters(head)
        else:
            inserted.append((opening - len(head) + start, opening, code))
        pointers = ", ".join(f"&{name}" for name in names)
        added = f" enter_{mark}(); defer leave_{mark}({pointers});"
        if kind == "arguments":
            added = f" argument_{mark}({pointers}); enter_{mark}(); defer leave_{mark}();"
        elif kind == "no-arguments":
            added = f" enter_{mark}(); defer refuse_{mark}({', '.join(names)});"
        inserted.append((opening + 1, opening + 1, added))
    if not inserted:
        return None
    return _with_insertions(text, inserted)


def _rust_results(
    text: str, messages: Mapping[int, str], kind: ResultKind, mark: str
) -> str | None:
    language = braces_of("x.rs")
    if language is None:
        return None
    plain = plain_text(language, text)
    closing = dict(brace_pairs(plain))
    modules = [match.end() - 1 for match in _RUST_MODULE.finditer(plain)]
    inserted: list[tuple[int, int, str]] = []
    for function, opening, head in brace_functions(language, text):
        message = messages.get(function.first_line)
        result_type = rust_result_type(head) if message else ""
        if not message or not result_type:
            continue
        before = plain[: opening - len(head)]
        if not _RUST_OPAQUE.search(result_type) and not _RUST_OUTSIDE.search(before):
            inside = [place for place in modules if place < opening < closing.get(place, 0)]
            tools = f"self::{'super::' * len(inside)}other_{mark}"
            begin = (
                f" #[allow(warnings)] let mut result_{mark}: {result_type} ="
                f" {{ let _call = {tools}::enter(); (move || -> {result_type} {{"
            )
            over = (
                f"}})() }}; if {tools}::is_outermost() {{"
                f" #[allow(warnings)] use {tools}::{{Changed as _, Unchanged as _}};"
                f" {tools}::Tag(&mut result_{mark}, 0).alter(); }} result_{mark} "
            )
            end = closing[opening]
            inserted += [(opening + 1, opening + 1, begin), (end, end, over)]
            continue
        # A value of the type takes the place of a body that cannot be called.
        has_value = kind in _VALUES and not (kind == "varying" and _is_constant(before))
        value = rust_other(head, text[:opening], text, kind, mark) if has_value else ""
        if value and kind == "inert":
            inserted.append((opening + 1, opening + 1, f' panic!("{message}");'))
        elif value:
            # The old body could end in a value of another opaque type.
            inserted.append((opening + 1, closing[opening], f" {value} "))
    if not inserted:
        return None
    added = rust_statics(mark) + rust_tools(kind, mark) + rust_changes(plain, mark)
    return _with_insertions(text, inserted) + added


def _is_constant(before: str) -> bool:
    """Whether a function of Rust can be called when it is compiled, which allows no other calls.

    Args:
        before: the code before `fn`.
    """
    match = _RUST_OUTSIDE.search(before)
    return match is not None and "const" in match[0]
