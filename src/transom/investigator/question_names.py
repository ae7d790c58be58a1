"""Whether a question means a feature, or something whose name has the feature's name in it.

"Parcel Tracking Claims Desk" and "insurance for parcel tracking" are no "Parcel Tracking". The
words that share a noun phrase with the name decide: each must be a part of the feature's own names,
a function word, or a word for readiness. Any other word names something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

from transom.investigator.policy import load_policy
from transom.investigator.reading.speech import lexicons
from transom.investigator.reading.words import plain_words, singular, word_set, words
from transom.investigator.subject import without_requirements

NEUTRAL_WORDS = word_set(
    "is are the a an of for to in on into and or ready readiness feature features project"
    " system ticket issue it its this that can could should may we go be promoted promotion"
    " next stage state status what when how why does do did release released ship shipped"
    " deploy deployed deployment production prod uat development planning staging live move"
    " moved please tell me about with by now yet already fit enough you think our there any"
    " will would"
)
"""Words of a question that name no feature."""
JUDGING_WORDS = word_set(
    "good done complete finished safe fine allowed able cleared approved given despite because"
    " rollout launch test review coverage security performance new current our all"
)
"""Words that say something about a feature that is named."""

# Function words of the languages whose texts are not searched for instructions, and of English
# where the lexicon, which describes orders, has none for questions.
_OTHER_GRAMMAR = word_set(
    "whether where which whose really still ever finally fully actually epic story het een de van"
    " voor naar met kan kunnen mag wij we nu al os as um uma do da dos das no na nos nas ao à com"
    " para pelo pela está estão são pode podemos já van op bij klaar est sont il elle può possono"
    " puede podemos están peut können kann dürfen darf wann wie warum back need"
    " needed almost nearly quite"
)
_PREDICATES = word_set("pronto pronta prontos prontas klaar gereed listos listas fertig ready")
# In French a function word, and in all languages the name of a greater edition.
_NAME_ENDINGS = word_set("plus")
_DAYS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow montag dienstag"
    " mittwoch donnerstag freitag samstag sonntag heute morgen lundi mardi mercredi jeudi vendredi"
    " samedi dimanche aujourd demain lunes martes miércoles jueves viernes sábado domingo hoy"
    " mañana lunedì martedì mercoledì giovedì venerdì sabato domenica oggi domani segunda terça"
    " quarta quinta sexta hoje amanhã maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
    " vandaag"
)
# With a capital these are a part of a name: "Parcel Tracking Live".
_EDITIONS = word_set("live next new current")
# "Payment for NAME" is no NAME, but "go ahead with NAME" asks for it.
_JOINING_BEFORE = word_set(
    "of for to in within from on into inside by behind and or für von vom zu zum zur im der des"
    " und oder pour de du des d dans et ou para por del en y o per di da della dello in e do dos"
    " das van voor en of"
)
_JOINING_BEHIND = word_set(
    "of for and or für von und oder pour de du des et ou para por del y o per di del della e"
    " do da van voor en"
)
# These are a part of the name's phrase only if the predicate is still to come.
_ATTACHING_BEHIND = word_set(
    "with without on in at by via using from mit ohne auf bei avec sans sur con sin sem com zonder"
    " met op senza su"
)
_PRONOUNS = word_set(
    "we i they you one anything something nothing anyone nobody who what"
    " wir ich man sie wer was nous on je qui quoi nosotros yo quien noi"
    " io chi nós quem wij ik wie wat"
)
_AUXILIARIES = word_set(
    "is are was were does do did has have had can could should will would may might must shall ist"
    " sind hat kann soll darf est sont peut doit está están es puede è sono può são pode"
    " estão kan mag moet zijn"
)
# Their endings name the subject, so that the verb follows.
_ROMANCE_MODALS = word_set("podemos puede pueden possiamo può possono pode podem peut peuvent")
# An adjective behind these belongs to the name, but "está listo NAME" has the predicate first.
_ATTRIBUTE_LEADS = word_set("is are was were ist sind")
_INTERROGATIVES = word_set("what how where which when why who wie was wo warum welche comment quel")
_DETERMINERS = word_set(
    "the a an this that our your their its der die das den dem ein eine le la les l un une el los"
    " las una il lo gli i o os as um uma de het een"
)
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)*")
_BREAK = re.compile(r"[.?!;,:\n¿¡]")
_APOSTROPHES = ("'", "’")


class QuestionToken(NamedTuple):
    """One word of a question in the singular, as it is written, and the signs before it."""

    text: str
    spelling: str
    before: str

    @property
    def opens(self) -> bool:
        """Whether a clause begins with the word."""
        return _BREAK.search(self.before) is not None

    @property
    def is_possessive(self) -> bool:
        """Whether the word is the `s` of a genitive."""
        return self.text == "s" and self.before in _APOSTROPHES


@dataclass(frozen=True)
class _Phrase:
    """The words of a clause around a name, without those of the name."""

    before: Sequence[str]
    behind: Sequence[str]

    def foreign(self) -> Iterator[str]:
        """Yield the words that make the name a part of another name."""
        yield from self._foreign_before()
        yield from self._foreign_behind()

    def _foreign_before(self) -> Iterator[str]:
        place = len(self.before)
        # "The release of the feature NAME": the nouns between belong to the name.
        while place and _is_noun(self.before[place - 1]):
            place -= 1
        if not place:
            return
        last = self.before[place - 1]
        if not _is_grammar(last):
            if not self._is_verb_before(place - 1):
                yield last
            return
        # "Payment for the feature NAME": the preposition, then the word that it belongs to.
        start = place
        while start and self.before[start - 1] in _grammar():
            start -= 1
        if not start:
            return
        thing = self.before[start - 1]
        is_joined = _joins(self.before[start:place], _JOINING_BEFORE) or (
            self.before[start - 2] in _DETERMINERS
            and start > 1
            and _joins(self.before[start:place], _ATTACHING_BEHIND)
        )
        if is_joined and not _is_known(thing) and not self._is_verb_of_subject(start - 1):
            yield thing

    def _is_verb_of_subject(self, place: int) -> bool:
        """Whether a subject stands before a word: "what we need for NAME", "podemos lançar"."""
        return place > 0 and self.before[place - 1] in _PRONOUNS | _ROMANCE_MODALS

    def _is_verb_before(self, place: int) -> bool:
        word = self.before[place]
        previous = self.before[place - 1] if place else ""
        if self._is_verb_of_subject(place):
            return True
        if word.endswith("ing") and self.before[0] in _INTERROGATIVES:
            # "What is delaying NAME?"
            return all(map(_is_grammar, self.before[:place]))
        if _is_status(word):
            # "Can we approve NAME", but not "is the open NAME".
            return previous not in _ATTRIBUTE_LEADS | _DETERMINERS
        # "Please assess NAME."
        english = lexicons()["en"]
        is_order = all(other in english.leads for other in self.before[:place])
        return is_order and bool({"verb judge", "verb look"} & english.classes(word))

    def _foreign_behind(self) -> Iterator[str]:
        place = 0
        while place < len(self.behind) and _is_noun(self.behind[place]):
            place += 1
        if place == len(self.behind):
            return
        word, rest = self.behind[place], self.behind[place + 1 :]
        if word in _JOINING_BEHIND or word in _ATTACHING_BEHIND:
            thing = next((other for other in rest if other not in _DETERMINERS), "")
            is_attached = word in _JOINING_BEHIND or any(map(_is_status, rest[1:]))
            if thing and is_attached and not _is_known(thing):
                yield thing
        elif _is_grammar(word):
            return
        elif _is_status(word):
            # A clause has one predicate: "is NAME Pass ready", "can we ship NAME Pass".
            if (rest and _is_status(rest[0])) or any(map(_is_status, self.before)):
                yield word
        elif not self._is_predicate(word, rest):
            yield word
            yield from takewhile(lambda other: not _is_known(other), rest)

    def _is_predicate(self, word: str, rest: Sequence[str]) -> bool:
        """Whether an unknown word must be the predicate, since the clause has no other."""
        if not self.before or set(self.before) & _INTERROGATIVES:
            return False
        if self.before[-1] not in _AUXILIARIES | _PRONOUNS or word[0].isdigit():
            return False
        if re.fullmatch(r"v\d.*", word):
            return False
        if rest and not _is_grammar(rest[0]) and not _is_noun(rest[0]):
            return False
        # "The release" is no predicate.
        states = (
            other
            for article, other in zip(["", *rest], rest, strict=False)
            if article not in _DETERMINERS
        )
        return not any(map(_is_status, [*self.before, *states]))


def _joins(function_words: Sequence[str], prepositions: frozenset[str]) -> bool:
    """Whether a preposition ties a name to the word before: "confident are we in NAME" does not."""
    for word in function_words:
        if word in prepositions:
            return True
        if word in _PRONOUNS | _AUXILIARIES:
            return False
    return False


def foreign_words(
    question: str, feature: Mapping[str, Any], fits: Callable[[str], bool]
) -> list[str]:
    """Return the words beside a feature's name that make it the name of something else.

    Args:
        question: the question as it was asked.
        feature: the feature's row with its names.
        fits: tells whether a word, in the singular, may be meant for one of the feature's name; it
            counts if the question has no name of the feature as a whole.
    """
    tokens = _tokens(without_requirements(question))
    names = [str(feature[name] or "") for name in ("summary", "feature_id", "jira_key", "folder")]
    own_places = _whole_names(tokens, names)
    is_whole = bool(own_places)
    if is_whole:
        own_words = {word.text for name in names for word in _tokens(name)} - _grammar()
        for place, token in enumerate(tokens):
            if token.text in own_words:
                own_places.add(place)
    else:
        own_places = set()
        for place, token in enumerate(tokens):
            if fits(token.text):
                own_places.add(place)
        own_places |= _shortened_places(tokens, own_places, names[0])
    words_of_others = list[str]()
    for first, last in _groups(sorted(own_places)):
        words_of_others += _phrase(tokens, first, last).foreign()
        words_of_others += _capitals_beside(tokens, first, last)
    return list(dict.fromkeys(words_of_others))


def _tokens(text: str) -> list[QuestionToken]:
    tokens = list[QuestionToken]()
    end = 0
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        # "Does" has no singular.
        word = word if word in _grammar() else singular(word)
        tokens.append(QuestionToken(word, match[0], text[end : match.start()]))
        end = match.end()
    return tokens


def _whole_names(tokens: Sequence[QuestionToken], names: Sequence[str]) -> set[int]:
    """Return the places of the words that together are one of the names."""
    texts = [token.text for token in tokens]
    places = set[int]()
    for name in names:
        wanted = [token.text for token in _tokens(name)]
        for start in range(len(texts) - len(wanted) + 1):
            # Names are compared word by word: "tracking" is no part of "backtracking".
            if wanted and texts[start : start + len(wanted)] == wanted:
                places.update(range(start, start + len(wanted)))
    return places


def _shortened_places(
    tokens: Sequence[QuestionToken], own_places: set[int], summary: str
) -> set[int]:
    """Return the places of words that stand for words of a name: "QR code kiosk" for "QR Check-Out
    Kiosk". Between two words that are neighbours in the name, a word makes another name.
    """
    texts = [token.text for token in tokens]
    name = [token.text for token in _tokens(summary)]
    neighbours = set(pairwise(name))
    places = set[int]()
    for place in range(1, len(texts) - 1):
        if {place - 1, place + 1} <= own_places and (
            texts[place - 1],
            texts[place + 1],
        ) not in neighbours:
            places.add(place)
    return places


def _groups(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each row of places that follow each other."""
    first = 0
    for number, place in enumerate(places):
        if number + 1 == len(places) or places[number + 1] != place + 1:
            yield places[first], place
            first = number + 1


