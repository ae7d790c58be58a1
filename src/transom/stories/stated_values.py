"""The values that a criterion states, and whether a test and the code can have to do with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal

from transom.stories.criterion_words import holds_in_pieces
from transom.stories.written_numbers import NumbersOfText, WrittenNumber, written_numbers

_STRING = re.compile(r"\"([^\"\n]{0,500})\"|'([^'\n]{0,500})'|“([^”\n]{0,500})”")
_OF_CODE = re.compile(r"`[^`\n]{0,300}`|\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|\w\([^()\n]{0,300}\)")
_ATOM = r"(?:[-+]?\d[\d_.]{0,30}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
# A test that sets a value of the code: by name, as an attribute, or in a package of Go.
_PUT = re.compile(
    rf"(?:setattr|patch|patch\.object|replaceProperty|stub)\([^()\n]{{0,120}}?"
    rf"[\"'.](?P<name>[A-Za-z_]\w*)[\"'],\s*(?:new=)?(?P<value>{_ATOM})"
    rf"|^[ \t]*(?:\w+\.)+(?P<attribute>[A-Za-z_]\w*)\s*=\s*(?P<set>{_ATOM})"
    rf"|^[ \t]+(?P<plain>[A-Za-z_]\w*)\s*=\s*(?P<given>{_ATOM})",
    re.MULTILINE,
)
_CALL = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w{0,60}\.){0,3}([A-Za-z_]\w{0,60})\(([^()\n]{1,300})\)")
_LITERAL_WORDS = frozenset(("True", "False", "None", "true", "false", "null", "nil", "undefined"))
_RESULT = re.compile(
    r"(?:\b(?:exactly|returns?|is|are|gives?|equals?|has|costs?|pays?|makes?|yields?)|=|→|->)"
    r"\s{1,2}(?:[A-Z]{3}\s|[$€£]\s?)?$"
)
_PERCENT = re.compile(r"\s?(?:%|per ?cent\b|percent\b|Prozent\b)")
# A number behind a name is a part of it: Python 3.11, ISO 8601, step 14.
_OF_NAME = re.compile(
    r"(?:\b[A-Z]\w{0,30}|\b(?:step|section|page|chapter|table|figure|issue|ticket|story|version"
    r"|criterion|rule|line))[ -]?$"
)
_STATUS = re.compile(r"HTTPStatus|HttpStatus|http\.Status\w|StatusCodes?(?:\.|::)|status\.HTTP_")
_SCALES = (8, 10, 12, 24, 60, 100, 1000, 1024, 3600, 1_000_000)
SMALL = 12
"""Numbers up to this one are often written as that many values."""

_NUMBER = r"[-+]?\d[\d_]{0,18}(?:\.\d{1,18})?"
_LIST = re.compile(
    rf"[(\[{{]\s{{0,4}}(?P<list>{_NUMBER}(?:\s?,\s{{0,4}}{_NUMBER}){{1,20}}),?\s{{0,4}}[)\]}}]"
)
_BEFORE_LIST = re.compile(
    r"(?:\bassert\b[^\n]{0,200}?\bin\s*|\bassert(?:Not)?In\([^\n]{0,200}?,\s*)$"
)
_AFTER_LIST = re.compile(r"\s*\.\s*(?:includes|contains|include\?)\s*\(")
_EITHER = re.compile(
    rf"[=!]==?\s?(?P<first>{_NUMBER})\s{{1,4}}(?:\|\||&&|or)\s[^\n;]{{1,80}}?"
    rf"[=!]==?\s?(?P<second>{_NUMBER})"
    rf"|matches!\([^\n]{{1,120}}?, ?(?:Some\(|Ok\()?(?P<third>{_NUMBER}) ?\| ?(?P<fourth>{_NUMBER})"
)
# What a program takes where there is no value.
_VALUE = rf"(?P<value>{_NUMBER}|\"[^\"\n]{{1,100}}\"|'[^'\n]{{1,100}}')"
_DEFAULT = re.compile(
    r"(?:\.get\([^()\n]{1,100},\s*|\bgetattr\([^()\n]{1,100},\s*|\.unwrap_or\(\s*"
    r"|\bnext\([^\n]{1,100}?,\s*"
    rf"|\?\?\s*|\|\|\s*|\bor\s+){_VALUE}[ \t]*\)?"
)
_COMPARED = r"\s*\)?\s*(?:===?|,|(?:\.\w+){{1,3}}\()\s*{}(?![\w.])"
_FOLDS = re.compile(
    r"\.(?:lower|upper|casefold|swapcase|toLowerCase|toUpperCase|to_lowercase|to_uppercase"
    r"|to_ascii_lowercase|eq_ignore_ascii_case)\(|strings\.(?:ToLower|ToUpper|EqualFold)\("
    r"|\bre\.I(?:GNORECASE)?\b|\(\?i\)|/i(?=[,)\s;])"
)
_OF_CASE = re.compile(
    r"\b(?:case|capitals?|letters?|upper\w*|lower\w*|insensitive\w*)\b", re.IGNORECASE
)
_EXACTLY = re.compile(r"\b(?:exact(?:ly)?|verbatim|literally)\b", re.IGNORECASE)
# "Once paid, ..." is no number.
_ONCE = re.compile(
    r"\bonce(?=[.,;)]|\s*$|\s(?:each|only|even|per|in)\b)"
    r"|\b(?:unique\w*|duplicates?|distinct|deduplicat\w{1,3})\b",
    re.IGNORECASE,
)
_ANY_OF = re.compile(r"\b(?:or|either|one of|any of|among)\b", re.IGNORECASE)
_SET = re.compile(r"(?<![\w.])(?:frozen)?set\(\s*\w|\bnew Set\(\s*\w|HashSet")
_COUNTS = re.compile(r"\blen\b|\.(?:length|size|count|len)\b|Counter|sorted\(|List|==\s*\[")
# A call that leaves no fraction, such as `round(x)`; `round(x * 100)` keeps two digits.
_ROUNDED = re.compile(
    r"\b(?:round|Math\.round|Math\.trunc|Math\.floor|Math\.ceil|math\.Round|math\.Trunc|math\.floor"
    r"|math\.ceil)\((?>(?:[^(),*\n]|\([^()\n]{0,100}\)){1,200})\)"
)
_NO_PLACES = re.compile(r"\bplaces=0\b")
_OF_TYPE = re.compile(
    r"\bthe (?:number|integer|string|text|boolean)\b|\bas (?:a|an) (?:number|integer|string)\b"
    r"|\b(?:typed?|not (?:a|the) (?:string|text|number))\b",
    re.IGNORECASE,
)
_WITHOUT_TYPE = re.compile(r"\bassert\.(?:equal|deepEqual)\(")
_STRICT = re.compile(
    r"assert/strict|assert\.strict\b|\bstrict(?:\s+as|\s*:)\s+assert\b|strictEqual|StrictEqual"
)


def numbers_of_project(criterion: str) -> Iterator[WrittenNumber]:
    """Yield the numbers of a criterion that some file of a project that meets it should hold.

    Small numbers, percentages, dates and numbers that are part of a name are left out: programs
    have many ways to write them.
    """
    plain = _STRING.sub(lambda match: " " * len(match[0]), criterion)
    for number in written_numbers(plain):
        value = _value(number)
        end = number.place + len(number.text)
        if value is None or (value == int(value) and value <= SMALL):
            continue
        if not _OF_NAME.search(plain[: number.place]) and not _PERCENT.match(plain[end:]):
            yield number


def small_numbers(criterion: str) -> Iterator[Decimal]:
    """Yield the whole numbers from 2 to 12 that a criterion states in its own words, outside of
    code and quoted texts.
    """
    plain = _OF_CODE.sub(lambda match: " " * len(match[0]), criterion)
    for number in written_numbers(plain):
        value = _value(number)
        end = number.place + len(number.text)
        is_part = _OF_NAME.search(plain[: number.place]) or _PERCENT.match(plain[end:])
        if value is not None and value == int(value) and 2 <= value <= SMALL and not is_part:
            yield value


def rule_numbers(criterion: str) -> dict[str, Decimal]:
    """Return the numbers that a criterion states in its own words, as written -> value. 0 and 1 say
    little, and stand in most programs.
    """
    plain = _OF_CODE.sub(lambda match: " " * len(match[0]), criterion)
    numbers: dict[str, Decimal] = {}
    for number in written_numbers(plain):
        value = _value(number)
        if value is not None and value not in (0, 1) and not _OF_NAME.search(plain[: number.place]):
            numbers[number.text] = value
    return numbers


def put_in(criterion: str, tests: str, declared: Collection[str], code: str) -> str:
    """Return the name of a value of the story that tests set to what a criterion states, and the
    code does not hold, or "".
    """
    numbers = NumbersOfText(code)
    for match in _PUT.finditer(tests):
        name = match["name"] or match["attribute"] or match["plain"]
        value = match["value"] or match["set"] or match["given"]
        if name not in declared:
            continue
        stated = [number for number in written_numbers(criterion) if _value(number) is not None]
        for number in stated:
            is_same = NumbersOfText(value).has((_value(number) or Decimal(0),))
            if is_same and not any(map(numbers.has, number.forms)):
                return name
        text = value.strip("\"'`")
        if text and value[:1] in "\"'`" and text in criterion and text not in code:
            return name
    return ""


def stated_values(criterion: str) -> set[str]:
    """Return the texts and numbers that a criterion states, as checks of a program hold them."""
    values: set[str] = set()
    for number in numbers_of_project(criterion):
        values |= {*written_as(number)}
    for match in _STRING.finditer(criterion):
        value = match[1] or match[2] or match[3] or ""
        # A short text may stand in a check of something else.
        if len(value) > 2:
            values.add(value)
    return values


def can_be_derived(number: WrittenNumber, text: str) -> bool:
    """Whether a text of a program holds a number, the one beside it, or one in another unit."""
    value = _value(number)
    if value is None:
        return True
    if 100 <= value < 600 and _STATUS.search(text):
        return True
    numbers = NumbersOfText(text)
    forms = {value}
    # An index or a strict comparison may have the number beside it.
    if value == int(value):
        forms |= {value + 1, value - 1}
    for scale in _SCALES:
        forms |= {value * scale, value / scale}
    return number.text in numbers or any(numbers.has((form,)) for form in forms)


def written_as(number: WrittenNumber) -> tuple[str, ...]:
    """Return the notations of a number in programs and data."""
    value = _value(number)
    if value is None:
        return (number.text,)
    plain = f"{value.normalize():f}"
    grouped = f"{Decimal(plain):,}"
    return tuple(dict.fromkeys((number.text, plain, grouped, grouped.replace(",", "_"))))


def missing_arguments(criterion: str, functions: Collection[str], text: str) -> list[str]:
    """Return the arguments of the calls that a criterion states, `total([3, 4])`, which a text does
    not hold. Only calls of certain functions count, and only values.
    """
    missing = []
    numbers = NumbersOfText(text)
    for match in _CALL.finditer(criterion):
        values = _STRING.sub(" ", match[2])
        words = {*re.findall(r"[A-Za-z_]\w*", values)} - _LITERAL_WORDS
        if match[1] not in functions or words:
            continue
        for number in written_numbers(values):
            if number.text not in numbers and not any(map(numbers.has, number.forms)):
                missing.append(number.text)
        for string in _STRING.finditer(match[2]):
            value = string[1] or string[2] or string[3] or ""
            if value and "\\" not in value and not holds_in_pieces(text, value):
                missing.append(value)
    return missing


def one_of_several(criterion: str, text: str) -> str:
    """Return the number that a criterion states and a test takes as one of several, or ""."""
    stated = set[Decimal]() if _ANY_OF.search(criterion) else _results(criterion)
    for numbers in _alternatives(text):
        hits = stated & numbers
        # A criterion with several of them may allow each.
        if len(hits) == 1 and len(numbers) > 1:
            (hit,) = hits
            others = _without_alternatives(text)
            for call in _CALL.finditer(criterion):
                others = others.replace(call[0], " ")
            if not NumbersOfText(others).has((hit,)):
                return f"{hit.normalize():f}"
    return ""


def own_default(text: str) -> str:
    """Return a value that a test takes where the code has none, and expects, or ""."""
    for match in _DEFAULT.finditer(text):
        following = text[match.end() : match.end() + 200]
        value = re.escape(match["value"])
        if re.match(_COMPARED.format(value), following):
            return match["value"]
    return _assigned_default(text)


def _assigned_default(text: str) -> str:
    """Return a default that a test gives to a name, and expects of it, or ""."""
    for match in _DEFAULT.finditer(text):
        before, after = text[: match.start()].rpartition("\n")[2], text[match.end() :]
        name = re.match(r"\s*(?:const |let |var )?(\w+) :?= ", before)
        if name and re.match(r"[;?]*[ \t]*(?:\n|$)", after):
            compared = _COMPARED.format(re.escape(match["value"]))
            if re.search(rf"\b{name[1]}\b{compared}", after):
                return match["value"]
    return ""


def takes_any_case(criterion: str, text: str) -> bool:
    """Whether a test compares texts without their case, and a criterion states an exact text."""
    has_text = any(re.search(r"[^\W\d_]", match[0]) for match in _STRING.finditer(criterion))
    is_exact = bool(_EXACTLY.search(criterion)) and not _OF_CASE.search(criterion)
    return has_text and is_exact and bool(_FOLDS.search(text))


def hides_repeats(criterion: str, text: str) -> bool:
    """Whether a criterion is about repeated values, and a test compares sets alone."""
    return bool(_ONCE.search(criterion) and _SET.search(text) and not _COUNTS.search(text))


def rounds_away(criterion: str, text: str) -> str:
    """Return the number with a fraction that a criterion states, if a test compares whole numbers,
    or "".
    """
    for value in sorted(_results(criterion)):
        if value != int(value):
            number = f"{value.normalize():f}"
            if "AlmostEqual" in text and _NO_PLACES.search(text):
                return number
            plain, count = _ROUNDED.subn(" ", text)
            if count and not NumbersOfText(plain).has((value,)):
                return number
    return ""


def ignores_types(criterion: str, text: str, tests: str) -> bool:
    """Whether a criterion states the type of a value, and a test in JavaScript compares by `==`.

    Args:
        tests: all test files, with their imports.
    """
    is_loose = bool(_WITHOUT_TYPE.search(text)) and not _STRICT.search(tests)
    return is_loose and bool(_OF_TYPE.search(criterion))


def _value(number: WrittenNumber) -> Decimal | None:
    """Return a number's value; None for dates and other numbers of several parts."""
    single = [form[0] for form in number.forms if len(form) == 1]
    return single[0] if single else None


