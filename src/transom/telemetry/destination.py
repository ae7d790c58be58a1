"""The collector to which spans and metrics are sent beside their files: none, unless one is
configured.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from transom.errors import SettingsError
from transom.telemetry.address import checked, shown

_SETTING = "telemetry.otlp_endpoint"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
# HTTP takes no line break in a value: Latin-1, and nothing that controls.
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\t\x20-\x7e\xa0-\xff]*)")


@dataclass(frozen=True)
class Destination:
    """Addresses of a collector, "" where that is not sent, and headers of each request, which
    often hold a key.
    """

    traces: str
    metrics: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def destination(
    endpoint: str | None, environ: Mapping[str, str] = os.environ
) -> Destination | None:
    """The collector of the setting or of OpenTelemetry's variables, None for none; SettingsError
    where it is none.
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    base = (endpoint or environ.get(_ENDPOINT, "")).strip().rstrip("/")
    if not base:
        return None
    try:
        checked(base)
    except ValueError as error:
        what = f"{shown(base)!r} is no address of a collector that takes OTLP by HTTP: {error}"
        hint = "say http://HOST:4318 or https://HOST"
        raise SettingsError(what, where=_SETTING if endpoint else _ENDPOINT, hint=hint) from None
    return Destination(
        f"{base}/v1/traces", f"{base}/v1/metrics", _headers(environ.get(_HEADERS, ""))
    )


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """`NAME=VALUE,...`, values as in URLs. An error names a header by its number alone: it often
    holds a key.
    """
    found = []
    for number, one in enumerate(text.split(","), 1):
        name, there, value = one.partition("=")
        header = _HEADER.fullmatch(f"{name.strip()}={unquote(value).strip()}")
        if there and not header:
            what = (
                f"header {number} cannot be sent: there is something in it that HTTP does not take"
            )
            raise SettingsError(what, where=_HEADERS, hint="say NAME=VALUE,NAME=VALUE")
        if there and header:
            found.append((header[1], header[2]))
    return tuple(found)
