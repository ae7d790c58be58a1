"""Notices to a program or an address: a run waits for a person, or came to its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transom.config.runtime_sections import Notice, NotifySettings
from transom.errors import InputError
from transom.runs.history import RunView
from transom.runs.open_questions import questions_of
from transom.sandbox import run_openly

_SECONDS = 15.0


def notice_of(run: RunView, event: Notice, resume: str) -> dict[str, Any]:
    """Return what a notice says of a run: what happened, and how to answer or go on.

    Args:
        run: the run, after its process left it.
        event: what happened.
        resume: the command that continues it; "" if none does.
    """
    # Arguments of tool calls that are local are left out.
    return notice_without_run(run.row.kind, run.row.name, run.status, event) | {
        "run_id": run.row.id,
        "reason": run.state.paused or run.state.waits or None,
        "questions": [question.to_json() for question in questions_of(run)],
        "resume": resume or None,
    }


def notice_without_run(
    kind: str, name: str, status: str, event: Notice, reason: str = ""
) -> dict[str, Any]:
    """Return what a notice says of a command that keeps no run, e.g. of a release."""
    return {
        "schema": "transom.notice/1",
        "event": event,
        "run_id": None,
        "kind": kind,
        "name": name,
        "status": status,
        "reason": reason or None,
        "questions": [],
        "resume": None,
    }


async def send_notice(
    settings: NotifySettings, notice: Mapping[str, Any], folder: Path, setting: str
) -> str:
    """Hand a notice to the program and the address of the settings.

    Args:
        folder: where the program runs.
        setting: the name of the settings, for messages.

    Returns:
        Why that failed, or "".
    """
    text = json.dumps(notice)
    problems: list[str] = []
    # On its stdin: others on the machine can read the arguments of a program.
    if settings.command:
        try:
            process = await run_openly(
                settings.command,
                folder,
                {},
                prompt=text,
                seconds=_SECONDS,
                setting=f"{setting}.command",
            )
        except InputError as error:
            problems.append(str(error))
        else:
            if process.code:
                problems.append(f"{settings.command[0]} ended with exit code {process.code}")
    # In a thread, so that the other runs of this process go on.
    if settings.url:
        problem = await asyncio.to_thread(_post, settings.url, text.encode())
        if problem:
            problems.append(f"{setting}.url: {problem}")
    return "; ".join(problems)


def _post(address: str, body: bytes) -> str:
    """Post a notice; return why that failed, or "".

    The address is not quoted: the path of a chat's web hook is its key. Redirects are not followed,
    since they would take the notice to another server.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        return "this is no web address"
    # No proxy of the environment is used: it would read the notice, too.
    connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    path = parts.path or "/"
    if parts.query:
        path += f"?{parts.query}"
    connection = connection_class(host, port, timeout=_SECONDS)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        status = connection.getresponse().status
    except (OSError, HTTPException, ValueError) as error:
        return f"{host}: {error.strerror if isinstance(error, OSError) else type(error).__name__}"
    finally:
        connection.close()
    return "" if status < 300 else f"{host} answered with status {status}"
