"""Judge a document that a policy asks for: whether it is filled in, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from transom.formats.measurements import Reading
from transom.investigator.criterion_parts import Part, SourcedObservation, quoted_state
from transom.investigator.policy import DocumentRule
from transom.investigator.reading.vocabulary import key_words, word_set

_SHORT = 120  # words of a document in which each open passage is a large part
_FEW_OPEN = 25  # words of substance beside each open passage of a document that is written
_GENERIC = word_set(
    "doc document documentation overview plan guide note spec specification system technical"
    " detailed high level final draft feature project v version the of and for"
)


def part_of_document(rule: DocumentRule, documents: Sequence[Reading]) -> Part:
    """Return the part for the best of the documents with the required name."""
    # A draft beside the finished document does no harm.
    best = max(documents, key=lambda document: (document.usable, document.words))
    # What nobody could read may be complete, so it is no failure.
    if best.state == "unreadable":
        return Part("absent", f"{best.source} {best.why}")
    words = list(_entries(best, "document.words"))
    if not best.usable or best.words < rule.least_words:
        text = f"{best.source} is a placeholder: {best.words} words of substance"
        return Part("fail", text, words)
    for entry in _entries(best, "document.hollow"):
        open_passages = entry.number or 0.0
        # A short document is either finished or not; a long one may keep a question open.
        is_short = best.words < _SHORT
        if open_passages * _FEW_OPEN > best.words or (open_passages and is_short):
            text = f"{best.source} is mostly unwritten: {open_passages:g} open passages"
            return Part("fail", text, [*words, entry])
    for state in _entries(best, "document.status"):
        if state.observation.value != "pass":
            # Who rejects a document says so; a draft may be what was meant to be approved.
            outcome = "fail" if state.observation.value == "fail" else "mixed"
            return Part(
                outcome, f"{best.source} says of itself: {quoted_state(state, 'status')}", [state]
            )
    return Part("pass", f"{best.source} has {best.words} words of substance", words)


def _entries(document: Reading, measure: str) -> Iterator[SourcedObservation]:
    for observation in document.observations:
        if observation.measure == measure:
            yield SourcedObservation(observation, document)


def names_document(rule: DocumentRule, reading: Reading) -> bool:
    """Whether a document's file name or title matches one of a rule's names."""
    stem = set()
    for word in key_words(PurePosixPath(reading.source).stem):
        if not word.isdigit():
            stem.add(word)
    title = set(key_words(reading.title.partition(":")[0]))
    for name in rule.names:
        words = set(key_words(name))
        # `checkout-test-plan.md` is named by its last words, and "Test plan: checkout" by its
        # first.
        if any(
            words <= title_words and title_words - words <= _GENERIC
            for title_words in (stem, title)
        ):
            return True
    return any(len(key_words(name)) > 1 and set(key_words(name)) <= stem for name in rule.names)
