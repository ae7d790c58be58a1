"""A changed fact changes its criterion, the verdict and the evidence, whatever shape it has;
nothing else does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, READY, TODAY, misplaced, status
from transom.formats.measurements import Reading
from transom.formats.yaml_files import load_yaml
from transom.investigator.deciding import Decision, decide
from transom.investigator.gathering import read_source, sources_of
from transom.investigator.ledger import Ledger
from transom.investigator.policy import load_policy
from transom.investigator.reading.analysis import read_analysis
from transom.investigator.reading.documents import read_document
from transom.investigator.reading.issues import read_issue_file
from transom.investigator.sources import DataFolder

TABLE: Any = load_yaml(Path(__file__).parent / "data" / "mutations.yaml").data


@lru_cache(maxsize=1)
def readings() -> tuple[DataFolder, tuple[Reading, ...]]:
    """The ready feature's sources, read once."""
    data = DataFolder(EXAMPLES)
    return data, tuple(read_source(data, ref) for ref in sources_of(data, data.feature(READY)))


def decided(name: str, content: Any) -> tuple[Decision, Ledger, str]:
    """The decision with another content in the place of one source."""
    data, given = readings()
    source = next(one.source for one in given if one.name == name)
    raw = json.dumps(content).encode()
    changed = read_issue_file(raw, source) if name == "jira" else read_analysis(raw, source, name)
    ledger = Ledger(lambda one: raw if one == source else data.read(one))
    mixed = [changed if one.source == source else one for one in given]
    decision = decide(
        load_policy(), data.feature(READY), mixed, ledger, current="Production-Ready", target="Production",
        waivers=[], as_of=TODAY,
    )  # fmt: skip
    return decision, ledger, source


def shapes() -> Iterator[Any]:
    for row in TABLE["facts"]:
        for number, shape in enumerate(row["shapes"], 1):
            yield pytest.param(row, shape, id=f"{row['fact']} {number}")


@pytest.mark.parametrize(("row", "shape"), list(shapes()))
def test_a_fact_is_followed_in_every_shape(row: Any, shape: Any) -> None:
    before, _, _ = decided(row["source"], shape["good"])
    assert status(before, row["criterion"]) == "pass", [
        (k.id, k.why) for k in before.criteria if k.status != "pass"
    ]
    assert before.verdict == "READY"
    after, ledger, source = decided(row["source"], shape["bad"])
    changed = next(one for one in after.criteria if one.id == row["criterion"])
    assert (status(after, row["criterion"]), after.verdict) == (
        row["becomes"],
        row["verdict"],
    ), changed.why
    others = {one.id for one in after.criteria if one.required and one.status != "pass"} - {
        row["criterion"]
    }
    assert not others
    assert after.confidence <= before.confidence
    raw = json.dumps(shape["bad"]).encode()
    assert misplaced(ledger, lambda one: raw if one == source else readings()[0].read(one)) == []
    if "at" in shape:
        rows = ledger.rows(changed.evidence)
        assert (source, shape["at"]) in [(one.source, one.locator) for one in rows], rows


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(TABLE["facts"]) >= 20
    assert all(len(row["shapes"]) >= 2 for row in TABLE["facts"])
    assert len(TABLE["irrelevant"]) >= 10


@pytest.mark.parametrize(
    "row", TABLE["irrelevant"], ids=lambda row: f"{row['source']} {next(iter(row['add']))}"
)
def test_what_means_nothing_changes_nothing(row: Any) -> None:
    data, given = readings()
    source = next(one.source for one in given if one.name == row["source"])
    before = json.loads(data.read(source))
    plain, _, _ = decided(row["source"], before)
    changed, _, _ = decided(row["source"], {**before, **row["add"]})
    assert (
        (changed.verdict, changed.confidence) == (plain.verdict, plain.confidence) == ("READY", 1.0)
    )
    assert [(one.id, one.status, one.why) for one in changed.criteria] == [
        (one.id, one.status, one.why) for one in plain.criteria
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Design\n\nTBD\n",
        (
            "# Design\n\n| part | text |\n|---|---|\n| goals | to be written |\n| limits | to be"
            " written |\n"
        ),
        (
            "# Design\n\n<!-- Say here what is built, and why, in at least a page. -->\n\n##"
            " Goals\n\n...\n"
        ),
    ],
)
def test_a_document_becomes_a_placeholder(tmp_path: Path, text: str) -> None:
    data, given = readings()
    before = next(one for one in given if one.source.endswith("DESIGN_DOC.md"))
    (tmp_path / "DESIGN_DOC.md").write_text(text)
    hollow = read_document(tmp_path / "DESIGN_DOC.md", before.source, before.name)
    decision = decide(
        load_policy(), data.feature(READY), [hollow if one is before else one for one in given], Ledger(data.read),
        current="Production-Ready", target="Production", waivers=[], as_of=TODAY,
    )  # fmt: skip
    assert (status(decision, "docs.design"), decision.verdict) == ("fail", "NOT_READY")
    assert {one.id for one in decision.criteria if one.required and one.status != "pass"} == {
        "docs.design"
    }
