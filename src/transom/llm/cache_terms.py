"""Published terms of vendors' prompt caches. They are dated; usage that a server reports counts
more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class CacheTerms:
    """The cache terms of one family of models.

    Attributes:
        models: `vendor:model`, `*`, `?` and `[...]` allowed.
        least: tokens under which nothing is kept, and nothing is said.
        read: what a token read from the cache costs, where one read anew costs 1.
        write: what a token costs that is written into it.
        marks: how many places a request may mark; 0 where the vendor keeps prefixes by itself.
        as_of: when this was looked up, year and month.
    """

    models: str
    least: int
    read: float
    write: float
    marks: int
    as_of: str = "2026-11"


MOST_MARKS = 4

# The order matters: a model that has terms of its own stands before the pattern of its family.
TERMS: tuple[CacheTerms, ...] = (
    CacheTerms("anthropic:claude-opus-4[-.][01]*", 1_024, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-opus-*", 4_096, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-haiku-3*", 2_048, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-3-*haiku*", 2_048, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-haiku-*", 4_096, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-sonnet-4[-.]5*", 1_024, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-sonnet-4[-.]0*", 1_024, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:claude-sonnet-*", 2_048, 0.1, 1.25, MOST_MARKS),
    CacheTerms("anthropic:*", 4_096, 0.1, 1.25, MOST_MARKS),
    CacheTerms("openai:gpt-4o*", 1_024, 0.5, 1.0, 0),
    CacheTerms("openai:gpt-4.1*", 1_024, 0.25, 1.0, 0),
    CacheTerms("openai:*", 1_024, 0.1, 1.0, 0),
)
"""The first that fits counts. Writes of Anthropic's are those that last five minutes; for an
hour it is twice.
"""

NO_CACHE = CacheTerms("*", 0, 1.0, 1.0, 0)


def terms_of(provider: str) -> CacheTerms:
    """Return the cache terms of a provider, by its name; `NO_CACHE` if they are unknown.

    The name is `anthropic:NAME`, or `openai:anthropic/NAME` behind a router.
    """
    name = provider
    model = provider.partition(":")[2]
    # A router speaks OpenAI's API, but the vendor of the model sets the terms.
    if "/" in model:
        name = model.replace("/", ":", 1)
    for terms in TERMS:
        if fnmatchcase(name, terms.models):
            return terms
    return NO_CACHE
