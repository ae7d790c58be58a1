"""The words for small numbers, in seven languages."""

from __future__ import annotations

_NAMES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty",
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
    "um dois três quatro cinco seis sete oito nove dez onze doze",
    "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
)
ENGLISH = frozenset(_NAMES[0].split())
# Words of one language that are no numbers in another: "once", "due date", "es sei".
_OTHER_WORDS = ("once", "due", "sei")
_ONES = ("eine", "einer", "eines", "une", "una", "uma", "un", "uno", "um", "een", "ein", "eins")


def _number_words() -> dict[str, int]:
    words = dict[str, int]()
    for names in _NAMES:
        for number, word in enumerate(names.split(), 1):
            # "Un" and "ein" are articles, but "one of three" is a part.
            if word not in _OTHER_WORDS and (number > 1 or word == "one"):
                words[word] = number
    return words


NUMBER_WORDS = _number_words()
"""Number words up to twelve in seven languages, and up to twenty in English."""


def number_of_word(word: str) -> int | None:
    """Return the number that a word or its digits mean, also an article; or None."""
    plain = word.casefold()
    if plain.isdecimal():
        return int(plain)
    if plain in _ONES:
        return 1
    return NUMBER_WORDS.get(plain)
