"""Any operation is repeated after errors that may pass, also those of HTTP libraries."""

from __future__ import annotations

import email.message
import urllib.error
from collections.abc import Callable
from types import SimpleNamespace

import httpx
import pytest

from transom import retry
from transom.config.hosted import Retry

FAST = Retry(initial_delay=0.0, jitter=0.0, max_attempts=3)


def of_httpx(status: int) -> Exception:
    request = httpx.Request("GET", "https://depot.example/trams")
    return httpx.HTTPStatusError(
        "no", request=request, response=httpx.Response(status, request=request)
    )


def of_urllib(status: int) -> Exception:
    return urllib.error.HTTPError(
        "https://depot.example/", status, "no", email.message.Message(), None
    )


class StatusOfRequests(OSError):
    """The form of `requests.HTTPError`."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = SimpleNamespace(status_code=status, headers={})


class StatusOfAiohttp(Exception):
    """The form of `aiohttp.ClientResponseError`."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.status, self.headers = status, None


FORMS = (of_httpx, of_urllib, StatusOfRequests, StatusOfAiohttp)


async def attempts_until(error: Exception, **options: object) -> int:
    """Return how often an operation is called that fails twice with an error."""
    calls = []

    def tram() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise error
        return "here"

    try:
        assert await retry(tram, FAST, **options) == "here"  # type: ignore[call-overload]
    except type(error):
        assert len(calls) == 1
    return len(calls)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_busy_server_is_asked_again(form: Callable[[int], Exception], status: int) -> None:
    assert await attempts_until(form(status)) == 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 501])
async def test_a_refusal_is_raised_at_once(form: Callable[[int], Exception], status: int) -> None:
    assert await attempts_until(form(status)) == 1


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("no route"),
        httpx.ReadTimeout("silence"),
        urllib.error.URLError(ConnectionRefusedError("closed")),
        urllib.error.URLError(TimeoutError("silence")),
    ],
)
async def test_a_lost_connection_is_tried_again(error: Exception) -> None:
    assert await attempts_until(error) == 3


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no number"),
        httpx.UnsupportedProtocol("ftp"),
        urllib.error.URLError("unknown url type: tram"),
        OSError("no such tram"),
    ],
)
async def test_another_error_is_raised_at_once(error: Exception) -> None:
    assert await attempts_until(error) == 1


async def test_the_errors_that_a_caller_names_are_the_only_ones() -> None:
    assert await attempts_until(ValueError("not yet"), on=(ValueError,)) == 3
    assert await attempts_until(of_httpx(503), on=(ValueError,)) == 1


async def test_the_wait_that_a_server_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("transom.llm.repeating.asyncio.sleep", sleep)
    error = of_httpx(429)
    assert isinstance(error, httpx.HTTPStatusError)
    error.response.headers["Retry-After"] = "7"
    assert await attempts_until(error) == 3
    assert waits == [7.0, 7.0]
