"""Every combination of things and choices that a description can make becomes a spec that passes
the gate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.checklist.rules.support import configuration, rounds_after, shipped
from transom.checklist.rules.analysis import write_analysis
from transom.checklist.rules.chart import Node, Number, Said
from transom.checklist.rules.forms import Match
from transom.checklist.rules.grammar import Language
from transom.checklist.rules.plan import items_for
from transom.checklist.rules.reading import Clause, Reading

LANGUAGES = {language.domain.domain: language for language in shipped().languages}
# How many patterns and waivers are given; one pair a combination, in turn, so that all of them meet
# all the items.
MOST_ITEMS = 6  # of a spec
KINDS = ((None, None), (None, 0), (None, 2), (2, None), (2, 0), (2, 2))


def nodes(node: Node, seen: set[int]) -> Iterator[Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    for held in vars(node).values():
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, Node):
                yield from nodes(inner, seen)


def choices(language: Language) -> dict[str, set[str]]:
    """What the forms of a domain can choose; numbers by one of them."""
    found: dict[str, set[str]] = {}
    seen: set[int] = set()
    for speech in language.speeches:
        for node in nodes(speech.form.node, seen) if speech.kind != "waive" else ():
            if isinstance(node, Number):
                found.setdefault(node.name, set()).add("1.5")
            for name, value in node.choices if isinstance(node, Said) else ():
                if not name.startswith("="):
                    found.setdefault(name, set()).add(value)
    return found


def combinations(language: Language) -> Iterator[Reading]:
    """All of what makes items; what only narrows the files goes round beside it, until all of it
    was there.
    """
    domain = language.domain
    keys = [entity.key for entity in domain.entities]
    subsets = [s for n in range(1, len(keys) + 1) for s in itertools.combinations(keys, n)] or [()]
    told = choices(language)
    beside = [
        (name, value)
        for name in told
        if name in (*domain.narrows, "stage", "step")
        for value in told[name]
    ]
    makes = {name: ["", *sorted(told[name])] for name in told if name not in dict(beside)}
    made = [dict(zip(makes, values, strict=True)) for values in itertools.product(*makes.values())]
    told_of = [
        (chosen, subset)
        for chosen, subset in itertools.product(filter(whole, made), subsets)
        if 0
        < len(items_for(domain, subset, {name: value for name, value in chosen.items() if value}))
        <= MOST_ITEMS
    ]
    rounds = max(len(told_of), len(beside) + 1)
    for number, (chosen, subset) in zip(range(rounds), itertools.cycle(told_of), strict=False):
        said = {name: value for name, value in chosen.items() if value}
        said |= dict(beside[number - 1 : number]) if number else {}
        clause = Clause(
            "that", "claim", language.speeches[0].means, Match(subset, tuple(sorted(said.items())))
        )
        yield Reading(domain, tuple(items_for(domain, subset, said)), subset, said, (clause,))


def whole(chosen: dict[str, str]) -> bool:
    """A limit is said with its relation and its unit, or is zero; no frame says one without the
    other.
    """
    if "relation" not in chosen:
        return True
    given = [name for name in ("relation", "limit", "unit_word", "zero") if chosen.get(name)]
    if "unit_word" not in chosen:
        return given in ([], ["relation", "limit"])
    return given in (["relation", "limit", "unit_word"], ["relation", "zero"])


@pytest.mark.slow
@pytest.mark.parametrize("name", LANGUAGES)
def test_every_combination_passes_the_gate(name: str) -> None:
    kinds = itertools.cycle(KINDS)
    done = 0
    for reading in combinations(LANGUAGES[name]):
        items = items_for(reading.domain, reading.entities, reading.choices)
        requirements, waivers = next(kinds)
        if any(item.needs_patterns for item in items):
            requirements = 2
        elif requirements and not any(item.compares for item in items):
            requirements = None
        analysis = write_analysis(reading, requirements, waivers)
        config = configuration(
            "Something.", requirements or "N/A", "N/A" if waivers is None else waivers
        )
        findings = rounds_after(analysis, config).findings()
        assert findings == [], (reading.entities, reading.choices, findings)
        done += 1
    assert done


def test_the_choices_are_those_of_the_sentences() -> None:
    told = {name: choices(language) for name, language in LANGUAGES.items()}
    assert told["sta_endpoints"]["check"] == {"setup", "hold"}
    assert {"relation", "limit", "unit_word", "zero"} <= told["worst_slack"].keys()
    assert {"tool", "step", "start"} <= told["log_messages"].keys()
    assert "flag" not in told["sta_endpoints"]
