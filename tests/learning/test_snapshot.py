from __future__ import annotations

from transom.learning import InsightCategory, Playbook, TaskType, cited_in, ids_in, shown_in
from transom.llm import Tier, estimate_tokens

STR, MIS, *_ = InsightCategory


async def test_a_session_keeps_its_bytes_while_insights_are_added() -> None:
    book = Playbook()
    first = book.add_insight(STR, "Use shell elements for thin walls").id
    session = book.snapshot(TaskType.RUN_OPTIMIZATION)
    (block,) = await session.blocks("thin walls", 500)
    texts = {block.text}
    for turn in range(50):
        if turn % 5 == 0:
            book.add_insight(STR, f"Thin walls of type {turn} like shell elements of kind {turn}")
            book.record_outcome(first, turn % 2 == 0)
        (block,) = await session.blocks("thin walls", 500)
        texts.add(block.text)
    assert len(texts) == 1
    (other,) = await session.blocks("type 45 of thin walls", 500)
    assert other.text.count("::") == 1
    assert ids_in(block.text) == (first,)
    (later,) = await book.snapshot().blocks("thin walls", 500)
    assert later.text.count("::") == 11


async def test_a_block_is_untrusted_fits_and_is_as_local_as_what_it_holds() -> None:
    book = Playbook()
    assert await book.snapshot().blocks("anything", 500) == ()
    book.add_insight(STR, "A fact\nin two lines about walls")
    (block,) = await book.snapshot().blocks("walls", 500)
    assert (block.name, block.tier, block.trust, block.egress) == (
        "playbook",
        Tier.SESSION,
        "untrusted",
        "any",
    )
    assert (
        block.text.splitlines()[1]
        == "[str-00001] helpful=0 harmful=0 :: A fact in two lines about walls"
    )
    book.add_insight(MIS, "The log of the customer says that walls crack", egress="local")
    (both,) = await book.snapshot().blocks("walls", 500)
    assert both.egress == "local"
    (public,) = await book.snapshot(local=False).blocks("walls", 500)
    assert (public.egress, public.text) == ("any", block.text)
    (small,) = await book.snapshot().blocks("walls", 60)
    assert small.text.count("::") == 1
    assert estimate_tokens(small.text) <= 60


def test_what_a_reply_cites() -> None:
    shown = {"str-00001", "mis-00002", "tool-00003"}
    reply = (
        "By [str-00001] and [mis-00002, tool-00003] and again [str-00001]; not [dom-00009],"
        " mis-00002 or [see str-1]."
    )
    assert cited_in(reply, shown) == ("str-00001", "mis-00002", "tool-00003")
    assert cited_in("[" * 5000 + "str-00001" + "]" * 5000, shown) == ("str-00001",)
    assert cited_in("nothing", shown) == ()


def test_an_id_that_an_insight_quotes_was_not_shown() -> None:
    playbook = Playbook()
    key = playbook.add_insight(InsightCategory.TOOL, "See also [tool-00009] for the log").id
    text = playbook.get_context_for_task("")
    assert shown_in(text) == (key,)
    assert cited_in("I rely on [tool-00009].", shown_in(text)) == ()
