"""What users install is pinned by hash, listed, and named with its licence."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.repository.tracked import ROOT
from transom.errors import install_hint, installing

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
LOCKS = ROOT / "requirements"
SETUP = Path("scripts", "setup-venv.sh")


def pinned(lock: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the name, the version and the number of hashes of each pin of a lock."""
    for block in re.split(r"^(?=\S)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if pin := re.match(r"([\w.-]+)==(\S+)", block):
            yield pin[1], pin[2], block.count("--hash=sha256:")


def normalized(requirement: str) -> str:
    name = re.split(r"[^\w.-]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_has_a_lock_with_all_that_it_and_the_core_require(extra: str) -> None:
    names = {name for name, _, _ in pinned(LOCKS / f"{extra}.txt")}
    required = [*PROJECT["project"]["dependencies"], *EXTRAS[extra]]
    assert {normalized(requirement) for requirement in required} - names == set()
    core = {(name, version) for name, version, _ in pinned(LOCKS / "core.txt")}
    assert core - {(name, version) for name, version, _ in pinned(LOCKS / f"{extra}.txt")} == set()


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.txt")), ids=lambda path: path.stem)
def test_each_pin_of_a_lock_has_a_hash_and_no_lock_has_an_address_or_a_path(lock: Path) -> None:
    pins = [*pinned(lock)]
    assert pins
    assert [name for name, _, hashes in pins if hashes == 0] == []
    text = lock.read_text(encoding="utf-8")
    options = re.findall(r"^\s*-\S+|\s--(?!hash=)\S+", text, re.MULTILINE)
    assert [option.strip() for option in options if "--hash=" not in option] == []
    assert re.findall(r"\S*://\S*|\s/\S+|\S+ @ \S+", text) == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_hint_to_install_an_extra_names_its_lock(extra: str) -> None:
    command = install_hint(extra)
    lock = command.rpartition(" -r ")[2]
    assert Path(lock) == LOCKS / f"{extra}.txt"
    assert " -m pip install --no-deps " in command


def test_the_hint_to_install_an_extra_asks_no_index_for_the_name_of_transom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As installed from a wheel: no lock stands beside the package.
    monkeypatch.setattr(installing, "__file__", str(tmp_path / "a/b/c/installing.py"))
    recorded = {"dir_info": {}, "url": (tmp_path / "my clone").as_uri()}
    monkeypatch.setattr(
        installing,
        "distribution",
        lambda _: SimpleNamespace(read_text=lambda _: json.dumps(recorded)),
    )
    expected = f"{sys.executable} -m pip install '.[studies]' in a clone of Transom"
    assert install_hint("studies") == expected

    lock = tmp_path / "my clone" / "requirements" / "studies.txt"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert install_hint("studies").endswith(f" --no-deps -r '{lock}'")

    recorded.pop("dir_info")
    assert install_hint("studies") == expected


@pytest.mark.parametrize(
    ("packages", "lines"),
    [
        ("core", []),
        ("shown", ["gmsh, the mesher of studies, is licensed under the GNU GPL"]),
        (
            "dev",
            [
                "gmsh, the mesher of studies, is licensed under the GNU GPL",
                "pyNastran, the reader of Nastran files, is licensed under the 3-clause BSD",
            ],
        ),
    ],
)
def test_the_set_up_names_licences_that_ask_for_attention(
    tmp_path: Path, packages: str, lines: list[str]
) -> None:
    shutil.copytree(LOCKS, tmp_path / "requirements")
    (tmp_path / SETUP).parent.mkdir()
    shutil.copy(ROOT / SETUP, tmp_path / SETUP)
    # An interpreter that accepts every installation, so that only the output counts.
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    python.chmod(0o755)
    done = subprocess.run(
        ["bash", str(SETUP), packages], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    named = [line for line in done.stderr.splitlines() if "is licensed under" in line]
    assert len(named) == len(lines)
    for line, expected in zip(named, lines, strict=True):
        assert line.startswith(f"setup: {expected}")


def test_the_notice_and_the_page_of_studies_name_the_same_licences() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert re.search(r"gmsh .*GNU General Public License, version 2 or later", notice)
    assert re.search(r"gmsh.*GNU GPL, version 2 or later", page)
    assert re.search(r"pyNastran .*3-clause BSD", notice)
    assert re.search(r"pyNastran.*3-clause BSD", page)
    assert "NOTICE" in PROJECT["project"]["license-files"]


@pytest.mark.slow
def test_make_sbom_writes_valid_cyclonedx_that_lists_every_locked_package() -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "COV"))
    }
    made = subprocess.run(
        ["make", "sbom"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    text = (ROOT / "build" / "sbom.cdx.json").read_text(encoding="utf-8")
    bom = json.loads(text)
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")

    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str('{"bomFormat": "x"}') is not None

    components = {
        (component["name"], component["version"]): component for component in bom["components"]
    }
    locked: dict[tuple[str, str], set[str]] = {}
    for lock in LOCKS.glob("*.txt"):
        for name, version, _ in pinned(lock):
            locked.setdefault((name, version), set()).add(lock.stem)
    assert set(components) == set(locked)
    for release, locks in locked.items():
        component = components[release]
        assert component["hashes"], release
        stated = {
            entry["value"] for entry in component["properties"] if entry["name"] == "transom:lock"
        }
        assert stated == locks, release
        assert (component["scope"] == "required") == ("core" in locks), release
    dependencies = {entry["ref"]: entry.get("dependsOn", []) for entry in bom["dependencies"]}
    direct = {re.split("[/@]", reference)[1] for reference in dependencies["transom"]}
    declared = [*PROJECT["project"]["dependencies"]]
    for requirements in EXTRAS.values():
        declared += requirements
    assert direct == {normalized(requirement) for requirement in declared}
    # The address of CycloneDX's own schema is the only one.
    assert re.findall(r"\w+://[^\"]*", text) == [bom["$schema"]]
