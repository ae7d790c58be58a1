"""The installation command of optional dependencies, for hints of errors."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_hint(extra: str) -> str:
    """Return the command that installs an extra, e.g. `studies`, into the running Python.

    If a checkout is at hand, the command installs the pinned versions of the extra's lock, and pip
    checks their hashes. A package index is never asked for `transom`: anybody may own the name
    there.
    """
    pip = f"{sys.executable} -m pip install"
    for checkout in _checkouts():
        lock = checkout / "requirements" / f"{extra}.txt"
        if lock.is_file():
            # The lock names every package. Without --no-deps, pip refuses pins of packages that
            # others require with extras.
            return f"{pip} --no-deps -r {shlex.quote(str(lock))}"
    return f"{pip} '.[{extra}]' in a clone of Transom"


def _checkouts() -> Iterator[Path]:
    """Yield where a checkout may be: around this file, and the folder that pip installed."""
    yield Path(__file__).parents[3]
    try:
        text = distribution("transom").read_text("direct_url.json")
    except PackageNotFoundError:
        return
    # pip writes this file where it installed a folder, as by `pip install .`.
    source = json.loads(text) if text else {}
    if "dir_info" in source:
        yield Path(url2pathname(urlsplit(source["url"]).path))
