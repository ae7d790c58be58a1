"""Every gate of a build: a right checker passes all of them, and each fault is named by its own
gate.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import (
    ATOM_A,
    CHECKER,
    EXAMPLES,
    POINTS,
    REPORT,
    SECTION2,
    spec_text,
)
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.building.checker import atoms_source, checker_yaml
from transom.checklist.building.gates import Trial, run_gates
from transom.checklist.building.reading import LogicReply, read_atom_a, read_logic
from transom.checklist.results import GateRow
from transom.checklist.vectors import VECTORS
from transom.checklist.writing.document import parse_spec
from transom.errors import ReplyError
from transom.sandbox import Sandbox, WorkerLimits

OWN = (
    'def validate_logic(text, pattern, parsed_fields=None, default_match="contains",'
    ' regex_mode="search"):\n    hit = pattern in text\n    return {"is_match": hit, "reason": "",'
    ' "kind": "contains"}\n\n\ndef check_existence(items: List[Dict]) -> Dict:\n    return'
    ' {"is_match": True, "reason": "yes", "evidence": items}\n'
)

# The title at the head is a part of every entry, so what is read of it must outlive a piece.
BEGUN = (
    """import re
from typing import Dict, List

SCOPE = "line"
SOURCES = [{"kind": "report", "rank": "primary", "files": ["*.rpt"]}]


class Report:
    def __init__(self):
        self.number, self.title = 0, ""

    def feed(self, text):
        results = []
        for line in text.splitlines():
            self.number += 1
            self.title = self.title or line
            match = re.match(r"block (\\w+) power (\\S+)", line)
            if match:
                fields = {"block": {"name": match[1], "power": match[2], "title": self.title}}
                results.append(
                    {"value": match[1], "line_number": self.number, "matched_content": line, "parsed_fields": fields}
                )
        return results

    def finish(self):
        return []


def begin_context(source_file):
    return Report()


def extract_context(text: str, source_file: str) -> List[Dict]:
    report = begin_context(source_file)
    results = report.feed(text) + report.finish()
