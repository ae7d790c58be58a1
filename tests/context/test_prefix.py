"""A stable prefix has the same bytes in whatever order it is built."""

from __future__ import annotations

from itertools import permutations

from transom.context.prefix import StablePrefix
from transom.llm import Tier

PARTS = {"rules": "Never guess.", "identity": "You read logs.", "capabilities": "You can look and leap."}


def test_its_bytes_do_not_depend_on_how_it_was_built() -> None:
    built = []
    for names in permutations(PARTS):
        prefix = StablePrefix().with_block("rules", "Guess.")
        for name in names:
            prefix = prefix.with_block(name, PARTS[name])
        built.append(prefix)
    assert all(one == built[0] for one in built)
    assert [block.name for block in built[0].blocks] == ["identity", "capabilities", "rules"]
    assert [(block.tier, block.text) for block in built[0].blocks][2] == (Tier.STABLE, "Never guess.")
