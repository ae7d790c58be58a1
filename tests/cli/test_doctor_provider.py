"""`transom doctor --provider KIND:NAME` against a server, and a whole check answered by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.shipped_model import MODEL
from tests.cli.checks import EXAMPLES, Desk
from tests.llm.conformance.dialects import DIALECTS, Dialect, OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.llm import Text, ToolCallPart

RECORDING = Path(__file__).parents[1] / "checklist" / "recordings" / "clock_periods"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.fixture
def desk(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk.at(tmp_path, capfd)


def whole(dialect: Dialect, *, keyed: bool = True, tools: bool = True) -> Any:
    """A server of that vendor which does all that is asked of it."""

    def answer(wire: Wire, seen: Seen) -> None:
        body, shown = seen.body, str(seen.headers)
        if keyed and "right-key" not in shown:
            wire.answer(
                401, json.dumps(dialect.error("authentication_error", "who are you")).encode()
            )
        elif body["model"] != "m":
            wire.answer(404, json.dumps(dialect.error("not_found_error", "no such model")).encode())
        else:
            asked = {"output_config", "response_format", "format"} & set(body)
            said = Text('{"word": "pong"}' if asked else "pong and more")
            part = (
                ToolCallPart("c1", "ping", {"word": "pong"})
                if body.get("tools") and tools
                else said
            )
            if not body["stream"]:
                wire.answer(200, json.dumps(dialect.whole([part])).encode())
                return
            wire.begin(dialect.stream_type)
            for piece in dialect.pieces([part]):
                wire.chunk(piece)
            wire.end()

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_a_server_that_does_all_is_told_so(
    dialect: Dialect, server: LocalServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = whole(dialect)
    monkeypatch.setenv(f"{dialect.name.upper()}_API_KEY", "right-key")
    command = [
        "doctor",
        "--provider",
        f"{dialect.name}:m",
        "--base-url",
        server.url + dialect.suffix,
    ]
    done = desk(*command)
    assert done.code == 0, done.out
    assert done.out.startswith(f"{dialect.name}:m at {server.url}{dialect.suffix}: answers\n")
    names = ["plain", "stream", "tools", "structured output"]
    assert re.findall(r"^  (\S.*?)  +ok  +\d+\.\d\d s  \S", done.out, re.M) == names
    assert len(server.seen) == 4
    assert re.search(
        r"^  taken to have: window \d+ tokens.*[;,] tools, parallel tools, ", done.out, re.M
    ), done.out
    assert "right-key" not in done.out
    document = desk(*command, "--format", "json").document
    assert (document["schema"], document["answers"]) == ("transom.provider/1", True)
    assert [row["status"] for row in document["checks"]] == ["ok"] * 4
    caps = document["capabilities"]
    assert (caps["parallel_tools"], caps["caching"] == "breakpoints") == (
        True,
        dialect.name == "anthropic",
    )


def test_what_a_server_cannot_do_is_the_answer_no(server: LocalServer, desk: Desk) -> None:
    server.answer = whole(OpenAI(), keyed=False, tools=False)
    done = desk("doctor", "--provider", "openai:m", "--base-url", f"{server.url}/v1")
    assert done.code == 1
    assert re.search(
        r"^  tools +failed .*called no tool; roles with tools need another model$", done.out, re.M
    )
    assert str(desk.here) not in json.dumps([seen.body for seen in server.seen]), (
        "only harmless text is sent"
    )
    assert all("You try out a connection." in json.dumps(seen.body) for seen in server.seen)


ANSWERS = {
    401: "answers 401: key refused",
    403: "answers 403: key refused",
    404: "answers 404: not found",
    503: "answers 503: service unavailable",
    799: "answers 799: unknown status",
}


@pytest.mark.parametrize("status", ANSWERS)
def test_a_server_that_refuses_answers_all_the_same(
    status: int, server: LocalServer, desk: Desk
) -> None:
    server.answer = lambda wire, _: wire.answer(status, b'{"error": "no"}')
    words = ("doctor", "--provider", "openai:m", "--base-url", f"{server.url}/v1")
    done = desk(*words)
    assert done.code == 1
    assert done.out.startswith(f"openai:m at {server.url}/v1: {ANSWERS[status]}\n")
    assert desk(*words, "--format", "json").document["says"] == ANSWERS[status]


def test_an_answer_that_is_no_reply_is_said_so(server: LocalServer, desk: Desk) -> None:
    server.answer = lambda wire, _: wire.answer(200, b"<html>Welcome</html>")
    done = desk("doctor", "--provider", "openai:m", "--base-url", f"{server.url}/v1")
    assert (done.code, ": answers, but not with a reply\n" in done.out) == (1, True)


def test_nobody_there(desk: Desk) -> None:
    done = desk("doctor", "--provider", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 1
    assert "does not answer" in done.out
    assert (
        desk("doctor", "--provider", "openai:m")
        .line()
        .startswith("openai:m: there is no key: OPENAI_API_KEY")
    )


@pytest.mark.parametrize(
    "url", ["http://h:port/v1", "http://h:99999/v1", "http://[::1/v1", "htp://u:planted@h:port/v1"]
)
def test_an_address_that_is_none_is_one_line_without_a_password(
    url: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "right-key")
    says = r"'.*' is no address of a server: .*; write http://HOST:PORT or https://HOST$"
    for words in (["--provider", "openai:m"], []):
        done = desk("doctor", *words, "--base-url", url)
        assert re.search(says, done.out + done.err, re.M)
        assert "defect" not in done.err
        assert "planted" not in done.out + done.err


@pytest.mark.slow
def test_a_key_that_its_server_repeats_is_not_printed(
    server: LocalServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_GATEWAY", "right-and-long")
    Path("transom.yaml").write_text("llm: {openai: {key_variable: MY_GATEWAY}}\n")
    server.answer = lambda wire, _: wire.answer(
        400, b'{"error": {"message": "not right-and-long, \\u001b[2Jis it?"}}'
    )
    for form in ([], ["--format", "json"]):
        done = desk("doctor", "--provider", "openai:m", "--base-url", f"{server.url}/v1", *form)
        assert done.out.count("is it?") == 4, done.out
        assert "right-and-long" not in done.out + done.err
        assert "\x1b[2J" not in done.out


def recorded(dialect: Dialect) -> Any:
    """A server that gives the recorded reply to each request that was recorded, and else
    refuses.
    """
    calls = json.loads((RECORDING / "calls.json").read_text("utf-8"))["calls"]
    replies = {
        call["request"]: [Text(part["text"]) for part in call["reply"]["parts"]] for call in calls
    }

    def answer(wire: Wire, seen: Seen) -> None:
        shown = "\n\n".join(message["content"] for message in seen.body["messages"])
        # A recording has the tools before it; here they are a field of their own.
        parts = next((replies[request] for request in replies if request.endswith(shown)), None)
        if parts is None:
            wire.answer(
                400, json.dumps(dialect.error("invalid_request_error", "was not recorded")).encode()
            )
            return
        wire.begin(dialect.stream_type)
        for piece in dialect.pieces(parts):
            wire.chunk(piece)
        wire.end()

    return answer


@pytest.mark.slow
def test_a_check_is_answered_by_a_server_shown_as_it_comes_and_each_reply_paid_for_once(
    server: LocalServer, desk: Desk
) -> None:
    server.answer = recorded(OpenAI())
    item, data = str(RECORDING / "item.yaml"), f"CHECKLIST_ROOT={EXAMPLES / 'data'}"
    check = [
        "check",
        "all",
        item,
        "--var",
        data,
        "--model",
        "openai:m",
        "--base-url",
        f"{server.url}/v1",
    ]
    calls = json.loads((RECORDING / "calls.json").read_text("utf-8"))["calls"]
    first, again = (desk(*check, "--format", "json", "-q") for _ in range(2))
    assert (first.code, first.document["status"], first.err) == (1, "FAIL", "")
    assert again.document["status"] == "FAIL"
    assert len(server.seen) == len(calls)
    assert {record["reply"]["by"] for record in desk.records("model_reply")} == {"openai:m"}
    usage = [record["reply"]["usage"] for record in desk.records("model_reply")]
    tokens = [(one["input_tokens"], one["cached_tokens"], one["output_tokens"]) for one in usage]
    assert tokens == [(12, 3, 5)] * len(calls)
    plain, more = (
        desk(*check, "--workspace", f"w{option}", *option.split()) for option in ("", "-v")
    )
    assert {plain.code, more.code} == {1}, more.err[-400:]
    written = "".join(part["text"] for part in calls[0]["reply"]["parts"])
    assert written in more.err
    assert written not in plain.err
    assert "section 1 of the ItemSpec is written\n" in plain.err


def test_the_chain_falls_back_to_the_next_model(server: LocalServer, model_desk: Desk) -> None:
    server.answer = lambda wire, seen: wire.answer(404, b'{"error": {"message": "no such model"}}')
    done = model_desk(
        *("check", "spec", "VER-01.yaml", "--format", "json", "-q"),
        *("--model", f"openai:m,{MODEL}", "--base-url", f"{server.url}/v1"),
    )
    assert done.code == 0, done.err
    assert {row["by"] for row in done.document["rounds"]} == {"scripted"}
    assert server.seen
