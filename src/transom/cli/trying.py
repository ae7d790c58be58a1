"""`transom doctor --provider`: whether a provider answers, and what its server can do."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from transom.cli.output import print_text, style, unread
from transom.cli.session import Session, without_credentials
from transom.config import HostedSettings
from transom.errors import InputError, install_hint
from transom.llm import Provider
from transom.llm.capabilities import Capabilities
from transom.llm.hosted import HOSTED
from transom.llm.hosted.checkup import Make, Row, checkup
from transom.llm.hosted.connecting import place_of
from transom.llm.naming import Surroundings, hosted_provider
from transom.telemetry.redact import Redactor

_NO_MODEL = "no-such-model-anywhere"
_NO_KEY = "no-such-key-anywhere"
_NAME, _STATUS = len("structured output"), len("failed")
_SECONDS = 30.0
_COLOURS = {"ok": "green", "failed": "red", "n/a": "dim"}


def hosted_rows(session: Session) -> list[dict[str, Any]]:
    """Of each kind of provider with a server: whether it could be asked. Nothing is sent, so no row says yes."""

    return [{"name": kind, **_state(session, kind)} for kind in HOSTED]


def _state(session: Session, kind: str) -> dict[str, Any]:

    if find_spec(kind) is None:
        return {"answers": False, "says": f"its SDK is not installed: {install_hint(kind)}"}
    try:
        place = place_of(kind, getattr(session.settings.llm, kind), base_url=session.base_url)
    except InputError as error:
        return {"answers": False, "says": str(error)}
    if place.needs_key and place.key is None:
        return {"answers": False, "says": f"there is no key: {place.key_variable} is not set"}
    key = f"with the key in {place.key_variable}" if place.key else "without a key"
    said = f"is asked at {without_credentials(place.url)} {key}; `doctor --provider {kind}:NAME` tries it"
    return {"answers": None, "says": said}


def try_provider(session: Session, name: str) -> int:
    """Ask a server a few small questions, and print what came of them."""

    kind = name.partition(":")[0]
    settings = getattr(session.settings.llm, kind)
    place = place_of(kind, settings, base_url=session.base_url)
    llm = session.settings.llm.model_copy(update={kind: brief(settings)})
    around = Surroundings(session.cwd, session.settings.model_copy(update={"llm": llm}), session.base_url)
    wrong = _maker(name, around, {**os.environ, place.key_variable: _NO_KEY}) if place.key else None
    tried = checkup(
        _maker(name, around, os.environ),
        no_such_model=_maker(f"{kind}:{_NO_MODEL}", around, os.environ),
        wrong_key=wrong,
    )
    redact = Redactor(secrets=[place.key] if place.key else [])
    caps = _maker(name, around, os.environ)(False).caps
    return asyncio.run(_print(session, (name, without_credentials(place.url) or "", caps), tried, redact))


def brief(settings: HostedSettings) -> HostedSettings:
    """The settings of a server that is tried: asked once, and not waited for as long as for an answer."""
    retry = settings.retry.model_copy(update={"max_attempts": 1})
    seconds = min(settings.timeout_seconds, _SECONDS)
    return settings.model_copy(update={"retry": retry, "timeout_seconds": seconds})


def _maker(name: str, around: Any, environ: Mapping[str, str]) -> Make:

    def make(stream: bool) -> Provider:
        return hosted_provider(name, around, stream=stream, environ=environ)

    make(False)  # so that a missing key or SDK is said before anything is asked
    return make


async def _print(
    session: Session, what: tuple[str, str, Capabilities], tried: AsyncIterator[Row], redact: Redactor
) -> int:
    """Rows for people as they come, or all in one document; what a server says may hold the key that it was shown."""
    name, url, caps = what
    rows: list[Row] = []
    async for row in tried:
        rows.append(replace(row, says=redact(row.says)))
        answers = rows[0].status == "ok"
        says = "answers" if answers else "does not answer"
        if session.format != "json":
            print_text(*([f"{name} at {url}: {says}"] if len(rows) == 1 else []), _line(rows[-1]))
            with unread():
                sys.stdout.flush()
    told = {"schema": "transom.provider/1", "name": name, "answers": answers, "says": says, "base_url": url}
    document = {**told, "capabilities": caps.to_json(), "checks": [row.to_json() for row in rows]}
    failed = any(row.status == "failed" for row in rows)
    return session.report(document, f"  taken to have: {caps.text()}", code=int(failed))


def _line(row: Row) -> str:
    status = style(row.status, _COLOURS[row.status]) + " " * (_STATUS - len(row.status))
    return f"  {row.name:{_NAME}}  {status}  {row.seconds:5.2f} s  {row.says}"
