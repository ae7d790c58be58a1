"""Values of the types that functions of Go and Rust return, for bodies that compute nothing.

Each type has a zero value and another one. A test that passes with both checks nothing of the
result. Types whose values only their own package can make have none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from transom.formats.brace_functions import closing_brackets

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
_RUST_STREAM = re.compile(
    r"impl\s++(?:\w++::)*Iterator<Item\s*+=\s*+([^<>]*+(?:<[^<>]*+>)?)>(?:\s*+\+.*)?"
)
# Types at the outermost level of a file, without parameters of their own.
_RUST_TYPE = re.compile(
    r"^(?:pub(?:\([^)\n]{0,40}\))?\s)?(struct|enum)\s+(\w+)\s*"
    r"(\{(?:[^{}]|\{[^{}]*\}){0,5000}\}|\([^(){};]{0,1000}\)\s*;)",
    re.MULTILINE,
)
_RUST_IMPLEMENTATION = re.compile(r"^impl\b([^{\n]{0,300}+)\{", re.MULTILINE)
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
    closing = closing_brackets(head, opening)
    if opening < 0 or closing < 0:
        return ""
    remainder = head[closing + 1 :].partition(" where ")[0].strip()
    if not remainder.startswith("->"):
        return "return;"
    value = _rust_value(remainder[2:].strip(), word, is_other=is_other)
    return f"return {value};".removeprefix("return ;")


def go_named_results(head: str, mark: str) -> tuple[int, str, list[str]] | None:
    """Return where the results of a Go function begin, the same results with names, and the names;
    None if its head cannot be read.

    Args:
        head: the function from `func` up to its brace.
    """
    types = _go_results(head)
    if types is None:
        return None
    start = len(head.rstrip()) - len(_go_result_text(head) or "")
    parts = _split(head[start:].strip()[1:-1]) if head[start:].strip().startswith("(") else []
    # A name that is there stays: the body may use it.
    names = []
    for number, type_ in enumerate(types):
        first = parts[number].partition(" ")[0] if number < len(parts) else ""
        # An unnamed result is its type alone.
        is_name = first.isidentifier() and first not in (*_GO_NOT_NAMES, "_")
        if not is_name or parts[number] == type_:
            first = f"result{number}_{mark}"
        names.append(first)
    pairs = [f"{name} {type_}" for name, type_ in zip(names, types, strict=True)]
    return start, f" ({', '.join(pairs)}) " if pairs else " ", names


def go_parameters(head: str) -> list[str]:
    """Return the names of the parameters of a Go function.

    Args:
        head: the function from `func` up to its brace.
    """
    parameters = _go_signature(head)
    closing = closing_brackets(parameters, 0)
    names: list[str] = []
    has_type = False
    # `a, b int` names the type once, behind the last name.
    for part in reversed(_split(parameters[1 : max(closing, 1)])):
        name, _, type_text = part.partition(" ")
        has_type = has_type or bool(type_text)
        if has_type and name.isidentifier() and name not in (*_GO_NOT_NAMES, "_"):
            names.append(name)
    return names


def _go_signature(head: str) -> str:
    """Return a Go function's head from its parameters on; "" if it cannot be read."""
    remainder = head.strip().removeprefix("func").strip()
    # A method has its receiver first, and then a name with parameters.
    remainder = re.sub(r"^\([^()]*\)\s*(?=\w+\s*\()", "", remainder)
    remainder = re.sub(r"^\w+(?:\[[^\[\]]*\])?\s*(?=\()", "", remainder)
    return remainder if remainder.startswith("(") else ""


def _go_result_text(head: str) -> str | None:
    """Return the end of a Go function's head, behind its parameters."""
    signature = _go_signature(head)
    closing = closing_brackets(signature, 0)
    if closing < 0:
        return None
    return signature[closing + 1 :]


def _go_results(head: str) -> list[str] | None:
    """Return the result types of a Go function; None if its head cannot be read."""
    text = _go_result_text(head)
    if text is None:
        return None
    results = text.strip()
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


def rust_result_type(head: str) -> str:
    """Return the result type of a Rust function, "" if it has none.

    Args:
        head: the function from `fn` up to its brace.
    """
    opening = head.find("(")
    closing = closing_brackets(head, opening)
    remainder = head[closing + 1 :].partition(" where ")[0].strip()
    if opening < 0 or closing < 0 or not remainder.startswith("->"):
        return ""
    return remainder[2:].strip()


def rust_changes(text: str, mark: str) -> str:
    """Return code for the end of a Rust file that lets the tools change its own types.

    Args:
        text: the file, with blanks for strings and comments.
    """
    tools = f"other_{mark}"
    rows = []
    for match in _RUST_TYPE.finditer(text):
        word, name, inside = match[1], match[2], match[3]
        fields = _rust_fields(inside)
        if word == "enum":
            names = [field for field in fields if field.isidentifier()]
            # A variant with values has no other one that is known.
            if len(names) < max(len(fields), 2):
                continue
            turns = zip(names, [*names[1:], names[0]], strict=True)
            arms = " ".join(f"{name}::{old} => {name}::{new}," for old, new in turns)
            body = f"if {tools}::is_next() {{ *self = match self {{ {arms} }}; }}"
        else:
            places: list[str] = [field.partition(":")[0].strip() for field in fields]
            if inside.startswith("("):
                places = [str(number) for number in range(len(fields))]
            use = f"use self::{tools}::{{Changed as _, Unchanged as _}};"
            calls = [f"{tools}::Tag(&mut self.{place}, depth + 1).alter();" for place in places]
            body = " ".join([use, *calls])
        rows.append(
            f"#[allow(warnings)] impl {tools}::Change for {name} {{"
            f" fn change(&mut self, depth: usize) {{ {body} }} }}\n"
        )
    return "".join(rows)


