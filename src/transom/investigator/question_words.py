"""The words of a question: its tokens, and which of them name nothing by themselves."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from transom.evidence.dates import PrintedDate, read_age, read_date
from transom.investigator.policy import Policy, load_policy
from transom.investigator.reading.speech import lexicons
from transom.investigator.reading.vocabulary import plain_words, singular, word_set, words

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
DAYS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow montag dienstag"
    " mittwoch donnerstag freitag samstag sonntag heute morgen lundi mardi mercredi jeudi vendredi"
    " samedi dimanche aujourd demain lunes martes miércoles jueves viernes sábado domingo hoy"
    " mañana lunedì martedì mercoledì giovedì venerdì sabato domenica oggi domani segunda terça"
    " quarta quinta sexta hoje amanhã maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
    " vandaag"
)
# With a capital these are a part of a name: "Parcel Tracking Live".
EDITIONS = word_set("live next new current")
# "Payment for NAME" is no NAME, but "go ahead with NAME" asks for it.
JOINING_BEFORE = word_set(
    "of for to in within from on into inside by behind and or für von vom zu zum zur im der des"
    " und oder pour de du des d dans et ou para por del en y o per di da della dello in e do dos"
    " das van voor en of"
)
JOINING_BEHIND = word_set(
    "of for and or für von und oder pour de du des et ou para por del y o per di del della e"
    " do da van voor en"
)
# These are a part of the name's phrase only if the predicate is still to come.
ATTACHING_BEHIND = word_set(
    "with without on in at by via using from mit ohne auf bei avec sans sur con sin sem com zonder"
    " met op senza su"
)
PRONOUNS = word_set(
    "we i they you one anything something nothing anyone nobody who what"
    " wir ich man sie wer was nous on je qui quoi nosotros yo quien noi"
    " io chi nós quem wij ik wie wat"
)
AUXILIARIES = word_set(
    "is are was were does do did has have had can could should will would may might must shall ist"
    " sind hat kann soll darf est sont peut doit está están es puede è sono può são pode"
    " estão kan mag moet zijn"
)
# Their endings name the subject, so that the verb follows.
ROMANCE_MODALS = word_set("podemos puede pueden possiamo può possono pode podem peut peuvent")
# An adjective behind these belongs to the name, but "está listo NAME" has the predicate first.
ATTRIBUTE_LEADS = word_set("is are was were ist sind")
INTERROGATIVES = word_set("what how where which when why who wie was wo warum welche comment quel")
ASKED_WORDS = word_set(
    "summary overview changed change changes different responsible owner owners left missing"
    " blocks blocking zusammenfassung überblick geändert verantwortlich zuständig résumé resumen"
    " riassunto resumo samenvatting"
)
"""What is asked about a feature, beside whether it is ready."""
DETERMINERS = word_set(
    "the a an this that our your their its der die das den dem ein eine le la les l un une el los"
    " las una il lo gli i o os as um uma de het een"
)
# A quarter or a half of a year.
_PART_OF_YEAR = re.compile(r"[qh][1-4]|[1-4]q")
_DIGITS_OF_YEAR = 4
# Words for an edition, a platform or a place of a product, in the languages of questions.
NARROWER_WORDS = word_set(
    "edition version variant beta alpha preview pilot lite pro platform mobile web desktop browser"
    " cloud app client portal kiosk tablet phone android region country branch shop store site"
    " module package ausgabe variante plattform region filiale laden paket édition plateforme"
    " boutique région edición móvil plataforma tienda región edizione piattaforma negozio"
)
OPENING = (
    r"^(?>(?:(?:please|can|could|would|will|you|tell|us|me|show|list|find|name|give|get|retrieve"
    r"|and|so|now|then|also|hello|hi|i want to know|do|know)\b\W{0,3})*)"
)
"""Expression for the words with which a question may open before it asks."""
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
    def begins_sentence(self) -> bool:
        """Whether a sentence begins with the word; "i.e. the" has a point within one."""
        is_after_point = "." in self.before and not self.spelling.islower()
        return is_after_point or any(sign in self.before for sign in "?!\n")

    @property
    def is_possessive(self) -> bool:
        """Whether the word is the `s` of a genitive."""
        return self.text == "s" and self.before in _APOSTROPHES


def tokens_of(text: str) -> list[QuestionToken]:
    """Return the words of a question in order."""
    tokens = list[QuestionToken]()
    end = 0
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        # "Does" has no singular.
        word = word if word in grammar() else singular(word)
        tokens.append(QuestionToken(word, match[0], text[end : match.start()]))
        end = match.end()
    return tokens


@lru_cache(maxsize=1)
def grammar() -> frozenset[str]:
    """Return the function words of all languages that questions are asked in."""
    function_words = set(
        DAYS | _OTHER_GRAMMAR | DETERMINERS | PRONOUNS | AUXILIARIES | INTERROGATIVES
    )
    function_words |= JOINING_BEFORE | JOINING_BEHIND | ATTACHING_BEHIND
    for lexicon in lexicons().values():
        function_words |= lexicon.frequent | lexicon.leads
    return frozenset(function_words - _PREDICATES - _NAME_ENDINGS)


@lru_cache(maxsize=4096)
def is_grammar(word: str) -> bool:
    """Whether a word is a function word."""
    if word in grammar():
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
def is_status(word: str) -> bool:
    """Whether a word tells a state: ready, approved, bereit, missing."""
    if word in grammar():
        return False
    english = lexicons()["en"].classes(word)
    if word in _states() or english & {"bad", "verb pass"}:
        return True
    return any("good" in lexicon.classes(word) for lexicon in lexicons().values())


@lru_cache(maxsize=4096)
def is_noun(word: str) -> bool:
    """Whether a word only says that a name is one of a feature, a release or a stage."""
    if is_grammar(word):
        return False
    # English words of this class, such as "delivery", name features as well.
    other_words = []
    for name, lexicon in lexicons().items():
        if name != "en":
            other_words.append(lexicon)
    return word in _nouns() or any("feature" in lexicon.classes(word) for lexicon in other_words)


@lru_cache(maxsize=4096)
def is_known(word: str) -> bool:
    """Whether a word belongs to a question on readiness, and to no name."""
    if is_status(word) or is_grammar(word) or is_noun(word):
        return True
    return any("ruling" in lexicon.classes(word) for lexicon in lexicons().values())


@lru_cache(maxsize=1)
def criterion_words() -> frozenset[str]:
    """Return the words of a policy and its criteria, by which people speak of evidence."""
    criterion_names = {singular(key) for key in Policy.model_fields}
    for criterion in load_policy().criteria:
        name = f"{criterion.name} {criterion.source}".replace("_", " ").replace("/", " ")
        for word in plain_words(name):
            criterion_names.add(singular(word))
    return frozenset(criterion_names)


@lru_cache(maxsize=4096)
def is_time(word: str) -> bool:
    """Whether a word names a date, a year, a quarter, a month, or a span such as a week."""
    if _PART_OF_YEAR.fullmatch(word) or word in DAYS:
        return True
    dates = [f"1 {word} 2000"]
    # A bare number is no date: "edition 2".
    if len(word) == _DIGITS_OF_YEAR and word.isdigit():
        dates.append(f"1 May {word}")
    elif not word.isdigit():
        dates.append(word)
    if any(isinstance(read_date(text), PrintedDate) for text in dates):
        return True
    return read_age(f"1 {word}") is not None
