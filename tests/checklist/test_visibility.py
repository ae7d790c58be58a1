"""What each call saw, by canaries: one word that stands nowhere else in every section, value,
name and log line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER
from transom.checklist.building.settings import BuildSettings
from transom.checklist.item import load_item
from transom.checklist.judging import Occasion
from transom.checklist.manner import Manner, Places
from transom.checklist.pipeline import checker_of, spec_of
from transom.checklist.writing.document import section_texts
from transom.checklist.writing.views import make_role
from transom.checklist.writing.write import WrittenSpec
from transom.context import History, go_on
from transom.errors import EgressError, VisibilityError
from transom.llm import Block, Chain, ScriptedProvider, render
from transom.runs import Run, Workspace
from transom.sandbox import Sandbox
from transom.store import SqliteStore

EXAMPLE = Path(__file__).parent / "writing" / "data" / "IMP-10-0-0-00_ItemSpec.md"
ANALYSIS = EXAMPLE.with_name("IMP-10-0-0-00_analysis.md")

ITEM = """description: Confirm the canarydescription holds.
requirements:
  value: 1
  pattern_items: [canarypattern]
waivers:
  value: 1
  waive_items: [canarywaiver]
  waive_reasons: [canaryexcuse]
input_files: ["${CHECKLIST_ROOT}/canaryfolder/canaryfile.rpt"]
"""

SHOWN = {"description", "pattern", "waiver"}
ONE = {"one", "meaning", "metadata", "example", "value"}
TWO = {"two", "fails", "passes", "sequence"}
THREE = {"three", "keyword", "reason", "justification", "global"}
SEEN = {
    "checklist.analysis": SHOWN,
    "checklist.section1": SHOWN | {"stepone", "stepfive", "notation"},
    "checklist.section2": (
        SHOWN | {"stepfive", "notation", "why", "one", "meaning", "example", "value"}
    ),
    "checklist.section3": (
        SHOWN | {"stepseven", "why", "one", "meaning", "example", "value", "two", "fails", "passes"}
    ),
    "checklist.section4": (
        SHOWN
        | {
            "one",
            "meaning",
            "example",
            "value",
            "two",
            "fails",
            "three",
            "keyword",
            "reason",
            "file",
        }
    ),
    "checklist.parser": ONE | {"fourone", "file", "folder", "log"},
    "checklist.logic": TWO | THREE | {"fourtwo", "atom"},
    "checklist.repair_a": ONE | {"fourone", "file", "folder", "log", "atom"},
    "checklist.repair_b": TWO | THREE | {"fourtwo", "atom"},
}
ALL = SHOWN.union({"excuse"}, *SEEN.values(), {"fourthree"})


def marked(text: str, word: str) -> str:
    """The text with its canary in a sentence of its own, below the first heading."""
    head, _, rest = text.partition("\n")
    return f"{head}\n\nThe word is canary{word}.\n{rest}"


PLACES = {
    "analysis": {
        "stepone": "The description names two files",
        "stepfive": "1. Netlist loaded, per file",
        "stepseven": "No SPEF before extraction;",
        "notation": "- **Notation**:",
        "why": "- **Reason**:",
    },
    "1": {
        "meaning": "- `loaded` (Boolean):",
        "metadata": "- `line_number` (Integer):",
        "example": '"matched_content": "',
        "value": '"value": "',
    },
    "2": {
        "fails": "- **FAIL condition**:",
        "passes": "- **PASS condition**:",
        "sequence": "5. Combine:",
    },
    "3": {
        "keyword": '- **Matching keywords**: "',
        "reason": '- **Typical reason**: "',
        "justification": "- **Business justification**:",
        "global": "- **Use cases**:",
    },
}


def placed(text: str, places: dict[str, str]) -> str:
    """The text with a canary behind each of the places."""
    for word, place in places.items():
        assert place in text
        head, _, rest = text.partition(place)
        gap = "" if place.endswith('"') else " "
        text = f"{head}{place}{gap}canary{word} {rest}"
    return text


def replies() -> dict[str, list[str]]:
    text = EXAMPLE.read_text("utf-8")
    parts = section_texts(text)
    guide = "".join(
        f"### {number} {title}\n\nThe word is"
        f" canary{word}.\n\n{parts[number].split(chr(10), 1)[1]}\n\n"
        for number, title, word in (
            ("4.1", "Item-Specific Implementation Points", "fourone"),
            ("4.2", "Special Scenario Handling", "fourtwo"),
            ("4.3", "Test Data Generation Guidance", "fourthree"),
        )
    )
    sections = [
        placed(ANALYSIS.read_text("utf-8"), PLACES["analysis"]),
        *(
            marked(placed(parts[n], PLACES[n]), word)
            for n, word in (("1", "one"), ("2", "two"), ("3", "three"))
        ),
        f"## 4. Implementation Guide\n\n{guide}",
    ]
    tags = ["analysis", "section1", "section2", "section3", "section4"]
    spec = [f"<{tag}>\n{section}\n</{tag}>" for tag, section in zip(tags, sections, strict=True)]
    atom = ATOM_A.replace("    results = []\n", "    results = []  # canaryatom\n")
    faulty = atom.replace('"value": str(', '"value": bool(')  # so that both repair roles are asked
    build = [
        f"<atom_a>\n```python\n{faulty}```\n</atom_a>",
        f"<checker>\n```yaml\n{CHECKER}```\n</checker>",
        f"<atom_a>\n```python\n{atom}```\n</atom_a>",
        f"<checker>\n```yaml\n{CHECKER}```\n</checker>",
    ]
    return {role: [reply] for role, reply in zip(SEEN, [*spec, *build], strict=True)}


async def walk(tmp_path: Path) -> tuple[ScriptedProvider, dict[str, bytes]]:
    """The spec and build of the item; the provider with its requests, and by role what the
    journal says was sent.
    """
    data = tmp_path / "data"
    (data / "canaryfolder").mkdir(parents=True)
    (data / "canaryfolder" / "canaryfile.rpt").write_text(
        "block alu power 1\nthe word is canarylog\n"
    )
    (tmp_path / "item.yaml").write_text(ITEM)
    item = load_item(tmp_path / "item.yaml")
    provider = ScriptedProvider(replies())
    workspace = Workspace.at(tmp_path / ".transom")
    places = Places({"CHECKLIST_ROOT": data})
    manner = Manner(Occasion("2026-11-21"), Sandbox(), build=BuildSettings(max_iterations=2))
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((provider,))
        run = await Run.open(
            "check", {"i": 1}, name="i", workspace=workspace, store=store, chain=chain
        )
        async with run:
            spec = await spec_of(run, item, places, manner)
            assert isinstance(spec, WrittenSpec)
            await checker_of(run, spec.document, item, places, manner, folder=None)
        records: list[Any] = [
            record.data for record in store.read(f"run/{run.id}") if record.kind == "model_reply"
        ]
        sent = {data["role"]: store.get_blob(data["window"]["rendered"]) for data in records}
    return provider, sent


async def test_each_call_sees_its_own_slice_and_nothing_else(tmp_path: Path) -> None:
    provider, sent = await walk(tmp_path)
    asked = {request.role: render(request).as_text() for request in provider.requests}
    assert list(asked) == list(SEEN)
    for role, expected in SEEN.items():
        assert {word for word in ALL if f"canary{word}" in asked[role]} == expected, role
        assert str(tmp_path) not in asked[role], "an absolute path"
    assert {role: text.encode() for role, text in asked.items()} == sent, (
        "what is journaled is what was sent"
    )


@pytest.mark.slow
async def test_the_last_round_sees_names_and_sizes_of_inputs_the_others_their_count(
    tmp_path: Path,
) -> None:
    provider, _ = await walk(tmp_path)
    for request in provider.requests[:5]:
        config = request.window.text("configuration")
        assert "input_files: 1 file configured" in config
        assert ("canaryfile.rpt" in config) == (request.role == "checklist.section4")
    assert "bytes: 40" in provider.requests[4].window.text("configuration")


@pytest.mark.parametrize("role", sorted(SEEN))
def test_a_foreign_block_is_refused_by_every_role(role: str) -> None:
    foreign = "section_2" if role in ("checklist.parser", "checklist.repair_a") else "log_snippets"
    with pytest.raises(VisibilityError, match=foreign):
        go_on(make_role(role), [Block(foreign, "x")], History())


async def test_a_block_marked_local_never_reaches_a_remote_provider() -> None:
    role = make_role("checklist.parser")
    remote = ScriptedProvider(lambda request: "seen", local=False)
    request = go_on(
        role, [Block("log_snippets", "secret", trust="untrusted", egress="local")], History()
    ).request
    with pytest.raises(EgressError, match="log_snippets"):
        await Chain((remote,)).answer(request)
    assert remote.requests == []
