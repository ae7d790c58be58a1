"""Other programs on a study's storage show the best design that the study reports."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import optuna
import pytest

from tests.studies.helpers import runner, write_study
from transom.studies.storage import open_storage
from transom.studies.trials import StudyTrial, ranked


def study_with_violations(folder: Path) -> tuple[StudyTrial, Any]:
    """Run a study whose lightest designs violate a constraint; returns our best and the storage."""
    made = runner(folder, write_study(folder, trials=30))
    trials = made.run()
    best = ranked(made.study, trials)[0]
    lighter = [
        trial
        for trial in trials
        if trial.kind == "solved" and not trial.feasible and trial.values < best.values
    ]
    assert lighter  # otherwise the test shows nothing
    return best, open_storage(made.folder)


def test_storage_and_study_have_our_best_design(tmp_path: Path) -> None:
    best, storage = study_with_violations(tmp_path)
    study = optuna.load_study(study_name=None, storage=storage)
    assert study.best_trial.number == best.number
    assert storage.get_best_trial(study._study_id).number == best.number
    for trial in study.get_trials():
        is_feasible = all(value <= 0 for value in trial.system_attrs["constraints"])
        assert is_feasible == all(value <= 0 for value in trial.constraints.values())


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def dashboard(storage: Any) -> Iterator[str]:
    """Serve optuna-dashboard; yields its address."""
    if find_spec("optuna_dashboard") is None:
        pytest.skip("the package optuna-dashboard is not installed")
    app = import_module("optuna_dashboard").wsgi(storage)
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_dashboard_shows_our_best_design_as_feasible(tmp_path: Path) -> None:
    best, storage = study_with_violations(tmp_path)
    with dashboard(storage) as address:
        httpx: Any = import_module("httpx")
        studies = httpx.get(f"{address}/api/studies").json()["study_summaries"]
        detail = httpx.get(f"{address}/api/studies/{studies[0]['study_id']}?after=0").json()
    (shown,) = detail["best_trials"]
    assert shown["number"] == best.number
    assert all(value <= 0 for value in shown["constraints"])


def test_the_page_of_the_dashboard_names_our_best_design(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None or find_spec("playwright") is None:
        pytest.skip("needs Debian's chromium and the package playwright")
    best, storage = study_with_violations(tmp_path)
    with dashboard(storage) as address:
        playwright: Any = import_module("playwright.sync_api")
        with playwright.sync_playwright() as tool:
            browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(f"{address}/dashboard/studies/0")
            page.wait_for_selector("text=Best Trial", timeout=60_000)
            page.wait_for_selector(f"text=number={best.number}", timeout=60_000)
            picture = tmp_path / "dashboard.png"
            page.screenshot(path=picture, full_page=True)
            browser.close()
    assert picture.stat().st_size > 10_000
