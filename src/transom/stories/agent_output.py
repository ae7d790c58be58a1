"""Reader of what coding agents print: plain text, one JSON object, or one for each event.

The form is recognised by its fields, not by the tool's name. Source: the documentation of the
tools' non-interactive modes (`claude -p`, `codex exec --json`, `gemini -p`, `opencode run`, aider).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transom.llm import Usage

_COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# A line that only an agent's own reply has, in the form that it was asked for.
_OWN_FIELD = re.compile(
    r"^\W*(?:summary|decision|files|tests|reasons?|verdict|result)\b\W*(?::|$)",
    re.IGNORECASE | re.MULTILINE,
)
_LIMIT = re.compile(
    r"(?:usage|session|rate|weekly|daily|monthly|hourly|5-hour|spend(?:ing)?|credit|token|request)"
    r"[ -]?limit"
    r"|limit (?:was |has been )?(?:reached|exceeded|hit)|(?:hit|reached|exceeded) your .{0,30}limit"
    r"|rate.?limit(?:ed|ing|Error)|quota (?:was |has been )?(?:reached|exceeded|exhausted)"
    r"|(?:exceeded|out of|insufficient).{0,20}(?:quota|credits?|balance)|RESOURCE_EXHAUSTED"
    r"|too many requests|insufficient_quota|credit balance is too low|\b429\b|\b529\b|overloaded",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"(?:resets?|try again|retry|available again|renews?)\s*+(?>(?:at|in|after|on|:)?)\s*+"
    r"([^.|\n\"]{1,60})"
    r"|limit reached\|(\d{9,13})",
    re.IGNORECASE,
)
_AIDER_COST = re.compile(r"\$(\d+(?:\.\d+)?) session")
_AIDER_SENT = re.compile(r"\btokens:\s*+([\d.]++k?) sent\b", re.IGNORECASE)
_AIDER_RECEIVED = re.compile(r"(?<![\d.])([\d.]++k?) received\b", re.IGNORECASE)


@dataclass(frozen=True)
class AgentOutput:
    """What an agent said, and what its tool says of the call.

    Attributes:
        text: the agent's own last message.
        usage: tokens and cost, as far as they are printed.
        session: the tool's name of the conversation, with which it can go on, or "".
        denials: tools that the agent was not permitted to use.
        error: the tool's own error, or "".
        limit: the sentence of a usage limit, or "". The call did no work.
        until: when the limit ends, as it is written, or "".
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    session: str = ""
    denials: tuple[str, ...] = ()
    error: str = ""
    limit: str = ""
    until: str = ""


def read_agent_output(
    stdout: str, stderr: str = "", code: int = 0, *, is_text: bool = False
) -> AgentOutput:
    """Read the output of one call.

    Args:
        code: the exit code. A good reply counts, regardless of the code.
        is_text: whether the output is the reply itself, without fields of a tool.
    """
    plain, errors = without_colours(stdout), without_colours(stderr)
    events = [] if is_text else _events(plain)
    output = _of_events(events) if events else _of_text(plain)
    if events:
        # JSON writes them as `\u001b`, so they are found only when it is read.
        output = _replaced(output, text=without_colours(output.text))
    # Work that was done counts, whatever the tool says besides.
    if _OWN_FIELD.search(output.text):
        return output
    # Words of a limit count where the tool speaks, never inside of an agent's reply.
    is_bad = bool(code or output.error)
    for source in (output.error, output.text if is_bad or len(output.text) < 300 else "", errors):
        if _LIMIT.search(source) and (is_bad or source is not errors):
            return _with_limit(output, source)
    if code and not output.error:
        # The end: programs write their last word last.
        message = " ".join((output.text or errors).split())[-300:]
        return _replaced(output, error=f"exit code {code}: {message}")
    return output


def without_colours(text: str) -> str:
    """Return a text without the marks that a terminal takes for colours and titles."""
    return _COLOURS.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def _of_text(plain: str) -> AgentOutput:
    cost = _AIDER_COST.findall(plain)
    sent = received = 0
    for line in plain.splitlines():
        # Aider writes one such line a reply: "Tokens: 4.2k sent, 1k cache hit, 600 received."
        sent_match, received_match = _AIDER_SENT.search(line), _AIDER_RECEIVED.search(line)
        if sent_match and received_match:
            sent += _thousands(sent_match[1])
            received += _thousands(received_match[1])
    price = float(cost[-1]) if cost else None
    return AgentOutput(plain, Usage(sent, received, cost=price))


def _thousands(text: str) -> int:
    return int(float(text.rstrip("kK")) * (1000 if text[-1] in "kK" else 1))


def _with_limit(output: AgentOutput, source: str) -> AgentOutput:
    sentence = " ".join(source.split())[:300]
    match = _UNTIL.search(sentence)
    until = (match[1] or match[2] or "").strip(" ()") if match else ""
    return _replaced(output, limit=sentence, until=until)


def _replaced(output: AgentOutput, **fields: Any) -> AgentOutput:
    return AgentOutput(**{**output.__dict__, **fields})


