"""Hostile texts, requests and neighbours: what a model, a log, a file name or another site sends."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.testclient import TestClient

from tests.agent.helpers import SEAT
from tests.evals.test_compare import evaluation, scenario
from tests.server.conftest import HTML, TOKEN, URL, bearer
from tests.server.leaving import ask, csrf_of, finish, folder_of
from tests.server.test_results import leave_investigation, leave_story
from transom.agent import Agent, Home
from transom.evals.stored_evaluations import remember
from transom.learning import InsightCategory, InsightSource, Playbook
from transom.llm import Reply, Request, ScriptedProvider, Text, ToolCallPart
from transom.memory import SqliteMemory
from transom.runs.history import RunHistory

TEXTS = (
    "<script>steal()</script>",
    "</textarea></pre></title></svg><svg onload=steal()>",
    "' onmouseover=steal() x='",
    '" autofocus onfocus="steal()',
    "javascript:steal()",
    "]]><iframe src=//evil.example>",
    "<style>*{display:none}</style><base href=//evil.example>",
    "{{ 7001 * 1000003 }}{% raw %}",
    "\r\n\r\nevent: message\ndata: <script>steal()</script>\n\n",
    "\u2028<a href=\u0001javascript:steal()>x</a>\u202e",
    "<meta http-equiv=refresh content='0;//evil.example'>",
    "--><object data=//evil.example></object><!--",
)
# Where an address stands in markup, and what a page may hold at all.
ADDRESSES = ("href", "src", "action", "formaction", "xlink:href", "data")
FORBIDDEN = ("iframe", "object", "embed", "base", "style", "img", "foreignobject", "audio", "video")


class Markup(HTMLParser):
    """What a browser makes of a page.

    Attributes:
        links: the addresses in it.
        trouble: what must not be in it.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.trouble: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in FORBIDDEN or (tag == "script" and not values.get("src")):
            self.trouble.append(f"<{tag}>")
        if tag == "meta" and "http-equiv" in values and "refresh" in values["http-equiv"]:
            # Of ours: it loads a page again whose command is at work.
            self.trouble += [f"<{tag}>"] if "evil" in values["content"] else []
        for name, value in values.items():
            if name.startswith("on") or name == "style" or name.startswith("hx-on"):
                self.trouble.append(f"{tag} {name}={value}")
            if name in ADDRESSES:
                address = urlsplit(value.strip())
                if address.scheme or address.netloc:
                    self.trouble.append(f"{tag} {name}={value}")
                self.links.append(value)


async def converse(folder: Path, text: str) -> None:
    """Leave a conversation whose every text is the given one."""
    replies = iter(
        [
            Reply((Text(text), ToolCallPart("1", "look_up", {text: text}))),
            Reply((Text(text),)),
        ]
    )

    def answer(request: Request) -> Reply:
        del request
        return next(replies)

    def look_up(**arguments: Any) -> str:
        return str(arguments)

    agent = Agent(SEAT, provider=ScriptedProvider(answer), at=Home(folder, "chat"))
    async with agent:
        await agent.send(text)


