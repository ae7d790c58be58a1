"""The gates on a checker that exists: new logs never rebuild one, but they may show that it does not read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.canonical import pretty_json
from transom.checklist.build.checker import ATOMS_FILE, CHECKER_FILE, SPEC_FILE
from transom.checklist.build.gates import Held, Trial, hold
from transom.checklist.item import Item
from transom.checklist.results import BuildRecord
from transom.checklist.run import LoadedChecker
from transom.checklist.spec.document import parse_spec
from transom.errors import InputError
from transom.formats.yaml_files import read_bytes
from transom.sandbox import Sandbox


async def regate(
    checker: LoadedChecker, item: Item | None, files: Sequence[Path], roots: Sequence[Path], sandbox: Sandbox
) -> Held:
    """Hold a checker to every gate again, on the files of today. Nothing is written.

    Args:
        checker: as loaded from its folder, which holds the ItemSpec that it was built from.
        item: the item as it is today; None takes the copy in the folder.
        files: the item's input files.
        roots: where files that these name may lie.

    Raises:
        InputError: the folder lacks its ItemSpec, or that cannot be read.
        SandboxUnavailable: this machine cannot isolate the atoms.
    """
    path = checker.folder / SPEC_FILE
    try:
        spec = parse_spec(read_bytes(path).decode("utf-8-sig"), artifact=str(path))
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", where=str(path), hint="save the file as UTF-8") from error
    yaml = read_bytes(checker.folder / CHECKER_FILE).decode("utf-8-sig")
    trial = Trial(sandbox, tuple(files), (), tuple(roots), item or checker.item)
    return await hold(checker.atoms, yaml, spec, trial)


def passed_again(checker: LoadedChecker, held: Held) -> bytes:
    """`build.json` of a checker that was edited after its build and that the gates passed as it lies there now."""
    record = BuildRecord.model_validate(dict(checker.build))
    files = {name: checker.digests[name] for name in (ATOMS_FILE, CHECKER_FILE)}
    now = record.model_copy(update={"gates": held.rows, "mutation": held.mutation, "files": files})
    return pretty_json(now).encode()
