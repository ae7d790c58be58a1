"""Issues of GitHub as stories, from a local server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.stories.projects import make_project, write
from tests.stories.test_command import SETTINGS
from transom.cli import main
from transom.errors import InputError, NetworkFailed
from transom.stories.github_issues import read_github

BODY = """As a clerk, I want sums, so that I sleep.

### Acceptance criteria

- [ ] 1 and 2 is 3
- [ ] a text is refused

Depends on #3 and #99.
"""
ISSUES: list[dict[str, Any]] = [
    {"number": 7, "title": "Add", "state": "open", "body": BODY},
    {"number": 3, "title": "Sub", "state": "closed", "state_reason": "completed", "body": None},
    {"number": 4, "title": "Mul", "state": "closed", "state_reason": "not_planned", "body": "x"},
    {"number": 8, "title": "A change", "state": "open", "pull_request": {}, "body": ""},
    {
        "number": 9,
        "title": "Boxes",
        "state": "open",
        "body": "Sums.\r\n\r\n- [x] a is 1\r\n- [ ] b is 2",
    },
    {"number": 10, "title": "[TODO]", "state": "open", "body": ""},
]


@pytest.fixture
def server() -> Iterator[str]:
    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            words = parse_qs(parts.query)
            page = int(words["page"][0])
            rows: Any = ISSUES
            if words["labels"] == ["many"]:
                rows = [
                    {"number": n, "title": "t", "state": "open", "body": "b"} for n in range(1, 151)
                ]
            code = 200
            if self.headers.get("Authorization") != "Bearer key":
                code, rows = 401, {"message": "Bad credentials"}
            elif parts.path != "/repos/ann/till/issues":
                code, rows = 404, {"message": "Not Found"}
            elif words["labels"] == ["odd"]:
                rows = {"message": "hello"}
            else:
                rows = rows[(page - 1) * 100 : page * 100]
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(rows).encode())

        def log_message(self, *_: Any) -> None:
            return

    http = HTTPServer(("127.0.0.1", 0), Listener)
    Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    http.server_close()


def test_issues_with_a_label_are_stories(server: str) -> None:
    backlog = read_github("ann/till", "story", "e", {"GITHUB_API_URL": server, "GH_TOKEN": "key"})
    rows = {story.id: story for story in backlog.stories}
    assert [*rows] == ["3", "4", "7", "9", "10"]
    assert [rows[name].status for name in ("3", "4", "7")] == ["done", "closed", "ready"]
    assert rows["7"].criteria == ("1 and 2 is 3", "a text is refused")
    assert rows["7"].depends_on == ("3",)
    assert rows["7"].goal.startswith("As a clerk")
    assert rows["9"].criteria == ("a is 1", "b is 2")
    assert rows["10"].unreadable


def test_all_pages_are_read(server: str) -> None:
    backlog = read_github("ann/till", "many", "e", {"GITHUB_API_URL": server, "GH_TOKEN": "key"})
    assert len(backlog.stories) == 150


@pytest.mark.parametrize(
    ("repository", "label", "token", "why"),
    [
        ("till", "story", "key", "names no repository"),
        ("ann/other", "story", "key", "404"),
        ("ann/till", "story", "wrong", "401"),
    ],
)
def test_what_cannot_be_read_is_said(
    server: str, repository: str, label: str, token: str, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        read_github(repository, label, "e", {"GITHUB_API_URL": server, "GITHUB_TOKEN": token})


def test_another_server_is_no_github(server: str) -> None:
    with pytest.raises(NetworkFailed):
        read_github("ann/till", "odd", "e", {"GITHUB_API_URL": server, "GITHUB_TOKEN": "key"})


def test_the_command_plans_issues(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_API_URL", server)
    monkeypatch.setenv("GITHUB_TOKEN", "key")
    write(tmp_path, "transom.yaml", SETTINGS)
    make_project(tmp_path)
    words = ["story", "run", "--project", "project", "--github", "ann/till", "--label", "story"]
    assert main([*words, "--dry-run", "--format", "json"]) == 3
    stories = json.loads(capsys.readouterr().out)["stories"]
    assert [(story["id"], story["status"]) for story in stories] == [
        ("3", "done"), ("4", "done"), ("7", "planned"), ("9", "planned"), ("10", "paused"),
    ]  # fmt: skip
    assert main([*words[:-2], "--dry-run"]) == 2
    assert "--label" in capsys.readouterr().err
