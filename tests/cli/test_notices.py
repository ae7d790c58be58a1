"""The settings in `notify`: who is told that a run waits, ended or failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.test_waiting_runs import EXAMPLES, write_item
from transom.cli import main
from transom.config.runtime_sections import NotifySettings
from transom.runs.notices import send_notice

Capture = pytest.CaptureFixture[str]
SECRET = "T0PS3CR3T-of-the-chat"


class Receiver:
    """A server that keeps what is posted to it.

    Attributes:
        notices: the documents, in order.
        address: its address, which has a secret in its path.
    """

    def __init__(self, status: int) -> None:
        self.notices: list[Any] = []
        notices = self.notices

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                notices.append(json.loads(body) | {"path": self.path})
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/{SECRET}?team=a"


@contextmanager
def receiver(status: int = 204) -> Iterator[Receiver]:
    received = Receiver(status)
    Thread(target=received.server.serve_forever, daemon=True).start()
    try:
        yield received
    finally:
        received.server.shutdown()
        received.server.server_close()


def configure(here: Path, **notify: Any) -> None:
    (here / "transom.yaml").write_text(json.dumps({"notify": notify}))


@pytest.fixture
def item(here: Path) -> Path:
    """An item whose sentence the rules do not understand: its run waits for a model."""
    write_item(here, "the bananas are ripe")
    return here


def test_a_waiting_run_is_told_with_what_it_needs(item: Path) -> None:
    with receiver() as received:
        configure(item, url=received.address, command=["/bin/sh", "-c", "cat > notice"])
        assert main(["check", "all", "FRUIT.yaml", "-q"]) == 3
    (notice,) = received.notices
    assert notice.pop("path") == f"/{SECRET}?team=a"
    assert notice == json.loads((item / "notice").read_text())
    assert (notice["schema"], notice["event"]) == ("transom.notice/1", "waiting")
    assert (notice["kind"], notice["name"], notice["status"]) == ("check", "FRUIT", "NEEDS_MODEL")
    assert "bananas" in notice["reason"]
    assert notice["resume"] == f"transom resume {notice['run_id']}"


def test_a_finished_run_and_a_failed_one_are_told(here: Path) -> None:
    data = f"--data={EXAMPLES / 'incoming_data'}"
    words = ["investigate", data, "--as-of=2026-09-20", "-q"]
    with receiver() as received:
        configure(here, url=received.address)
        assert main([*words, "Is deposit holds ready for UAT?"]) in (0, 1)
        assert main([*words, "Is the moon ready for UAT?"]) == 2
    finished, failed = received.notices
    assert (finished["kind"], finished["event"]) == ("investigate", "finished")
    assert finished["status"] in ("READY", "NOT_READY") and not finished["questions"]
    assert (failed["event"], failed["questions"]) == ("failed", [])


def test_an_open_question_is_told_with_its_answers(here: Path) -> None:
    item = (EXAMPLES / "checks" / "VER-01.yaml").read_text()
    item = item.replace("reads_as:\n  claim: headers_complete\n", "")
    unclear = item.replace("the netlist and SPEF versions", "netlist and SPEF headers of today")
    (here / "VER-01.yaml").write_text(unclear)
    variable = f"CHECKLIST_ROOT={EXAMPLES / 'checks' / 'data'}"
    with receiver() as received:
        configure(here, url=received.address, events="waiting")
        assert main(["check", "all", "VER-01.yaml", "--var", variable, "-q"]) == 3
    (notice,) = received.notices
    (question,) = notice["questions"]
    assert notice["event"] == "waiting" and question["options"]
    assert question["command"].startswith(f"transom answer {notice['run_id']}")


def test_a_batch_is_told_once_and_only_the_chosen_events(item: Path) -> None:
    (item / "MORE.yaml").write_text((item / "FRUIT.yaml").read_text().replace("FRUIT", "MORE"))
    with receiver() as received:
        configure(item, url=received.address, events=["failed", "waiting"])
        main(["check", "batch", "FRUIT.yaml", "MORE.yaml", "-q"])
        assert [notice["kind"] for notice in received.notices] in ([], ["check-batch"])
        received.notices.clear()
        configure(item, url=received.address)
        main(["check", "batch", "FRUIT.yaml", "MORE.yaml", "-q"])
        assert [notice["kind"] for notice in received.notices] == ["check-batch"]


def test_a_release_is_told_by_its_verdict(here: Path) -> None:
    data = f"--data={EXAMPLES / 'incoming_data'}"
    with receiver() as received:
        configure(here, url=received.address)
        codes = [
            main(["release", data, "-q", "--features=deposit-holds", "--as-of=2026-09-20"]),
            main(["release", data, "-q", "--features=group-reservations", "--as-of=2026-09-20"]),
            main(["release", data, "-q", "--as-of=2026-09-20"]),
        ]
        assert codes == [1, 3, 1]
        configure(here, url=received.address, events="failed")
        main(["release", data, "-q", "--as-of=2026-09-20"])
        assert main(["release", data, "-q", "--features=the-moon"]) == 2
    failed = received.notices.pop()
    assert (failed["event"], failed["name"]) == ("failed", "the-moon")
    assert "unknown feature" in failed["reason"]
    assert [notice["event"] for notice in received.notices] == ["finished", "waiting", "finished"]
    assert [notice["status"] for notice in received.notices][::2] == ["NOT_READY", "NOT_READY"]
    for notice in received.notices:
        assert (notice["kind"], notice["run_id"], notice["resume"]) == ("release", None, None)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_refused_notice_is_one_line_without_the_address(
    item: Path, status: int, capsys: Capture
) -> None:
    with receiver(status) as received:
        configure(item, url=received.address)
        assert main(["check", "all", "FRUIT.yaml"]) == 3
    output = capsys.readouterr()
    assert f"the notice failed: notify.url: 127.0.0.1 answered with status {status}" in output.err
    assert SECRET not in output.err + output.out
    # A redirect is not followed.
    assert len(received.notices) == 1


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("file:///etc/passwd", "no web address"),
        (f"ftp://host/{SECRET}", "no web address"),
        (f"http://host:port/{SECRET}", "no web address"),
        (f"http://127.0.0.1:1/{SECRET}", "127.0.0.1: "),
        (f"http://127.0.0.1:1/{SECRET} and more", "127.0.0.1: InvalidURL"),
        ("", ""),
    ],
)
async def test_an_address_that_cannot_be_used_is_a_reason(
    address: str, reason: str, tmp_path: Path
) -> None:
    problem = await send_notice(NotifySettings(url=address), {}, tmp_path, "notify")
    assert reason in problem and SECRET not in problem
    assert bool(problem) == bool(reason)
