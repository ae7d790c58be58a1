"""The investigator's roles without a model: fixed rules, which abstain where a text needs
interpretation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz

from transom.canonical import Json, compact_json
from transom.investigator.question_names import foreign_words, phrases_left_out
from transom.investigator.question_words import NEUTRAL_WORDS
from transom.investigator.reading.vocabulary import plain_words, singular
from transom.investigator.roles import FOLLOW_UP, IDENTIFY, MAIN, MERGE, READER
from transom.investigator.similar_questions import asks_for_similar
from transom.llm import Reply, Request, Rule, RulesProvider, Text, ToolCallPart

_STOP = NEUTRAL_WORDS
_STATES = {
    "pass": "is met",
    "fail": "is not met",
    "waived": "is waived",
    "not_applicable": "is not applicable",
}
# Beyond this a word counts as misspelt: "chekout". A shorter one would fit too much.
_NEAR = 88
# Two features whose scores are closer than this are asked about.
_LEAD = 1.25
_MOST_LINES = 8
_GRAVE = re.compile(
    r"\b(?:fail|not |no"
    r" |open|critical|high|reject|missing|placeholder|estimate|planned|doubt|pending)",
    re.I,
)
NOTHING_FOUND = "The rules find no answer in the files they read; a model may (--model)."
"""The answer of the rules to a follow-up question that they cannot answer."""


def investigator_rules() -> RulesProvider:
    """Return a provider for five of the roles."""
    table: dict[str, Rule] = {
        IDENTIFY: _identify,
        READER: _read,
        MERGE: _merge,
        MAIN: _judge,
        FOLLOW_UP: _answer,
    }
    return RulesProvider(table, dict.fromkeys(table, 1), {})


def _say(text: str) -> Reply:
    return Reply((Text(text),), by="rules")


def _rows(request: Request, name: str) -> list[dict[str, Any]]:
    data = next((block.data for block in request.window.blocks if block.name == name), None)
    if isinstance(data, list):
        return [row for row in data if isinstance(row, dict)]
    return []


# Which feature


def _identify(request: Request) -> Reply:
    ids: list[Json] = [*meant(request.window.text("question"), _rows(request, "features"))]
    return _say(compact_json({"feature_ids": ids}))


def meant(question: str, features: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the features that a question may refer to: one, several equally good
    ones, or none.
    """
    feature_ids = _named_by_id(question, features)
    if not feature_ids:
        feature_ids, _, _ = _likely(question, features)
    # A word that is no part of the name makes it the name of something else.
    if len(feature_ids) == 1 and words_beside(question, feature_ids[0], features):
        return []
    return feature_ids


