"""Who answers: rules, a script, a recording, and the chain that falls back and keeps local
blocks at home.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.recording import write_recording
from transom.errors import (
    EgressError,
    InputError,
    NeedsModel,
    NotUnderstood,
    ProviderError,
    ReplayMiss,
    RequestRefused,
)
from transom.llm import (
    AnsweredFrom,
    AssistantMessage,
    Block,
    Capabilities,
    Chain,
    EgressPolicy,
    Reply,
    Request,
    Role,
    RulesProvider,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
    Usage,
    Window,
)
from transom.llm.codec import reply_from_json
from transom.llm.egress import unquote
from transom.llm.replay import ReplayProvider
from transom.llm.turns import Opaque

ROLE = Role("p.seat", (Block("role", "You.", Tier.STABLE),), frozenset({"role", "ask"}))


def request(text: str = "what", **more: object) -> Request:
    return Request("p.seat", Window((*ROLE.prompt, Block("ask", text, **more))))  # type: ignore[arg-type]  # fields of a Block


def test_replies_survive_json() -> None:
    reply = Reply(
        (Text("a"), ToolCallPart("1", "look", {"x": [1, None]}), Opaque({"sig": "z"})),
        "tool_calls",
        Usage(3, 2, 1),
        "x:y",
        (AnsweredFrom("k", "d"),),
    )
    assert reply_from_json(reply.to_json()) == reply


async def test_tools_are_offered_to_those_that_call_some() -> None:
    offered = replace(request(), tools=(ToolSpec("look", "Looks.", {"type": "object"}),))
    plain = ScriptedProvider({"p.seat": ["no"]}, name="plain", caps=Capabilities(tools=False))
    able = ScriptedProvider({"p.seat": ["yes"]}, name="able")
    assert (await Chain((plain, able)).answer(offered)).by == "able"
    assert plain.requests == []
    with pytest.raises(
        RequestRefused,
        match=r"^plain: it calls no tools, and is offered look; choose another model",
    ):
        await Chain((plain,)).answer(offered)
    assert (await Chain((plain,)).answer(request())).text == "no"


@pytest.mark.parametrize("data", [None, {}, {"parts": [{"kind": "noise"}]}, {"parts": "text"}])
def test_what_is_no_reply_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="not a"):
        reply_from_json(data)


async def test_rules_spend_no_tokens_and_sign_their_answers() -> None:
    provider = RulesProvider(
        {"p.seat": lambda r: Reply((Text(r.window.text("ask").upper()),))}, {"p.seat": 3}, {}
    )
    reply = await provider.complete(request())
    assert (reply.text, reply.by) == ("WHAT", "rules")
    assert reply.usage == Usage()
    assert provider.fingerprint(ROLE) == "3"


async def test_rules_abstain_from_a_role_that_they_do_not_have() -> None:
    with pytest.raises(NeedsModel, match=r'"p.seat" \(role\).*--model'):
        await RulesProvider({}, {}, {}).complete(request())


def test_rules_know_whether_a_source_still_stands() -> None:
    provider = RulesProvider({}, {}, {"k.yaml": "1"})
    assert provider.is_current(AnsweredFrom("k.yaml", "1"))
    assert not provider.is_current(AnsweredFrom("k.yaml", "2"))
    assert not provider.is_current(AnsweredFrom("gone.yaml", "1"))


async def test_a_script_that_ran_out_says_so() -> None:
    provider = ScriptedProvider({"p.seat": ["one"]})
    assert (await provider.complete(request())).text == "one"
    with pytest.raises(ProviderError, match=r"no further answer for role p\.seat"):
        await provider.complete(request())


async def test_the_chain_falls_back_in_order_and_names_every_cause() -> None:
    down = ScriptedProvider({"p.seat": [ProviderError("down"), ProviderError("down")]}, name="a")
    abstains = ScriptedProvider(
        {"p.seat": ["ok", NeedsModel([NotUnderstood("eke", "description")])]}, name="b"
    )
    chain = Chain((down, abstains))
    assert (await chain.answer(request())).by == "b"
    with pytest.raises(NeedsModel, match=r'"eke".*before that: down'):
        await chain.answer(request())


async def test_the_chain_does_not_switch_within_a_stage() -> None:
    first = ScriptedProvider({"p.seat": [ProviderError("down")]}, name="a")
    second = ScriptedProvider(lambda r: "from b", name="b")
    with pytest.raises(ProviderError, match="down"):
        await Chain((first, second)).answer(request(), only="a")
    assert second.requests == []
    with pytest.raises(ProviderError, match="not in the chain any more"):
        await Chain((second,)).answer(request(), only="a")


async def test_a_local_block_never_reaches_a_remote_provider() -> None:
    remote = ScriptedProvider(lambda r: "seen", name="far", local=False)
    chain = Chain((remote,))
    with pytest.raises(EgressError, match=r"p.seat: block ask is marked local.*far"):
        await chain.answer(request(egress="local"))
    assert remote.requests == []
    assert (await chain.answer(request())).text == "seen"
    near = ScriptedProvider(lambda r: "seen", name="near")
    assert (await Chain((near,)).answer(request(egress="local"))).text == "seen"


async def test_a_local_result_of_a_tool_never_reaches_a_remote_provider() -> None:
    remote = ScriptedProvider(lambda r: "seen", name="far", local=False)
    turns = (
        AssistantMessage((ToolCallPart("1", "read", {}),)),
        ToolResults((ToolResultPart("1", "read", "x", egress="local"),)),
    )
    with pytest.raises(EgressError, match=r"p.seat: a result of tool read is marked local.*far"):
        await Chain((remote,)).answer(Request("p.seat", Window((), turns)))
    assert remote.requests == []


def test_local_arguments_of_a_call_stand_in_no_error() -> None:
    call = ToolCallPart("1", "note", {"text": 'the pitch is "9 nm" and\tstays here'})
    request = Request("p.seat", Window((), (AssistantMessage((call,)),), egress="local"))
    error = ProviderError('refused: the pitch is "9 nm" and\tstays here')
    unquote(error, request, EgressPolicy())
    assert error.problem == "refused: [local]"


async def test_a_tool_call_alone_is_an_answer_of_a_script() -> None:
    call = ToolCallPart("1", "read", {})
    reply = await ScriptedProvider({"p.seat": [call]}).complete(request())
    assert (reply.calls, reply.stop, reply.text) == ((call,), "tool_calls", "")


def test_the_keys_of_all_who_may_be_asked_are_secrets_whichever_seat_they_answer() -> None:
    class Keyed(ScriptedProvider):
        secrets = ("the first key",)

    class Other(ScriptedProvider):
        secrets = ("another vendor's key",)

    seated = Chain(
        (Keyed({}, name="a"),), seats={"p.sub": Chain((Other({}, name="b"), ScriptedProvider({})))}
    )
    assert seated.secrets == ("the first key", "another vendor's key")


def test_an_empty_chain_is_no_chain() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Chain(())


async def test_replay_answers_what_was_recorded_and_shows_the_difference_otherwise(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.json"
    asked = request("line one\nline two")
    write_recording(path, [(asked, Reply((Text("recorded"),), by="model:x"))])
    provider = ReplayProvider(path)
    assert (await provider.complete(asked)).text == "recorded"
    with pytest.raises(ReplayMiss, match=r"(?s)calls.json.*-line two.*\+line three"):
        await provider.complete(request("line one\nline three"))
    with pytest.raises(ReplayMiss, match="no call of role other"):
        await provider.complete(Request("other", asked.window))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other"}',
        '{"schema": "transom.recording/1"}',
        '{"schema": "transom.recording/1", "calls": [{"role": "x"}]}',
        (
            '{"schema": "transom.recording/1", "calls": [{"role": "x", "digest": "", "request": "",'
            ' "reply": 3}]}'
        ),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calls.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"calls\.json"):
        ReplayProvider(path)


def test_a_roles_digest_changes_with_what_it_is_made_of() -> None:
    other = Role(ROLE.name, (Block("role", "You!", Tier.STABLE),), ROLE.sees)
    wider = Role(ROLE.name, ROLE.prompt, ROLE.sees | {"more"})
    assert len({ROLE.digest, other.digest, wider.digest}) == 3
