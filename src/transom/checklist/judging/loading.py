"""Load a checker folder: read its files, complete what a person wrote by hand, and check whether a
person's approval still holds.

A folder that a person wrote holds `atoms.py` or `atom_a.py`, `checker.yaml` as the Logic role
writes it, optionally `ItemSpec.md`, and either an `item.yaml` or the reports in `files/`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from transom.canonical import digest
from transom.checklist.atoms import LOCKED_LAYER, CheckerConfig, Shape
from transom.checklist.item import Item, load_item, parse_item
from transom.checklist.judging.verdict_rows import Doubt
from transom.checklist.patterns import config_problems
from transom.checklist.results import BuildRecord
from transom.checklist.vectors import STANDARD_SOURCE
from transom.errors import InputError
from transom.formats.text_decoding import decode_text
from transom.formats.yaml_files import (
    YamlFile,
    dump_yaml,
    load_yaml,
    parse_yaml,
    read_bytes,
    read_text,
)
from transom.formats.yaml_models import validate_yaml

ATOMS: Final = "atoms.py"
ATOM_A: Final = "atom_a.py"
CONFIG: Final = "checker.yaml"
BUILD: Final = "build.json"
ITEM: Final = "item.yaml"
SPEC: Final = "ItemSpec.md"
APPROVAL: Final = "approval.json"
FILES: Final = "files"

# What a verdict reports of a build record; the rest may change when the same checker is checked by
# the gates again.
_REPORTED = {"provider", "model", "mutation"}
_ATOM_NAMES = {"extract_context", "validate_logic", "check_existence"}
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_TITLE = re.compile(r"^#\s*ItemSpec:\s*(\S+)\s*$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^\*\*Description\*\*:\s*(.+?)\s*$", re.MULTILINE)
_LONGEST_NAME = 200


# -- approvals


class Approval(Shape):
    """`approval.json`.

    Attributes:
        by: who approved.
        at: when, UTC, ISO 8601.
        files: name -> SHA-256 of what was approved: the atoms, `checker.yaml`, the ItemSpec, and of
            `build.json` what a verdict tells of it.
    """

    schema_: Literal["transom.approval/1"] = Field(default="transom.approval/1", alias="schema")
    by: str = Field(min_length=1, max_length=_LONGEST_NAME)
    at: str
    files: dict[str, str]


@dataclass(frozen=True)
class SignOff:
    """Whether a checker is approved as it is now.

    Attributes:
        by: who approved it, or None if nobody did.
        why_not: why it is not approved.
        void: whether there is an approval that does not hold any more.
    """

    by: str | None = None
    why_not: str = "nobody approved it"
    void: bool = False


def approve(digests: Mapping[str, str], approver: str, moment: str) -> Approval:
    """Return the contents of a checker's `approval.json`.

    Raises:
        InputError: `approver` is no name.
    """
    # A name is printed in reports, so control characters must not get into it.
    name = " ".join(approver.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"{approver[:40]!r} is no name",
            place="--by",
            hint="pass the name of the person who approves",
        )
    return Approval(by=name, at=moment, files=dict(digests))


def sign_off(folder: Path, digests: Mapping[str, str]) -> SignOff:
    """Return whether the approval in a checker's folder holds for files of these digests."""
    path = folder / APPROVAL
    if not path.exists():
        return SignOff()
    try:
        approval = Approval.model_validate_json(read_bytes(path))
    except (ValidationError, InputError):
        return SignOff(why_not=f"its {APPROVAL} cannot be read", void=True)
    changed = []
    # A file that was added or removed since voids the approval as well.
    for name in sorted({*approval.files, *digests}):
        if approval.files.get(name) != digests.get(name):
            changed.append(name)
    if changed:
        reason = f"{', '.join(changed)} changed since {approval.by} approved it"
        return SignOff(why_not=reason, void=True)
    return SignOff(by=approval.by, why_not="")


# -- loading


@dataclass(frozen=True)
class LoadedChecker:
    """A checker folder in memory.

    Attributes:
        folder: the folder.
        atoms: source of atom A, and of B and C if they are its own. Untrusted.
        config: `checker.yaml`.
        build: how it was built, or None if that was not recorded.
        item: the copy of the item that it was built for.
        sha256: digest of atoms and configuration together.
        digests: name -> SHA-256 of the files that an approval is for.
        approved: whether it is approved as it is now.
        config_text: the text of `checker.yaml`, completed if a person wrote it.
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
        """Return whether its build gave up, so that no verdict of it counts."""
        return self.build is not None and self.build.status == "human_required"

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Return the doubts that the gates of its build left and no person has accepted since."""
        if self.build is None or self.build.status != "needs_review" or self.approved.by:
            return ()
        doubts = []
        for finding in self.build.findings:
            doubts.append(Doubt(gate=finding.gate, line=finding.line, message=finding.message))
        if not doubts:
            message = "the gates did not pass this checker"
            doubts.append(Doubt(gate="build", line=None, message=message))
        return tuple(doubts)

    @property
    def never_gated(self) -> Doubt | None:
        """Return the doubt in a checker that no gate has seen; a claim needs none."""
        if self.build is not None or self.config.claim is not None:
            return None
        command = f"transom check lint {self.folder.name}"
        if SPEC not in self.digests:
            command = f"write its {SPEC}, then run: {command}"
        message = f"no gate has seen this checker; hold it to them with: {command}"
        return Doubt(gate="build", line=None, message=message)

    @property
    def edited(self) -> tuple[str, ...]:
        """Return the files that changed since the gates passed them; a stub was never passed."""
        if self.build is None or self.build.status != "done":
            return ()
        passed = self.build.files
        return tuple(name for name, sha in passed.items() if self.digests.get(name, sha) != sha)

    @property
    def unreviewed(self) -> bool:
        """Return whether it was changed by hand, and neither the gates nor a person looked since.

        Then its verdicts wait.
        """
        return bool(self.edited) and self.approved.by is None


