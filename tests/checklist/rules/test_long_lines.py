"""Reading a report takes no more than linear time, whatever line stands in it."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from tests.checklist.rules.floods import FLOODS
from transom.checklist.atoms import Source
from transom.checklist.rules import load_knowledge
from transom.checklist.rules.extract import Wanted, reader_of
from transom.checklist.rules.shapes import Domain

LENGTH = 4_000
ENOUGH_SECONDS = 0.06
TOO_STEEP = 7.0
"""For four times the text a linear reader takes 4 times the time, a quadratic one 16."""

DOMAINS = load_knowledge().domains


def seconds(domain: Domain, name: str, text: str) -> float:
    fields = {
        category.key: [field.name for field in category.fields] for category in domain.categories
    }
    sources = [
        Source(kind=source.kind, rank=source.rank, files=source.files) for source in domain.sources
    ]
    reader = reader_of(domain, Wanted(fields, sources), name)
    begin = time.thread_time()
    with suppress(ValueError):  # the flood may be a line that must be understood
        reader.feed(text)
        reader.finish()
    return time.thread_time() - begin


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=[domain.domain for domain in DOMAINS])
def test_a_flood_in_a_report_is_read_in_linear_time(domain: Domain) -> None:
    examples = (example for item in domain.items for example in item.examples)
    example = next(example for example in examples if example.outcome == "holds")
    name = example.file or domain.sources[0].files[0].replace("*", "run").replace("?", "x")
    text = example.text.replace("{good}", "1").replace("{bad}", "2")
    steep = []
    for flood, made in FLOODS.items():
        # Behind a line, as a line of its own, and in front of a line.
        short, long = (
            f"{text} {made(length)}\n{made(length)}\n{text}\n{made(length)} {text}\n"
            for length in (LENGTH, 4 * LENGTH)
        )
        took = seconds(domain, name, long)
        if took > ENOUGH_SECONDS:
            # Both are measured in turns, so that a busy moment falls on both.
            before = seconds(domain, name, short)
            for _ in range(4):
                took = min(took, seconds(domain, name, long))
                before = min(before, seconds(domain, name, short))
            if took > ENOUGH_SECONDS and took > TOO_STEEP * before:
                steep.append(f"{flood}: {before:.3f} s, four times the length {took:.3f} s")
    assert steep == []