def near_names(question: str, features: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the features whose names fit a question only in part."""
    likely, _, _ = _likely(question, features)
    return list(dict.fromkeys([*_named_by_id(question, features), *likely]))


def words_beside(question: str, feature_id: str, features: list[dict[str, Any]]) -> list[str]:
    """Return the words that stand beside a feature's name and make it the name of another:
    `export` in `invoice export` for the feature Invoice Import.
    """
    feature = next(row for row in features if str(row["feature_id"]) == feature_id)
    summary = str(feature["summary"])
    if summary == feature["folder"] and not feature["jira_key"] and not summary.isalpha():
        # Without an issue only the folder is known, so any word may be one of the feature's name.
        return []
    own = _name_words(feature)
    other_words = set[str]()
    for row in features:
        other_words.update(plain_words(str(row["summary"])))
    other_words -= {*own, *plain_words(summary)}
    return foreign_words(question, feature, _fits(own), words_of_others=other_words)


def phrases_not_considered(question: str, feature: Mapping[str, Any]) -> list[str]:
    """Return the phrases of a question by which less than a feature may be meant."""
    return phrases_left_out(question, feature, _fits(_name_words(feature)))


def _fits(own: set[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a word may be meant for one of a name."""
    return lambda word: bool(_score(word, own, Counter(own)))


def _named_by_id(question: str, features: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the features that a question names by an id, a key or a folder."""
    feature_ids = []
    for feature in features:
        for name in (feature["feature_id"], feature["jira_key"], feature["folder"]):
            if name and _is_named(str(name), question):
                feature_ids.append(str(feature["feature_id"]))
    return list(dict.fromkeys(feature_ids))


def _is_named(name: str, question: str) -> bool:
    pattern = rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])"
    return re.search(pattern, question.casefold()) is not None


def _likely(
    question: str, features: list[dict[str, Any]]
) -> tuple[list[str], dict[str, set[str]], Counter[str]]:
    """Return the ids of the features that fit a question best, the words of each feature's name,
    and how often each word is one of a name.
    """
    words = list(
        dict.fromkeys(
            singular(word) for word in plain_words(question) if word not in _STOP and len(word) > 1
        )
    )
    names = {str(feature["feature_id"]): _name_words(feature) for feature in features}
    common = Counter(word for own in names.values() for word in own)
    # A question without a name can only mean the one feature that there is.
    if not words:
        return (list(names) if len(names) == 1 else []), names, common
    scores = {key: sum(_score(word, own, common) for word in words) for key, own in names.items()}
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return [], names, common
    fully_named = []
    for key, own in names.items():
        if own and own <= set(words):
            fully_named.append(key)
    # A name that stands there whole wins over one that shares more words by chance.
    if len(fully_named) == 1 and scores[fully_named[0]] * _LEAD >= best:
        return fully_named, names, common
    return [key for key, score in scores.items() if score * _LEAD >= best], names, common


def _name_words(feature: Mapping[str, Any]) -> set[str]:
    text = str(feature["summary"])
    # A key is no name: its letters are those of every issue of a project.
    if feature["feature_id"] != feature["jira_key"]:
        text += " " + str(feature["feature_id"]).replace("-", " ").replace("_", " ")
    name_words = set[str]()
    for word in plain_words(text):
        if word not in _STOP and len(word) > 1:
            name_words.add(singular(word))
    return name_words


def _score(word: str, own: set[str], common: Counter[str]) -> float:
    """Score a word of the question for a feature; a word of many features counts less."""
    fitting = [(fuzz.ratio(word, other), other) for other in own]
    ratio, other = max(fitting, default=(0, ""))
    # The beginning decides for compounds and plurals of other languages.
    if ratio < _NEAR and not (
        len(word) > 4 and (other.startswith(word[:5]) or word.startswith(other[:5]))
    ):
        starts = []
        for own_word in own:
            if len(word) > 4 and len(own_word) > 4 and own_word[:5] == word[:5]:
                starts.append(own_word)
        if not starts:
            return 0.0
        other = starts[0]
    return 1.0 / common[other]


# One source


def _read(request: Request) -> Reply:
    """Call the source's tool first, then list the observations, the gravest first."""
    source = _rows(request, "source") or [{}]
    if source[0].get("tool") and not request.window.turns:
        call = ToolCallPart("read", str(source[0]["tool"]), source[0]["arguments"])
        return Reply((call,), stop="tool_calls", by="rules")
    # The gravest come first, since a summary is cut at its end.
    lines = [_line(row) for row in _rows(request, "observations")]
    return _say(
        "\n".join(_gravest([line for line in lines if line]))
        or str(source[0].get("why") or "Nothing was found.")
    )


def _line(row: Mapping[str, Any]) -> str:
    if row["measure"].startswith(("document.", "claim.")) and row["measure"] not in (
        "document.words",
        "document.depends",
    ):
        return ""
    fact = str(row["fact"])
    nature = "" if row["nature"] == "measured" else f" ({row['nature']})"
    return f"{fact[:1].upper()}{fact[1:]}{nature}."


def _gravest(lines: list[str]) -> list[str]:
    grave = []
    for line in lines:
        if _GRAVE.search(line):
            grave.append(line)
    return [*grave, *(line for line in lines if line not in grave)][:_MOST_LINES]


def _merge(request: Request) -> Reply:
    lines = []
    for row in _rows(request, "summaries"):
        for line in str(row["summary"]).splitlines():
            if line.strip():
                lines.append(line)
    return _say("\n".join(_gravest(lines)))


# The verdict


def _judge(request: Request) -> Reply:
    feature = _rows(request, "feature")[0]
    verdict = str(feature["verdict"])
    text = justify(feature["name"], feature["target_stage"], verdict, _rows(request, "criteria"))
    return _say(compact_json({"verdict": verdict, "justification": text, "risks": []}))


def justify(
    feature_name: str, target_stage: str, verdict: str, criteria: Sequence[Mapping[str, Any]]
) -> str:
    """Return the reasons of a verdict: the required criteria that do not hold, then the others."""
    lines = [f"{feature_name} is judged {verdict} for {target_stage}."]
    for status, word in (
        ("fail", "is not met"),
        ("unknown", "is not known"),
        ("waived", "is waived"),
    ):
        for row in criteria:
            if row["status"] == status and row["required"]:
                lines.append(_because(row, word))
    met = [row for row in criteria if row["status"] == "pass" and row["required"]]
    # A positive verdict rests on what holds, so each figure is named with its evidence.
    if verdict == "READY":
        lines += [_because(row, "is met") for row in met]
    elif met:
        lines.append(f"What holds: {'; '.join(row['name'] for row in met)}.")
    return "\n".join(lines)


def _because(row: Mapping[str, Any], word: str) -> str:
    doubt = ""
    if row["doubt"]:
        doubt = f" ({row['doubt']})"
    facts = ", ".join(row["facts"][:4])
    if facts:
        facts = f": {facts}"
    return f"{row['name']}: {word}{doubt}{facts}."


def _answer(request: Request) -> Reply:
    question_words = set()
    for word in plain_words(request.window.text("question")):
        if word not in _STOP - {"uat"}:
            question_words.add(singular(word))
    lines = []
    # A question about other features is not answered by the criteria of this one.
    is_about_others = asks_for_similar(request.window.text("question"))
    for row in () if is_about_others else _rows(request, "criteria"):
        own = {
            singular(word)
            for word in plain_words(f"{row['name']} {row['id']} {row['source']} {row['owner']}")
        }
        if question_words & (own - {"no", "is", "of", "the", "all", "at", "least"}):
            status = _STATES.get(row["status"], "is not known")
            lines.append(_because(row, status))
    if not lines:
        # Memory was asked with the same question; its last line may say what is not known.
        lines = [str(row["text"]) for row in _rows(request, "memory")] or [NOTHING_FOUND]
    return _say("\n".join(lines[:_MOST_LINES]))
