"""A conversation as a recording, for tests and for whoever is to see the same again without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transom.agent.turns import Conversation
from transom.errors import RunError
from transom.runs.recording import recording_of
from transom.telemetry import Redactor


def write_talk(talk: Conversation | None, path: Path, *, local: bool) -> None:
    """Write a conversation with its sub-conversations to a file.

    Raises:
        RunError: nothing was said yet.
        InputError: see `recording_of` and `Recording.write`.
    """
    if talk is None or not talk.turns:
        raise RunError("nothing was said yet that could be recorded", hint="send a message first")
    host = talk.stage.host

    def mine(data: Any) -> bool:
        whole, name = (data["stage"], data["epoch"]), data["conversation"]
        return whole == (talk.stage.name, talk.stage.epoch) and (name == talk.name or name.startswith(f"{talk.name}/"))

    redact = Redactor(secrets=host.chain.secrets)
    policy = host.chain.policy
    found = recording_of(host.store, host.records(), policy=policy, redact=redact, local=local, which=mine)
    found.write(path)
