"""The words of a criterion that a test must hold where the runs cannot tell what it checks."""

from __future__ import annotations

import re
from collections.abc import Collection

from transom.stories.written_numbers import NumbersOfText, written_numbers

# An empty text is matched too, so that its quotes are none of other texts.
_QUOTED = re.compile(r"\"([^\"\n]{0,200})\"|“([^”\n]{0,200})”")
_STRING = re.compile(r"\"([^\"\n]{0,500})\"|'([^'\n]{0,500})'|`([^`]{0,500})`")
# A place in a text that a criterion describes: "Hello NAME", "<count> rows", "page N of M".
_DESCRIBED = re.compile(
    r"<[^<>\n]{1,40}>|\{[^{}\n]{0,40}\}|\[[^\[\]\n]{1,40}\]|\b[A-Z][A-Z_]{0,30}\b|…|\.\.\."
)
# The places of values in strings of Python, JavaScript, Go and Rust.
_PLACE = re.compile(r"\$?\{[^{}]{0,100}\}|%[-+0-9.]{0,9}[a-zA-Z]")
# Between two strings that are one text: `"a " "b"` in Python, `"a " + "b"` in all languages.
_SEAM = re.compile(r"([\"'`])\s*(?:\+\s*)?[fFrRuU]{0,2}\1")
_CALLED = re.compile(r"(?<!\w)([A-Za-z_]\w{0,100})(?=\(|`)")
_ENGLISH = re.compile(
    r"\b(?:the|is|are|gives?|returns?|exactly|equals?|has|costs?)\b", re.IGNORECASE
)
# The words and signs of bounds, ranges, chances, orders and repetitions.
_BOUND = re.compile(
    r"[<>≤≥±≈~–…]|\.\.|\b(?:at (?:least|most)|(?:\w{1,12}er|more|less) than|no (?:more|less)"
    r"|up to|above|below|over|under|beyond|within|inside|outside|between|from|until|before|after"
    r"|exceed\w{0,3}|maximum|minimum|max|min|limit\w{0,3}|ranges?|bounds?|about|around|roughly"
    r"|approximately|nearly|almost|close|similar|tolerance|precision|accuracy|rounded|random\w{0,2}"
    r"|chance|probability|average|positive|negative|zero|empty|never|always|any|each|every|all"
    r"|increas\w{1,4}|decreas\w{1,4}|grows?|shrinks?|sorted|orders?|unique|different|or"
    r"|same|identical|again|twice|repeat\w{0,3}|back)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:sorted|sorts|alphabetical\w{0,2}|chronological\w{0,2}|ascending|descending"
    r"|\w{1,12}est first|the \w{1,12}est \w{1,20} first"
    r"|(?:in|keeps?) (?:the )?(?:\w{1,20} )?order(?! (?:to|of|with)\b))\b",
    re.IGNORECASE,
)
_SORTED = re.compile(
    r"\b(?:sorted|sorts|alphabetical\w{0,2}|chronological\w{0,2}|ascending|descending"
    r"|\w{1,12}est first|the \w{1,12}est \w{1,20} first)\b",
    re.IGNORECASE,
)
# What puts things in an order, in the languages that are run here and in SQL.
_PUTS_IN_ORDER = re.compile(
    r"sort|order|heap|bisect|tree|rank|compare|cmp|priority|insert|revers|splice|unshift"
    r"|\b(?:Ord|Less)\b|nlargest|nsmallest|max_by|min_by|most_common",
    re.IGNORECASE,
)
_CALL_WITH_VALUES = re.compile(r"\w\([^()\n]{0,200}\)")
_GIVES = r"\b(?:is|are|gives?|returns?|yields?|equals?|becomes?|prints?|shows?)\b[`: ]{1,3}"
_LIST_RESULT = re.compile(_GIVES + r"\[[^\n\]]{1,100}[,\]]")
_TEXT_RESULT = re.compile(_GIVES + r"(?:\"[^\"\n]{2,200}\"|“[^”\n]{2,200}”)")
_CALLS_IN_CALLS = 3
_EXAMPLE = re.compile(
    r"\w\(([^()\n]{1,200})\)`?\s(?:is|gives|returns|yields|equals)\s([^\n:]{1,200})"
)
_LONG_VALUE = re.compile(r"\b\d[\d_.]{1,40}\b|(?<=[\"'])[^\"'\n]{2,100}(?=[\"'])")
_EQUALITY = re.compile(r"\b(?:if|case|when)\b[^\n]{0,200}==[^\n]{0,200}")
_ANSWER_LENGTH = 160
# Several errors of which a test takes any.
_ERRORS = re.compile(
    r"\(\w*(?:Error|Exception)(?:, \w*(?:Error|Exception))+\)"
    r"|[^\n;{]{0,80}\binstanceof\b[^\n;{]{0,80}\|\|[^\n;{]{0,80}"
    # A row of a table that says whether it fails takes no other error.
    r"|!errors\.(?:Is|As)\([^()\n]{1,80}\) && (?=!errors|err [!=]= nil)"
    r"|\berr [!=]= nil && !errors\.(?:Is|As)\([^()\n]{1,80}\)"
)
_ONLY_IF_OK = re.compile(r"\bok && [^{\n]{1,80}!=")
_SAME = re.compile(
    r"\b(?:same|identical\w*|equal\w*|again|twice|repeat\w*|reproduc\w+|determinis\w+|idempoten\w+"
    r"|unchanged|consistent\w*|back|round[- ]?trips?|invers\w+|undo\w*|restor\w+|regardless"
    r"|independent\w*|irrespective|no matter|what(?:so)?ever|either|both|alike|match\w*|keeps?|kept"
    r"|preserv\w+|remains?|stays?|seed\w*|cache[ds]?|symmetr\w+|commut\w+|invariant|like|as before"
    r"|(?:does|do) not (?:change|alter|modify|mutate)|without changing|once|whole|copy|copies)\b",
    re.IGNORECASE,
)
# Checks other than for equality.
_UNLIKE = re.compile(
    r"!=|<|>(?!>)|\bis not\b|\bnot in\b|\bin\b(?![^\n]{0,80}:\s*$)|\blen\(|\.length\b|\.size\b"
    r"|NotEqual|Greater|Less|\bassertIn\b|\bnot\.|notEqual|assert_ne!|!reflect|\ball\(|\bany\("
)
_SORTS = re.compile(r"\bsort\w*\b|\.Sort\w*\(", re.IGNORECASE)
_WHICH_ERROR = re.compile(
    r"\b(?:last|first|same|original|underlying|own|clear|helpful) (?:error|exception)\b"
    r"|\b(?:error|exception|message)\b[^.;]{0,20}?\b(?:that|which|naming|names?|says?|tells?"
    r"|contain\w*|mention\w*|list\w*|reading|saying)\b|\berror message\b|\bmessage of\b",
    re.IGNORECASE,
)
# The names that errors have in the languages that are run here.
_ERROR = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|Err[A-Z]\w*)\b")


