"""Addresses: what can be asked, and what is told of one."""

from __future__ import annotations

import httpx
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.telemetry.address import parse_address, safe_address

NAME = "my_box.test"
GOOD = [
    "http://127.0.0.1:8080/v1",
    "https://api.openai.com/v1",
    f"https://{NAME}./v1",
    "http://[::1]:11434",
    "http://user:pa%40ss@host:1/",
    "https://xn--e1afmkfd.example/v1",
    "https://gateway.example/v1/@account/openai",
    "HTTP://HOST:65535",
]
BAD = {
    "": "does not begin with",
    "host:1/v1": "does not begin with",
    "ftp://host": "does not begin with",
    "http://": "host or its port",
    "http://:80": "host or its port",
    "http://h:0": "host or its port",
    "http://h:65536": "host or its port",
    "http://h:x": "host or its port",
    "http://h:-1": "host or its port",
    "http://h:８0": "beyond ASCII",
    "http://[::1": "host or its port",
    "http://h[::1]": "host or its port",
    "http://[fe80::1%25eth0]": "host or its port",
    "http://[v1.x]": "host or its port",
    "http://a.example..test": "host or its port",
    "http://.test": "host or its port",
    "http://-a.test": "host or its port",
    "http://a%20b": "host or its port",
    f"http://{'a' * 64}": "host or its port",
    f"http://{'a.' * 130}b": "host or its port",
    "https://köln.example/v1": "write xn--",
    "http://h /": "space",
    "http://h\t/": "space",
    "http://h/\x00": "space",
}


@pytest.mark.parametrize("address", GOOD)
def test_what_can_be_asked(address: str) -> None:
    assert parse_address(address).hostname


@pytest.mark.parametrize(("address", "why"), BAD.items())
def test_what_cannot(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_address(address)


PIECES = [
    "http://",
    "https://",
    "h",
    ".",
    ":",
    "@",
    "/",
    "?",
    "#",
    "[",
    "]",
    "::1",
    "80",
    "-",
    "_",
    "%",
    "%41",
    "ü",
    "\\",
]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join).map("http://h".__add__)
    | st.text().map("http://".__add__)
)
def test_what_is_taken_libraries_take(address: str) -> None:
    try:
        parse_address(address)
    except ValueError:
        return
    assert httpx.URL(address).host
    assert httpx2.URL(address).host


SHOWN = {
    "http://h:80/v1": "http://h:80/v1",
    "http://user:planted@h:80/v1?key=planted#planted": "http://h:80/v1",
    "http://h/v1?key=pla@nted": "...",
    "http://user:pla?nted@h/v1": "...",
    "http://user:planted": "http://user:...",
    "http://user:planted:planted/v1": "http://user:.../v1",
    "user:planted": "user:...",
    "user:planted@h:1": "h:1",
    "http://[::1]:80/v1": "http://[::1]:80/v1",
    "http://[::1:planted": "http://[:...",
    "http://[::1]:planted/v1": "http://[::1]:.../v1",
}


@pytest.mark.parametrize(("address", "told"), SHOWN.items())
def test_what_is_told_of_one(address: str, told: str) -> None:
    assert safe_address(address) == told
