from __future__ import annotations

from pathlib import Path

from transom.llm import Tier, estimate_tokens
from transom.memory import Recall, SqliteMemory

QUESTION = "Is the payment gateway ready?"


async def test_what_fits_is_recalled_as_untrusted_text_within_the_tokens() -> None:
    async with SqliteMemory.open(None) as memory:
        await memory.store("the payment gateway\nfailed UAT", {"feature": "F1"}, key="m1")
        await memory.store("the payment gateway: " + "long " * 500, key="m2")
        await memory.store("the payment gateway is owned by Ada", key="m3", egress="local")
        recall = Recall(memory)
        (block,) = await recall.blocks(QUESTION, 60)
        assert sorted(block.text.splitlines()) == [
            '[m1] the payment gateway failed UAT {"feature":"F1"}',
            "[m3] the payment gateway is owned by Ada",
        ]
        assert estimate_tokens(block.text) <= 60
        assert (block.name, block.tier, block.trust, block.egress) == (
            "memory",
            Tier.TURN,
            "untrusted",
            "local",
        )
        (public,) = await Recall(memory, local=False).blocks(QUESTION, 60)
        assert (public.text.count("["), public.egress) == (1, "any")
        assert await recall.blocks(QUESTION, 3) == ()
        assert await recall.blocks("zebra crossing", 60) == ()
        assert recall.status == "ok"
        (filtered,) = await Recall(memory, filters={"feature": "F1"}).blocks(QUESTION, 60)
        assert (filtered.text.count("["), filtered.egress) == (1, "any")


async def test_without_memory_and_with_a_broken_one_the_run_goes_on(tmp_path: Path) -> None:
    off = Recall(None)
    assert await off.blocks(QUESTION, 100) == ()
    assert off.status == "off"
    memory = SqliteMemory.open(tmp_path / "state.db")
    await memory.store("the payment gateway failed UAT")
    broken = Recall(memory)
    assert await broken.blocks(QUESTION, 100)
    await memory.close()
    assert await broken.blocks(QUESTION, 100) == ()
    assert broken.status == "broken"
    assert "memory cannot be used" in str(broken.error)
