"""The examples in the files of the shipped domains come out as these say; so does a wrong one,
as such.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.draw_knowledge import PAGES, drawn

from tests.checklist.rules.support import shipped
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import problems_of
from transom.cli import main


@pytest.mark.parametrize("domain", shipped().domains, ids=lambda domain: domain.domain)
def test_the_examples_of_a_domain(domain: Domain) -> None:
    assert problems_of(domain) == []


def test_an_example_that_comes_out_otherwise_is_named() -> None:
    domain = shipped().domain("physical_verification")
    assert domain is not None
    item = domain.item("lvs_clean")
    turned = [one.model_copy(update={"outcome": "fails"}) for one in item.examples[:1]]
    wrong = domain.model_copy(
        update={"items": (item.model_copy(update={"examples": tuple(turned)}),)}
    )
    assert problems_of(wrong) == ["lvs_clean, example 1: it holds and should be fails"]
    bare = domain.model_copy(update={"items": (item.model_copy(update={"examples": ()}),)})
    assert problems_of(bare) == ["lvs_clean: no example"]


def test_the_page_has_what_is_shipped() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert drawn(text) == text, page.name


def test_the_command_tries_a_file_of_ones_own(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = root / "examples" / "knowledge" / "erc.yaml"
    assert main(["check", "knowledge", "lint", str(mine)]) == 0
    assert main(["check", "knowledge", "test", str(mine), "clocks"]) == 0
    assert main(["check", "knowledge", "show", "clocks"]) == 0
    assert main(["check", "knowledge", "show", "clokcs"]) == 2
    out = capsys.readouterr()
    assert "0 not as they say" in out.out
    assert "did you mean clocks?" in out.err
