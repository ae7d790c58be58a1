"""What may lie in the repository: nothing of one machine, nothing large, everything that has to
ship.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.repository.tracked import ROOT, text_of, tracked

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
MOST_BYTES = 2 << 20
KNOWN_HOSTS = {
    *(
        "keepachangelog.com",
        "semver.org",
        "json-schema.org",
        "www.apache.org",
        "gnu.org",
        "no-color.org",
        "www.w3.org",
        "schemas.openxmlformats.org",
    ),
    "docs.oasis-open.org",
}
VENDORS = {
    "api.github.com",
    "api.anthropic.com",
    "api.openai.com",
    "openrouter.ai",
    "name.openai.azure.com",
}
"""Servers that a user may name: for a model, or for issues."""
OWN_HOST = re.compile(r"(^127\.0\.0\.1|^\w+|\.invalid|\.test|(^|\.)example(\.\w+)?)$")
PIN = re.compile(r"^[a-z0-9][a-z0-9-]*==\S+( ; [^\\]+)? \\$")


def test_no_file_is_large() -> None:
    assert [path for path in tracked() if path.stat().st_size > MOST_BYTES] == []


def test_no_address_but_of_standards_and_of_this_machine_itself() -> None:
    found = set()
    for path in tracked():
        hosts = re.findall(r"\bhttps?://([\w.-]+)", text_of(path) or "")
        found |= {f"{path.relative_to(ROOT)}: {host}" for host in hosts if not _may_be_named(host)}
    assert sorted(found) == []


def _may_be_named(host: str) -> bool:
    return host.lower() in KNOWN_HOSTS | VENDORS or OWN_HOST.search(host) is not None


def test_no_path_of_the_machine_that_it_was_written_on() -> None:
    own = {str(ROOT), str(ROOT.parent / "shared"), f"{Path.home()}/"}
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked()
        for name in own
        if name in (text_of(path) or "")
    ]
    assert found == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_file_holds_pins_and_hashes_and_no_address(lock: Path) -> None:
    lines = [
        line
        for line in lock.read_text(encoding="utf-8").splitlines()
        if not line.lstrip().startswith("#")
    ]
    pins = [line for line in lines if not line.startswith(" ")]
    assert pins
    assert [line for line in pins if not PIN.match(line)] == []
    hashes = [line for line in lines if line.startswith(" ")]
    assert [
        line for line in hashes if not re.match(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", line)
    ] == []


def test_the_lock_files_agree_where_they_overlap() -> None:
    pinned: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in re.findall(
            r"^([a-z0-9-]+)==(\S+)(?: \\)$", lock.read_text(encoding="utf-8"), re.M
        ):
            pinned.setdefault(name, set()).add(version)
    # Inspect takes no newer versions of two packages; it is not installed beside the tests.
    bounded = {"fsspec", "python-dateutil"}
    different = {name: versions for name, versions in pinned.items() if len(versions) > 1}
    assert different.keys() <= bounded, different


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "build.txt": project["build-system"]["requires"],
        "core.txt": project["project"]["dependencies"],
        "dev.txt": [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]],
        "docs.txt": project["dependency-groups"]["docs"],
    }
    for lock, requirements in wanted.items():
        text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
        names = {
            re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-").replace(".", "-")
            for requirement in requirements
        }
        assert {name for name in names if not re.search(rf"^{name}==", text, re.M)} == set(), lock


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert re.match(r"\s*Apache License\s+Version 2\.0, January 2004", text)
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_front_door_calls_make_test_and_the_fence() -> None:
    script = ROOT / ".ci" / "run"
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\nset -euo pipefail\n")
    assert script.read_text(encoding="utf-8").splitlines()[-2:] == ["make test", "exec make fence"]
    assert os.access(script, os.X_OK)


def test_make_without_a_target_lists_them() -> None:
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    said = subprocess.run(
        ["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    ).stdout
    listed = set(re.findall(r"^make (\w+)", said, re.M))
    assert listed >= {"demo", "test", "fence", "lint", "bench", "docs", "acceptance", "leak"}


@pytest.mark.parametrize(
    "script", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda path: path.name
)
def test_a_shell_script_is_executable_and_parses(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_the_package_and_the_examples(tmp_path: Path) -> None:
    source, wheels = tmp_path / "source", tmp_path / "wheels"
    package = ROOT / "src" / "transom"
    names = {
        path.relative_to(ROOT / "src").as_posix()
        for path in tracked()
        if path.is_relative_to(package)
    }
    examples = {
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path.is_relative_to(ROOT / "examples")
    }
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        *(f"src/{name}" for name in names),
        *examples,
    ):
        copy = source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    link = package / "examples"
    assert (link.readlink(), link.resolve()) == (Path("../../examples"), ROOT / "examples")
    (source / link.relative_to(ROOT)).symlink_to(link.readlink())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*pip, "--wheel-dir", str(wheels), str(source)], check=True, capture_output=True)
    (wheel,) = wheels.glob("transom-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("transom/")}
        entry = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert b"transom = transom.cli:main" in archive.read(entry)
    aside = re.compile(r"/make|/expected/|/README\.md$")
    needed = {f"transom/{name}" for name in examples if not aside.search(name)}
    assert len(needed) > 30
    assert shipped == names | needed
    assert "transom/py.typed" in shipped