def load_checker(folder: Path, *, strict: bool = False) -> LoadedChecker:
    """Read a checker folder; if `strict`, warnings on its copy of the item are errors.

    Raises:
        InputError: the folder does not exist, a file of it is missing or damaged, or a regular
            expression does not compile.
    """
    _require_checker(folder)
    has_only_atom_a = (folder / ATOM_A).exists() and not (folder / ATOMS).exists()
    atoms = complete_atoms(read_text(folder / (ATOM_A if has_only_atom_a else ATOMS)))
    spec = read_bytes(folder / SPEC) if (folder / SPEC).exists() else None
    spec_text = decode_text(spec) if spec is not None else None
    file = complete_config(load_yaml(folder / CONFIG), spec_text)
    config = validate_yaml(CheckerConfig, file)
    # An invalid expression must be an error before anything runs; it must not look like no match.
    for problem, *keys in config_problems(config):
        raise InputError(problem, place=file.place_of(*keys))
    if (folder / ITEM).exists():
        item: Item | None = load_item(folder / ITEM, strict=strict)
    else:
        item = item_of_files(folder, config.description)
    # An id that was made from a file name would change with the folder.
    if item is not None and not item.has_own_id:
        item = replace(item, item_id=config.item_id)
    digests = {ATOMS: digest(atoms), CONFIG: digest(file.text)}
    # The ItemSpec is no part of it: a better explanation gives the same verdicts.
    sha256 = digest({"atoms": digests[ATOMS], "config": digests[CONFIG]})
    if spec is not None:
        digests[SPEC] = digest(spec)
    build = _build_record(folder / BUILD)
    if build:
        digests[BUILD] = digest(build.model_dump(mode="json", include=_REPORTED))
    approved = sign_off(folder, digests)
    return LoadedChecker(folder, atoms, config, build, item, sha256, digests, approved, file.text)


def _require_checker(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError(
            "is no checker folder", place=str(folder), hint="make one with: transom check build"
        )
    if not any((folder / name).exists() for name in (ATOMS, ATOM_A, CONFIG)):
        raise InputError(
            f"is no checker folder: it holds no {ATOMS} and no {CONFIG}",
            place=str(folder),
            hint="name an item, or a folder that transom check build has made",
        )


def _build_record(path: Path) -> BuildRecord | None:
    if not path.exists():
        return None
    try:
        return BuildRecord.model_validate_json(read_bytes(path))
    except ValidationError as error:
        problem = f"is no record of a build: {error.errors(include_url=False)[0]['msg']}"
        raise InputError(problem, place=str(path), hint="build the checker again") from error


# -- what the build would have added to files that a person wrote


def complete_atoms(code: str) -> str:
    """Return atom A with its locked layer, and atoms B and C.

    Atoms B and C are the standard ones unless the code has its own.
    """
    if LOCKED_LAYER in code and set(_FUNCTION.findall(code)) >= _ATOM_NAMES:
        return code.rstrip("\n") + "\n"
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError):
        return code  # the syntax gate names the line
    functions = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
    extract = functions.get("extract_context")
    if extract is None:
        return code
    lines = code.rstrip("\n").split("\n")
    if not any(isinstance(node, ast.Return) for node in ast.walk(extract)):
        # The locked layer has to be the last thing that the function does.
        lines[extract.end_lineno : extract.end_lineno] = LOCKED_LAYER.rstrip("\n").split("\n")
    if not {"validate_logic", "check_existence"} & functions.keys():
        lines += ["", "", "# Atoms B and C: the standard ones, as shipped."]
        lines += STANDARD_SOURCE.strip().split("\n")
    return "\n".join(lines) + "\n"


def complete_config(file: YamlFile, spec: str | None) -> YamlFile:
    """Return `checker.yaml` with an id and a description; its lines keep their numbers.

    Both come from the ItemSpec, or else the id is the folder's name.
    """
    if not isinstance(file.data, dict):
        return file
    title = _TITLE.search(spec or "")
    description = _DESCRIPTION.search(spec or "")
    defaults = {
        "item_id": title[1] if title else file.path.absolute().parent.name,
        "description": description[1] if description else "A checker that was written by hand.",
    }
    # Appended at the end, so that errors name the lines that the person wrote.
    missing = {}
    for key, value in defaults.items():
        if key not in file.data:
            missing[key] = value
    if not missing:
        return file
    return parse_yaml(f"{file.text.rstrip()}\n{dump_yaml(missing)}", file.path)


def item_of_files(folder: Path, description: str) -> Item | None:
    """Return an item whose inputs are the reports in `files/`, or None if there are none."""
    paths = []
    for path in (folder / FILES).rglob("*"):
        if path.is_file():
            paths.append(path)
    # The order of a folder differs between machines.
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    if not names:
        return None
    text = dump_yaml({"description": description, "input_files": names})
    return parse_item(text, folder / ITEM)
