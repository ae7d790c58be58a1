"""Where spans and metrics are sent beside their files: nowhere, unless somebody says so."""

from __future__ import annotations

import logging
import os
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
_SIGNALS = ("traces", "metrics")


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
        SettingsError: an address that is none.
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    base = endpoint or environ.get(_ALL, "")
    found = {}
    for signal in _SIGNALS:
        variable = _ONE.format(signal.upper())
        own = "" if endpoint else environ.get(variable, "")
        found[signal] = own or (f"{base.rstrip('/')}/v1/{signal}" if base else "")
        _check(found[signal], _SETTING if endpoint else variable if own else _ALL)
    if not any(found.values()):
        return None
    pairs = [one.partition("=") for one in environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",") if "=" in one]
    headers = tuple((name.strip(), unquote(value.strip())) for name, _, value in pairs)
    timeout = environ.get("OTEL_EXPORTER_OTLP_TIMEOUT", "")
    seconds = int(timeout) / 1000 if timeout.isascii() and timeout.isdigit() and int(timeout) else _SECONDS
    return Destination(found["traces"], found["metrics"], headers, seconds)


def exporter(endpoint: str | None = None) -> Exporter | None:
    """The exporter that is configured; None where nothing is to leave the machine.

    Args:
        endpoint: the setting. An address in it that is none is an error; one in a variable, which may be meant for
            another library in the same process, is said and left alone.

    Raises:
        SettingsError: the setting is no address.
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
        checked(address)
    except ValueError as error:
        what = f"{shown(address)!r} is no address of a collector that takes OTLP by HTTP: {error}"
        raise SettingsError(what, where=where, hint="say http://HOST:4318 or https://HOST") from None
