"""A workspace in which every page has something to show: each product, a question that waits, a
merge to approve, and a study that runs.

    python -m tests.server.page_workspace FOLDER      # then: cd FOLDER; transom serve
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.checklist.shipped_model import without_claim
from tests.cli.helpers import clean_environment
from tests.evals.test_compare import evaluation, scenario
from tests.investigator.helpers import MIXED, READY, copy_of
from tests.repository.tracked import ROOT
from tests.server.test_more_pages import ask_model
from tests.stories.projects import make_project, write
from tests.stories.test_command import RUN, SETTINGS
from transom.evals.stored_evaluations import remember
from transom.learning import InsightCategory, InsightSource, Playbook
from transom.llm import Usage
from transom.memory import SqliteMemory
from transom.runs import Workspace

EXAMPLES = ROOT / "examples"
CHECKS = EXAMPLES / "checks"
VARIABLES = ("--var", f"CHECKLIST_ROOT={CHECKS / 'data'}")
QUESTION = "Is Group Reservations ready for its next stage?"
REMINDERS = "Is Tool Maintenance Reminders ready for its next stage?"
BLOCKS = {"cpu": ("VER-01", "VER-02"), "dsp": ("VER-01", "VER-04")}
"""Items of the batch by block: one fails, one passes by waivers."""

_WORKSPACE = Path(".transom/demo/learning")
"""Where `transom demo learning`, whose builds have repairs, leaves its runs."""
_TIMING = """\
item_id: dsp-STA-01
description: Confirm that setup timing is met.
input_files: ["timing.rpt"]
"""
_BEAM = """\
study: {name}
description: A light beam that bends little.
variables:
  width: {{low: 5, high: 60, unit: mm}}
  height: {{low: 5, high: 120, unit: mm, title: beam height}}
constants: {{length: {{value: 800, unit: mm}}, load: 1500}}
objectives:
  - {{name: mass, direction: minimize}}
  - {{name: deflection, direction: minimize}}
constraints:
  - {{name: stress, max: 180}}
solver:
  command: [python3, "{{{{study_folder}}}}/{name}.py", "{{{{width}}}}", "{{{{height}}}}", "{{{{length}}}}", "{{{{load}}}}"]
  outputs:
    mass: {{file: out.json, json: /mass}}
    deflection: {{file: out.json, json: /deflection}}
    stress: {{file: out.json, json: /stress}}
budget: {{trials: {trials}}}
sampler: {{seed: 2}}
"""


def build(folder: Path) -> None:
    """Fill a folder with the files of all products, and its workspace with their runs."""
    write(folder, "transom.yaml", f"workspace: {_WORKSPACE}\n{SETTINGS}  review: true\n")
    # It removes what is in its workspace, so it comes first.
    _run(folder, "demo", "learning", "--workspace", ".transom", "-q")
    _write_files(folder)
    _run(folder, "investigate", QUESTION, "--data", "data", "-q")
    _run(folder, "investigate", REMINDERS, "--data", "data", "-q")
    # With a second batch, in which an item fails that passed before, a trend begins.
    report = (CHECKS / "data" / "updown" / "setup_signoff.rpt").read_text()
    for text in (report, report.replace("0.58 (MET)", "-0.58 (VIOLATED)")):
        write(folder, "blocks/dsp/timing.rpt", text)
        _run(folder, "check", "batch", "blocks/*/*.yaml", *VARIABLES, "-q")
    _run(folder, "check", "batch", "RDY-*.yaml", *VARIABLES, "-q")
    for name in ("bracket", "beam"):
        _run(folder, "study", "run", f"{name}.yaml", "-q")
    _run(folder, *RUN, "--story", "story-1", "--unsafe-no-sandbox", "-q")
    asyncio.run(_fill(folder / _WORKSPACE))


@contextmanager
def running_study(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a study in the folder for as long as the block lasts."""
    command = [sys.executable, "-m", "transom", "study", "run", "slow-beam.yaml", "-q"]
    where = {"cwd": folder, "env": clean_environment()}
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **where,  # type: ignore[call-overload]
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _run(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "transom", *words]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False
    )
    # 1: a verdict is no; 3: it waits for a person.
    assert done.returncode in (0, 1, 3), f"{words}: {done.stderr}"


def _write_files(folder: Path) -> None:
    make_project(folder)
    for feature in (MIXED, READY):
        copy_of(feature, folder / "data")
    for block, names in BLOCKS.items():
        for name in names:
            text = (CHECKS / f"{name}.yaml").read_text()
            write(folder, f"blocks/{block}/{name}.yaml", f"item_id: {block}-{name}\n{text}")
    write(folder, "blocks/dsp/STA-01.yaml", _TIMING)
    # The rules do not know these words, and ask whether the check that comes near is meant.
    item = without_claim((CHECKS / "VER-01.yaml").read_text())
    for number in range(3):
        text = item.replace("netlist and SPEF versions", "netlist and SPEF version headers")
        write(folder, f"RDY-{number:02}.yaml", text)
    write(folder, "bracket.yaml", (EXAMPLES / "studies" / "bracket.yaml").read_text())
    program = (EXAMPLES / "studies" / "beam.py").read_text()
    for name, seconds, trials in (("beam", 0, 40), ("slow-beam", 2, 10_000)):
        write(folder, f"{name}.yaml", _BEAM.format(name=name, trials=trials))
        write(folder, f"{name}.py", f"import time\n\ntime.sleep({seconds})\n{program}")


async def _fill(workspace: Path) -> None:
    """Leave a conversation with a price, two evaluations, memories and an insight."""
    await ask_model(workspace, "monday", Usage(1_000, 10, cached_tokens=400, cost=0.25))
    store = Workspace.known(workspace).open_store()
    earlier = evaluation(scenario("a", "+"), scenario("b", "+"), run="run-1")
    later = evaluation(scenario("a", "+"), scenario("b", "-"), run="run-2")
    await remember(store, earlier, "main")
    await remember(store, later)
    await store.close()
    database = workspace / "state.db"
    async with SqliteMemory.open(database) as memory:
        await memory.store("The checkout waits for the gateway", key="checkout")
        await memory.store("Payments have a gateway", key="gateway", egress="local")
        await memory.relate("checkout", "gateway", "depends_on")
    with Playbook(database) as book:
        source = InsightSource(stage="review", by="Ann Lee")
        insight = book.add_insight(
            InsightCategory.STRATEGY, "Read the header of a report first.", source=source
        )
        for helped in (True, True, False, True, False, False):
            book.record_outcome(insight.id, helped, followed=True, source=source)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    build(place)
