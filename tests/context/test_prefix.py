"""A stable prefix has the same bytes in whatever order it is built."""

from __future__ import annotations

from itertools import permutations

from tests.context.streams import assembled
from transom.context import TokenCorrection
from transom.context.cache import breakpoints_of
from transom.context.prefix import StablePrefix
from transom.llm import Role, Tier, ToolSpec, render

LOOK, LEAP = (ToolSpec(name, "Does.", {"type": "object"}) for name in ("look", "leap"))
PARTS = {"rules": "Never guess.", "identity": "You read logs.", "capabilities": "You can look and leap."}


def test_its_bytes_do_not_depend_on_how_it_was_built() -> None:
    built = []
    for names in permutations(PARTS):
        prefix = StablePrefix()
        for name in names:
            prefix = prefix.with_block(name, PARTS[name])
        built += [prefix.with_tools(LOOK, LEAP), prefix.with_tools(LEAP).with_tools(LOOK)]
    assert all(one == built[0] for one in built)
    prefix = built[0]
    assert [block.name for block in prefix.blocks] == ["identity", "capabilities", "rules"]
    assert [tool.name for tool in prefix.tools] == ["leap", "look"]
    assert all(block.tier is Tier.STABLE for block in prefix.blocks)


def test_it_is_what_a_request_begins_with() -> None:
    prefix = StablePrefix().with_block("rules", "a").with_block("identity", "b").with_tools(LOOK)
    role = Role("p.seat", prefix.blocks, frozenset({"rules", "identity"}), prefix.tools)
    request = assembled(role, [])
    assert render(request).as_text() == prefix._text
    assert breakpoints_of(request)[0].size.plain + breakpoints_of(request)[0].size.dense - 2 == len(prefix._text)
    assert prefix.count(TokenCorrection()) == -(-len(prefix._text) // 3)


def test_another_text_or_tool_has_another_digest() -> None:
    prefix = StablePrefix().with_block("rules", "a")
    assert prefix.with_block("rules", "a").digest == prefix.digest
    assert len({one.digest for one in (prefix, prefix.with_block("rules", "b"), prefix.with_tools(LOOK))}) == 3
