"""Loading knowledge: folders, digests, and what is said of a file that does not fit."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from transom.checklist.rules import load_knowledge
from transom.checklist.rules.knowledge import SHIPPED
from transom.checklist.rules.saying import Common
from transom.checklist.rules.shapes import Domain
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

DATA = Path(__file__).parent / "data"
POWER = (DATA / "power.yaml").read_text()


def written(tmp_path: Path, text: str, name: str = "power.yaml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path


def message(tmp_path: Path, text: str, name: str = "power.yaml") -> str:
    with pytest.raises(InputError) as caught:
        load_knowledge([written(tmp_path, text, name)])
    return str(caught.value)


def test_what_is_shipped() -> None:
    knowledge = load_knowledge()
    assert [domain.domain for domain in knowledge.domains] == [
        "clocks",
        "corners",
        "drv",
        "equivalence",
        "files_read",
        "flow_metrics",
        "inferred_latches",
        "log_messages",
        "physical_verification",
        "slack_sums",
        "sta_endpoints",
        "timing",
        "tool_versions",
        "total_power",
        "utilization",
        "versions",
        "worst_slack",
    ]
    assert knowledge.commons == ("_common.yaml",)
    for name, digest in knowledge.digests.items():
        assert digest == hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.name)
def test_what_is_shipped_is_held_to_all_that_a_persons_file_is(path: Path) -> None:
    """In a run the shipped regexes are not compiled before they are used."""
    file = load_yaml(path)
    validate_yaml(Common if path.name == "_common.yaml" else Domain, file)


@pytest.mark.slow
def test_a_file_of_ones_own_adds_a_domain(tmp_path: Path) -> None:
    knowledge = load_knowledge([written(tmp_path, POWER)])
    assert knowledge.domain("power") is not None
    assert knowledge.files["power"] == "power.yaml"


@pytest.mark.slow
def test_a_file_of_the_same_name_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    text = (
        (SHIPPED / "versions.yaml")
        .read_text()
        .replace("title: Netlist and SPEF versions", "title: Ours")
    )
    knowledge = load_knowledge([written(tmp_path, text, "versions.yaml")])
    found = knowledge.domain("versions")
    assert found is not None
    assert found.title == "Ours"
    assert knowledge.digests["versions.yaml"] == hashlib.sha256(text.encode()).hexdigest()


def test_common_words_can_be_added(tmp_path: Path) -> None:
    text = "schema: transom.knowledge/1\ncommon: true\nlists:\n  check_verb: [scrutinise]\n"
    knowledge = load_knowledge([written(tmp_path, text, "words.yaml")])
    assert knowledge.commons == ("_common.yaml", "words.yaml")
    assert knowledge.common.lists["check_verb"] == ("scrutinise",)
    assert "confirm" in knowledge.common.lists
    assert knowledge.common.waiver_modes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title: Power", "titel: x\ntitle: Power", "did you mean title?"),
        ("    name: Total Power", "    nmae: x\n    name: Total Power", "did you mean name?"),
        (
            "required: [block.name, block.total]",
            "required: [block.name, block.sum]",
            "block.sum, which no category has",
        ),
        ("items: [total_present]", "items: [total_absent]", "there is no item total_absent"),
        ("file: power_report\n", "file: power_log\n", "power_log, which no source is"),
        ("quantifier: each", "quantifier: always", "quantifier"),
        ("(?P<name>", "(?P<name", "cannot be read"),
        ("{given}", "{givne}", "there is no list givne"),
        ("[a|the] total", "[a|the total", "is not closed"),
        ("claims:", "forms:\n- {kind: note, means: x, say: ['[a']}\nclaims:", "is not closed"),
        ("subject:", "sbject:", "did you mean subject?"),
        ("schema: transom.knowledge/1", "schema: transom.knowledge/2", "schema"),
    ],
)
def test_a_slip_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in POWER
    told = message(tmp_path, POWER.replace(old, new, 1))
    assert said in told
    assert "power.yaml:" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "slip"),
    [
        ("  given: [given,", "  given: ['givven {nosuch}',", "  given:"),
        ("  blocks: [", "  blocks: ['one {in_power}', ", "  in_power:"),
        ("  unit: [", "  pick: {one: [a], two: [b, 'c {given} {nosuch}']}\n  unit: [", "  pick:"),
    ],
)
def test_a_slip_in_a_word_list_is_told_where_it_stands(
    tmp_path: Path, old: str, new: str, slip: str
) -> None:
    text = POWER.replace("[the] power report", "[the power report") if "in_power}" in new else POWER
    assert old in text
    text = text.replace(old, new, 1)
    line = next(number for number, one in enumerate(text.splitlines(), 1) if one.startswith(slip))
    assert f"power.yaml:{line}: " in message(tmp_path, text)


@pytest.mark.slow
def test_a_domain_that_nothing_calls_for_is_an_error(tmp_path: Path) -> None:
    head, rest = POWER.split("claims:\n", 1)
    assert "no form is a claim" in message(
        tmp_path, head + "lists:\n" + rest.split("lists:\n", 1)[1]
    )


@pytest.mark.slow
def test_one_domain_in_two_files_is_an_error(tmp_path: Path) -> None:
    told = message(tmp_path, POWER.replace("domain: power", "domain: versions"))
    assert "stands in versions.yaml already" in told


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        load_knowledge([tmp_path / "nowhere"])


@pytest.mark.slow
def test_an_unreadable_refusal_is_named(tmp_path: Path) -> None:
    told = message(
        tmp_path, POWER.replace("about: the power of every block", "refuse: {'(': no}\n  about: x")
    )
    assert "'(' cannot be read" in told