def _rust_fields(inside: str) -> list[str]:
    """Return the fields of a struct, or the variants of an enumeration."""
    lines = [line.partition("//")[0] for line in inside.strip(" ;\n")[1:-1].splitlines()]
    # Attributes and comments are no fields.
    code = "\n".join(line for line in lines if not line.strip().startswith("#["))
    return [re.sub(r"^pub(?:\([^)]*\))?\s+", "", part) for part in _split(code)]


def rust_other(head: str, before: str, text: str, kind: str, mark: str) -> str:
    """Return another value of a Rust function's result type; "" if the type has none, or is a truth
    value.

    Args:
        head: the function from `fn` up to its brace.
        before: the file up to the brace.
        text: the file, which may define the type.
        kind: see `ResultKind`.
    """
    result_type = rust_result_type(head)
    if not result_type:
        return ""
    result_type = re.sub(r"\bSelf\b", _rust_owner(before), result_type)
    if result_type in ("bool", "()") or result_type.startswith("Result<()"):
        return ""
    number, word, size = "71", mark, 1
    if kind == "higher":
        number, word, size = "93", f"x{mark}", 2
    elif kind == "varying":
        number, word = f"NEXT_{mark}.fetch_add(1, ::std::sync::atomic::Ordering::SeqCst)", ""
    values = _RustValues(number, word, size=size, text=text, mark=mark)
    return values.of(result_type, 3)


def _rust_owner(before: str) -> str:
    """Return the type that the last `impl` of a text is for; `Self` if there is none."""
    heads = _RUST_IMPLEMENTATION.findall(before)
    if not heads:
        return "Self"
    head: str = heads[-1].partition(" where ")[0].strip()
    if head.startswith("<"):
        head = head.partition(">")[2]
    words = re.findall(r"\w+", head.rpartition(" for ")[2].partition("<")[0])
    return words[-1] if words else "Self"


def rust_statics(mark: str) -> str:
    """Return what `rust_other` needs at the end of a file."""
    return (
        f"\n#[allow(dead_code, non_upper_case_globals)]\nstatic NEXT_{mark}: "
        "::std::sync::atomic::AtomicU8 = ::std::sync::atomic::AtomicU8::new(7);\n"
    )


@dataclass(frozen=True)
class _RustValues:
    """Values of Rust types.

    Attributes:
        number: an expression of a small number.
        word: the text of strings; "" if they are made of the number.
        size: the length of vectors.
        text: a file that may define types.
    """

    number: str
    word: str
    size: int
    text: str
    mark: str

    def of(self, type_: str, depth: int) -> str:
        """Return a value of a type, or "" if it has none."""
        type_ = re.sub(r"^&'\w+ ", "&", type_.strip())
        if depth == 0:
            return ""
        if _RUST_INTEGERS.fullmatch(type_):
            sign = "-" if type_.startswith("i") else ""
            return f"({sign}({self.number} as {type_}))"
        if type_ in ("f32", "f64"):
            return f"(-({self.number} as {type_}))"
        if type_ == "String" and not self.word:
            return f'format!("{{}}", {self.number})'
        if type_ == "String":
            return f'String::from("{self.word}")'
        if type_ == "&str":
            return f'"{self.word or self.mark}"'
        if type_ == "bool":
            return str(self.size == 1).lower()
        if stream := _RUST_STREAM.fullmatch(type_):
            rows = self.of(f"Vec<{stream[1]}>", depth)
            return f"{rows}.into_iter()" if rows else ""
        generic = _RUST_GENERIC.fullmatch(type_)
        if generic is None:
            return self._of_defined(type_, depth)
        inner = self.of(_split(generic[2])[0], depth)
        if not inner:
            return ""
        if generic[1] == "Vec":
            return f"vec![{', '.join([inner] * self.size)}]"
        return f"Ok({inner})" if generic[1] == "Result" else f"Some({inner})"

    def _of_defined(self, type_: str, depth: int) -> str:
        """Return a value of a struct or an enumeration of the file."""
        if not type_.isidentifier():
            return ""
        match = re.search(
            rf"\b(struct|enum)\s+{type_}\s*(\{{[^{{}}]*\}}|\([^(){{}};]*\)\s*;)", self.text
        )
        if match is None:
            return ""
        parts = _rust_fields(match[2])
        if match[1] == "enum":
            # The first of them, or the last one.
            names = [part for part in parts if part.isidentifier()]
            return f"{type_}::{names[1 - self.size]}" if names else ""
        fields = []
        for part in parts:
            name, colon, field_type = part.partition(":")
            value = self.of(field_type or part, depth - 1)
            if not value:
                return ""
            fields.append(f"{name.strip()}{colon} {value}")
        if match[2].startswith("("):
            # The fields of a tuple have a type alone.
            values = [field.partition(" ")[2] for field in fields]
            return f"{type_}({', '.join(values)})"
        return f"{type_} {{ {', '.join(fields)} }}"


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