def missing_values(criterion: str, text: str) -> list[str]:
    """Return the numbers and quoted texts of a criterion that a test does not hold.

    A number is the same in any notation: 1,000 is 1_000, 12.50 is 12.5, and 50 % is 0.5.
    """
    missing: list[tuple[int, str]] = []
    rest = criterion
    for match in _QUOTED.finditer(criterion):
        value = match[1] or match[2] or ""
        if value not in text:
            missing.append((match.start(), value))
        # What is quoted is a text, with the numbers in it.
        rest = rest.replace(match[0], " " * len(match[0]), 1)
    numbers = NumbersOfText(text)
    for number in written_numbers(rest):
        if number.text not in numbers and not any(map(numbers.has, number.forms)):
            missing.append((number.place, number.text))
    return [value for _, value in sorted(missing)]


def quoted_texts(criterion: str) -> list[str]:
    """Return the quoted texts of a criterion."""
    return [text for match in _QUOTED.finditer(criterion) if (text := match[1] or match[2])]


def can_print(text: str, quoted: str) -> bool:
    """Whether a string of a program, with any values in its places, is a quoted text."""
    for match in _STRING.finditer(text):
        string = match[1] or match[2] or match[3] or ""
        parts = [part.replace("\\n", "").strip() for part in _PLACE.split(string)]
        # A place alone could be any text.
        if len(parts) > 1 and any(parts):
            pattern = ".*".join(map(re.escape, parts))
            if re.fullmatch(pattern, quoted.strip(), re.DOTALL):
                return True
    return False


def holds_in_pieces(text: str, quoted: str) -> bool:
    """Whether strings of a program that are written one after the other hold a quoted text: a long
    one is parted so that its lines stay short.
    """
    return quoted.lower() in _SEAM.sub("", text).lower()


def holds_words(text: str, quoted: str) -> bool:
    """Whether the strings of a program have the words of a quoted text, one after the other."""
    words: list[str] = []
    for match in _STRING.finditer(text):
        words += (match[1] or match[2] or match[3] or "").lower().split()
    wanted = quoted.lower().split()
    starts = range(len(words) - len(wanted) + 1)
    return bool(wanted) and any(words[start : start + len(wanted)] == wanted for start in starts)


def holds_described(text: str, quoted: str) -> bool:
    """Whether a string of a program is a quoted text with values for the places in it, which are
    words in capitals, `<name>`, `{name}` or an ellipsis.
    """
    parts = [part for part in _DESCRIBED.split(quoted) if part.strip()]
    # Without some words of its own any string would be the text.
    if not _DESCRIBED.search(quoted) or not re.search(r"[^\W\d_]{2}", " ".join(parts)):
        return False
    pattern = ".{1,100}".join(map(re.escape, parts))
    before = "" if quoted.startswith(parts[0]) else ".{1,100}"
    after = "" if quoted.endswith(parts[-1]) else ".{1,100}"
    whole = re.compile(f"{before}{pattern}{after}", re.IGNORECASE)
    strings = (match[1] or match[2] or match[3] or "" for match in _STRING.finditer(text))
    return any(whole.fullmatch(string.strip()) for string in strings)


