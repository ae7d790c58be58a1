"""Starting commands from forms, and cancelling what runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.leaving import NASTY, csrf_of, finish
from transom.errors import InputError
from transom.runs.history import RunHistory, StartedProcess
from transom.server.commands import FORMS, filled


def test_every_form_has_a_labelled_field_for_each_option(browser: TestClient) -> None:
    text = browser.get("/start").text
    for kind, model in FORMS.items():
        assert f'action="/start/{kind}"' in text
        for name, field in model.model_fields.items():
            assert f'name="{name}"' in text and field.title and field.description


@pytest.mark.parametrize(
    ("kind", "fields", "arguments"),
    [
        ("check", {"item": "A.yaml"}, ["check", "all", "--", "A.yaml"]),
        (
            "check",
            {"item": "--model=x", "variables": "A=b\n\n C=d "},
            ["check", "all", "--var=A=b", "--var=C=d", "--", "--model=x"],
        ),
        ("batch", {"items": "a\nb*.yaml"}, ["check", "batch", "--jobs=4", "--", "a", "b*.yaml"]),
        (
            "investigate",
            {"question": "-q", "data": "d", "as_of": "2026-01-01", "target": ""},
            ["investigate", "--data=d", "--as-of=2026-01-01", "--", "-q"],
        ),
        ("release", {"data": "--all"}, ["release", "--data=--all", "--"]),
        (
            "release",
            {"data": "d", "features": "a,b", "fix_version": "1.2"},
            ["release", "--data=d", "--fix-version=1.2", "--features=a,b", "--"],
        ),
        ("study", {"study": "-s", "trials": ""}, ["study", "run", "--", "-s"]),
        ("study", {"study": "s", "trials": "9"}, ["study", "run", "--trials=9", "--", "s"]),
        ("doctor", {}, ["doctor", "--"]),
    ],
)
def test_no_value_of_a_form_becomes_an_option(
    kind: str, fields: dict[str, str], arguments: list[str]
) -> None:
    words = filled(kind, fields).arguments(Path("/w"))
    place = words.index("--workspace=/w")
    assert place < words.index("--")
    assert words[:place] + words[place + 1 :] == arguments


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("study", {}),
        ("study", {"study": "s.yaml", "trials": "0"}),
        ("doctor", {"provider": "openai:x"}),
        ("release", {}),
        ("release", {"data": "d", "jira": "https://jira.example"}),
        ("check", {}),
        ("check", {"item": " "}),
        ("check", {"item": "a\x00b"}),
        ("check", {"item": "a", "unsafe": "1"}),
        ("batch", {"items": "a", "jobs": "0"}),
        ("investigate", {"question": "q"}),
    ],
)
def test_a_form_that_cannot_be_used_is_refused(kind: str, fields: dict[str, str]) -> None:
    with pytest.raises(InputError):
        filled(kind, fields)


@pytest.mark.slow
@pytest.mark.fence
def test_a_command_starts_in_a_process_of_its_own_and_shows_what_it_printed(
    browser: TestClient, history: RunHistory
) -> None:
    form = {"csrf": csrf_of(browser.get("/start").text), "item": NASTY}
    answer = browser.post("/start/check", data=form)
    assert "/started/" in str(answer.url) and "transom check all" in answer.text
    until = time.monotonic() + 120
    while "exit code" not in answer.text and time.monotonic() < until:
        time.sleep(0.5)
        answer = browser.get(str(answer.url))
    assert "exit code 2" in answer.text and "<script>alert" not in answer.text
    assert browser.post("/start/check", data={"item": "x"}).status_code == 403
    for name in ("x", "0" * 16, "..%2f..%2fstate"):
        assert browser.get(f"/started/{name}").status_code in (404, 422)


def test_a_run_is_cancelled_by_interrupting_its_process(
    browser: TestClient, history: RunHistory
) -> None:
    run = finish(history, "a", "running")
    lock = history.workspace.state_dir / "locks" / f"{run}.lock"
    form = {"csrf": csrf_of(browser.get("/").text)}
    assert browser.post(f"/runs/{run}/cancel", data=form).status_code == 503
    program = (
        "import fcntl, os, sys, time\n"
        "lock = open(sys.argv[1], 'r+b'); fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "os.truncate(lock.fileno(), 0); os.pwrite(lock.fileno(), b'%d' % os.getpid(), 0)\n"
        "print('ready', flush=True)\n"
        # A signal that comes just before a long sleep would be noticed after it.
        "for _ in range(600): time.sleep(0.1)\n"
    )
    command = [sys.executable, "-c", program, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        answer = browser.post(f"/runs/{run}/cancel", data=form, follow_redirects=False)
        assert answer.status_code == 303
        process.wait(20)
    # The number of a process that went may be another's by now.
    lock.write_text(str(os.getppid()))
    assert browser.post(f"/runs/{run}/cancel", data=form).status_code == 503


def test_a_run_is_cancelled_before_the_process_that_resumes_it_has_opened_it(
    browser: TestClient, history: RunHistory
) -> None:
    run = finish(history, "a", "ready")
    last_at = history.run(run).records[-1].at
    form = {"csrf": csrf_of(browser.get("/").text)}
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        history.started[run] = StartedProcess(process, last_at)
        assert history.run(run).status == "running"
        answer = browser.post(f"/runs/{run}/cancel", data=form, follow_redirects=False)
        assert answer.status_code == 303
        process.wait(20)
    assert history.run(run).status == "ready"
    assert browser.post(f"/runs/{run}/cancel", data=form).status_code == 503