def fill(history: RunHistory, book: Playbook, folder: Path, text: str) -> list[str]:
    """Leave a text in each place that the pages show; return further addresses."""
    ask(history, "waits", text, text, "no", evidence=text)
    ask(history, "diff", text, "yes", "no", evidence=f"diff --git a/{text} b/{text}\n+{text}")
    judgement = {"by": text, "rules": text}
    finish(history, "judged", "PASS", waits=text, judgement=judgement, inputs={"question": text})
    leave_investigation(history, text)
    leave_story(history, text)
    check = finish(history, "check", "FAIL", kind="check")
    entry = {"id": text, "name": text, "value": text, "reason": text, "source_file": text}
    verdict = {
        "item_id": text, "status": "FAIL", "checker_type": 1, "capability_type": 1,
        "missing_items": [entry | {"line_number": 2, "matched_content": text}],
        "found_items": [entry], "made_by": {"transom": text}, "sandbox_level": "L3",
        "as_of": "2026-01-01", "inputs": [],
    }  # fmt: skip
    verdict_folder = folder_of(history, check) / "run" / "verdict"
    verdict_folder.mkdir(parents=True)
    (verdict_folder / "verdict.json").write_text(json.dumps(verdict))
    source = InsightSource(run=text, stage=text, study=text, by=text)
    insight = book.add_insight(InsightCategory.MISTAKE, text, tags=[text], source=source)
    book.record_outcome(insight.id, True, followed=True, source=source)

    async def remember_all() -> None:
        async with SqliteMemory.open(folder / "state.db") as memory:
            # An id, and the name of a relation, are a line each.
            key = text if text.isprintable() else "a line"
            await memory.store(text, {"kind": text}, key=key)
            await memory.store("another", key="another")
            await memory.relate(key, "another", key)
        await remember(history.store, evaluation(scenario(text, "+"), run="run-1"), text)
        await converse(folder, text)

    asyncio.run(remember_all())
    word = quote(text, safe="")
    return [
        f"/waiting?answered={word}",
        f"/waiting/sheet?answered={word}",
        f"/runs?kind={word}&status={word}",
        f"/playbook?query={word}&scope={word}",
        f"/playbook/{insight.id}?note={word}",
        f"/memory?query={word}",
        f"/runs/{word}",
        f"/started/{word}",
        f"/{word}",
        f"/?token={word}",
    ]


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("text", TEXTS)
def test_no_text_becomes_markup_on_any_page(
    text: str, browser: TestClient, history: RunHistory, book: Playbook, tmp_path: Path
) -> None:
    waiting = [*fill(history, book, tmp_path, text), "/"]
    seen: set[str] = set()
    trouble: dict[str, list[str]] = {}
    holding = 0
    while waiting:
        path = waiting.pop()
        if path in seen or len(seen) > 150:
            continue
        seen.add(path)
        answer = browser.get(path)
        assert answer.status_code < 500, path
        kind = answer.headers["Content-Type"].partition(";")[0]
        # A browser that guesses would run a picture or a document as a page.
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        if kind != "text/html":
            assert kind in (
                "application/json",
                "application/problem+json",
                "text/css",
                "text/javascript",
                "image/svg+xml",
            ), path
            continue
        page = Markup(answer.text)
        holding += any(
            word in answer.text for word in ("steal()", "7001 * 1000003", "evil.example")
        )
        if page.trouble:
            trouble[path] = page.trouble
        assert "7001021003" not in answer.text, path
        for link in page.links:
            address = urlsplit(urljoin(path, link))
            if not address.netloc and address.path not in ("/cancel", "/resume"):
                waiting.append(address._replace(fragment="").geturl())
    assert trouble == {}
    # The text was there, and is text.
    assert holding > 15


def test_the_stream_of_now_has_one_event_whatever_a_text_brings(
    url: str, history: RunHistory
) -> None:
    for number, text in enumerate(TEXTS):
        ask(history, f"run-{number}", text, "yes", "no")
    with httpx.Client(base_url=url, headers=bearer(), trust_env=False) as client:
        lines: list[str] = []
        with client.stream("GET", "/now/events") as stream:
            for chunk in stream.iter_bytes():
                lines += chunk.decode().split("\n")
                if chunk.endswith(b"\n\n"):
                    break
    assert {line.partition(":")[0] for line in lines if line} == {"data"}
    # An empty line would end the event.
    assert all(lines[:-2]) and "\r" not in "".join(lines)
    page = Markup("\n".join(line.removeprefix("data: ") for line in lines))
    assert page.trouble == [] and len(page.links) > 5


def _endpoints(browser: TestClient) -> Iterator[tuple[str, str]]:
    """Yield method and path of every endpoint."""
    app: Any = browser.app
    for context in iter_route_contexts(app._app.routes):
        route = context.route
        if isinstance(route, APIRoute):
            for method in route.methods or ():
                yield method, re.sub(r"\{\w+\}", "x", str(context.path))


def _changing(browser: TestClient) -> list[tuple[str, str]]:
    """Return the endpoints that change something."""
    return [entry for entry in _endpoints(browser) if entry[0] not in ("GET", "HEAD", "OPTIONS")]


def test_nothing_changes_without_the_token_of_a_page(browser: TestClient) -> None:
    endpoints = _changing(browser)
    assert len(endpoints) > 8, endpoints
    csrf = csrf_of(browser.get("/start").text)
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    bare = TestClient(browser.app, base_url=URL, headers=HTML)
    session = browser.cookies[next(name for name in browser.cookies)].partition(".")[2]
    for method, path in endpoints:
        for data, headers in (
            ({}, {}),
            ({"csrf": csrf[:-1] + "g"}, {}),
            # The signature of the cookie is not that of the page.
            ({"csrf": session}, {}),
            ({"csrf": ""}, {"X-CSRF-Token": ""}),
            ({"csrf": csrf}, {"Origin": "https://evil.example"}),
            ({"csrf": csrf}, {"Origin": "null"}),
            ({"csrf": csrf}, {"Origin": URL.replace("8420", "8421")}),
            ({"csrf": csrf}, {"Host": "evil.example"}),
        ):
            answer = browser.request(method, path, data=data, headers=headers)
            assert answer.status_code == 403, (method, path, data, headers)
        # A form of a foreign site may have any of these three types, and no other.
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json"):
            answer = browser.request(
                method, path, content=f"csrf={csrf}", headers={"Content-Type": kind}
            )
            assert answer.status_code == 403, (method, path, kind)
        sent = {"csrf": csrf}
        assert bare.request(method, path, data=sent).status_code == 401
        answer = bare.request(method, path, data=sent, headers=cookie, follow_redirects=False)
        assert answer.status_code not in (401, 403), (method, path)


