"""What every test may ask for, and an environment without the settings and keys of whoever runs
the tests.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# How long an example takes says how busy the machine is, and nothing of the property.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


# Where the tests keep their workspaces: `postgresql`, or nothing for SQLite's files.
if os.environ.get("STORE") == "postgresql":
    pytest_plugins = ["tests.on_postgres.plugin"]

LEVEL_MISSING = "this machine lacks sandbox level "


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker `needs` names a sandbox level that this machine lacks."""
    from transom.sandbox import Level, needs

    for mark in item.iter_markers("needs"):
        level = Level(mark.args[0])
        if missing := needs(level):
            pytest.skip(f"{LEVEL_MISSING}{level.value}: {missing}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests were skipped for lack of a sandbox level."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple) and LEVEL_MISSING in report.longrepr[2]:
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} tests were skipped: {reason}")


@pytest.fixture(scope="session", autouse=True)
def _plain_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            # PYTHONUNBUFFERED, common in containers, hides what happens when a buffered stream
            # cannot be flushed.
            if (
                name.startswith(("TRANSOM_", "OTEL_"))
                or name.endswith("_API_KEY")
                or name == "PYTHONUNBUFFERED"
            ):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def _logger_as_before() -> Iterator[None]:
    """Commands that run in this process set up logging, and one with -q would silence the tests
    after it.
    """
    yield
    logger = logging.getLogger("transom")
    for handler in [*logger.handlers]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let programs that tests start be interrupted: what a shell puts into the background hands
    on SIGINT ignored.
    """
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The acceptance data; it lies outside the repository and cannot be part of it."""
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the acceptance data is not on this machine")
    return data


@pytest.fixture(scope="session")
def need_tool() -> Callable[[str], str]:
    """`need_tool("yosys")` is its path; without it the test skips, with CI=true it fails."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is not None:
            return path
        reason = f"{name} is not installed; scripts/setup-tools.sh installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return find
