"""Write the software bill of materials of the locked packages, as CycloneDX 1.6 JSON.

    python -m scripts.sbom [FILE]         default: build/sbom.cdx.json; `make sbom` runs it

Every release in `requirements/*.txt` is a component, with the hashes of the files that its lock
accepts. Its scope tells what needs it: `required` by Transom itself, `optional` by an extra, or
`excluded`, which only builds, tests or documents Transom. The same locks give the same components
and the same serial number.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "requirements"
OUTPUT = ROOT / "build" / "sbom.cdx.json"

_PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+?))? \\$")
_HASH = re.compile(r"^    --hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    #\s+(?:via )?(?P<parent>[a-z0-9-]+)(?: \(pyproject\.toml.*\))?$")


@dataclass
class Release:
    """One release of a package, as the locks pin it.

    Attributes:
        hashes: SHA-256 of each file that may be installed.
        markers: the environments that a lock pins it for; empty if for all.
        locks: names of the locks that pin it, e.g. `core`.
        parents: names of the packages that require it; the project's own name stands for Transom.
    """

    name: str
    version: str
    hashes: set[str] = field(default_factory=set)
    markers: set[str] = field(default_factory=set)
    locks: set[str] = field(default_factory=set)
    parents: set[str] = field(default_factory=set)


def read_locks(folder: Path = LOCKS) -> list[Release]:
    """Return all releases of the locks in a folder, by name and version."""
    releases: dict[tuple[str, str], Release] = {}
    for lock in sorted(folder.glob("*.txt")):
        for release in _read_lock(lock):
            known = releases.setdefault((release.name, release.version), release)
            known.hashes |= release.hashes
            known.markers |= release.markers
            known.locks |= release.locks
            known.parents |= release.parents
    return [releases[key] for key in sorted(releases)]


def _read_lock(lock: Path) -> Iterator[Release]:
    release: Release | None = None
    for line in lock.read_text(encoding="utf-8").splitlines():
        if pin := _PIN.match(line):
            if release:
                yield release
            release = Release(pin["name"], pin["version"], locks={lock.stem})
            if pin["marker"]:
                release.markers.add(pin["marker"])
        elif release and (digest := _HASH.match(line)):
            release.hashes.add(digest[1])
        elif release and (via := _VIA.match(line)) and via["parent"] != "via":
            release.parents.add(via["parent"])
    if release:
        yield release


def build_bom(releases: list[Release]) -> Bom:
    """Return the bill of materials of Transom and these releases."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    transom = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        licenses=[LicenseExpression(project["license"])],
        bom_ref=project["name"],
    )
    extras = set(project["optional-dependencies"])
    components = {
        (release.name, release.version): _component(release, extras) for release in releases
    }
    pins = " ".join(f"{release.name}=={release.version}" for release in releases)
    bom = Bom(components=components.values(), serial_number=uuid5(NAMESPACE_URL, pins))
    bom.metadata.component = transom
    by_name: dict[str, list[Component]] = {project["name"]: [transom]}
    for (name, _), component in components.items():
        by_name.setdefault(name, []).append(component)
    bom.register_dependency(transom)
    for release in releases:
        # What only builds, tests or documents Transom is not among its dependencies.
        is_tool = _scope(release, extras) is ComponentScope.EXCLUDED
        for parent in sorted(release.parents - {project["name"]} if is_tool else release.parents):
            for component in by_name.get(parent, []):
                bom.register_dependency(component, [components[release.name, release.version]])
    return bom


def _component(release: Release, extras: set[str]) -> Component:
    properties = [Property(name="transom:lock", value=lock) for lock in sorted(release.locks)]
    for marker in sorted(release.markers):
        properties.append(Property(name="transom:marker", value=marker))
    url = PackageURL("pypi", name=release.name, version=release.version)
    return Component(
        name=release.name,
        version=release.version,
        scope=_scope(release, extras),
        purl=url,
        bom_ref=url.to_string(),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in release.hashes],
        properties=properties,
    )


def _scope(release: Release, extras: set[str]) -> ComponentScope:
    if "core" in release.locks:
        return ComponentScope.REQUIRED
    # The weights belong to the extra `embeddings`, whose package declares more than they need.
    if release.locks & {*extras, "weights"}:
        return ComponentScope.OPTIONAL
    return ComponentScope.EXCLUDED


def main() -> int:
    """Write the file; exit 1 if it is not valid CycloneDX."""
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    releases = read_locks()
    text: str = make_outputter(
        build_bom(releases), OutputFormat.JSON, SchemaVersion.V1_6
    ).output_as_string(indent=2)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.stderr.write(f"sbom: not valid CycloneDX: {str(error).splitlines()[0]}\n")
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{output}: {len(releases)} components\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