def named_functions(criterion: str, names: Collection[str]) -> frozenset[str]:
    """Return the functions that a criterion names as code: `name(` or in backquotes."""
    return frozenset(_CALLED.findall(criterion)) & {*names}


def states_number(criterion: str) -> bool:
    """Whether a criterion states a number, and no bound or range of it.

    Only the words of English are known: other criteria may state a range.
    """
    has_number = next(written_numbers(_QUOTED.sub("", criterion)), None) is not None
    return is_english(criterion) and has_number and not _BOUND.search(criterion)


def is_english(criterion: str) -> bool:
    """Whether a criterion has words of English: of others nothing is known."""
    return bool(_ENGLISH.search(criterion))


def states_relation(criterion: str, text: str) -> bool:
    """Whether a criterion states what a test shows that compares the code with itself.

    A comparison of two results by equality shows that they are the same, others that they differ.
    """
    if not is_english(criterion) or _SAME.search(criterion):
        return True
    if _UNLIKE.search(text):
        return bool(_BOUND.search(criterion))
    return bool(_SORTS.search(text)) and states_order(criterion)


def states_which_error(criterion: str) -> bool:
    """Whether a criterion says which error it means, or what it tells."""
    return bool(_WHICH_ERROR.search(criterion))


def states_order(criterion: str) -> bool:
    """Whether a criterion states the order of something, in words of English."""
    return bool(_ORDER.search(criterion))


def states_list(criterion: str) -> bool:
    """Whether a criterion states a list of several values as a result."""
    match = _LIST_RESULT.search(_without_calls(criterion))
    return match is not None and "," in match[0]


def states_result(criterion: str) -> bool:
    """Whether a criterion states a list or a text as a result: one whose order counts."""
    return states_list(criterion) or bool(_TEXT_RESULT.search(_without_calls(criterion)))


def answers_example(criterion: str, code: str) -> bool:
    """Whether code compares with the values of an example of a criterion, and holds its result.

    Small numbers and single letters are in any code.
    """
    example = _EXAMPLE.search(criterion)
    if example is None:
        return False
    values, results = ({*_LONG_VALUE.findall(text)} for text in (example[1], example[2]))
    for line in _EQUALITY.finditer(code):
        near = code[line.start() : line.end() + _ANSWER_LENGTH]
        if values and values & {*_LONG_VALUE.findall(line[0])}:
            return bool((results - values) & {*_LONG_VALUE.findall(near)})
    return False


def other_error(criterion: str, text: str) -> str:
    """Return the one error that a criterion names, if a test takes another one as well, or ""."""
    names: set[str] = {*_ERROR.findall(criterion)}
    if len(names) != 1:
        return ""
    (name,) = names
    for choice in _ERRORS.finditer(text):
        if re.search(rf"\b{name}\b", choice[0]):
            return name
    return ""


def stops_early(criterion: str, text: str) -> bool:
    """Whether a test compares pairs as far as the shorter side goes, where a criterion states the
    whole result, and looks at no size.
    """
    is_paired = re.search(r"\bzip\(", text) and not re.search(r"\blen\b|length|count|strict", text)
    return bool(is_paired) and states_result(criterion)


def only_if_there(text: str) -> bool:
    """Whether a test of Go compares a value only if there is one, and fails nowhere without it."""
    return bool(_ONLY_IF_OK.search(text)) and not re.search(r"!ok\b|\bok == false\b", text)


def _without_calls(criterion: str) -> str:
    """Return a criterion without the calls in it, whose arguments are no results."""
    text = criterion
    # A list of lists has brackets of its own in the call, and no parentheses.
    for _ in range(_CALLS_IN_CALLS):
        text = _CALL_WITH_VALUES.sub("x", text)
    return text


def lacks_sorting(criterion: str, code: str) -> bool:
    """Whether a criterion states an order by a value, and nothing in the code makes one.

    A test then gets what was in order before.
    """
    return bool(_SORTED.search(criterion)) and not _PUTS_IN_ORDER.search(code)


def missing_errors(criterion: str, text: str, code: str) -> list[str]:
    """Return the errors that a criterion names, if a test does not name them and no line of the
    changed code raises them.
    """
    missing = []
    for name in _ERROR.findall(criterion):
        raised = rf"\b(?:raise|throw|return|panic|class|Err)\b[^\n]{{0,200}}\b{name}\b"
        if name not in text and not re.search(raised, code):
            missing.append(name)
    return missing
