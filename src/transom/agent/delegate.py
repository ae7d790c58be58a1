"""The tool by which a model opens a sub-conversation, as the model is shown it."""

from __future__ import annotations

from transom.llm import ToolSpec

DELEGATE = ToolSpec(
    "delegate",
    "Have something looked into in a conversation of its own, and get a short answer. Use it for what is long.",
    {
        "type": "object",
        "properties": {
            "purpose": {
                "type": "string",
                "minLength": 1,
                "description": "What you need to know, in a sentence or two.",
            },
            "sources": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What is to be looked at; may be empty. The name of a kept result; of a tool, where it"
                " was called once; `look #2` for the second call of look, `look #-1` for its last; `event 12`, as"
                " notes name it.",
            },
        },
        "required": ["purpose", "sources"],
        "additionalProperties": False,
    },
)