def _results(criterion: str) -> set[Decimal]:
    """Return the numbers that a criterion names as results, or all if it names none as such."""
    plain = _CALL.sub(lambda match: " " * len(match[0]), criterion)
    plain = _STRING.sub(lambda match: " " * len(match[0]), plain)
    every: set[Decimal] = set()
    results: set[Decimal] = set()
    for number in written_numbers(plain):
        value = _value(number)
        if value is not None:
            every.add(value)
            before = plain[: number.place].replace("`", " ")
            if _RESULT.search(re.sub(r" {2,}", " ", before)):
                results.add(value)
    return results or every


def _alternatives(text: str) -> Iterator[set[Decimal]]:
    """Yield the numbers of each check that takes one of several."""
    for match in _LIST.finditer(text):
        before = text[max(0, match.start() - 250) : match.start()]
        if _BEFORE_LIST.search(before.rpartition("\n")[2]) or _AFTER_LIST.match(text, match.end()):
            yield {_decimal(part) for part in match["list"].split(",")}
    for match in _EITHER.finditer(text):
        yield {_decimal(part) for part in match.groups() if part}


def _decimal(text: str) -> Decimal:
    return Decimal(text.strip().replace("_", ""))


def _without_alternatives(text: str) -> str:
    return _EITHER.sub(" ", _LIST.sub(" ", text))
