"""Whatever a call is like, the model gets a result that it can go on from; a tool that cannot
work is refused early.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from transom.canonical import Json
from transom.errors import EgressError, InputError, RunError, ToolError, ToolRefused
from transom.llm import ToolCallPart
from transom.tools import Toolbox, ToolDefinition, ToolLimits, ToolReturn
from transom.tools.definition import Arguments, outcome_from_json

PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "words": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "lines": {"type": "integer", "minimum": 1, "default": 7},
        "mode": {"type": "string", "enum": ["a", "b"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def tool(answer: object = "seen", *, name: str = "look", parameters: Json = None) -> ToolDefinition:
    async def run(arguments: Arguments) -> ToolReturn:
        if isinstance(answer, BaseException):
            raise answer
        return ToolReturn(arguments if answer == "echo" else answer)  # type: ignore[arg-type]  # wrong answers on purpose

    return ToolDefinition(name, "Looks.", parameters or PARAMETERS, run)  # type: ignore[arg-type]  # runs that answer wrongly, too


async def told(box: Toolbox, arguments: Json, name: str = "look") -> tuple[bool, str, str]:
    result = (await box.run(ToolCallPart("7", name, arguments))).result
    assert (result.id, result.name) == ("7", name)
    return result.is_error, result.trust, result.content


async def test_a_call_is_carried_out_with_its_defaults() -> None:
    failed, trust, content = await told(Toolbox([tool("echo")]), {"path": "x", "words": ["a"]})
    assert (failed, trust, json.loads(content)) == (
        False,
        "untrusted",
        {"path": "x", "words": ["a"], "lines": 7},
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("path", "no JSON object"),
        ([], "no JSON object"),
        ({}, "'path' is a required property"),
        ({"path": 3}, "$.path: 3 is not of type 'string'"),
        ({"path": ""}, "$.path: '' should be non-empty"),
        ({"path": "x", "lines": True}, "$.lines: True is not of type 'integer'"),
        ({"path": "x", "lines": 1.5}, "$.lines: 1.5 is not of type 'integer'"),
        ({"path": "x", "lines": 0}, "$.lines: 0 is less than the minimum of 1"),
        ({"path": "x", "words": ["a", 2]}, "$.words[1]: 2 is not of type 'string'"),
        ({"path": "x", "words": ["a", "b", "c"]}, "$.words: ['a', 'b', 'c'] is too long"),
        ({"path": "x", "mode": "c"}, "$.mode: 'c' is not one of"),
        ({"path": "x", "depth": 1}, "('depth' was unexpected)"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(arguments: Json, complaint: str) -> None:
    failed, trust, content = await told(Toolbox([tool(RuntimeError("must not run"))]), arguments)
    assert (failed, trust) == (True, "ours")
    assert complaint in json.loads(content)["error"]
    assert "again" in json.loads(content)["hint"]


async def test_an_unknown_tool_is_told_which_there_are() -> None:
    failed, _, content = await told(Toolbox([tool(), tool(name="list")]), {}, name="grep")
    assert failed
    assert json.loads(content) == {
        "error": "there is no such tool",
        "hint": "call one of look, list",
    }
    assert "answer without" in (await told(Toolbox(), {}))[2]


@pytest.mark.parametrize(
    ("error", "said", "trust"),
    [
        (ValueError("bad\nlog text"), "the tool failed: ValueError: bad", "untrusted"),
        (RecursionError(), "the tool failed: RecursionError: ", "untrusted"),
        (InputError("is a folder", place="/home/me/x"), "is a folder", "untrusted"),
        # In the words of the tool, which may be those of a page.
        (ToolRefused("it is sold out", hint="answer now"), "it is sold out", "untrusted"),
    ],
)
async def test_an_error_in_a_tool_is_a_result(error: Exception, said: str, trust: str) -> None:
    failed, trusted, content = await told(Toolbox([tool(error)]), {"path": "x"})
    assert (failed, trusted, json.loads(content)["error"]) == (True, trust, said)
    assert json.loads(content)["hint"]
    assert "/home" not in content


async def test_what_json_has_no_word_for_is_the_tools_failure() -> None:
    failed, _, content = await told(Toolbox([tool({"at": {1, 2}})]), {"path": "x"})
    assert failed
    assert "TypeError" in content


@pytest.mark.parametrize("error", [RunError("gone"), EgressError("stays"), KeyboardInterrupt()])
async def test_what_concerns_the_run_itself_ends_it(error: BaseException) -> None:
    with pytest.raises(type(error)):
        await Toolbox([tool(error)]).run(ToolCallPart("7", "look", {"path": "x"}))


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"type": "string"}, "no JSON Schema of an object"),
        ({"properties": {}}, 'needs "type": "object"'),
        (
            {"type": "object", "properties": {"a": {"type": "text"}}},
            "no JSON Schema: 'text' is not valid",
        ),
        ({"type": "object", "properties": ["a"]}, "no JSON Schema"),
        ({"type": "object", "required": [["b"]]}, "no JSON Schema"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": 3}}}, "no JSON Schema"),
        (
            {"type": "object", "properties": {"a": {"type": "string", "enum": "x"}}},
            "no JSON Schema",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "minLength": "x"}}},
            "no JSON Schema",
        ),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "is not a 'regex'"),
        ({"type": "object", "anyOf": [{}]}, "hosted models refuse it there"),
        ({"type": "object", "description": "x" * 70_000}, "65536 may be"),
    ],
)
def test_a_malformed_schema_fails_at_registration(parameters: Json, fault: str) -> None:
    with pytest.raises(ToolError, match=fault):
        Toolbox([tool(parameters=parameters)])


def test_names_are_unique_and_such_as_vendors_take() -> None:
    with pytest.raises(ToolError, match="look: there is a tool of that name"):
        Toolbox([tool(), tool()])
    for name in ("", "read file", "x" * 65, "läs"):
        with pytest.raises(ToolError, match="is no name"):
            Toolbox([tool(name=name)])


async def test_a_tool_that_is_registered_later_is_there_from_then_on() -> None:
    box = Toolbox([tool()])
    box.register(tool("late", name="late"))
    assert [spec.name for spec in box.specs] == ["look", "late"]
    assert await told(box, {"path": "x"}, name="late") == (False, "untrusted", "late")


async def test_what_is_not_repeated_is_told_to_its_tool_again() -> None:
    notes: list[Json] = []

    async def run(arguments: Arguments) -> ToolReturn:
        return ToolReturn("seen", {"bytes": 4})

    box = Toolbox([ToolDefinition("look", "", {"type": "object"}, run, recall=notes.append)])
    ran = await box.run(ToolCallPart("1", "look", {}))
    again = outcome_from_json(ran.to_json())
    assert again == ran
    box.recall(again)
    box.recall(await box.run(ToolCallPart("2", "look", [])))
    assert notes == [{"bytes": 4}]
    few = Toolbox([replace(box.tools[0], limits=ToolLimits(calls=1))])
    few.recall(await few.run(ToolCallPart("3", "look", [])))
    assert (await few.run(ToolCallPart("4", "look", {}))).error == "", (
        "what was never begun takes nothing of a quota"
    )
    assert (await few.run(ToolCallPart("5", "look", {}))).error == "ToolQuotaError"
    with pytest.raises(ValueError, match="not the outcome"):
        outcome_from_json({"note": 1})
    with pytest.raises(ValueError, match="not a tool's result"):
        outcome_from_json({"result": 1})


async def test_a_note_is_taken_in_once_for_a_place_however_often_a_message_goes_on() -> None:
    notes: list[Json] = []

    async def run(arguments: Arguments) -> ToolReturn:
        return ToolReturn("ok", note=len(notes))

    tool = ToolDefinition(
        "look", "", {"type": "object"}, run, recall=notes.append, limits=ToolLimits(calls=2)
    )
    ran = await Toolbox([tool]).run(ToolCallPart("1", "look", {}))
    box = Toolbox([tool])
    for place in ("a", "a", "b"):
        box.recall(ran, place)
    assert notes == [0, 0]
    assert (await box.run(ToolCallPart("2", "look", {}))).error == "ToolQuotaError", (
        "two places were used"
    )


async def test_a_quota_holds_for_a_conversation_and_those_within_it_together() -> None:
    async def run(arguments: Arguments) -> str:
        return "ok"

    tool = ToolDefinition("look", "", {"type": "object"}, run, limits=ToolLimits(calls=2))
    outer = Toolbox([tool])
    inner = outer.within([tool])
    ends = [
        (await box.run(ToolCallPart("1", "look", {}))).error for box in (inner, outer, outer, inner)
    ]
    assert ends == ["", "", "ToolQuotaError", "ToolQuotaError"]
