"""A server with OpenAI's chat API that answers from a script, for all three libraries alike.

server = Scripted([call("count", item="bolts"), "There are 7."])
server.url, server.requests
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def call(tool: str, **arguments: object) -> dict[str, Any]:
    """Return a scripted tool call."""
    return {"name": tool, "arguments": json.dumps(arguments)}


class Scripted:
    """Answers requests in order, on a port of this machine.

    Args:
        answers: texts and tool calls; the last one answers all further requests.
    """

    def __init__(self, answers: list[str | dict[str, Any]]) -> None:
        self.answers = answers
        self.requests: list[Any] = []
        self.answer_of: Any = None
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                number = min(len(scripted.requests), len(scripted.answers) - 1)
                answer = scripted.answers[number]
                if scripted.answer_of is not None:
                    answer = scripted.answer_of(body)
                scripted.requests.append(body)
                self.send_response(200)
                kind = "text/event-stream" if body.get("stream") else "application/json"
                self.send_header("content-type", kind)
                self.end_headers()
                if body.get("stream"):
                    scripted.stream(self, answer)
                else:
                    message = _message(answer, len(scripted.requests))
                    self.wfile.write(json.dumps(_document(message)).encode())

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def stream(self, handler: BaseHTTPRequestHandler, answer: str | dict[str, Any]) -> None:
        """Send an answer word by word."""
        message = _message(answer, len(self.requests))
        pieces: list[dict[str, Any]] = []
        if isinstance(answer, str):
            for number, word in enumerate(answer.split(" ")):
                pieces.append({"content": word if number == 0 else f" {word}"})
        else:
            calls = [{**entry, "index": 0} for entry in message["tool_calls"]]
            pieces.append({"tool_calls": calls})
        for piece in pieces:
            choice = {"index": 0, "delta": {"role": "assistant", **piece}, "finish_reason": None}
            self._event(handler, {**_HEAD, "object": "chat.completion.chunk", "choices": [choice]})
        stop = "stop" if isinstance(answer, str) else "tool_calls"
        choice = {"index": 0, "delta": {}, "finish_reason": stop}
        end = {**_HEAD, "object": "chat.completion.chunk", "choices": [choice], "usage": _USAGE}
        self._event(handler, end)
        handler.wfile.write(b"data: [DONE]\n\n")

    def _event(self, handler: BaseHTTPRequestHandler, document: dict[str, Any]) -> None:
        handler.wfile.write(f"data: {json.dumps(document)}\n\n".encode())
        handler.wfile.flush()


_HEAD = {"id": "c", "created": 0, "model": "m"}
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _message(answer: str | dict[str, Any], number: int) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    entry = {"id": f"call-{number}", "type": "function", "function": answer}
    return {"role": "assistant", "content": None, "tool_calls": [entry]}


def _document(message: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
