"""Without `fcntl`, `resource` and `pyseccomp`, as on Windows, every module is imported; only what
needs them fails, with one clear error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment

# Other packages have their own ways on Windows, so everything is imported once before the modules
# are taken away, and then Transom is imported again.
_BLOCKED = """\
import importlib, importlib.abc, pkgutil, sys

MISSING = {"fcntl", "resource", "pyseccomp"}


class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ImportError(f"No module named {name!r}")


def import_all():
    import transom
    names = [module.name for module in pkgutil.walk_packages(transom.__path__, "transom.")]
    names = [name for name in names if name != "transom.__main__" and ".examples" not in name]
    for name in names:
        importlib.import_module(name)
    return names


import_all()
for name in [*sys.modules]:
    if name in MISSING or name.partition(".")[0] == "transom":
        del sys.modules[name]
sys.meta_path.insert(0, Absent())
"""

_IMPORTED = f"""{_BLOCKED}
print(len(import_all()) > 600, sorted(MISSING & sys.modules.keys()))
"""

_USED = f"""{_BLOCKED}
from transom import Agent, SyncAgent
from transom.cli import main
from transom.errors import TransomError
from transom.formats.yaml_files import dump_yaml
from transom.sandbox.seccomp import command_filter
from transom.testing import ScriptedProvider

def answer():
    with SyncAgent(Agent("You.", provider=ScriptedProvider({{"agent": ["yes"]}}))) as agent:
        return agent.send("Well?").text

print(dump_yaml({{"a": 1}}).strip(), main(["init"]))
for attempt in (answer, command_filter):
    try:
        print("worked", attempt())
    except TransomError as error:
        print(error)
"""


def _run(script: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_module_is_imported_without_them(tmp_path: Path) -> None:
    assert _run(_IMPORTED, tmp_path) == ["True []"]


@pytest.mark.slow
def test_only_what_is_kept_or_confined_fails_and_says_why(tmp_path: Path) -> None:
    *written, works, kept, confined = _run(_USED, tmp_path)
    assert written == ["wrote transom.schema.json", "wrote transom.yaml"]
    assert works == "a: 1 0"
    assert kept == (
        "this system has no POSIX file locks, which runs, sessions and studies need; use Linux,"
        " macOS, or Linux in Windows (WSL)"
    )
    assert confined.startswith("libseccomp cannot be loaded: No module named 'pyseccomp'; ")