"""
    + LOCKED_LAYER
)


def logic(text: str = CHECKER) -> LogicReply:
    return read_logic(f"<checker>\n```yaml\n{text}```\n</checker>")


async def report(
    tmp_path: Path,
    atom_a: str = ATOM_A,
    checker: str = CHECKER,
    *,
    report: str = REPORT,
    own: str = "",
    section2: str = SECTION2,
) -> dict[str, GateRow]:
    reply = logic(checker).model_copy(update={"atoms": own})
    yaml = checker_yaml(reply.config("POWER", "Report the power of each block."))
    path = tmp_path / "power.rpt"
    path.write_text(report)
    sandbox = Sandbox(WorkerLimits(wall_seconds=5))
    (tmp_path / "notes.txt").write_text("block alu power 1\n")
    others = (tmp_path / "notes.txt", tmp_path / "gone.rpt")
    trial = Trial(sandbox, (path,), others)
    # The examples are those of the section as it stands; another one is report to the gates without
    # them.
    points = POINTS + (EXAMPLES if section2 == SECTION2 else "")
    found = await run_gates(
        atoms_source(atom_a, reply),
        yaml,
        parse_spec(spec_text(section2=section2, points=points)),
        trial,
    )
    return {row.gate: row for row in found.rows}


def faults(rows: dict[str, GateRow]) -> dict[str, list[str]]:
    failed = {gate: row for gate, row in rows.items() if not row.passed and gate != "untested"}
    return {gate: [finding.message for finding in row.findings] for gate, row in failed.items()}


async def test_a_right_checker_passes_every_gate(tmp_path: Path) -> None:
    rows = await report(tmp_path)
    assert faults(rows) == {} and rows["untested"].passed
    assert list(rows) == [
        "syntax",
        "signatures",
        "forbidden_io",
        "locked_layer",
        *(f"vectors.{vector.name}" for vector in VECTORS),
        "likeness",
        "sources",
        "schema",
        "hard_coding",
        "yaml",
        "agreement",
        "examples",
        "untested",
        "addition",
        "mutation",
    ]


async def test_a_part_that_does_not_parse_is_named_and_the_others_are_held(tmp_path: Path) -> None:
    rows = await report(tmp_path, ATOM_A.replace("if match:", "if match"))
    assert list(faults(rows)) == ["syntax"]
    (finding,) = rows["syntax"].findings
    assert (finding.artifact, finding.line) == ("atom_a", 12)
    assert {"vectors.bad_regex", "yaml", "agreement"} <= rows.keys()
    assert not {"schema", "mutation"} & rows.keys()


async def test_a_fault_in_atom_c_keeps_nobody_else_from_the_gates(tmp_path: Path) -> None:
    rows = await report(tmp_path, own=OWN.replace("items: List[Dict])", "items: List[Dict]"))
    (finding,) = rows["syntax"].findings
    assert finding.artifact == "atom_c"
    assert rows["schema"].passed
    assert list(faults(rows)) == ["syntax"]


async def test_both_parts_broken_are_both_named(tmp_path: Path) -> None:
    rows = await report(
        tmp_path, ATOM_A.replace("if match:", "if match"), own=OWN.replace("return", "retrun", 1)
    )
    assert [finding.artifact for finding in rows["syntax"].findings] == ["atom_a", "atom_b"]


async def test_what_crashes_names_the_atom_in_which_it_does(tmp_path: Path) -> None:
    rows = await report(
        tmp_path, ATOM_A.replace("    results = []\n", "    results = []\n    1 / 0\n")
    )
    assert {finding.artifact for finding in rows["schema"].findings} == {"atom_a"}
    rows = await report(tmp_path, own=OWN.replace("    hit = ", "    1 / 0\n    hit = "))
    (broken,) = rows["vectors.bad_regex"].findings
    assert (broken.artifact, "ZeroDivisionError" in broken.message) == ("atom_b", True)
    assert broken.line is not None


@pytest.mark.parametrize(
    ("old", "new", "gate", "message"),
    [
        (
            "source_file: str) ->",
            "source_file: str, more=1) ->",
            "signatures",
            "extract_context must be",
        ),
        ("import re\n", "import re\nimport os\n", "forbidden_io", "imports os"),
        (
            "    results = []\n",
            "    results = []\n    open(source_file)\n",
            "forbidden_io",
            "uses open",
        ),
        (
            "    results = []\n",
            "    results = [].__class__()\n",
            "forbidden_io",
            "reaches for __class__",
        ),
        ('str(item.get("value", ""))', 'item.get("value", "")', "locked_layer", "locked layer"),
        (
            "    results = []\n",
            "    results = []\n    if 0:\n        return []\n",
            "locked_layer",
            "returns before",
        ),
        (
            "def extract_context",
            (
                "def extract_context(text: str, source_file: str):\n    return []\n\n\ndef"
                " extract_context"
            ),
            "signatures",
            "extract_context is defined a second time",
        ),
        (
            "    results = []\n",
            "    results = []\n    global extract_context\n",
            "signatures",
            "a second time",
        ),
        (
            "import re\n",
            "import re\nimport datetime as extract_context\n",
            "signatures",
            "a second time",
        ),
        (
            "    results = []\n",
            "    results = []\n    from datetime import date\n    date.today()\n",
            "forbidden_io",
            "asks for the time by today",
        ),
        (
            "    results = []\n",
            "    results = []\n    setattr(text, 'strip', 1)\n",
            "forbidden_io",
            "uses setattr",
        ),
        ('"rank": "primary"', '"rank": "best"', "sources", "SOURCES"),
        ('SCOPE = "file"', 'SCOPE = "word"', "sources", "SCOPE is 'word'"),
        ('SCOPE = "file"', 'SCOPE = "record"', "sources", "RECORD_START is no regular expression"),
        ('SCOPE = "file"', 'SCOPE = "record"\nRECORD_START = "("', "schema", "crash: error"),
        (
            '"line_number": number,',
            '"line_number": number + 1,',
            "schema",
            "does not stand on line",
        ),
        ('"line_number": number,', '"line_number": number + 99,', "schema", "beyond the"),
        ('"line_number": number,', '"line_number": 0,', "schema", "line_number"),
        ('"line_number": number,', '"line_number": str(number),', "schema", "line_number"),
        (
            '"matched_content": line,',
            '"matched_content": "made up",',
            "schema",
            "does not stand on line",
        ),
        (r"block (\\w+)", r"nothing (\\w+)", "schema", "finds nothing in power.rpt"),
        ("    results = []\n", "    results = []\n    1 / 0\n", "schema", "ZeroDivisionError"),
        (
            "    results = []\n",
            "    results = []\n    float(text.split()[1])\n",
            "schema",
            "(while it reads power.rpt; line 1 holds that text: ",
        ),
        pytest.param(
            "    results = []\n",
            "    results = []\n    while True: pass\n",
            "schema",
            "timeout",
            marks=[pytest.mark.slow, pytest.mark.fence],
        ),
        ('"block": {', '"unit": {', "yaml", "uses block.power, which atom A never emits"),
    ],
)
async def test_each_fault_is_named_by_its_gate(
    tmp_path: Path, old: str, new: str, gate: str, message: str
) -> None:
    broken = ATOM_A.replace(old.replace("\\\\", "\\"), new.replace("\\\\", "\\"), 1)
    assert broken != ATOM_A
    found = faults(await report(tmp_path, broken))
    assert any(message in text for text in found.get(gate, [])), found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"name": match[1], "power": match[2]}', "dict(name=match[1], power=match[2])"),
        (
            '{"name": match[1], "power": match[2]}',
            'dict(zip("name power".split(), match.groups()))',
        ),
        ("import re\n", "from __future__ import annotations\n\nimport re\n"),
        (
            "def extract_context",
            (
                "from dataclasses import dataclass\nfrom enum import Enum\n\n\nclass Kind(Enum):\n "
                "   A = 1\n\n\n@dataclass\nclass Row:\n    kind: Kind = Kind.A\n\n\ndef"
                " extract_context"
            ),
        ),
        (
            "def extract_context",
            (
                "class Kind:\n    def extract_context(self):\n        return 1\n\n\ndef"
                " extract_context"
            ),
        ),
    ],
)
async def test_ways_of_writing_are_free(tmp_path: Path, old: str, new: str) -> None:
    assert old in ATOM_A
    assert faults(await report(tmp_path, ATOM_A.replace(old, new, 1))) == {}


@pytest.mark.parametrize("told", ['SCOPE = "line"', 'SCOPE = "record"\nRECORD_START = r"^block"'])
async def test_atoms_that_read_long_logs_pass_too(tmp_path: Path, told: str) -> None:
    assert faults(await report(tmp_path, ATOM_A.replace('SCOPE = "file"', told))) == {}


async def test_an_atom_that_needs_what_its_scope_takes_apart_is_refused(tmp_path: Path) -> None:
    """Line by line the title would never be seen, and the verdict would be another one than on
    the whole text.
    """
    context = ATOM_A.replace('SCOPE = "file"', 'SCOPE = "line"').replace(
        "        if match:", '        if match and "title" in text:'
    )
    found = faults(await report(tmp_path, context, report=f"title\n{REPORT}"))
    assert (
        "in the whole of power.rpt than line by line: 2 entries in the whole and 0 in pieces"
        in found["schema"][0]
    )
    numbered = ATOM_A.replace('SCOPE = "file"', 'SCOPE = "line"').replace(
        '"power": match[2]', '"power": match[2], "at": str(number)'
    )
    found = faults(await report(tmp_path, numbered))
    assert ": entry 1 has {'parsed_fields': {'block': {" in found["schema"][0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", ""),
        (
            "self.title = self.title or line",
            "self.title = self.title or text",
            "in the whole of power.rpt than line",
        ),
        (
            "self.number += 1",
            "self.number = text.split(line)[0].count(chr(10)) + 1",
            "in the whole of power.rpt",
        ),
        ("        return []", "        return None", "NoneType"),
        ("    def finish", "    def finished", "has no attribute 'finish'"),
        ("    return Report()\n", "    return TITLED\n\n\nTITLED = Report()\n", "a second time"),
    ],
)
async def test_what_an_atom_begins_must_see_in_pieces_what_it_sees_in_the_whole(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    found = faults(await report(tmp_path, BEGUN.replace(old, new, 1)))
    assert [message in text for text in found.get("schema", [])][:1] == (
        [True] if message else []
    ), found
    assert message or not found


async def test_an_atom_that_remembers_is_not_deterministic(tmp_path: Path) -> None:
    code = ATOM_A.replace(
        "    results = []\n", "    results = []\n    SOURCES.append(1)\n"
    ).replace('"value": match[1] +', '"value": str(len(SOURCES)) +')
    found = faults(await report(tmp_path, code))
    assert any("a second time" in text for text in found["schema"])


async def test_own_atoms_are_held_to_the_vectors(tmp_path: Path) -> None:
    rows = await report(tmp_path, own=OWN)
    named = {gate: row.findings[0].artifact for gate, row in rows.items() if not row.passed}
    assert (
        named["vectors.literal_brackets"]
        == named["vectors.regex_mode"]
        == named["likeness"]
        == "atom_b"
    )
    assert named["vectors.existence_empty"] == "atom_c"
    assert "vectors.existence_evidence" not in named


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: Block power is reported", "name: <TO_BE_INFERRED>", "<TO_BE_INFERRED> is left"),
        ("  quantifier: each", "  quantifier: each\n  hints: ['regex:[']", "is invalid"),
    ],
)
async def test_yaml_faults(tmp_path: Path, old: str, new: str, message: str) -> None:
    rows = await report(tmp_path, checker=CHECKER.replace(old, new))
    assert any(message in finding.message for finding in rows["yaml"].findings)
    assert rows["yaml"].findings[0].line is not None


def test_atom_a_is_read_from_one_fence_or_several_and_with_other_line_ends() -> None:
    head, _, tail = ATOM_A.partition("\n\ndef extract_context")
    several = (
        f"Here.\n<atom_a>\n```python\n{head}\n```\nand\n```py\ndef"
        f" extract_context{tail}```\n</atom_a>\nDone."
    )
    code = read_atom_a(several.replace("\n", "\r\n"))
    assert "SOURCES" in code
    assert "def extract_context" in code
    assert "\r" not in code
    assert "def extract_context" in read_atom_a(f"<atom_a>\n{ATOM_A}\n</atom_a>")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("no tag at all", "atom_a"),
        ("<atom_a>\n```python\nx = 1\n```\n", "atom_a"),
        ("<atom_a>\n```python\nx = 1\n```\n</atom_a>", "defines no function extract_context"),
    ],
)
def test_a_reply_without_atom_a_is_named(reply: str, message: str) -> None:
    with pytest.raises(ReplyError, match=message):
        read_atom_a(reply)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("items: [", "cannot be read"),
        ("- a\n", "no YAML mapping"),
        (CHECKER.replace("capability_type: 1", "capability_type: 9"), "capability_type"),
        (CHECKER.replace("select: block.power", "selects: block.power"), "items.0"),
        (CHECKER.replace("atoms: standard", "atoms: own"), "atoms"),
    ],
)
def test_a_reply_whose_yaml_does_not_hold_is_named(yaml: str, message: str) -> None:
    with pytest.raises(ReplyError, match=message):
        logic(yaml)


def test_what_the_framework_settles_is_not_the_replys_to_say() -> None:
    reply = logic("item_id: OTHER\ndescription: other\nschema: other/9\n" + CHECKER)
    config = reply.config("MINE", "mine")
    assert (config.item_id, config.description, config.schema_) == (
        "MINE",
        "mine",
        "transom.checker/1",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id: "2.1"', 'id: "2.2"', "item 2.1 of Section 2 is not there"),
        ('id: "2.1"', 'id: "2.2"', "item 2.2 stands not in Section 2"),
        ("capability_type: 1", "capability_type: 4", "capability_type is 4, Section 2 says 1"),
        ("quantifier: each", "quantifier: exists", "quantifier is 'exists', Section 2 says 'each'"),
        (
            "quantifier: each",
            "quantifier: per_file\n  take: last",
            "take is 'last', Section 2 says 'all'",
        ),
        (
            "quantifier: each",
            "quantifier: exists\n  count: {op: le, value: 9}",
            "count is 'le 9', Section 2 says 'none'",
        ),
        (
            "  quantifier",
            "  only_with: log\n  quantifier",
            "only_with is 'log', Section 2 says 'none'",
        ),
        (
            "  quantifier",
            "  mode: forbid\n  quantifier",
            "mode is 'forbid', Section 2 says 'require'",
        ),
        (
            "  quantifier",
            "  check: pattern\n  quantifier",
            "check is 'pattern', Section 2 says 'existence'",
        ),
        ("  required: [block.power]\n", "", "required is nothing, Section 2 says block.power"),
        ("name: Block power is reported", "name: Other", "name is 'other'"),
        (
            "  quantifier",
            "  condition: {field: block.name, op: exists}\n  quantifier",
            "condition is block.name exists None, Section 2 says none",
        ),
    ],
)
async def test_the_yaml_agrees_with_section_2(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    rows = await report(tmp_path, checker=CHECKER.replace(old, new))
    assert message in "\n".join(finding.message for finding in rows["agreement"].findings)


async def test_a_condition_is_compared_whole(tmp_path: Path) -> None:
    section = SECTION2.replace("- **Condition**: none", "- **Condition**: `block.power >= 1`")
    right = CHECKER.replace(
        "  quantifier", "  condition: {field: block.power, op: ge, value: 1}\n  quantifier"
    )
    assert faults(await report(tmp_path, checker=right, section2=section)) == {}
    for wrong in ("op: gt, value: 1", "op: ge, value: 0"):
        rows = await report(
            tmp_path, checker=right.replace("op: ge, value: 1", wrong), section2=section
        )
        assert "Section 2 says block.power ge 1" in rows["agreement"].findings[0].message


async def test_where_everything_forbids_a_clean_file_is_a_silent_one(tmp_path: Path) -> None:
    section = SECTION2.replace("**Mode**: require", "**Mode**: forbid")
    checker = CHECKER.replace("  quantifier", "  mode: forbid\n  quantifier")
    assert (
        faults(await report(tmp_path, checker=checker, section2=section, report="nothing here\n"))
        == {}
    )
    assert "schema" in faults(await report(tmp_path, report="nothing here\n"))
