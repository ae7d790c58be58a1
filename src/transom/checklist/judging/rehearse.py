"""Regular expressions of items and checkers, tried in the sandbox on the texts that they will meet.

A backtracking expression may run for ages, and nothing can stop it within a process. So each is
first run where it can be killed, on the very texts; one that comes to an end there comes to an end
here, as soon.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Literal

from transom.checklist.atoms import CheckerConfig, Operator
from transom.checklist.judging.entries import field_of, show
from transom.checklist.judging.gather import GatheredEvidence
from transom.checklist.judging.runner import AtomRunner
from transom.checklist.patterns import REGEX, is_split_regex, parts
from transom.errors import AtomFailed, RegexFailed

SECONDS = 3.0
"""For one expression on one batch of texts."""

SOURCE = """\
import re

def try_regex(expression, how, texts):
    fits = getattr(re.compile(expression), how)
    for text in texts:
        fits(text)
"""


async def rehearse(runner: AtomRunner, config: CheckerConfig, evidence: GatheredEvidence) -> None:
    """Try every expression that a run will use; without any, no process is started.

    Raises:
        RegexFailed: one that does not come to an end in time, which is named.
    """
    trials = list(_trials(config, evidence))
    if not trials:
        return
    async with runner.worker(SOURCE) as worker:
        for expression, mode, batches in trials:
            for texts in batches:
                request = {"expression": expression, "how": mode, "texts": list(texts)}
                try:
                    await _in_time(asyncio.ensure_future(worker.call("try_regex", request)))
                except (TimeoutError, AtomFailed) as error:
                    if isinstance(error, AtomFailed):
                        why = f"fails: {error.problem}"
                    else:
                        why = f"finds no end within {SECONDS:g} s"
                    message = f"the regular expression '{REGEX}{expression}' {why}"
                    raise RegexFailed(
                        message, hint="write it without repetitions inside of repetitions"
                    ) from error


async def _in_time(trying: asyncio.Future[object]) -> None:
    """Wait for an answer.

    While this process itself is busy, as with other items, nobody can say that it is late.
    """
    try:
        while not trying.done():
            spent = time.process_time()
            await asyncio.wait([trying], timeout=SECONDS)
            # Only an idle process can tell that the other one is slow.
            if not trying.done() and time.process_time() - spent < SECONDS / 2:
                raise TimeoutError
        trying.result()
    finally:
        trying.cancel()
        await asyncio.wait([trying])


def _trials(
    config: CheckerConfig, evidence: GatheredEvidence
) -> Iterator[tuple[str, str, Iterable[tuple[str, ...]]]]:
    """Yield each expression, how it is used (`search` or `match`), and on what, in batches."""
    conditions = [item.condition for item in config.items if item.condition]
    matched = [condition for condition in conditions if condition.op is Operator.MATCHES]
    expressions: list[tuple[str, Literal["search", "match"]]] = []
    # With N/A or 0 no waiver is compared with anything.
    if config.waivers.value:
        expressions += [(waiver.pattern, "match") for waiver in config.waivers.waive_items]
    for pattern in config.requirements.pattern_items:
        for part in parts(pattern):
            if not is_split_regex(part):
                expressions.append((part, "search"))
    for condition in matched:
        expressions.append((REGEX + str(condition.value).removeprefix(REGEX), "search"))
    fields = {
        *(condition.field for condition in matched),
        *(f"{item.category}.name" for item in config.items),
    }
    # Equal texts take equal time; a log repeats most of its lines.
    texts = tuple(dict.fromkeys(_texts(config, evidence, fields)))
    for text, mode in expressions:
        if text.startswith(REGEX):
            yield text.removeprefix(REGEX), mode, [texts]
    for hint in itertools.chain.from_iterable(item.hints for item in config.items):
        if hint.startswith(REGEX):
            yield hint.removeprefix(REGEX), "search", _lines(evidence)


def _texts(
    config: CheckerConfig, evidence: GatheredEvidence, fields: Iterable[str]
) -> Iterator[str]:
    """Yield all that a pattern, a waiver or a condition may be compared with."""
    for entry in evidence.entries:
        yield entry.value
        for name in fields:
            value = field_of(entry.parsed_fields, name)
            yield value if isinstance(value, str) else show(value)
    for item in config.items:
        yield from (item.id, item.name)
    for file in evidence.files:
        yield from (file.shown_name, file.shown_name.replace("\\", "/").rpartition("/")[2])
    yield from map(str, config.requirements.pattern_items)


def _lines(evidence: GatheredEvidence) -> Iterator[tuple[str, ...]]:
    """Yield all that a hint may be looked for in, piece by piece."""
    for file in evidence.files:
        if file.absent is None:
            for piece in file.pieces():
                yield tuple(piece.split("\n"))
