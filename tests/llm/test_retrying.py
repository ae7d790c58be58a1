"""Patience with a provider: what is told of each attempt, and what reaches it at all."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from transom.canonical import Json
from transom.config.hosted import Retry
from transom.errors import (
    AuthenticationFailed,
    EgressError,
    InputError,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from transom.llm import (
    Again,
    Block,
    CallSettings,
    Capabilities,
    Chain,
    Delta,
    Reply,
    Request,
    ScriptedProvider,
    Text,
    Tier,
    Window,
)
from transom.llm.limits import Bucket, MemoryLimitStore, RateLimits
from transom.llm.reply import Usage
from transom.llm.retrying import RetryingProvider
from transom.llm.structured import schema_check
from transom.telemetry import Telemetry, read_trace

ASK = Request("p.seat", Window((Block("role", "You.", Tier.STABLE), Block("ask", "what"))))
QUICK = Retry(max_attempts=3, initial_delay=0.001, jitter=0, max_retry_after=0.02)


def steady(*answers: object, bucket: Bucket | None = None) -> RetryingProvider:
    return RetryingProvider(ScriptedProvider({"p.seat": list(answers)}, name="far"), QUICK, bucket)  # type: ignore[arg-type]  # as the parent takes it


async def test_the_final_error_knows_every_cause() -> None:
    provider = steady(
        NetworkFailed("cut"), NetworkFailed("cut"), ProviderError("status 500", retryable=True)
    )
    with pytest.raises(ProviderError) as caught:
        await provider.complete(ASK)
    assert [cause.problem for cause in caught.value.causes] == ["cut", "cut"]
    assert str(caught.value) == "status 500 (before that: cut, 2 times)"


async def test_a_chain_adds_the_causes_of_each_provider() -> None:
    first = RetryingProvider(
        ScriptedProvider({"p.seat": [NetworkFailed("cut")] * 3}, name="a"), QUICK
    )
    second = ScriptedProvider({"p.seat": [ProviderError("down")]}, name="b")
    with pytest.raises(ProviderError, match=r"^down \(before that: cut, 3 times\)$"):
        await Chain((first, second)).answer(ASK)


async def test_what_cannot_help_is_not_tried_again() -> None:
    with pytest.raises(ProviderError, match=r"^no$"):
        await steady(ProviderError("no"), "never").complete(ASK)


async def test_each_attempt_is_a_span_with_its_number_and_wait(tmp_path: Path) -> None:
    provider = steady(
        NetworkFailed("cut"), RateLimited("slow", retryable=True, retry_after=5), "there"
    )
    with Telemetry.open(tmp_path) as trace, trace.span("chat p.seat"):
        assert (await provider.complete(ASK)).text == "there"
    spans = [
        row for row in read_trace(tmp_path / f"{trace.trace_id}.jsonl") if row.name == "attempt far"
    ]
    told = [
        (row.attributes["transom.attempt"], row.attributes["transom.retry.wait_seconds"])
        for row in spans
    ]
    assert sorted(told) == [(1, 0.0), (2, 0.001), (3, 0.02)]
    assert sorted(row.attributes.get("error.type", "") for row in spans) == [
        "",
        "NetworkFailed",
        "RateLimited",
    ]


async def test_a_listener_hears_that_a_broken_reply_is_void() -> None:
    class Breaks(ScriptedProvider):
        async def complete(self, request: Request, *, on_delta: object = None) -> Reply:
            if not self.requests:
                self.requests.append(request)
                assert callable(on_delta)
                on_delta(Text("half of"))
                raise NetworkFailed("cut")
            return await super().complete(request, on_delta=on_delta)  # type: ignore[arg-type]  # as the parent takes it

    heard: list[Delta] = []
    provider = RetryingProvider(Breaks({"p.seat": ["whole"]}, name="far"), QUICK)
    assert (await provider.complete(ASK, on_delta=heard.append)).text == "whole"
    assert heard == [Text("half of"), Again("cut"), Text("whole")]


async def test_an_error_of_the_listener_is_not_taken_for_the_providers() -> None:
    def breaks(delta: Delta) -> None:
        raise KeyError("listener")

    with pytest.raises(KeyError, match="listener"):
        await steady("one", "two").complete(ASK, on_delta=breaks)


async def test_tokens_are_reserved_settled_and_given_back() -> None:
    store = MemoryLimitStore()
    bucket = Bucket("far", RateLimits(tokens=100_000), store=store)
    provider = steady(
        RateLimited("slow", retryable=True), Reply((Text("x"),), usage=Usage(70, 30)), bucket=bucket
    )
    await provider.complete(ASK)
    state = store.get("buckets", "far")
    assert isinstance(state, dict)
    assert [sum(row[which] for row in state["spent"]) for which in (1, 2)] == [2, 100]  # type: ignore[index, union-attr, misc]  # JSON


@pytest.mark.parametrize(
    "failure", [RateLimited("slow", retryable=True, retry_after=0.02), NetworkFailed("cut")]
)
async def test_what_a_server_asks_one_to_wait_holds_up_all_who_share_its_bucket(
    failure: ProviderError,
) -> None:
    store, began = MemoryLimitStore(), time.time()
    assert (
        await steady(failure, "there", bucket=Bucket("far", store=store)).complete(ASK)
    ).text == "there"
    state = store.get("buckets", "far")
    if isinstance(failure, RateLimited):
        assert isinstance(state, dict)
        assert state["until"] >= began + 0.02  # type: ignore[operator]  # JSON
    else:
        assert state is None, "a connection that was cut is one's own trouble"


@pytest.mark.parametrize(
    ("failure", "until"),
    [
        (RateLimited("slow", retryable=True, retry_after=20), 1_020),
        (RateLimited("slow", retryable=True, retry_after=600), 1_030),
        (RateLimited("slow", retryable=True), None),
        (RateLimited("the purse is empty", retry_after=20), None),
        (ProviderError("status 503", retryable=True, retry_after=20), None),
    ],
)
async def test_what_a_server_asks_of_the_last_attempt_holds_up_the_next_run(
    failure: ProviderError, until: float | None
) -> None:
    store, policy = MemoryLimitStore(), Retry(max_attempts=1, max_retry_after=30)
    bucket = Bucket("far", store=store, clock=lambda: 1_000.0)
    with pytest.raises(ProviderError, match=failure.problem):
        await RetryingProvider(
            ScriptedProvider({"p.seat": [failure]}, name="far"), policy, bucket
        ).complete(ASK)
    state = store.get("buckets", "far")
    assert (state["until"] if isinstance(state, dict) else None) == until


@pytest.mark.parametrize(
    ("failure", "tokens"),
    [
        (NetworkFailed("no whole reply"), 1_000),
        (ProviderError("status 500"), 1_000),
        (RateLimited("slow"), 0),
        (AuthenticationFailed("who?"), 0),
        (RequestRefused("no"), 0),
    ],
)
async def test_what_was_refused_takes_no_tokens_and_what_was_given_up_may(
    failure: ProviderError, tokens: int
) -> None:
    store = MemoryLimitStore()
    bucket = Bucket("far", RateLimits(tokens=100_000), store=store, clock=lambda: 1_000.0)
    server = ScriptedProvider({"p.seat": [failure]}, name="far")
    provider = RetryingProvider(server, Retry(max_attempts=1), bucket)
    with pytest.raises(ProviderError):
        await provider.complete(
            replace(ASK, settings=CallSettings(1_000 - provider.estimate_tokens(ASK)))
        )
    state = store.get("buckets", "far")
    assert isinstance(state, dict)
    assert [row[1:] for row in state["spent"] if row[1]] == [[1, tokens]]  # type: ignore[index, union-attr]  # JSON


async def test_a_local_block_reaches_neither_limits_nor_server() -> None:
    store = MemoryLimitStore()
    server = ScriptedProvider(lambda r: "seen", name="far", local=False)
    provider = RetryingProvider(server, QUICK, Bucket("far", RateLimits(requests=5), store=store))
    kept = Request("p.seat", Window((Block("log", "secret", egress="local"),)))
    with pytest.raises(EgressError, match="block log is marked local"):
        await Chain((provider,)).answer(kept)
    assert server.requests == []
    assert store.get("buckets", "far") is None


SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
STRICT = Request("p.seat", ASK.window, output=SCHEMA)


async def test_a_server_without_schemas_is_told_in_words() -> None:
    provider = ScriptedProvider({"p.seat": ['{"n": 1}']}, caps=Capabilities())
    await Chain((provider,)).answer(STRICT)
    assert '"required":["n"]' in provider.requests[0].window.text("answer_schema")


@pytest.mark.parametrize(
    ("schema", "why"),
    [({"type": "nothing"}, "no JSON Schema"), ({"$ref": "http://127.0.0.1:9/x"}, "defs")],
)
def test_a_schema_that_is_none_is_said_so_and_a_remote_one_is_not_fetched(
    schema: dict[str, Json], why: str
) -> None:
    with pytest.raises(InputError, match=f"the schema of the answer: .*{why}"):
        schema_check(schema)({})


def test_a_request_for_free_text_keeps_its_digest() -> None:
    assert "output" not in ASK.to_json()
    assert len({ASK.digest, STRICT.digest}) == 2
