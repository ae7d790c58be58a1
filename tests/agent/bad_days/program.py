"""A program that has many conversations through `Agent.send`, kept in a workspace; to be killed and
run again.

    python -m tests.agent.bad_days.program PLAN

prints a line for each conversation that ended, and one for each look at its own memory and files,
when it holds none of a conversation's.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.llm.conformance.dialects import DIALECTS
from transom import (
    Agent,
    Block,
    CallSettings,
    Home,
    Provider,
    Role,
    Tier,
    ToolDefinition,
    Workspace,
)
from transom.config.hosted import Retry
from transom.errors import ProviderError
from transom.llm.limits import Bucket, RateLimits, RateLimitStore
from transom.llm.retrying import RetryingProvider

SEAT = Role(
    "t.seat",
    (Block("role", "You look things up.", Tier.STABLE),),
    frozenset({"role"}),
    settings=CallSettings(64),
)
PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
}
LOOKS = 5
PATIENT = Retry(max_attempts=4, initial_delay=0.01, max_delay=0.1, max_retry_after=0.1)


@dataclass(frozen=True)
class Plan:
    """The task.

    Attributes:
        url: the server's, run and share of faults included.
        dialect: whose words are spoken.
        workspace: where the conversations are kept.
        conversations: how many.
        at_once: how many of them at any time.
        requests, tokens: what the bucket lets through in a period, with what is wrong or not.
        period: of the bucket, in seconds.
        seconds: a reply may take.
        kill_after: journal records, after which the process is killed; 0 for never.
        recover: first find what is unfinished, and finish it.
    """

    url: str
    dialect: str
    workspace: str
    conversations: int
    at_once: int = 30
    requests: int | None = None
    tokens: int | None = None
    period: float = 60.0
    seconds: float = 6.0
    kill_after: int = 0
    recover: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def messages(number: int) -> list[str]:
    """The messages of a conversation."""
    return [f"Find item {number}.", *(["And the one beside it."] if number % 10 == 0 else [])]


async def look(arguments: Any) -> str:
    at = str(arguments["at"])
    return f"{at} holds {hashlib.sha256(at.encode()).hexdigest()[:6]}"


# a kill while an undeclared one runs is told the model
TOOL = ToolDefinition("look", "Looks.", PLACE, look, "pure")


def provider(plan: Plan, store: RateLimitStore) -> RetryingProvider:
    """The vendor's own SDK against the plan's server, with patience and within limits."""
    dialect = next(one for one in DIALECTS if one.name == plan.dialect)
    # a server may be slow to look up
    limits, grace = RateLimits(plan.requests, plan.tokens), 2 * plan.seconds
    bucket = Bucket(plan.dialect, limits, store=store, period=plan.period, grace=grace)
    return RetryingProvider(
        dialect.provider(plan.url, seconds=plan.seconds, stream=True), PATIENT, bucket
    )


async def main(plan: Plan) -> None:
    import_module(plan.dialect)  # the SDK, which is no growth
    workspace = Path(plan.workspace)
    async with Workspace.at(workspace).open_store(after_append=killer(plan.kill_after)) as store:
        asked = provider(plan, store)

        async def recovered(home: Home) -> None:
            async with Agent(
                SEAT, provider=asked, tools=[TOOL], at=replace(home, store=store)
            ) as agent:
                with suppress(ProviderError):
                    await agent.resume()

        async def talked(number: int) -> None:
            _tell(
                conversation=number,
                **await talk(number, asked, Home(workspace, f"talk-{number}", store)),
            )

        if plan.recover:
            left = await Home.unfinished(workspace, SEAT)
            _tell(recovered=[home.name for home in left])
            await together(plan.at_once, (recovered(home) for home in left))
        for wave in waves(plan.conversations):
            await together(plan.at_once, (talked(number) for number in wave))
            gc.collect()
            # what is collected of broken connections is closed by the loop, a moment later
            await asyncio.sleep(0.1)
            _tell(ended=wave.stop, **of_this_process())
        await asked.aclose()


async def talk(number: int, asked: Provider, home: Home) -> dict[str, Any]:
    """A whole conversation: what was answered, or the error that ended it and its causes."""
    async with Agent(SEAT, provider=asked, tools=[TOOL], at=home) as agent:
        try:
            return {"answers": [(await agent.send(message)).text for message in messages(number)]}
        except ProviderError as error:
            causes = [[type(one).__name__, one.problem] for one in (*error.causes, error)]
            return {"error": str(error), "causes": causes}


def waves(conversations: int) -> list[range]:
    """The numbers of the conversations in `LOOKS` parts."""
    bounds = [conversations * part // LOOKS for part in range(LOOKS + 1)]
    return [range(begin, end) for begin, end in pairwise(bounds)]


async def together(at_once: int, work: Iterable[Awaitable[None]]) -> None:
    """All of it, so much at a time."""
    turnstile = asyncio.Semaphore(at_once)

    async def one(job: Awaitable[None]) -> None:
        async with turnstile:
            await job

    await asyncio.gather(*map(one, work))


def of_this_process() -> dict[str, int]:
    """Open files beside sockets, sockets, resident memory in KiB, and Python's objects."""
    gc.collect()
    open_files = [_target(link) for link in Path("/proc/self/fd").iterdir()]
    sockets = sum(one.startswith("socket:") for one in open_files)
    memory = (
        int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    )
    return {
        "files": len(open_files) - sockets,
        "sockets": sockets,
        "memory": memory,
        "objects": len(gc.get_objects()),
    }


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:  # the folder itself, while it was listed
        return ""


def killer(records: int) -> Callable[[int], None]:
    """Kills this process once its store took that many records into its journals; 0: never."""

    def after(number: int) -> None:
        if number == records:
            os.kill(os.getpid(), signal.SIGKILL)

    return after


def _tell(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _plan(arguments: Sequence[str]) -> Plan:
    return Plan(**json.loads(arguments[0]))


if __name__ == "__main__":
    asyncio.run(main(_plan(sys.argv[1:])))
