"""The program inside, spoken to in this process over real pipes, without its locks."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from transom.sandbox.child import Channel, Host, Printed, _Closed
from transom.sandbox.frames import WorkerReply, parse_payload, parse_reply, request


class Talk:
    """Requests written beforehand, then served, then the replies read."""

    def __init__(self) -> None:
        self._to_child, self._from_child = os.pipe(), os.pipe()
        self.channel = Channel(self._to_child[0], self._from_child[1])
        self.host = Host(self.channel, cpu_seconds=10_000)

    def ask(self, *asked: bytes) -> list[WorkerReply]:
        os.write(self._to_child[1], b"".join(asked))
        os.close(self._to_child[1])
        self.host.serve()
        os.close(self._from_child[1])
        data, found = os.read(self._from_child[0], 1 << 20), []
        while data:
            answer, data = parse_reply(data, "7")
            found.append(answer)
        return found


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    # it would limit this very process
    monkeypatch.setattr("transom.sandbox.child.renew_cpu", lambda seconds: None)
    found = Talk()
    yield found
    sys.modules.pop("atoms", None)
    for pipe in (found._to_child[0], found._from_child[0]):
        os.close(pipe)


def _load(code: str) -> bytes:
    return request("7", {"op": "load"}, code.encode())


def _call(name: str, text: str | None = None, **args: Any) -> bytes:
    return request("7", {"op": "call", "name": name, "args": args, "text": text}, b"body")


def test_it_serves_until_the_pipe_ends(talk: Talk) -> None:
    code = "X = 3\ndef f(a, b=0):\n    return [a, b]"
    asked = [
        _load(code),
        _call("f", "a", b=2),
        request("7", {"op": "constants", "names": ["X", "Y"]}),
    ]
    assert [answer.value for answer in talk.ask(*asked, b"cut short")] == [
        None,
        ["body", 2],
        {"X": 3},
    ]


@pytest.mark.parametrize("cut", [5, 13])
def test_half_a_frame_is_the_end(talk: Talk, cut: int) -> None:
    assert talk.ask(_load("X = 1")[:cut]) == []


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("def f(a):\n    return a.nothing", "crash", 2),
        ("def f(a):\n    raise SystemExit", "crash", 2),
        ("def f(a):\n    raise MemoryError", "memory", 2),
        ("def f(a):\n    return {1}", "schema", None),
        ("def f(a):\n    return 'x' * 2000", "output", None),
        ("f = 3", "crash", None),
        ("def f(a)", "crash", 1),
    ],
)
def test_after_a_failure_it_answers_nothing_more(
    talk: Talk, code: str, kind: str, line: int | None
) -> None:
    talk.channel.limit = 1000
    *_, last = talk.ask(_load(code), _call("f", "a"), _call("f", "a"))
    assert (last.ok, last.kind, last.line) == (False, kind, line)


def test_the_hook_lets_pass_what_is_allowed_or_not_the_codes_own(talk: Talk) -> None:
    talk.host.audit("open", ("/etc/passwd",))
    talk.host._running = True
    talk.host.audit("compile", ())


def test_the_hook_names_the_line_and_ends_the_process(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(BaseException):
        pass

    def end(code: int) -> None:
        raise Ended

    monkeypatch.setattr("transom.sandbox.child.os._exit", end)
    talk.host.names["act"] = lambda: talk.host.audit("open", ("/etc/passwd", "r"))
    first, *rest = talk.ask(_load("def f(a):\n\n    act()"), _call("f", "a"))
    assert first.ok
    assert (rest[0].kind, rest[0].line) == ("killed", 3)
    assert rest[0].message == "the sandbox does not allow open ('/etc/passwd')"


def test_print_is_kept_up_to_its_limit() -> None:
    reader, writer = os.pipe()
    printed = Printed(writer, 5)
    assert printed.writable()
    print("abc\udc80defgh", file=printed, flush=True)
    print("more", file=printed)
    os.close(writer)
    assert os.read(reader, 99) == b"abc\\u"
    os.close(reader)


def test_the_last_finder_refuses() -> None:
    with pytest.raises(ImportError, match="numpy cannot be imported here"):
        _Closed.find_spec("numpy")


def _payload(reply: object) -> bytes:
    return json.dumps(reply).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b"[" * 100_000,
        _payload({"ok": True, "value": 1}),
        _payload({"id": "8", "ok": True, "value": 1}),
        _payload({"id": "7", "ok": True}),
        _payload({"id": "7", "ok": 1, "value": 1}),
        _payload({"id": "7", "ok": False, "kind": 3, "message": ""}),
        _payload({"id": "7", "ok": False, "kind": "crash", "message": None}),
        b'{"id": "7", "ok": true, "value": NaN}',
        b'{"id": "7", "ok": true, "value": 1e999}',
        b'{"id": "7", "ok": true, "value": %s}' % (b"9" * 5000),
    ],
)
def test_a_reply_of_any_other_shape_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"reply|JSON|line|digits|decode"):
        parse_payload(data, "7")


def test_a_line_that_is_no_number_is_dropped() -> None:
    reply = {"id": "7", "ok": False, "kind": "crash", "message": "a\r\nb", "line": True}
    assert parse_payload(_payload(reply), "7") == WorkerReply(
        ok=False, kind="crash", message="a  b"
    )


@pytest.mark.parametrize("data", [b"", b"\0\0\0", struct.pack(">I", 9) + b"{}"])
def test_a_reply_cut_short_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="cut short"):
        parse_reply(data, "7")
