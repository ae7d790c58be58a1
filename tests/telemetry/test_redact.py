"""Secrets are found in whatever form they stand in a text, and nothing else is."""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote as in_url
from urllib.parse import quote_plus

import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from transom.canonical import whole_text
from transom.telemetry import Redactor

PEM = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj
AgEAAoIBAQDx+k/3Zq0=
-----END PRIVATE KEY-----
"""
Quote = Callable[[str], str]
QUOTES: tuple[Quote, ...] = (
    json.dumps,
    lambda text: json.dumps({"k": text}, ensure_ascii=False),
    lambda text: json.dumps([text]).replace("/", "\\/").replace("&", "\\u0026"),
    lambda text: repr({"k": text}),
    ascii,
    whole_text,
)
secrets = st.one_of(
    st.text(st.characters() | st.sampled_from("\"'\\/\n\t\udcff"), min_size=6),
    st.text(st.sampled_from("\"'\\n/ab\n"), min_size=6),
).filter(lambda text: len(text.strip()) >= 6 and "<" not in text)


@given(secrets, st.lists(st.sampled_from(QUOTES), max_size=3))
def test_a_secret_is_taken_out_however_it_is_quoted(secret: str, quotes: list[Quote]) -> None:
    secret = secret.strip()
    text = f"<{secret}>"
    for quote in quotes:
        text = quote(text)
    redact = Redactor({}, [secret])
    assert redact.finds(text)
    assert "<[redacted]>" in redact(text)


@pytest.mark.slow
@given(secrets, st.text())
def test_a_text_without_it_stays_as_it_is(secret: str, text: str) -> None:
    if not any(piece in text for piece in (secret.strip(), "sk-", "\\", *secret.splitlines())):
        assert Redactor({}, [secret])(text) == text


@pytest.mark.parametrize("quote", [str, json.dumps, repr, lambda text: orjson.dumps(text).decode()])
def test_of_a_key_of_several_lines_no_line_stands_anywhere(quote: Quote) -> None:
    """Programs read it with line ends of their own, indent it, or yield a part."""
    redact = Redactor({"DEPLOY_KEY": PEM})
    first, second = PEM.splitlines()[1:3]
    for text in (
        PEM,
        PEM.strip(),
        PEM.replace("\n", "\r\n"),
        PEM.replace("\n", "\n    "),
        f"... {first} ...",
        second,
    ):
        told = redact(quote(text))
        assert first[:12] not in told and second[:12] not in told, told
    assert redact("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----", "is none"
    in_one_line = Redactor({"DEPLOY_KEY": PEM.replace("\n", "\\n")})
    assert first[:12] not in in_one_line(quote(PEM))


places = st.tuples(st.binary(max_size=7), st.binary(max_size=7))


@given(
    secrets.filter(lambda text: text.isprintable()),
    places,
    st.sampled_from([b64encode, urlsafe_b64encode]),
)
def test_a_secret_is_taken_out_of_base64_wherever_it_stands_there(
    secret: str, beside: tuple[bytes, bytes], encode: Callable[[bytes], bytes]
) -> None:
    data = secret.strip().encode()
    whole = encode(beside[0] + data + beside[1]).decode()
    for text in (
        f"<{whole}>",
        json.dumps({"k": whole}),
        f"k={quote_plus(whole)}&l=1",
        whole.replace("/", "\\/"),
    ):
        told = Redactor({}, [secret])(text)
        assert "[redacted]" in told, text
        left = told.replace("[redacted]", "")
        assert len(text) - len(left) >= len(data) * 8 // 6, "no letter with a bit of it is left"


def test_bytes_that_are_no_text_are_found_too() -> None:
    key = b"planted-\xff\xfe-key"
    assert Redactor({"A_KEY": os.fsdecode(key)})(b64encode(key).decode()) == "[redacted]"
    assert Redactor({"A_KEY": os.fsdecode(key)})(f"k={in_url(key)}") == "k=[redacted]"


@given(
    secrets.filter(lambda text: text.isprintable()),
    st.integers(1, 3),
    st.sampled_from([in_url, quote_plus]),
)
@example("00000%", 1, in_url)  # what is encoded begins with what is not
@example("0000%2", 2, in_url)
@example("0000%25", 3, in_url)
# a space is a plus there, and that is encoded with the rest
@example("my pass word", 2, quote_plus)
@example("my pass word", 3, quote_plus)
def test_a_secret_is_taken_out_of_urls(secret: str, times: int, encode: Callable[..., str]) -> None:
    secret = often = secret.strip()
    for _ in range(times):
        often = encode(often, safe="")
    redact = Redactor({}, [secret])
    # else what stands around it says it by itself
    assume(redact("http://h/?k=&l=1") == "http://h/?k=&l=1")
    for text in (often, encode(secret), encode(secret, safe="/:@!$&'()*")):
        assert redact(f"http://h/?k={text}&l=1") == "http://h/?k=[redacted]&l=1"


def test_of_a_long_key_nothing_is_left_when_it_is_encoded() -> None:
    key = "\n".join(f"{line}+/=" * 20 for line in range(40))
    redact = Redactor({}, [key])
    for before in ("", "a", "ab"):
        assert redact(f"Basic {b64encode(f'{before}{key}'.encode()).decode()} end")[-20:].endswith(
            "[redacted] end"
        )
    assert redact(f"?k={in_url(key, safe='')}&l=1") == "?k=[redacted]&l=1"


def test_a_longer_secret_leaves_no_tail_where_a_shorter_one_begins_like_it() -> None:
    redact = Redactor({}, ["hunter2", "hunter2/and-more"])
    assert (
        redact("hunter2%2Fand-more, hunter2%2fand, hunter2")
        == "[redacted], [redacted]%2fand, [redacted]"
    )


def test_ordinary_text_is_looked_through_once_for_each_form() -> None:
    """50 keys, and a text that holds none, but pieces of all that could begin one."""
    redact = Redactor({}, [f"key-{number:04}/%+ {'x' * 40}" for number in range(50)])
    text = "%2525252525" * 20_000 + "a2V5LTAwMD" * 20_000 + "key-0001" * 20_000
    began = time.process_time()
    assert redact(text) == text
    assert time.process_time() - began < 30


TELLING = (
    *(
        "VENDOR_API_KEY",
        "KEY",
        "APIKEY",
        "OPENAIAPIKEY",
        "AWS_ACCESSKEY",
        "SSH_PRIVATEKEY",
        "github_token",
        "GITHUBTOKEN",
    ),
    *(
        "PGPASSWORD",
        "DBPASSWORD",
        "DB_PASSWD",
        "PASSPHRASE",
        "MYSQL_PWD",
        "DBPWD",
        "SMTP_PASS",
        "CLIENTSECRET",
    ),
    *("SERVICE_CREDENTIALS", "SITE_CREDENTIAL"),
)
OTHERS = (
    "PWD",
    "OLDPWD",
    "MONKEY",
    "LESSKEY",
    "COMPASS",
    "MAX_TOKENS",
    "TOKEN_PATH",
    "KEYBOARD",
    "SECRETARY",
    "HOME",
)


@pytest.mark.parametrize(
    ("names", "told"), [(TELLING, "as [redacted]."), (OTHERS, "as hunter2-hunter2.")]
)
def test_a_name_tells_what_a_variable_holds(names: tuple[str, ...], told: str) -> None:
    assert {
        name: Redactor({name: "hunter2-hunter2"})("as hunter2-hunter2.") for name in names
    } == dict.fromkeys(names, told)


def test_a_line_end_after_it_is_no_part_of_it() -> None:
    assert Redactor({"TEAM_TOKEN": "hunter2-hunter2\n"})("as hunter2-hunter2.") == "as [redacted]."


def test_a_short_line_is_no_secret_and_neither_is_a_short_value() -> None:
    redact = Redactor({"A_KEY": "left: a\nright: hunter2-hunter2", "B_KEY": "none"})
    assert redact("left: a, none") == "left: a, none"


def test_no_text_takes_more_than_one_pass() -> None:
    """A run of backslashes that could be shared out in several ways would take hours."""
    redact = Redactor({}, ["ab'\\\"'\\cd", '"\'"\'"ab'])
    text = "ab" + "\\" * 1_000_000
    assert redact(text) == text


def test_what_comes_after_it_is_still_quoted() -> None:
    redact = Redactor({}, ['pa"ss\\word'])
    made = json.dumps({"a": 'x "pa"ss\\word" y', "b": ['pa"ss\\word', "\\"]})
    assert json.loads(redact(made)) == {"a": 'x "[redacted]" y', "b": ["[redacted]", "\\"]}
