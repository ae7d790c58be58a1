"""However a handler ends, the model is told, and the program goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, scripted
from transom.agent import Agent
from transom.errors import InputError, Paused, ToolError, ToolRefused
from transom.llm import ToolCallPart
from transom.telemetry import Redactor
from transom.tools import Toolbox, ToolDefinition, ToolReturn

ANY: dict[str, Any] = {"type": "object"}


def raises(error: BaseException) -> Callable[[Any], Any]:
    def handler(arguments: Any) -> Any:
        raise error

    return handler


def waits_and_raises(error: BaseException) -> Callable[[Any], Any]:
    async def handler(arguments: Any) -> Any:
        raise error

    return handler


def waits_and_yields(value: Any) -> Callable[[Any], Any]:
    async def handler(arguments: Any) -> Any:
        return value

    return handler


def yields(value: Any) -> Callable[[Any], Any]:
    return lambda arguments: value


ENDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "StopIteration": (raises(StopIteration()), "StopIteration"),
    "SystemExit in a thread": (raises(SystemExit(3)), "SystemExit 3"),
    "GeneratorExit": (raises(GeneratorExit()), "GeneratorExit"),
    "cancelled by nobody": (waits_and_raises(asyncio.CancelledError()), "CancelledError"),
    "a note that is no JSON": (yields(ToolReturn("ok", note=float("nan"))), "ValueError"),
    "no JSON": (yields(b"bytes"), "TypeError"),
}


@pytest.mark.parametrize(("handler", "told"), ENDS.values(), ids=ENDS)
async def test_however_a_handler_ends_the_model_is_told(
    handler: Callable[[Any], Any], told: str
) -> None:
    box = Toolbox([ToolDefinition("look", "Looks.", ANY, handler)])
    ran = await box.run(ToolCallPart("1", "look", {}))
    assert (ran.result.is_error, ran.error) == (True, "ToolExecutionError")
    assert told in json.loads(ran.result.content)["error"]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


NOT_KEPT: dict[str, Any] = {
    "NaN": float("nan"),
    "bytes": b"bytes",
    "a time": {"paid_at": datetime(2026, 1, 1, tzinfo=UTC), "eur": 100},
    "too many lists": nested(5_000),
    "a note": ToolReturn("ok", note={"at": {1}}),  # type: ignore[dict-item]  # on purpose
    "a mark": ToolReturn("ok", mark=None),  # type: ignore[arg-type]  # on purpose
}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("value", NOT_KEPT.values(), ids=NOT_KEPT)
async def test_what_was_carried_out_once_is_in_doubt_where_its_result_cannot_be_kept(
    value: Any, plain: bool
) -> None:
    paid: list[int] = []

    def pay(arguments: Any) -> Any:
        paid.append(arguments["eur"])
        return value

    async def later(arguments: Any) -> Any:
        return pay(arguments)

    tool = ToolDefinition("pay", "Pays.", ANY, pay if plain else later, effect="once")
    ran = await Toolbox([tool]).run(ToolCallPart("1", "pay", {"eur": 7}))
    assert (ran.error, ran.result.trust) == ("ToolInDoubtError", "untrusted")
    assert "it was carried out: do not make the same call again" in ran.result.content
    again = (
        asks(ToolCallPart("1", "pay", {"eur": 100})),
        asks(ToolCallPart("2", "pay", {"eur": 100})),
    )
    async with Agent(SEAT, provider=scripted(*again), tools=[tool]) as agent:
        with pytest.raises(Paused, match="pay was begun"):
            await agent.send("go")
    assert paid == [7, 100]
    async with Agent(
        SEAT, provider=scripted(*again, "ok"), tools=[replace(tool, effect="idempotent")]
    ) as agent:
        assert (await agent.send("go")).text == "ok"
    assert paid == [7, 100, 100, 100], "what may be repeated is"


@pytest.mark.parametrize("before", range(485, 501, 3))
async def test_a_failure_is_cut_where_it_quotes_no_half_of_a_key(before: int) -> None:
    box = Toolbox(
        [ToolDefinition("look", "", ANY, raises(ValueError("x" * before + "planted-key")))],
        redact=Redactor({}, ["planted-key"]),
    )
    told = (await box.run(ToolCallPart("1", "look", {}))).result.content
    assert "x" * 485 in told and "pla" not in told


ODD_KEY = 'pa"ss\\word-77\nand-more'


@pytest.mark.parametrize(
    "handler",
    [
        yields({"secret": ODD_KEY, "all": [f"as {ODD_KEY}"]}),
        yields(json.dumps({"secret": ODD_KEY})),
        raises(RuntimeError({"secret": ODD_KEY})),
        raises(ToolRefused(f"no: { {'secret': ODD_KEY} }", hint=f"try {ODD_KEY}")),
        yields(ToolReturn("ok", note={"secret": ODD_KEY, "said": json.dumps(ODD_KEY)})),
    ],
    ids=["data", "JSON", "an error", "a refusal", "a note"],
)
async def test_a_key_with_quotes_and_line_ends_is_taken_out_of_data_too(
    handler: Callable[[Any], Any],
) -> None:
    box = Toolbox(
        [ToolDefinition("look", "", ANY, handler)], redact=Redactor({"DB_PASSWORD": ODD_KEY})
    )
    ran = await box.run(ToolCallPart("1", "look", {}))
    told = f"{ran.result.content} {ran.note}"
    assert "[redacted]" in told
    assert not any(part in told for part in ("pa", "word", "and-more")), told


async def test_a_call_that_is_cancelled_is_no_result() -> None:
    begun = asyncio.Event()

    async def hang(arguments: Any) -> Any:
        begun.set()
        await asyncio.sleep(600)

    box = Toolbox([ToolDefinition("look", "Looks.", ANY, hang)])
    running = asyncio.create_task(box.run(ToolCallPart("1", "look", {})))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(("left", "told"), [(0.0513456789, "0.051 s"), (0.25, "0.25 s")])
async def test_the_time_that_was_left_is_told_in_few_digits(left: float, told: str) -> None:
    async def hang(arguments: Any) -> Any:
        await asyncio.sleep(600)

    late = await Toolbox([ToolDefinition("look", "Looks.", ANY, hang)]).run(
        ToolCallPart("1", "look", {}), seconds=left
    )
    assert f"longer than the {told} that it may" in late.result.content


async def test_what_a_handler_does_to_its_arguments_is_its_own_business() -> None:
    def sort(arguments: Any) -> Any:
        arguments["xs"].sort()
        arguments["inner"]["more"] = 1
        return arguments["xs"]

    call = ToolCallPart("1", "look", {"xs": [3, 1, 2], "inner": {}})
    ran = await Toolbox([ToolDefinition("look", "Looks.", ANY, sort)]).run(call)
    assert (ran.result.content, call.arguments) == ("[1, 2, 3]", {"xs": [3, 1, 2], "inner": {}})


RECURSIVE: dict[str, Any] = {"type": "object", "properties": {}}
RECURSIVE["properties"]["self"] = RECURSIVE
ODD: dict[str, dict[str, Any]] = {
    "requires a list": {"parameters": {"type": "object", "required": [["x"]]}},
    "holds itself": {"parameters": RECURSIVE},
    "a number that is none": {
        "parameters": {
            "type": "object",
            "properties": {"x": {"type": "number", "minimum": float("nan")}},
        }
    },
    "one of nothing": {"parameters": {"type": "object", "properties": {"x": {"anyOf": []}}}},
    "no description": {"description": None},
    "no name": {"name": None},
    "an effect": {"effect": "twice"},
    "a trust": {"trust": "x"},
    "an egress": {"egress": "remote"},
    "no handler": {"handler": None},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_cannot_be_a_tool_is_refused_when_it_is_registered(odd: dict[str, Any]) -> None:
    tool = {
        "name": "look",
        "description": "Looks.",
        "parameters": ANY,
        "handler": yields("x"),
        **odd,
    }
    with pytest.raises((ToolError, InputError)):
        Toolbox([ToolDefinition(**tool)])
