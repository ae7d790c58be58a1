"""A seat of the checklist with a model of its own: it is asked, and nobody else is by it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.checks import Desk
from tests.llm.conformance.dialects import DIALECTS
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.llm import Text

(OPENAI,) = [dialect for dialect in DIALECTS if dialect.name == "openai"]
ALL = ("all", "VER-01.yaml", "-q")


@pytest.mark.slow
def test_seats_are_answered_by_models_of_their_own_and_the_rest_by_another(
    here: Path, model_desk: Desk
) -> None:
    desk = model_desk
    assert desk.check(*ALL).code == 0
    rows = desk.records("model_reply")
    texts = {row["role"]: "".join(part["text"] for part in row["reply"]["parts"]) for row in rows}
    shutil.rmtree(here / ".transom")
    by_model = {
        "a": texts["checklist.parser"],
        "b": texts["checklist.logic"],
        "c": texts["checklist.section1"],
    }

    def answer(wire: Wire, seen: Seen) -> None:
        _, found, questions = str(seen.body["messages"][-1]["content"]).rpartition("<questions")
        asked = re.findall(r"(?m)^(\d+\. )", questions) if found else []
        answers = "\n".join(f"{number}It is an echoed command." for number in asked)
        text = f"<answers>\n{answers}\n</answers>" if asked else by_model[str(seen.body["model"])]
        wire.answer(200, json.dumps(OPENAI.whole([Text(text)])).encode())

    with LocalServer(answer) as server:
        openai = f"openai: {{base_url: '{server.url}/v1', context_tokens: 200000}}"
        seats = (
            "agent_a: {provider: openai, model: a}, agent_b: {provider: 'openai:b'}, section1:"
            " {provider: 'openai:c'}"
        )
        (here / "transom.yaml").write_text(
            f"llm: {{{openai}, {seats}}}\nexecution: {{enable_streaming: false}}\n", "utf-8"
        )
        assert desk.check(*ALL).code == 0
        assert [seen.body["model"] for seen in server.seen] == ["c", "a", "b"]
        by = {row["role"]: row["reply"]["by"] for row in desk.records("model_reply")}
        assert {role: name for role, name in by.items() if name != "scripted"} == {
            "checklist.section1": "openai:c",
            "checklist.parser": "openai:a",
            "checklist.logic": "openai:b",
        }
        assert desk.check(*ALL).code == 0
        assert len(server.seen) == 3, "what is in the journal is not asked again"
