"""What the tests of a criterion try and look at, as far as their texts tell.

A test is narrow if what it tries is right without the thing that the criterion states: nothing that
must be left out is in its input, its calls come too late to have an effect, it counts what it
should name, or a second condition excuses what it sees.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from transom.formats.brace_functions import closing_brackets
from transom.stories.criterion_words import is_english
from transom.stories.written_checks import WrittenCheck, bindings_of, checks_of, once, split_at

_ONLY = re.compile(
    r"(?<!not )\bonly\b(?!\s(?:if|when|once|after|for|by|as|in|on)\b)"
    r"|\b(?:exclud|omit)\w{1,4}\b|\b(?:leaves?|left|filters?|filtered|leaving) out\b",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(r"\b(?:or|either|one of|any of|among|unless|optional\w*)\b", re.I)
# "the oldest row", "longest ago"; the nouns of this ending are no superlatives.
_WHICH = re.compile(
    r"\b(?!(?:\w*(?:re)?quest|\w*test|rest|guest|interest|digest|manifest|invest|forest|west)\b)"
    r"\w{3,12}est\b|\bthe (?:first|last|most|least)\b",
    re.IGNORECASE,
)
_HAS_EFFECT = re.compile(
    r"`?\b(\w{1,60})\b(?:\([^()\n]{0,60}\))?`?\s(?:also\s)?(?:(?:counts|is counted|is taken) as\b"
    r"|(?:refreshes|renews|extends|resets|restarts|prolongs|postpones)\b)"
)
_LOOP = re.compile(r"\bfor\b|\bwhile\b|\.(?:forEach|map|each)\(|parametrize")
_SIZE = re.compile(
    r"\b(?:len|count|size)\([^()\n]{0,80}(?:\([^()\n]{0,80}\))?[^()\n]{0,80}\)"
    r"|[\w.]{1,80}(?:\([^()\n]{0,80}\))?\.(?:length|size|count|len|Len|Size|Count)\b(?:\(\))?"
)
_TOKEN = re.compile(
    r"(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<number>-?\d[\d_]*+(?:\.\d++)?)|(?P<name>[A-Za-z_]\w*+)|(?P<sign>[^\s\w])"
)
_LITERAL_NAMES = frozenset(("True", "False", "None", "true", "false", "null", "nil"))
_CLOSING = {")": "(", "]": "[", "}": "{"}
_DEEPEST = 3


def why_narrow(criterion: str, texts: Collection[str], functions: Collection[str]) -> str:
    """Return why all tests of a criterion together try or see too little of it, or "".

    Args:
        texts: each test, once.
        functions: the names of the changed functions.
    """
    if not texts or not is_english(criterion):
        return ""
    readings = [*map(once, texts)]
    if _ONLY.search(criterion) and all(map(_leaves_nothing_out, readings)):
        return "tries nothing that must be left out, as the criterion states"
    if _WHICH.search(criterion) and all(map(_sees_sizes_alone, readings)):
        return "looks only at how many there are, and the criterion states which"
    for match in _HAS_EFFECT.finditer(criterion):
        further = {*functions} - {match[1]}
        if match[1] in functions and all(_calls_last(match[1], further, text) for text in readings):
            return f"calls {match[1]} when everything else is done, and so sees no effect of it"
    return ""


def excused(criterion: str, text: str, functions: Collection[str]) -> str:
    """Return the condition of a check that is met by one of two results of the code, or ""; a
    criterion that names alternatives may need it.
    """
    if not is_english(criterion) or _ALTERNATIVES.search(criterion):
        return ""
    bindings = bindings_of(once(text))
    code = _Results(bindings, frozenset(functions))
    for check in checks_of(once(text)):
        if _is_excused(check, code, _DEEPEST):
            return check.condition.strip()
    return ""


@dataclass(frozen=True)
class _Results:
    """What a test gets of the changed code: `bindings` are its names and what they stand for."""

    bindings: Mapping[str, tuple[str, ...]]
    functions: frozenset[str]

    def has(self, text: str, depth: int = _DEEPEST) -> bool:
        """Whether a text calls the changed code, or holds a name of a result of it."""
        for match in re.finditer(r"\b([A-Za-z_]\w*)\b(\s*\()?", text):
            if match[2] and match[1] in self.functions:
                return True
            values = self.bindings.get(match[1], ())
            if depth and any(self.has(value, depth - 1) for value in values):
                return True
        return False


def _is_excused(check: WrittenCheck, code: _Results, depth: int) -> bool:
    """Whether a check fails only if each of several results of the code is wrong."""
    condition, is_negative = _bare(check)
    if re.fullmatch(r"\w+", condition):
        for value in code.bindings.get(condition, ()) if depth else ():
            if _is_excused(WrittenCheck(value, is_negative), code, depth - 1):
                return True
        return False
    joints = (("||", " or "), ("&&", " and "))
    alternatives, joined = joints[::-1] if is_negative else joints
    # Each of these parts lets the check fail by itself.
    parts = [*filter(code.has, split_at(condition, *joined))]
    for part in parts:
        if len([*filter(code.has, split_at(part, *alternatives))]) < 2:
            return False
    return bool(parts)


def _bare(check: WrittenCheck) -> tuple[str, bool]:
    """Return a condition without the brackets around it and the negations before it, and whether
    it must not hold.
    """
    condition, is_negative = check.condition.strip(), check.is_negative
    while True:
        start = re.match(r"!(?!=)\s*|not\s+(?=[\w(])|", condition)
        bare = condition[start.end() if start else 0 :]
        is_whole = bare.startswith("(") and closing_brackets(bare, 0) == len(bare) - 1
        # A negation of a part says nothing of the other parts.
        if not is_whole and (bare == condition or not re.fullmatch(r"\w+", bare)):
            return condition, is_negative
        is_negative ^= bare != condition
        condition = bare[1:-1].strip() if is_whole else bare


def _leaves_nothing_out(text: str) -> bool:
    """Whether each literal result of a test holds all values of the literal before it."""
    rows = [*_collections(text)]
    if not rows or len(rows) % 2:
        return False
    for source, result in zip(rows[::2], rows[1::2], strict=True):
        sources = [source["number"]]
        if result["text"]:
            # A mapping of JavaScript has bare names.
            sources = [source["text"], source["key"], source["text"] + source["key"]]
        values = result["text"] or result["number"]
        if not values or values not in sources:
            return False
    return True


def _collections(text: str) -> Iterator[dict[str, Counter[str]]]:
    """Yield the texts, numbers and keys of each literal list or mapping that is in no other."""
    opened: list[int] = []
    literals: list[tuple[int, dict[str, Counter[str]]]] = []
    last_other = -1
    tokens = [*_TOKEN.finditer(text)]
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if token[0] in ("(", "[", "{"):
            opened.append(place)
        elif token[0] in _CLOSING and opened:
            start = opened.pop()
            is_list = token[0] != ")" and tokens[start][0] == _CLOSING[token[0]]
            if not is_list or last_other >= start or _is_index(tokens, start, following):
                continue
            values = _values(tokens[start + 1 : place])
            if values["text"] or values["number"]:
                # What lies inside is a part of it.
                literals = [row for row in literals if row[0] < start]
                literals.append((start, values))
        elif token["name"] and token[0] not in _LITERAL_NAMES:
            last_other = last_other if following and following[0] in ":{!" else place
        elif token["sign"] and token[0] not in ",:-&.":
            last_other = place
    for _, values in literals:
        yield values


def _is_index(tokens: list[re.Match[str]], start: int, following: re.Match[str] | None) -> bool:
    """Whether a bracket is that of an index or of a type, such as `[2]string`."""
    before = tokens[start - 1] if start else None
    if tokens[start][0] != "[":
        return False
    is_of_name = before is not None and (bool(before["name"]) or before[0] in (")", "]"))
    return is_of_name or bool(following and following["name"])


def _values(tokens: list[re.Match[str]]) -> dict[str, Counter[str]]:
    values = {"text": Counter[str](), "number": Counter[str](), "key": Counter[str]()}
    for token in tokens:
        if token["text"]:
            values["text"][token[0][1:-1]] += 1
        elif token["number"]:
            values["number"][token[0]] += 1
        elif token["name"]:
            values["key"][token[0]] += 1
    return values


def _sees_sizes_alone(text: str) -> bool:
    """Whether each check of a test compares a size."""
    sizes = set[str]()
    for name, values in bindings_of(text).items():
        if _SIZE.fullmatch(values[-1].strip()):
            sizes.add(name)
    has_check = False
    for check in checks_of(text):
        if check.is_set_up:
            continue
        has_check = True
        plain = _SIZE.sub(" ", check.condition)
        names = {*re.findall(r"[A-Za-z_]\w*", plain)}
        has_size = plain != check.condition or bool(names & sizes)
        if not has_size or names - sizes or re.search(r"[\[\"']", plain):
            return False
    return has_check


def _calls_last(function: str, functions: Collection[str], text: str) -> bool:
    """Whether a test calls a function, and no other one behind it."""
    first = text.find(f"{function}(")
    last = -1
    for match in re.finditer(r"\b(\w+)\(", text):
        if match[1] in functions:
            last = match.start()
    return 0 <= last < first and not _LOOP.search(text[:last])
