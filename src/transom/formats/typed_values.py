"""Values of the types that functions of Go and Rust return, for bodies that compute nothing.

Each type has a zero value and another one. A test that passes with both checks nothing of the
result. Types whose values only their own package can make have none.
"""

from __future__ import annotations

import re

_GO_NUMBERS = re.compile(r"u?int(?:8|16|32|64)?|uintptr|byte|rune|float(?:32|64)")
_GO_NOT_NAMES = ("chan", "func", "map", "struct", "interface")
_GO_ERROR = (
    "func() (failure error) { defer func() { failure, _ = recover().(error) }();"
    ' var none map[string]int; none["x"] = 1; return }()'
)
# Type -> its zero value, and another one.
_INTEGERS = ("0", "77")
_GO_VALUES = {
    "string": ('""', '"$WORD"'),
    "bool": ("false", "true"),
    "error": ("nil", _GO_ERROR),
}
_RUST_VALUES = {
    "f32": ("0.0", "77.0"),
    "f64": ("0.0", "77.0"),
    "bool": ("false", "true"),
    "String": ("String::new()", 'String::from("$WORD")'),
    "&str": ('""', '"$WORD"'),
    "()": ("()", "()"),
}
_RUST_INTEGERS = re.compile(r"[iu](?:8|16|32|64|128|size)")
_RUST_GENERIC = re.compile(r"(?:std::(?:option|result|vec)::)?(Option|Result|Vec)<(.*)>", re.DOTALL)
_OPENING, _CLOSING = "([{<", ")]}>"


def go_return(head: str, word: str, *, is_other: bool) -> str:
    """Return the statement that returns values of a Go function's result types; "" if one of the
    types has none.

    Args:
        head: the function from `func` up to its brace.
        word: the text of other strings.
        is_other: whether the values differ from the zero values.
    """
    types = _go_results(head)
    values = [_go_value(type_, word, is_other=is_other) for type_ in types or ()]
    if types is None or not all(values):
        return ""
    return f"return {', '.join(values)}".rstrip() + ";"


def rust_return(head: str, word: str, *, is_other: bool) -> str:
    """Return the statement that returns a value of a Rust function's result type, as
    `go_return`.
    """
    opening = head.find("(")
    closing = _closing(head, opening)
    if opening < 0 or closing < 0:
        return ""
    remainder = head[closing + 1 :].partition(" where ")[0].strip()
    if not remainder.startswith("->"):
        return "return;"
    value = _rust_value(remainder[2:].strip(), word, is_other=is_other)
    return f"return {value};".removeprefix("return ;")


def _go_results(head: str) -> list[str] | None:
    """Return the result types of a Go function; None if its head cannot be read."""
    remainder = head.strip().removeprefix("func").strip()
    # A method has its receiver first, and then a name with parameters.
    remainder = re.sub(r"^\([^()]*\)\s*(?=\w+\s*\()", "", remainder)
    remainder = re.sub(r"^\w+(?:\[[^\[\]]*\])?\s*(?=\()", "", remainder)
    closing = _closing(remainder, 0)
    if closing < 0 or not remainder.startswith("("):
        return None
    results = remainder[closing + 1 :].strip()
    if not results:
        return []
    if not results.startswith("("):
        return [results]
    parts = _split(results[1:-1])
    types: list[str] = []
    shared_type = ""
    for part in reversed(parts):
        first, _, type_text = part.partition(" ")
        is_named = bool(type_text) and first.isidentifier() and first not in _GO_NOT_NAMES
        # `a, b int` names the type once, behind the last name.
        is_bare_name = bool(shared_type) and part.isidentifier()
        if is_named:
            shared_type = type_text.strip()
        if is_named or is_bare_name:
            part = shared_type
        types.insert(0, part)
    return types


def _go_value(type_: str, word: str, *, is_other: bool) -> str:
    if _GO_NUMBERS.fullmatch(type_):
        return _INTEGERS[is_other]
    if type_ in _GO_VALUES:
        return _GO_VALUES[type_][is_other].replace("$WORD", word)
    if type_.startswith("[]"):
        return ("nil", f"make({type_}, 3)")[is_other]
    if type_.startswith("*"):
        return ("nil", f"new({type_[1:]})")[is_other]
    return ""


def _rust_value(type_: str, word: str, *, is_other: bool) -> str:
    type_ = re.sub(r"^&'\w+ ", "&", type_.strip())
    if _RUST_INTEGERS.fullmatch(type_):
        return _INTEGERS[is_other]
    if type_ in _RUST_VALUES:
        return _RUST_VALUES[type_][is_other].replace("$WORD", word)
    generic = _RUST_GENERIC.fullmatch(type_)
    if generic is None:
        return ""
    inner = _rust_value(_split(generic[2])[0], word, is_other=is_other)
    if not inner:
        return ""
    if generic[1] == "Result":
        return f"Ok({inner})"
    if generic[1] == "Option":
        return ("None", f"Some({inner})")[is_other]
    return ("Vec::new()", f"vec![{inner}]")[is_other]


def _closing(text: str, opening: int) -> int:
    """Return the position of the parenthesis that closes the one at a position; -1 if none does."""
    depth = 0
    for position in range(max(opening, 0), len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return -1


def _split(text: str) -> list[str]:
    """Split a list of types at its outer commas."""
    parts, depth = [""], 0
    for before, letter in zip(f" {text}", text, strict=False):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING and before != "-":  # the arrow of a result closes nothing
            depth -= 1
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