@pytest.mark.slow
@pytest.mark.fence
def test_no_address_acts_when_it_is_read(
    browser: TestClient, history: RunHistory, book: Playbook
) -> None:
    ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    insight = book.add_insight(InsightCategory.MISTAKE, "Never sign off on a stale netlist")
    before = history.store.last_seq(), book.epoch, [*history.store.items("runs")]
    paths = [path for _, path in _changing(browser)] + ["/", "/waiting", "/runs", "/settings"]
    for path in paths:
        for query in ("", "?answer=READY&by=Ann&change=harmful&csrf=x", "?_method=POST"):
            for method in ("GET", "HEAD", "OPTIONS"):
                changed = {"X-HTTP-Method-Override": "POST"}
                answer = browser.request(method, f"{path}{query}", headers=changed)
                assert answer.status_code < 500
    browser.get(f"/playbook/{insight.id}?change=harmful&by=Ann")
    assert (history.store.last_seq(), book.epoch, [*history.store.items("runs")]) == before


def test_every_answer_refuses_frames_guesses_and_foreign_readers(
    browser: TestClient, url: str, client: TestClient
) -> None:
    paths = {path for _, path in _endpoints(browser)} - {"/now/events"}
    assert len(paths) > 40
    answers: list[Any] = [
        browser.get(path) for path in (*paths, "/nowhere", "/static/page.css", "/static/x")
    ]
    answers += [browser.get("/", headers={"Host": "evil.example"}), browser.put("/runs")]
    answers += [browser.post("/start/check", content=b"x" * 1_000_001)]
    with httpx.stream("GET", f"{url}/now/events", headers=bearer(), trust_env=False) as stream:
        answers.append(stream)
    browser.cookies.clear()
    answers += [browser.get("/"), browser.post("/login", data={"token": "x"})]
    for answer in answers:
        policy = dict(
            part.strip().split(" ", 1)
            for part in answer.headers["Content-Security-Policy"].split(";")
        )
        assert policy["frame-ancestors"] == policy["default-src"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_cookie_is_kept_from_scripts_and_other_sites(
    browser: TestClient, history: RunHistory
) -> None:
    answers = [browser.get(f"/?token={TOKEN}", follow_redirects=False)]
    names = ["Ann\r\nSet-Cookie: a=b", "Ann; Domain=evil.example; Path=/", "ä" * 90, "x" * 500_000]
    for number, name in enumerate(names):
        run = ask(history, f"run-{number}", f"Is {number} ready?", "READY", "NOT_READY")
        form = {"csrf": csrf_of(browser.get("/waiting").text), "answer": "READY", "by": name}
        answers.append(browser.post(f"/waiting/{run}", data=form, follow_redirects=False))
    assert [answer.status_code for answer in answers] == [303, 303, 303, 303, 422]
    for answer in answers:
        for cookie in answer.headers.get_list("set-cookie"):
            attributes = {part.strip().partition("=")[0].lower() for part in cookie.split(";")[1:]}
            assert {"httponly", "samesite", "path"} <= attributes and "domain" not in attributes
            # Browsers drop a longer one, and servers refuse the request that brings it.
            assert len(cookie) < 4_096
            assert TOKEN not in cookie
        assert not [name for name in answer.headers if name.lower() == "a"]


def exchange(url: str, request: str) -> list[str]:
    """Send bytes as no client does; return the status of each answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(request.encode("latin-1"))
        client.shutdown(socket.SHUT_WR)
        answer = client.makefile("rb").read().decode("latin-1")
    return re.findall(r"^HTTP/1\.1 (\d{3})", answer, re.MULTILINE)


def test_no_request_is_hidden_in_another(url: str, book: Playbook) -> None:
    host = url.removeprefix("http://")
    own = f"Host: {host}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
    path = "/api/context/playbook"
    hidden = f"POST {path}/prune?threshold=99 HTTP/1.1\r\n{own}Content-Length: 0\r\n\r\n"
    insights = f"POST {path}/insights HTTP/1.1\r\n{own}"
    for shape in (
        f"{insights}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"GET {path} HTTP/1.1\r\n{own}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"{insights}Content-Length: 5\r\nContent-Length: {len(hidden)}\r\n\r\n",
        f"{insights}Content-Length: +5\r\n\r\n",
        f"{insights}Content-Length: 0x5\r\n\r\n",
        f"{insights}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        f"{insights}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        f"{insights}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        f"{insights} Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"{insights}X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"{insights}X: a\x00b\r\n\r\n",
        f"GET {path} HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n",
    ):
        statuses = exchange(url, shape + hidden)
        # The first answer refuses, and nothing behind it is read as a request.
        assert len(statuses) == 1 and statuses[0].startswith("4"), (shape, statuses)
    assert book.items == {}


@pytest.mark.slow
@pytest.mark.fence
def test_paths_pages_and_searches_of_any_shape_are_answered(
    browser: TestClient, history: RunHistory, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("the password")
    run = finish(history, "a", "done")
    tricks = [
        "..",
        "../..",
        "%2e%2e%2f%2e%2e%2fsecret.txt",
        "..%5c..%5csecret.txt",
        "%00",
        "%0d%0aX: y",
    ]
    tricks += [
        "....//....//secret.txt",
        "/etc/passwd",
        "~",
        "-",
        "%",
        "'; DROP TABLE runs; --",
        "9" * 400,
    ]
    for base in (
        "/runs/",
        f"/runs/{run}/calls/",
        "/studies/",
        "/evals/",
        "/started/",
        "/playbook/",
        "/static/",
        "/static/vendor/",
    ):
        for trick in tricks:
            answer = browser.get(f"{base}{trick}", follow_redirects=False)
            assert answer.status_code in (200, 307, 400, 404, 422), (base, trick)
            assert "the password" not in answer.text and "root:" not in answer.text
            assert "X" not in answer.headers
    for number in ("-1", "9" * 30, "1e3", "x", "", "NaN", "0x10", "1;2"):
        for path in (
            "/runs",
            "/waiting",
            "/playbook",
            "/api/runs",
            "/api/playbook",
            "/api/waiting",
        ):
            for name in ("offset", "limit"):
                answer = browser.get(path, params={name: number})
                assert answer.status_code in (200, 422), (path, name, number)
    for words in (
        '"',
        "a OR b NEAR/2 c",
        "*",
        "a" * 1_999,
        "(",
        "col:x",
        "%",
        "_",
        "\x00",
        "ﬁ\u0301",
    ):
        for path in ("/memory", "/playbook", "/api/memory", "/api/playbook"):
            answer = browser.get(path, params={"query": words})
            assert answer.status_code in (200, 422), (path, words)


def test_a_body_of_any_shape_is_refused_and_not_a_defect(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    csrf = csrf_of(browser.get("/waiting").text)
    headers = {"X-CSRF-Token": csrf, "Content-Type": "application/x-www-form-urlencoded"}
    for path in (
        f"/waiting/{run}",
        "/waiting/sheet",
        "/start/check",
        "/playbook/x",
        "/runs/x/resume",
    ):
        for body in (
            b"\xff\xfe", b"&" * 100_000, b"a=" * 1_000, b"answer=%ff%00&by=%00", b"answer[]=READY",
            b"answer=READY&answer=NOT_READY", b"{}", b"answer/x/y=1&by=a", b"answer/=1&by=a",
        ):  # fmt: skip
            answer = browser.post(path, content=body, headers=headers, follow_redirects=False)
            assert answer.status_code in (303, 400, 404, 422), (path, body[:30], answer.text[-300:])
    assert history.run(run).state.waiting


def test_nothing_of_the_token_is_in_any_answer_or_address(
    browser: TestClient, history: RunHistory, caplog: pytest.LogCaptureFixture
) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    answers = [
        browser.get(path) for path in ("/", "/waiting", "/settings", f"/runs/{run}", "/more")
    ]
    answers += [browser.get(f"/?token={TOKEN}x"), browser.get(f"/nowhere?token={TOKEN}")]
    for answer in answers:
        assert TOKEN not in answer.text
        assert TOKEN not in json.dumps(dict(answer.headers))
    assert TOKEN not in caplog.text


def test_the_json_of_a_page_never_holds_markup_that_a_browser_would_run(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", TEXTS[0], TEXTS[1], "no")
    for path in ("/api/now", "/api/waiting", f"/api/runs/{run}", "/api/runs/<script>x"):
        answer = browser.get(path, headers=HTML)
        assert "json" in answer.headers["Content-Type"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_method_that_a_path_does_not_have_is_told_which_it_has(browser: TestClient) -> None:
    methods: dict[str, set[str]] = {}
    for method, path in _endpoints(browser):
        methods.setdefault(path, set()).add(method)
    for path, known in methods.items():
        for kind in (HTML, {"Accept": "application/json"}):
            answer = browser.request("PATCH", path, headers=bearer() | kind)
            assert answer.status_code == 405, path
            assert {word.strip() for word in answer.headers["Allow"].split(",")} == known, path
