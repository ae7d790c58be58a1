"""Functions of languages with braces: JavaScript, TypeScript, Go and Rust.

Strings and comments are blanked, then a function is a head and the braces after it. An arrow
function without braces is first written as a function with a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


@dataclass(frozen=True)
class SourceFunction:
    """A function of a source file.

    Attributes:
        name: its name with that of its class, e.g. `Till.total`.
        first_line, last_line: its lines, 1-based, its decorators included.
        changed_lines: the lines in it that a change added, replaced or closed up to.
    """

    name: str
    first_line: int
    last_line: int
    changed_lines: tuple[int, ...] = ()

    @property
    def line_range(self) -> str:
        """The changed lines, for people: `4-12`."""
        lines = self.changed_lines or (self.first_line, self.last_line)
        return str(lines[0]) if lines[0] == lines[-1] else f"{lines[0]}-{lines[-1]}"


@dataclass(frozen=True)
class BraceLanguage:
    """A language with braces: where its functions begin, and the statements of the new bodies.

    Attributes:
        quoted: matches a string or a comment.
        head: matches up to and with the opening brace of a function; may have a group `name`.
        raising, empty, zero, other: the statement at the beginning of the body for each kind;
            `{}` is the message. An empty text: the language has no such statement that always
            compiles.
    """

    quoted: re.Pattern[str]
    head: re.Pattern[str]
    raising: str
    empty: str = ""
    zero: str = ""
    other: str = ""


# A comment that is not closed reaches to the end of the file.
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
# Parameters with parentheses in them, twice nested. What was taken is never given back: otherwise a
# file of unclosed parentheses would take time that grows as its square.
_PARAMETERS = r"\((?>(?:[^{};()]|\{\s*+\}|\((?>(?:[^{};()]|\{\s*+\}|\([^{};()]*+\))*)\))*)\)"
# The head of a Go function up to a `func` in it: a parameter or a result may be a function too. At
# most four of them are read, so that a line of many takes time in proportion to its length.
_GO_HEAD = r"(?>(?:(?!\bfunc\b)[^{}\n]|\{\})*)"
# A regular expression of JavaScript begins where a value may; a division never does.
_REGEX = (
    r"(?:(?<=[=(,:\[!&|?{;])|(?<==>)|(?<=\breturn))[ \t]{0,100}+/(?![/*])"
    r"(?>(?:[^/\\\n\[]|\\[^\n]|\[(?>(?:[^\]\\\n]|\\[^\n]){0,200})\]){1,300})/"
)
_NO_METHODS = r"(?!(?:if|for|while|switch|catch|with|return|function)\b)"
BRACES: Mapping[tuple[str, ...], BraceLanguage] = {
    JAVASCRIPT: BraceLanguage(
        re.compile(
            rf"{_COMMENT}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|{_REGEX}",
            re.DOTALL,
        ),
        re.compile(
            rf"(?:\bfunction\b\s*+(?:\*\s*+)?(?P<name>[\w$]*+)\s*+{_PARAMETERS}"
            rf"|(?<![\w$.]){_NO_METHODS}(?P<method>[A-Za-z_$#][\w$]*+)\s*+{_PARAMETERS}"
            r"|=>)\s*+(?::[^={}();]++)?\{"
        ),
        'throw new Error("{}");',
        "return undefined;",
        # A function has no type that would name its zero value.
        zero="return 0;",
        other='return "{}";',
    ),
    (".go",): BraceLanguage(
        re.compile(rf"{_COMMENT}|\"(?:\\.|[^\"\\\n])*\"|`[^`]*`", re.DOTALL),
        re.compile(
            r"\bfunc\b\s*+(?:\([^()]*+\)\s*+)?(?P<name>\w*+)"
            rf"(?>(?:{_GO_HEAD}\bfunc\b(?!\s+\w)){{0,4}}){_GO_HEAD}\{{"
        ),
        'panic("{}");',
    ),
    (".rs",): BraceLanguage(
        re.compile(rf"{_COMMENT}|r#*\".*?\"#*|\"(?:\\.|[^\"\\])*\"", re.DOTALL),
        re.compile(r"\bfn\s++(?P<name>\w++)(?>(?:(?!\bfn\s)[^{};])*)\{"),
        'panic!("{}");',
    ),
}


_LONGEST = 5_000
"""Characters of an expression that are read, so that a file of unclosed ones takes linear time."""
_DEEPEST = 50
_ARROW = re.compile(
    rf"(?P<before>[=:]|\bdefault\b)\s*+(?:async\b\s*+)?(?:{_PARAMETERS}|[A-Za-z_$][\w$]*+)\s*+"
    r"(?::[^=;{}()\n]{1,200}+)?=>\s*+(?![\s{])"
)
_GOES_ON_AFTER = re.compile(r"[-+*/%&|^<>=?:.,!~]$|\b(?:await|typeof|new|in|of)$")
_GOES_ON_WITH = re.compile(r"[-+*/%&|^<>=?:.,(\[`]|(?:instanceof|in)\b")


def braces_of(path: str) -> BraceLanguage | None:
    """Return the language of a file by its name; None if it has no braces."""
    suffix = PurePosixPath(path).suffix
    return next((language for names, language in BRACES.items() if suffix in names), None)


def plain_text(language: BraceLanguage, text: str) -> str:
    """Return a text with blanks for its strings and comments."""
    return language.quoted.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def without_comments(language: BraceLanguage, text: str) -> str:
    """Return a text with blanks for its comments. Documentation of Rust stays: it holds tests."""

    def shown(match: re.Match[str]) -> str:
        is_comment = match[0].startswith(("//", "/*")) and not match[0].startswith(("///", "//!"))
        return re.sub(r"[^\n]", " ", match[0]) if is_comment else match[0]

    return language.quoted.sub(shown, text)


def brace_functions(
    language: BraceLanguage, text: str
) -> Iterator[tuple[SourceFunction, int, str]]:
    """Yield each function of a text, with the position of its brace and the head before it."""
    plain = plain_text(language, text)
    closing = dict(brace_pairs(plain))
    for match in language.head.finditer(plain):
        opening = match.end() - 1
        if opening not in closing:
            continue
        groups = match.groupdict()
        name = groups.get("name") or groups.get("method") or "function"
        first = plain.count("\n", 0, match.start()) + 1
        last = plain.count("\n", 0, closing[opening]) + 1
        yield SourceFunction(name, first, last), opening, plain[match.start() : opening]


def with_blocks(path: str, text: str) -> str:
    """Return a text of JavaScript whose arrow functions with a name have braces. Lines stay."""
    suffix = PurePosixPath(path).suffix
    if suffix not in JAVASCRIPT:
        return text
    is_typed = suffix.endswith("ts") or suffix == ".tsx"
    # A string is part of an expression, and a comment behind it is not.
    code = BRACES[JAVASCRIPT].quoted.sub(_filled, text)
    inserted: list[tuple[int, str]] = []
    for match in _ARROW.finditer(code):
        line = code[max(0, match.start() - 300) : match.start()].rpartition("\n")[2]
        # In TypeScript a type may look like a function.
        if is_typed and (match["before"] == ":" or re.match(r"\s*(?:export\s+)?type\b", line)):
            continue
        end = _expression_end(code, match.end())
        closes = "" if end is None else code[end : end + 1]
        # A default of a parameter stays as it is.
        if end is not None and closes not in (")", "]") and (closes, match["before"]) != (",", "="):
            last = match.end() + len(code[match.end() : end].rstrip())
            inserted += [(match.end(), "{ return "), (last, "; }")]
    pieces, end = [], 0
    for position, added in sorted(inserted):
        pieces += [text[end:position], added]
        end = position
    return "".join([*pieces, text[end:]])


def _filled(match: re.Match[str]) -> str:
    if match[0].startswith(("//", "/*")):
        return re.sub(r"[^\n]", " ", match[0])
    return '"' * len(match[0])


def _expression_end(code: str, start: int) -> int | None:
    """Return the place behind an expression of JavaScript; None if it is not closed."""
    depth = 0
    for match in re.compile(r"[()\[\]{};,\n]").finditer(code, start, start + _LONGEST):
        place, sign = match.start(), match[0]
        if sign in "([{":
            depth += 1
            if depth > _DEEPEST:
                return None
        elif sign in ")]}":
            if depth == 0:
                return place
            depth -= 1
        elif depth == 0 and sign != "\n":
            return place
        elif depth == 0:
            line = code[max(start, place - 200) : place].rstrip()
            following = code[place : place + 500].lstrip()
            if line and not _GOES_ON_AFTER.search(line) and not _GOES_ON_WITH.match(following):
                return place
    return len(code) if depth == 0 and start + _LONGEST >= len(code) else None


def brace_pairs(plain: str) -> Iterable[tuple[int, int]]:
    """Return the positions of each opening brace and of its closing one."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for match in re.finditer(r"[{}]", plain):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            pairs.append((opened.pop(), match.start()))
    return pairs


def closing_brackets(text: str, opening: int) -> int:
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
