"""A provider of one's own is asked again after a retryable error, by the retry settings."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.checklist.shipped_model import copy_items
from tests.cli.checks import Desk
from transom import Agent
from transom.agent import Setup
from transom.config import Settings
from transom.config.hosted import Retry
from transom.config.runtime_sections import Llm
from transom.errors import InputError, NetworkFailed, ProviderError, RateLimited
from transom.llm import Again, Block, Chain, Delta, OnDelta, Provider, Reply, Request, Text, Window
from transom.llm.limits import PROCESS
from transom.llm.naming import Surroundings, named_chain
from transom.telemetry import Telemetry, read_trace

ASK = Request("p.seat", Window((Block("ask", "what"),)))
QUICK = Retry(max_attempts=3, initial_delay=0.001, jitter=0)


class Own(Provider):
    """A provider as a user writes it; it fails with each error in turn, then it answers."""

    name = "own"
    local = True

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked = 0

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        del request
        self.asked += 1
        if on_delta:
            on_delta(Text("half of"))
        if self.failures:
            raise self.failures.pop(0)
        return Reply((Text("fine"),))


def down(*, retryable: bool = True) -> ProviderError:
    return ProviderError("down for a moment", place="own", retryable=retryable)


async def test_an_agent_asks_it_again(caplog: pytest.LogCaptureFixture) -> None:
    own = Own(down())
    settings = Settings(llm=Llm(retry=QUICK))
    with caplog.at_level(logging.WARNING, "transom"):
        reply = await Agent("You answer.", provider=Setup(own, settings)).send("hello")
    assert (reply.text, own.asked) == ("fine", 2)
    assert "own: attempt 1 failed with ProviderError; asked again in" in caplog.text


@pytest.mark.parametrize(
    ("failure", "asked"),
    [
        (down(), 3),
        (down(retryable=False), 1),
        (NetworkFailed("cut"), 3),
        (RateLimited("slow", retryable=True, retry_after=0.001), 3),
        (RateLimited("the purse is empty"), 1),
        (TimeoutError("no answer"), 3),
    ],
)
async def test_it_is_asked_as_often_as_the_settings_say(failure: Exception, asked: int) -> None:
    own = Own(*[failure] * 9)
    with pytest.raises(ProviderError) as failed:
        await Chain((own,), retry=QUICK).answer(ASK)
    assert own.asked == asked
    assert len(failed.value.causes) == asked - 1


def test_all_settings_reach_it(tmp_path: Path) -> None:
    (tmp_path / "own_of_settings.py").write_text(MODULE, "utf-8")
    told = Retry(
        max_attempts=2,
        initial_delay=3,
        max_delay=7,
        backoff_factor=4,
        jitter=0.25,
        max_retry_after=9,
    )
    settings = Settings(llm=Llm(retry=told))
    assert named_chain("own_of_settings:Own", Surroundings(tmp_path, settings)).retry == told
    assert Setup(Own(), settings).chain("p.seat", PROCESS).retry == told


async def test_the_next_provider_is_asked_once_it_has_given_up() -> None:
    first, second = Own(*[down()] * 9), Own()
    assert (await Chain((first, second), retry=QUICK).answer(ASK)).text == "fine"
    assert (first.asked, second.asked) == (3, 1)


async def test_a_provider_may_say_that_it_is_not_retried() -> None:
    class Once(Own):
        is_retried = False

    own = Once(down())
    with pytest.raises(ProviderError, match="down for a moment"):
        await Chain((own,), retry=QUICK).answer(ASK)
    assert own.asked == 1


async def test_a_listener_hears_that_the_broken_reply_is_void() -> None:
    heard: list[Delta] = []
    await Chain((Own(down()),), retry=QUICK).answer(ASK, on_delta=heard.append)
    assert heard == [Text("half of"), Again("down for a moment"), Text("half of")]


async def test_the_attempts_after_a_failure_are_spans(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as trace, trace.span("chat p.seat"):
        await Chain((Own(down(), down()),), retry=QUICK).answer(ASK)
    spans = read_trace(tmp_path / f"{trace.trace_id}.jsonl")
    numbers = [row.attributes["transom.attempt"] for row in spans if row.name == "attempt own"]
    assert sorted(numbers) == [2, 3]


MODULE = """
from transom.errors import ProviderError
from transom.llm import Provider

class Own(Provider):
    name = "own"
    local = True

    async def complete(self, request, *, on_delta=None):
        with open("asked.txt", "a") as file:
            file.write("asked\\n")
        raise ProviderError("down", place="own", retryable=True, reason="out of order")
"""


def test_a_class_that_is_named_on_the_command_line_is_retried_by_the_settings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk.at(tmp_path, capfd)
    (tmp_path / "flaky_provider.py").write_text(MODULE, "utf-8")
    (tmp_path / "transom.yaml").write_text(
        "llm: {retry: {max_attempts: 2, initial_delay: 0.001}}\n", "utf-8"
    )
    copy_items(tmp_path)
    answer = desk.check("all", "VER-01.yaml", "--model", "flaky_provider:Own")
    assert answer.code == 2
    assert "own: attempt 1 failed: out of order; asked again in 0.00 s" in answer.err
    assert (tmp_path / "asked.txt").read_text("utf-8") == "asked\n" * 2


def test_a_provider_without_its_name_is_refused_with_what_it_lacks() -> None:
    class Nameless(Provider):
        async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
            raise AssertionError("it is not asked")

    with pytest.raises(InputError, match="this is of type Nameless, which lacks name; name one"):
        Agent("You answer.", provider=Nameless())  # type: ignore[abstract]  # the test
