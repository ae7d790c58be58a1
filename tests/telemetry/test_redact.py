"""Secrets are found in whatever form they stand in a text, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
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


@given(secrets, st.text())
def test_a_text_without_it_stays_as_it_is(secret: str, text: str) -> None:
    if not any(piece in text for piece in (secret.strip(), "sk-", "\\", *secret.splitlines())):
        assert Redactor({}, [secret])(text) == text


@pytest.mark.parametrize("quote", [str, json.dumps, repr, lambda text: orjson.dumps(text).decode()])
def test_of_a_key_of_several_lines_no_line_stands_anywhere(quote: Quote) -> None:
    """Programs read it with line ends of their own, indent it, or yield a part."""
    redact = Redactor({"DEPLOY_KEY": PEM})
    first, second = PEM.splitlines()[1:3]
    for text in (PEM, PEM.strip(), PEM.replace("\n", "\r\n"), PEM.replace("\n", "\n    "), f"... {first} ...", second):
        told = redact(quote(text))
        assert first[:12] not in told and second[:12] not in told, told
    assert redact("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----", "is none"
    in_one_line = Redactor({"DEPLOY_KEY": PEM.replace("\n", "\\n")})
    assert first[:12] not in in_one_line(quote(PEM))


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
    *("PGPASSWORD", "DBPASSWORD", "DB_PASSWD", "PASSPHRASE", "MYSQL_PWD", "DBPWD", "SMTP_PASS", "CLIENTSECRET"),
    *("SERVICE_CREDENTIALS", "SITE_CREDENTIAL"),
)
OTHERS = ("PWD", "OLDPWD", "MONKEY", "LESSKEY", "COMPASS", "MAX_TOKENS", "TOKEN_PATH", "KEYBOARD", "SECRETARY", "HOME")


@pytest.mark.parametrize(("names", "told"), [(TELLING, "as [redacted]."), (OTHERS, "as hunter2-hunter2.")])
def test_a_name_tells_what_a_variable_holds(names: tuple[str, ...], told: str) -> None:
    assert {name: Redactor({name: "hunter2-hunter2"})("as hunter2-hunter2.") for name in names} == dict.fromkeys(
        names, told
    )


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
