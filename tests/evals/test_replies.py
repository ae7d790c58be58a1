"""Replies written by hand: found by role and by what a request shows, given in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import InputError, NeedsModel
from transom.evals.replies import WrittenReplies
from transom.llm import (
    AssistantMessage,
    Block,
    Reply,
    Request,
    Text,
    Tier,
    Turn,
    UserMessage,
    Window,
)

FILE = """schema: transom.replies/1
replies:
- role: desk.main
  sees: [kiosk, uat.json]
  says: [{tool: cite, arguments: {source: uat.json}}, It is not ready.]
- {role: desk.*, says: Nothing is known.}
"""


def request(role: str, text: str, *turns: Turn) -> Request:
    return Request(role, Window((Block("question", text, Tier.SESSION),), turns))


async def test_the_first_entry_answers_whose_role_and_texts_fit(tmp_path: Path) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text(FILE)
    provider = WrittenReplies(path)
    first = await provider.complete(request("desk.main", "Is the kiosk ready? See uat.json."))
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("cite", {"source": "uat.json"})
    ]
    said = AssistantMessage(first.parts)
    second = request("desk.main", "Is the kiosk ready? See uat.json.", UserMessage("So?"), said)
    assert (await provider.complete(second)).text == "It is not ready."
    again = request(
        "desk.main", "kiosk uat.json", UserMessage("So?"), said, UserMessage("And now?")
    )
    assert (await provider.complete(again)).calls[0].name == "cite"
    other: Reply = await provider.complete(request("desk.reader", "Is the kiosk ready?"))
    assert other.parts == (Text("Nothing is known."),)
    with pytest.raises(NeedsModel, match="write a reply"):
        await provider.complete(request("office", "Is the kiosk ready?"))


def test_a_file_that_is_wrong_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text(FILE.replace("sees:", "seees:"))
    with pytest.raises(InputError, match=r"replies\.yaml:4: .*seees"):
        WrittenReplies(path)
