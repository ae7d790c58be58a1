"""Language of a domain: its own sentences, and those of all domains with its words in their
places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from transom.checklist.rules.forms import Form, FormError, Grammar, flat, words_in
from transom.checklist.rules.saying import Common, KnownClaim, SentenceKind
from transom.checklist.rules.shapes import Domain


@dataclass(frozen=True)
class Speech:
    """A compiled sentence form, what such a sentence does, and how it was read."""

    kind: SentenceKind
    means: str
    form: Form


class Language:
    """The sentences of one domain, compiled when the first description is read.

    Raises:
        FormError: a template of the domain cannot be read.
    """

    def __init__(self, domain: Domain, common: Common) -> None:
        self.domain = domain
        self._common = common
        things = {entity.key: entity.words for entity in domain.entities}
        lists = {**dict.fromkeys(KnownClaim.slot_names(), ()), **common.lists, **domain.lists}
        self.grammar = Grammar(lists, things, (*common.waiver_words, *domain.waiver_words))

    @cached_property
    def speeches(self) -> tuple[Speech, ...]:
        """Every form that the domain has words for; those that no word list fills are left out."""
        return tuple(speech for speech in self._compiled() if not speech.form.node.dead)

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Every word of its templates, compiled or not: a sentence with another one cannot be
        read.
        """
        domain = self.domain
        lists = (
            *domain.lists.values(),
            *(words for claim in domain.claims for words in claim.slots().values()),
        )
        said = (template for form in domain.forms for template in form.say)
        things = (template for entity in domain.entities for template in entity.words)
        listed = (template for found in lists for template in flat(found))
        texts = (*domain.waiver_words, *said, *things, *listed)
        return self._common.spelled.union(*map(words_in, texts))

    @property
    def problem(self) -> str:
        """Reason why a template of the domain cannot be read; empty where all can."""
        try:
            return "" if self.speeches else "no sentence is understood"
        except FormError as error:
            return str(error)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word that may stand in a sentence that is understood."""
        return frozenset().union(*(speech.form.node.words() for speech in self.speeches))

    def of_claim(self, claim: KnownClaim) -> Grammar:
        """The grammar in which the places of a claim are filled with its words."""
        slots = claim.slots()
        return self.grammar.over({**slots, "where": (*slots["where"], "{anywhere}")})

    def _compiled(self) -> Iterator[Speech]:
        for claim in self.domain.claims:
            yield from self._speeches(
                "claim", claim.means, self._common.frames, self.of_claim(claim)
            )
        for form in (*self.domain.forms, *self._common.forms):
            yield from self._speeches(form.kind, form.means, form.say, self.grammar)

    def _speeches(
        self, kind: SentenceKind, means: str, templates: Sequence[str], grammar: Grammar
    ) -> Iterator[Speech]:
        lead, tail = self._common.leads.get(kind, ""), self._common.tails.get(kind, "")
        return (
            Speech(kind, means, grammar.compile(f"{lead} {template} {tail}"))
            for template in templates
        )
