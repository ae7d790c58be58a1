"""One cell of the table: an adapter, a behaviour, and what came of the two."""

from __future__ import annotations

from dataclasses import dataclass

from tests.llm.conformance.behaviours import Behaviour
from tests.llm.conformance.dialects import Dialect
from tests.llm.conformance.server import LocalServer, closed_port
from transom.config.hosted import Retry
from transom.errors import ContextOverflow, ProviderError
from transom.llm import Block, Delta, Reply, Request, Text, Tier, ToolSpec, Window
from transom.llm.retrying import RetryingProvider

LOOK = ToolSpec(
    "look", "Looks at a file.", {"type": "object", "properties": {"at": {"type": "string"}}}
)
ASKED = Request(
    "p.seat", Window((Block("role", "You look.", Tier.STABLE), Block("ask", "Look."))), (LOOK,)
)
PATIENT = Retry(max_attempts=2, initial_delay=0.001, max_retry_after=0.001)
"""Twice, so that the number of requests shows what is retried, and that no SDK retries on its
own.
"""


@dataclass(frozen=True)
class Cell:
    """What came of one attempt after another.

    Attributes:
        reply: where there was one.
        error: where there was none.
        requests: how many the server saw.
        deltas: what the listener heard.
    """

    reply: Reply | None
    error: ProviderError | None
    requests: int
    deltas: tuple[Delta, ...]

    def __str__(self) -> str:
        if self.reply:
            usage, told = (
                self.reply.usage,
                "".join("." for one in self.deltas if isinstance(one, Text)),
            )
            counts = f"{usage.input_tokens}/{usage.cached_tokens}/{usage.output_tokens}"
            return f"{self.reply.stop} {counts}, {self.requests} {told}".strip()
        again = "again" if self.error and self.error.retryable else "final"
        return f"{type(self.error).__name__} {again}, {self.requests}"


async def run_cell(server: LocalServer, dialect: Dialect, behaviour: Behaviour) -> Cell:
    """Ask once, with one repetition where it is allowed, while the server does what the
    behaviour says.
    """
    server.seen.clear()
    server.answer = behaviour.answer(dialect) if behaviour.answer else None
    url = closed_port() if behaviour.refused else server.url
    inner = dialect.provider(url, seconds=behaviour.seconds, stream=behaviour.stream)
    provider = RetryingProvider(inner, PATIENT)
    deltas: list[Delta] = []
    try:
        reply = await provider.complete(ASKED, on_delta=deltas.append)
    except ProviderError as error:
        return Cell(None, error, len(server.seen), tuple(deltas))
    finally:
        await provider.aclose()
    return Cell(reply, None, len(server.seen), tuple(deltas))


def faults(cell: Cell, dialect: Dialect, behaviour: Behaviour) -> list[str]:
    """Where a cell departs from what must be."""
    attempts = 2 if behaviour.retryable else 1
    found = (
        []
        if cell.requests == (0 if behaviour.refused else attempts)
        else [f"{cell.requests} requests"]
    )
    if behaviour.error is None:
        return found + _reply_faults(cell, dialect, behaviour)
    if type(cell.error) is not behaviour.error:
        return [
            *found,
            f"{type(cell.error).__name__} in place of {behaviour.error.__name__}: {cell.error}",
        ]
    error = cell.error
    if error.retryable is not behaviour.retryable:
        found.append(f"retryable is {error.retryable}")
    if len(error.causes) != attempts - 1:
        found.append(f"{len(error.causes)} causes")
    if (
        behaviour.says not in str(error)
        or "planted-key" in str(error)
        or dialect.name not in str(error)
    ):
        found.append(f"it says: {error}")
    if behaviour.retry_after:
        wanted, off = behaviour.retry_after
        if error.retry_after is None or abs(error.retry_after - wanted) > off:
            found.append(f"retry_after is {error.retry_after}")
    if isinstance(error, ContextOverflow) and (error.needed, error.limit) != behaviour.sizes:
        found.append(f"sizes are {error.needed}, {error.limit}")
    return found


def _reply_faults(cell: Cell, dialect: Dialect, behaviour: Behaviour) -> list[str]:
    reply = cell.reply
    if reply is None:
        return [f"it failed: {cell.error}"]
    found = [] if reply.parts == behaviour.parts else [f"parts are {reply.parts}"]
    if reply.usage != dialect.usage:
        found.append(f"usage is {reply.usage}")
    if reply.stop != ("tool_calls" if reply.calls else "end") or reply.by != f"{dialect.name}:m-1":
        found.append(f"{reply.by} stopped for {reply.stop}")
    heard = "".join(one.text for one in cell.deltas if isinstance(one, Text))
    pieces = sum(isinstance(one, Text) for one in cell.deltas)
    in_one = behaviour.name.endswith("one piece sent") or not behaviour.stream
    if heard != reply.text or (reply.text and (pieces == 1) is not in_one):
        found.append(f"heard {heard!r} in {pieces} pieces")
    if tuple(one for one in cell.deltas if not isinstance(one, Text)) != reply.calls:
        found.append("heard other calls")
    return found
