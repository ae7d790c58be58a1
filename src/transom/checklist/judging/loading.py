"""A checker folder, read into memory and held to what can be said before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from transom.canonical import digest
from transom.checklist.atoms import CheckerConfig
from transom.checklist.item import Item, load_item
from transom.checklist.judging.approval import SignOff, sign_off
from transom.checklist.judging.hand_written import (
    ATOM_A,
    complete_atoms,
    complete_config,
    item_of_files,
)
from transom.checklist.judging.verdict import Doubt
from transom.checklist.patterns import config_problems
from transom.checklist.results import BuildRecord
from transom.errors import InputError
from transom.formats.text_files import decode_text
from transom.formats.yaml_files import load_yaml, read_bytes, read_text
from transom.formats.yaml_models import validate_yaml

_TOLD = {"provider", "model", "mutation"}
ATOMS, CONFIG, BUILD, ITEM, SPEC = (
    "atoms.py",
    "checker.yaml",
    "build.json",
    "item.yaml",
    "ItemSpec.md",
)


@dataclass(frozen=True)
class LoadedChecker:
    """A checker folder in memory.

    Attributes:
        atoms: source of atom A, and of B and C where they are its own. Untrusted.
        build: how it came to be; None where nobody recorded it.
        item: the copy of the item that it was built for.
        sha256: of atoms and configuration together.
        digests: name -> SHA-256 of the files that an approval is for.
        approved: whether it is, as it lies there.
        config_text: `checker.yaml`, completed where a person wrote it.
    """

    folder: Path
    atoms: str
    config: CheckerConfig
    build: BuildRecord | None
    item: Item | None
    sha256: str
    digests: Mapping[str, str] = field(default_factory=dict)
    approved: SignOff = field(default_factory=SignOff)
    config_text: str = ""

    @property
    def unfinished(self) -> bool:
        """Whether its build gave up, so that no verdict of it counts."""
        return self.build is not None and self.build.status == "human_required"

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts that the gates of its build left and no person has taken since."""
        if self.build is None or self.build.status != "needs_review" or self.approved.by:
            return ()
        doubts = tuple(
            Doubt(gate=row.gate, line=row.line, message=row.message) for row in self.build.findings
        )
        return doubts or (
            Doubt(gate="build", line=None, message="the gates did not pass this checker"),
        )

    @property
    def edited(self) -> tuple[str, ...]:
        """Files that are not as the gates of the build passed them; a stub was never passed."""
        passed = self.build.files if self.build and self.build.status == "done" else {}
        return tuple(name for name, sha in passed.items() if self.digests.get(name, sha) != sha)

    @property
    def unreviewed(self) -> bool:
        """Whether its verdicts wait: it was changed by hand, and neither the gates nor a person
        looked since.
        """
        return bool(self.edited) and self.approved.by is None


def load_checker(folder: Path, *, strict: bool = False) -> LoadedChecker:
    """Read a checker folder; where it is `strict`, warnings on its copy of the item are errors.

    Raises:
        InputError: no such folder, a file of it missing or damaged, a regular expression that does
            not compile.
    """
    if not folder.is_dir():
        raise InputError(
            "is no checker folder", where=str(folder), hint="make one with: transom check build"
        )
    if not any((folder / name).exists() for name in (ATOMS, ATOM_A, CONFIG)):
        raise InputError(
            f"is no checker folder: it holds no {ATOMS} and no {CONFIG}",
            where=str(folder),
            hint="name an item, or a folder that transom check build has made",
        )
    name = ATOMS if (folder / ATOMS).exists() or not (folder / ATOM_A).exists() else ATOM_A
    atoms = complete_atoms(read_text(folder / name))
    spec = read_bytes(folder / SPEC) if (folder / SPEC).exists() else None
    file = complete_config(
        load_yaml(folder / CONFIG), decode_text(spec) if spec is not None else None
    )
    config = validate_yaml(CheckerConfig, file)
    # before anything runs: an invalid one is never just no match
    for problem, *keys in config_problems(config):
        raise InputError(problem, where=file.where(*keys))
    own = (folder / ITEM).exists()
    item = (
        load_item(folder / ITEM, strict=strict)
        if own
        else item_of_files(folder, config.description)
    )
    if item is not None and not item.has_own_id:
        item = replace(item, item_id=config.item_id)
    digests = {ATOMS: digest(atoms), CONFIG: digest(file.text)}
    sha256 = digest({"atoms": digests[ATOMS], "config": digests[CONFIG]})
    if spec is not None:
        digests[SPEC] = digest(spec)
    build = _build(folder / BUILD)
    # what a verdict tells of it; the rest may change when the same checker is held to the gates
    # again
    if build:
        digests[BUILD] = digest(build.model_dump(mode="json", include=_TOLD))
    approved = sign_off(folder, digests)
    return LoadedChecker(folder, atoms, config, build, item, sha256, digests, approved, file.text)


def _build(path: Path) -> BuildRecord | None:
    if not path.exists():
        return None
    try:
        return BuildRecord.model_validate_json(read_bytes(path))
    except ValidationError as error:
        what = f"is no record of a build: {error.errors(include_url=False)[0]['msg']}"
        raise InputError(what, where=str(path), hint="build the checker again") from error
