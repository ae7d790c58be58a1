"""Forms that a browser sends."""

from __future__ import annotations

from urllib.parse import parse_qs


def form_of(body: bytes) -> dict[str, str]:
    """Return the fields of a form, the first value of each; empty if the body is no form."""
    try:
        text = body.decode("ascii")
    # Browsers escape all other characters.
    except UnicodeDecodeError:
        return {}
    return {name: values[0] for name, values in parse_qs(text).items()}
