"""The audited atoms B and C: how a text is compared with a pattern, and when a list counts as
existing.

Universal: no word of any checklist item stands here. The module imports `re` alone and is complete
in itself, so its source can be appended to an atom A and run in the sandbox; that is why
annotations are built-in types and no
`__future__` import is used.
"""

import re


def validate_logic(
    text: object,
    pattern: object,
    parsed_fields: object = None,  # noqa: ARG001  part of the contract; own atoms may read it, the standard does not
    default_match: str = "contains",
    regex_mode: str = "search",
) -> dict[str, object]:
    """Compare a text with one pattern.

    Precedence: alternatives (`a|b`, each literal) > `regex:` > wildcard (`*`, `?`, whole text) >
    `default_match` (`contains`, `words` or `exact`). Everything is case-sensitive; `[` and `]` are
    literal, since buses are written with them.

    Returns:
        `is_match`, `reason`, and `kind`: alternatives | regex | wildcard | contains | words |
        exact.
    """
    subject = "" if text is None else str(text)
    wanted = "" if pattern is None else str(pattern)
    if "|" in wanted:
        return _transom_alternatives(subject, wanted, default_match)
    if wanted.startswith("regex:"):
        return _transom_regex(subject, wanted[len("regex:") :], regex_mode)
    if "*" in wanted or "?" in wanted:
        hit = _transom_wildcard(subject, wanted)
        return _transom_answer(
            hit, "wildcard", f"the text {'fits' if hit else 'does not fit'} '{wanted}'"
        )
    return _transom_plain(subject, wanted, default_match)


def check_existence(items: list[dict[str, object]]) -> dict[str, object]:
    """A list exists if it is not empty; the list comes back unchanged as `evidence`."""
    count = len(items) if items else 0
    return {
        "is_match": count > 0,
        "reason": f"{count} found" if count else "nothing found",
        "evidence": items,
    }


def _transom_alternatives(subject: str, wanted: str, default_match: str) -> dict[str, object]:
    # A blank alternative would be contained in everything, so `|a||` is `a` alone.
    for segment in wanted.split("|"):
        if segment.strip() and _transom_plain(subject, segment, default_match)["is_match"]:
            return _transom_answer(True, "alternatives", f"alternative '{segment}' fits")
    return _transom_answer(False, "alternatives", f"none of '{wanted}' fits")


def _transom_regex(subject: str, expression: str, mode: str) -> dict[str, object]:
    try:
        compiled = re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        return _transom_answer(False, "regex", f"Invalid Regex: {error}")
    # Any mode but "match" searches: an unknown word must not turn a check into a crash.
    found = compiled.match(subject) if mode == "match" else compiled.search(subject)
    return _transom_answer(
        found is not None, "regex", f"'{expression}' {'matches' if found else 'does not match'}"
    )


def _transom_plain(subject: str, wanted: str, default_match: str) -> dict[str, object]:
    if default_match == "exact":
        return _transom_answer(
            subject == wanted,
            "exact",
            f"the text {'is' if subject == wanted else 'is not'} '{wanted}'",
        )
    hit = bool(wanted) and wanted in subject
    kind = "contains"
    if default_match == "words":
        hit, kind = hit and _transom_has_words(subject, wanted), "words"
    return _transom_answer(
        hit, kind, f"the text {'contains' if hit else 'does not contain'} '{wanted}'"
    )


def _transom_has_words(subject: str, wanted: str) -> bool:
    # "21.1" is no part of "21.14", "21.1.3" or "121.1", and "clk" none of "clks".
    start = subject.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _transom_goes_on(subject, start) and not _transom_goes_on(subject, end):
            return True
        start = subject.find(wanted, start + 1)
    return False


def _transom_goes_on(subject: str, place: int) -> bool:
    # Whether a number or a word goes on across a place.
    if not 0 < place < len(subject):
        return False
    before, after = subject[place - 1], subject[place]
    if (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isdigit()):
        return True
    around = subject[max(0, place - 2) : place + 2]
    if before == ".":
        return around[:1].isdigit() and after.isdigit()
    return after == "." and before.isdigit() and around[-1:].isdigit()


def _transom_wildcard(subject: str, wanted: str) -> bool:
    # Greedy with one point of return: linear for ordinary patterns, never exponential as a regex of
    # `.*` can be.
    at, index, star, retry = 0, 0, -1, 0
    while at < len(subject):
        if index < len(wanted) and wanted[index] == "*":
            star, retry = index, at
            index += 1
        elif index < len(wanted) and wanted[index] in ("?", subject[at]):
            at += 1
            index += 1
        elif star >= 0:
            retry += 1
            at, index = retry, star + 1
        else:
            return False
    return all(character == "*" for character in wanted[index:])


def _transom_answer(is_match: bool, kind: str, reason: str) -> dict[str, object]:
    return {"is_match": is_match, "reason": reason, "kind": kind}
