"""Where spans and metrics are sent beside their files: nowhere, unless somebody says so."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from transom.errors import SettingsError
from transom.telemetry.address import checked, shown

if TYPE_CHECKING:
    from transom.telemetry.otlp import Exporter

_log = logging.getLogger(__name__)

_SECONDS = 10.0
_SETTING = "telemetry.otlp_endpoint"
_ALL = "OTEL_EXPORTER_OTLP_ENDPOINT"
_ONE = "OTEL_EXPORTER_OTLP_{}_ENDPOINT"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_SIGNALS = ("traces", "metrics")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")  # no line break: HTTP has Latin-1, and nothing that controls
_MOST_DIGITS = 9  # of milliseconds; a system takes no timeout of any length


@dataclass(frozen=True)
class Destination:
    """Where a collector listens.

    Attributes:
        traces, metrics: addresses; "" where that is not sent.
        headers: of each request; they often hold a key.
        seconds: for each step of a request.
    """

    traces: str
    metrics: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seconds: float = _SECONDS


def destination(endpoint: str | None, environ: Mapping[str, str] = os.environ) -> Destination | None:
    """Where to send, from the setting `telemetry.otlp_endpoint` or OpenTelemetry's own variables; None: nowhere.

    Raises:
        SettingsError: an address that is none, or a header that no request can have.
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    base = (endpoint or environ.get(_ALL, "")).strip()
    found = {}
    for signal in _SIGNALS:
        variable = _ONE.format(signal.upper())
        own = "" if endpoint else environ.get(variable, "").strip()
        found[signal] = own or (f"{base.rstrip('/')}/v1/{signal}" if base else "")
        _check(found[signal], _SETTING if endpoint else variable if own else _ALL)
    if not any(found.values()):
        return None
    timeout = environ.get("OTEL_EXPORTER_OTLP_TIMEOUT", "")
    good = timeout.isascii() and timeout.isdigit() and len(timeout) <= _MOST_DIGITS and int(timeout)
    seconds = int(timeout) / 1000 if good else _SECONDS
    return Destination(found["traces"], found["metrics"], _headers(environ.get(_HEADERS, "")), seconds)


def exporter(endpoint: str | None = None) -> Exporter | None:
    """The exporter that is configured; None where nothing is to leave the machine.

    Args:
        endpoint: the setting. Where it is given, what is wrong is an error, its headers included, which a variable
            holds; without it all is in variables, which may be meant for another library in the same process, and is
            said and left alone.

    Raises:
        SettingsError: the setting is no address, or a header of its requests is none.
    """
    try:
        where = destination(endpoint)
    except SettingsError as error:
        if endpoint:
            raise
        _log.warning("nothing is sent to a collector: %s", error)
        return None
    if where is None:
        return None
    from transom.telemetry.otlp import exporter_to  # noqa: PLC0415 - who sends nothing pays for none of it

    return exporter_to(where)


def _check(address: str, where: str) -> None:
    if not address:
        return
    try:
        parts = checked(address)
        if not f"{parts.path}{parts.query}".isascii():
            raise ValueError("there is a letter in it that HTTP does not take")
    except ValueError as error:
        what = f"{shown(address)!r} is no address of a collector that takes OTLP by HTTP: {error}"
        raise SettingsError(what, where=where, hint="say http://HOST:4318 or https://HOST") from None


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """`NAME=VALUE,...`, the values as URLs write them. They often hold a key, and so does a name where `=` stands
    behind one: an error says which it is by its number alone.

    Raises:
        SettingsError: one that no request can have.
    """
    found = []
    for number, one in enumerate(text.split(","), 1):
        name, there, value = one.partition("=")
        if not there:
            continue
        name, value = name.strip(), unquote(value).strip()
        if not _NAME.fullmatch(name):
            what = "is none: its name holds what HTTP does not take"
        elif not _VALUE.fullmatch(value):
            what = "cannot be sent: its value holds a line break, or a letter that HTTP does not take"
        else:
            found.append((name, value))
            continue
        raise SettingsError(f"header {number} {what}", where=_HEADERS, hint="say NAME=VALUE,NAME=VALUE")
    return tuple(found)