def _phrase(tokens: Sequence[QuestionToken], first: int, last: int) -> _Phrase:
    start, end = first, last + 1
    while start and not tokens[start].opens:
        start -= 1
    # A colon behind the name opens no clause: "NAME: mobile".
    while end < len(tokens) and (
        not tokens[end].opens or (end == last + 1 and tokens[end].before.strip() == ":")
    ):
        end += 1
    behind = []
    for token in tokens[last + 1 : end]:
        if not token.is_possessive:
            behind.append(token.text)
    return _Phrase([token.text for token in tokens[start:first]], behind)


def _capitals_beside(tokens: Sequence[QuestionToken], first: int, last: int) -> Iterator[str]:
    """Yield usual words beside a name that are written as a part of it: "NAME Go", "Our NAME"."""
    others = [token for place, token in enumerate(tokens) if not first <= place <= last]
    if not any(token.spelling.islower() for token in others[1:]):
        return
    for place in (first - 1, last + 1):
        if not 0 < place < len(tokens) or tokens[max(place, first)].opens:
            continue
        token = tokens[place]
        if token.text in _DAYS or tokens[place].opens:
            continue
        is_grammar = _is_grammar(token.text)
        is_usual = is_grammar or _is_status(token.text) or token.text in _EDITIONS | JUDGING_WORDS
        # "IT NAME", "NAME US": a country or a department, no pronoun.
        is_acronym = is_grammar and token.spelling.isupper() and len(token.spelling) == 2
        if is_acronym or (is_usual and token.spelling.istitle()):
            yield token.text


