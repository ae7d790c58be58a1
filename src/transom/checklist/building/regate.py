"""The gates on a checker that exists: new logs never rebuild one, but they may show that it does
not read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.canonical import pretty_json
from transom.checklist.building.checker import ATOMS_FILE, CHECKER_FILE, SPEC_FILE
from transom.checklist.building.gates import GateReport, Trial, run_gates
from transom.checklist.item import Item
from transom.checklist.judging import LoadedChecker
from transom.checklist.results import BuildRecord
from transom.checklist.writing.document import parse_spec
from transom.formats.yaml_files import read_text
from transom.sandbox import Sandbox


async def regate(
    checker: LoadedChecker,
    item: Item | None,
    files: Sequence[Path],
    roots: Sequence[Path],
    sandbox: Sandbox,
) -> GateReport:
    """Hold a checker to every gate again, on the current files and what they name in the roots.

    Nothing is written.

    Raises:
        InputError: the folder lacks its ItemSpec, or that cannot be read.
        SandboxUnavailable: this machine cannot isolate the atoms.
    """
    path = checker.folder / SPEC_FILE
    spec = parse_spec(read_text(path), artifact=str(path))
    trial = Trial(sandbox, tuple(files), (), tuple(roots), item or checker.item)
    return await run_gates(checker.atoms, checker.config_text, spec, trial)


def record_of(checker: LoadedChecker, report: GateReport, sandbox: Sandbox) -> bytes:
    """Return `build.json` of a checker as it lies there now, edited or hand-written.

    What the gates only doubt leaves it for a person to review.
    """
    record = checker.build
    # A checker that a person wrote has no record yet; hers is the author's name.
    if record is None:
        spec = read_text(checker.folder / SPEC_FILE)
        item = checker.item.text if checker.item else ""
        record = BuildRecord.of(
            (), item, spec, sandbox.level.value, checker.config.item_id, "person", None
        )
    digests = {
        "status": "done" if report.passed else "needs_review",
        "gates": report.rows,
        "mutation": report.mutation,
        "files": {name: checker.digests[name] for name in (ATOMS_FILE, CHECKER_FILE)},
    }
    return pretty_json(record.model_copy(update=digests)).encode()
