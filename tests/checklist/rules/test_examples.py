"""The examples in the files of the shipped domains come out as these say; so does a wrong one, as such."""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import shipped
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import problems_of


@pytest.mark.parametrize("domain", shipped().domains, ids=lambda domain: domain.domain)
def test_the_examples_of_a_domain(domain: Domain) -> None:
    assert problems_of(domain) == []


def test_an_example_that_comes_out_otherwise_is_named() -> None:
    domain = shipped().domain("physical_verification")
    assert domain is not None
    item = domain.item("lvs_clean")
    turned = [one.model_copy(update={"outcome": "fails"}) for one in item.examples[:1]]
    wrong = domain.model_copy(update={"items": (item.model_copy(update={"examples": tuple(turned)}),)})
    assert problems_of(wrong) == ["lvs_clean, example 1: it holds and should be fails"]
    bare = domain.model_copy(update={"items": (item.model_copy(update={"examples": ()}),)})
    assert problems_of(bare) == ["lvs_clean: no example"]