@lru_cache(maxsize=1)
def _grammar() -> frozenset[str]:
    grammar = set(
        _DAYS | _OTHER_GRAMMAR | _DETERMINERS | _PRONOUNS | _AUXILIARIES | _INTERROGATIVES
    )
    grammar |= _JOINING_BEFORE | _JOINING_BEHIND | _ATTACHING_BEHIND
    for lexicon in lexicons().values():
        grammar |= lexicon.frequent | lexicon.leads
    return frozenset(grammar - _PREDICATES - _NAME_ENDINGS)


@lru_cache(maxsize=4096)
def _is_grammar(word: str) -> bool:
    if word in _grammar():
        return True
    classes = ("order", "when", "neg", "you", "we", "past", "new", "all")
    return any(not lexicon.classes(word).isdisjoint(classes) for lexicon in lexicons().values())


@lru_cache(maxsize=1)
def _nouns() -> frozenset[str]:
    """Return the words for a feature, a release and a stage, which may stand beside a name."""
    policy = load_policy()
    stages = set()
    for step in policy.ladder:
        for name in (step.stage, *step.spoken):
            for word in plain_words(name):
                stages.add(word)
    return frozenset({*NEUTRAL_WORDS, *JUDGING_WORDS, *stages} - _states())


@lru_cache(maxsize=1)
def _states() -> frozenset[str]:
    phrases = []
    for texts in words().status.values():
        for text in texts:
            phrases.append(plain_words(text))
    return frozenset(phrase[0] for phrase in phrases if len(phrase) == 1) | _PREDICATES


@lru_cache(maxsize=4096)
def _is_status(word: str) -> bool:
    """Whether a word tells a state: ready, approved, bereit, missing."""
    if word in _grammar():
        return False
    english = lexicons()["en"].classes(word)
    if word in _states() or english & {"bad", "verb pass"}:
        return True
    return any("good" in lexicon.classes(word) for lexicon in lexicons().values())


@lru_cache(maxsize=4096)
def _is_noun(word: str) -> bool:
    """Whether a word only says that a name is one of a feature, a release or a stage."""
    if _is_grammar(word):
        return False
    # English words of this class, such as "delivery", name features as well.
    others = []
    for name, lexicon in lexicons().items():
        if name != "en":
            others.append(lexicon)
    return word in _nouns() or any("feature" in lexicon.classes(word) for lexicon in others)


@lru_cache(maxsize=4096)
def _is_known(word: str) -> bool:
    if _is_status(word) or _is_grammar(word) or _is_noun(word):
        return True
    return any("ruling" in lexicon.classes(word) for lexicon in lexicons().values())