def _events(plain: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of an output; none if it is the agent's own text, or its own JSON."""
    # The whole output first: an object over many lines is no list of events.
    document = _parsed(plain)
    if isinstance(document, list):
        return [row for row in document if isinstance(row, dict)]
    if isinstance(document, dict):
        is_tool = (
            "type" in document
            or "response" in document
            or "is_error" in document
            or "error" in document
        )
        # An object with a decision is the agent's own reply in JSON.
        return [document] if is_tool and "decision" not in document else []
    rows: list[Mapping[str, Any]] = []
    for line in plain.splitlines():
        row = _parsed(line) if line.startswith("{") else None
        if isinstance(row, dict) and "type" in row:
            rows.append(row)
    return rows


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return None


def _of_events(events: Iterable[Mapping[str, Any]]) -> AgentOutput:
    """Collect text, tokens, cost and errors of the events of any tool."""
    collected = _Collected()
    for event in events:
        collected.add(event)
    usage = Usage(
        input_tokens=collected.tokens[0],
        output_tokens=collected.tokens[1],
        cached_tokens=collected.tokens[2],
        cost=collected.cost,
    )
    return AgentOutput(
        collected.text,
        usage,
        collected.session,
        tuple(dict.fromkeys(collected.denials)),
        collected.error,
    )


class _Collected:
    """What the events said so far; each tool uses other fields."""

    def __init__(self) -> None:
        self.text = ""
        self.pieces: list[str] = []
        self.tokens = [0, 0, 0]
        self.cost: float | None = None
        self.session = ""
        self.denials: list[str] = []
        self.error = ""

    def add(self, event: Mapping[str, Any]) -> None:
        """Add one event."""
        kind = str(event.get("type", ""))
        # Each tool has another name for the conversation that it can go on with.
        for name in ("session_id", "thread_id", "sessionID"):
            self.session = str(event.get(name) or self.session)
        if "response" in event or (kind == "result" and "stats" in event):
            self._add_gemini(event)
        elif kind == "result":
            self._add_claude(event)
        elif kind == "assistant":
            self._take(_texts_of(event.get("message")))
        elif kind == "item.completed":
            item = _mapping(event.get("item"))
            if item.get("type", item.get("item_type")) in ("agent_message", "assistant_message"):
                self._take(str(item.get("text", "")))
        elif kind == "turn.completed":
            usage = _mapping(event.get("usage"))
            self._count(usage, "input_tokens", "output_tokens", "cached_input_tokens")
        elif kind == "message" and event.get("role") in ("assistant", "model"):
            self.pieces.append(str(event.get("content", "")))
            self._take("".join(self.pieces))
        elif kind == "text":
            self._take(str(_mapping(event.get("part")).get("text", "")))
        elif kind == "step_finish":
            self._add_step(_mapping(event.get("part")))
        elif kind in ("error", "turn.failed") or "error" in event:
            self._fail(event)

    def _take(self, text: str) -> None:
        self.text = text or self.text

    def _add_claude(self, event: Mapping[str, Any]) -> None:
        self._take(str(event.get("result") or ""))
        # Some tools exit with 0 and say here that the call failed.
        if event.get("is_error") or str(event.get("subtype", "")).startswith("error"):
            self.error = str(event.get("result") or event.get("subtype") or "an error")
        usage = _mapping(event.get("usage"))
        self._count(usage, "input_tokens", "output_tokens", "cache_read_input_tokens")
        self._pay(event.get("total_cost_usd"))
        for denial in event.get("permission_denials") or ():
            self.denials.append(str(_mapping(denial).get("tool_name", denial)))

    def _add_gemini(self, event: Mapping[str, Any]) -> None:
        self._take(str(event.get("response") or ""))
        if event.get("error"):
            self._fail(event)
        stats = _mapping(event.get("stats"))
        models = [_mapping(model) for model in _mapping(stats.get("models")).values()]
        for model in models:
            tokens = _mapping(model.get("tokens"))
            self._count(tokens, "prompt", "candidates", "cached")
        # Newer versions count for all models together.
        if not models:
            self._count(stats, "input_tokens", "output_tokens", "cached")

    def _add_step(self, part: Mapping[str, Any]) -> None:
        tokens = _mapping(part.get("tokens"))
        self._count(tokens, "input", "output", "cached")
        self._pay(part.get("cost"))

    def _fail(self, event: Mapping[str, Any]) -> None:
        error = event.get("error", event.get("message"))
        inner = _mapping(error)
        message = inner.get("message") or _mapping(inner.get("data")).get("message")
        self.error = str(message or inner.get("name") or error or "an error")

    def _count(self, usage: Mapping[str, Any], *names: str) -> None:
        for place, name in enumerate(names):
            value = usage.get(name)
            self.tokens[place] += value if isinstance(value, int) else 0

    def _pay(self, cost: object) -> None:
        if isinstance(cost, int | float):
            self.cost = (self.cost or 0.0) + cost


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts_of(message: object) -> str:
    """Return the text of a message with content blocks."""
    content = _mapping(message).get("content")
    if isinstance(content, str):
        return content
    rows = [_mapping(block) for block in content or ()] if isinstance(content, list) else []
    return "\n".join(str(row["text"]) for row in rows if row.get("type") == "text")
