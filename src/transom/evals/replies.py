"""Written replies: a model's replies for a suite, from a small YAML file.

    schema: transom.replies/1
    replies:
    - role: investigator.main
      sees: ["Is the kiosk ready?"]           # texts that the request must all contain
      says: ["first reply", {tool: cite, arguments: {source: a.md}}]

The first entry whose role and texts match is used. Its replies are given in turn, one per request
of the message.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from transom.canonical import Json, digest
from transom.errors import NeedsModel, NotUnderstood
from transom.evals.scenario_models import ScenarioModel, Texts, listed
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.llm import (
    AssistantMessage,
    OnDelta,
    Provider,
    Reply,
    Request,
    Role,
    Text,
    ToolCallPart,
    Usage,
    UserMessage,
    estimate_tokens,
    render,
)
from transom.llm.capabilities import Capabilities
from transom.llm.deltas import tell


class CalledTool(ScenarioModel):
    """A tool call instead of a text."""

    tool: str
    arguments: dict[str, Json] = Field(default_factory=dict)


class WrittenReply(ScenarioModel):
    """The replies of roles, by a name pattern, to requests that contain all texts of `sees`."""

    role: str
    sees: Texts = ()
    says: Annotated[tuple[str | CalledTool, ...], BeforeValidator(listed), Field(min_length=1)]


class RepliesFile(ScenarioModel):
    """A file of written replies."""

    schema_: Literal["transom.replies/1"] = Field(alias="schema")
    replies: tuple[WrittenReply, ...]


class WrittenReplies(Provider):
    """A provider that answers from a file of written replies, and abstains if no entry matches.

    Raises:
        InputError: the file cannot be read, with file:line.
    """

    name = "replies"
    local = True
    is_retried = False
    caps = Capabilities(structured_output=True)

    def __init__(self, path: Path) -> None:
        self._rows = validate_yaml(RepliesFile, load_yaml(path)).replies
        self._digest = digest(path.read_bytes())[:16]

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        text = render(request).as_text()
        number = _replies_so_far(request)
        for row in self._rows:
            # An entry without a reply for this request lets the next one answer.
            if not fnmatchcase(request.role, row.role) or number >= len(row.says):
                continue
            if all(expected_text in text for expected_text in row.sees):
                return tell(_reply(row.says[number], number, estimate_tokens(text)), on_delta)
        raise NeedsModel(
            [NotUnderstood(request.role, "role")],
            hint="write a reply for it, or add rules to the chain",
        )

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return self._digest


def _replies_so_far(request: Request) -> int:
    """Count the replies to the current message so far."""
    count = 0
    for turn in request.window.turns:
        if isinstance(turn, UserMessage):
            count = 0
        elif isinstance(turn, AssistantMessage):
            count += 1
    return count


def _reply(written: str | CalledTool, number: int, tokens: int) -> Reply:
    if isinstance(written, str):
        usage = Usage(tokens, estimate_tokens(written))
        return Reply((Text(written),), usage=usage, by=WrittenReplies.name)
    call = ToolCallPart(f"call{number}", written.tool, written.arguments)
    return Reply((call,), stop="tool_calls", usage=Usage(tokens, 0), by=WrittenReplies.name)
