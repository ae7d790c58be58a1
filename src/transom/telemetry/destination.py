"""The collector to which spans and metrics are sent in addition to their files, if one is
configured.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from transom.errors import SettingsError
from transom.telemetry.address import parse_address, safe_address

_SETTING = "telemetry.otlp_endpoint"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
# HTTP allows Latin-1 in a value, and neither line breaks nor other control characters.
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\t\x20-\x7e\xa0-\xff]*)")


@dataclass(frozen=True)
class Destination:
    """The addresses of a collector, and the headers of each request.

    Attributes:
        traces: address for spans; "" if they are not sent.
        metrics: address for metrics; "" if they are not sent.
        headers: name and value of each. They often hold a key.
        protocol: `http/json` or `http/protobuf`; "" if nobody has chosen one.
    """

    traces: str
    metrics: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    protocol: str = ""


def destination(
    endpoint: str | None, environ: Mapping[str, str] = os.environ
) -> Destination | None:
    """Return the collector of the setting or of OpenTelemetry's variables, or None.

    Args:
        endpoint: the setting; it takes precedence over the variable.
        environ: environment variables.

    Raises:
        SettingsError: the address or a header cannot be used in a request.
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    base = (endpoint or environ.get(_ENDPOINT, "")).strip().rstrip("/")
    if not base:
        return None
    try:
        parse_address(base)
    except ValueError as error:
        message = (
            f"{safe_address(base)!r} is not an address of a collector for OTLP over HTTP: {error}"
        )
        raise SettingsError(
            message,
            place=_SETTING if endpoint else _ENDPOINT,
            hint="set it to http://HOST:4318 or https://HOST",
        ) from None
    headers = _parse_headers(environ.get(_HEADERS, ""))
    protocol = environ.get(_PROTOCOL, "").strip().lower()
    return Destination(f"{base}/v1/traces", f"{base}/v1/metrics", headers, protocol)


def _parse_headers(text: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of `NAME=VALUE,...`, in which values are quoted as in URLs.

    Raises:
        SettingsError: HTTP does not allow a header. The message gives its number alone, since its
            text often holds a key.
    """
    headers = []
    for number, pair in enumerate(text.split(","), 1):
        name, separator, value = pair.partition("=")
        # OpenTelemetry's own exporters skip a part without "=", too.
        if not separator:
            continue
        # Keys that are read from a file end with a line break.
        header = _HEADER.fullmatch(f"{name.strip()}={unquote(value).strip()}")
        if header is None:
            raise SettingsError(
                f"header {number} cannot be sent: it contains a character that HTTP does not allow",
                place=_HEADERS,
                hint="set it to NAME=VALUE,NAME=VALUE",
            )
        headers.append((header[1], header[2]))
    return tuple(headers)
