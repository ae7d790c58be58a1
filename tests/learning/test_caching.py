from __future__ import annotations

from transom.learning import CachedContextWriter, StablePrefixBuilder
from transom.llm.cache_terms import terms_of


def test_a_prefix_has_the_same_bytes_in_whatever_order_it_is_built() -> None:
    one = (
        StablePrefixBuilder()
        .add_identity("I am it.")
        .add_capabilities("I do.")
        .add_tools("Tools.")
        .add_section("routing", "R.")
    )
    other = (
        StablePrefixBuilder()
        .add_section("routing", "R.")
        .add_tools("Tools.")
        .add_capabilities("I do.")
        .add_identity("I am it.")
    )
    assert one.build() == other.build()
    assert one.build().startswith("I am it.\n\nI do.")
    assert [block.name for block in one.blocks][:2] == ["identity", "capabilities"]
    assert one.add_identity("Another.").build().startswith("Another.")


def test_hits_and_what_they_save_after_the_surcharge() -> None:
    optimizer = CachedContextWriter()
    assert optimizer.get_stats()["hit_rate"] == 0.0
    prefix, protocol = "identity and tools " * 200, "protocol " * 100
    for turn in range(50):
        text = optimizer.prepare_context(
            stable_prefix=prefix, semi_stable=protocol, dynamic=f"message {turn}"
        )
    assert text == f"{prefix}\n\n{protocol}\n\nmessage 49"
    stats = optimizer.get_stats()
    assert (stats["cache_hits"], stats["cache_misses"], stats["total_requests"]) == (49, 1, 50)
    assert 80 < stats["estimated_savings_percent"] < 90
    report = optimizer.get_report()
    assert report.startswith("Cache Hits: 49/50 (98%)\nEstimated Savings: 8")
    assert "estimated: " in report


def test_a_changed_prefix_is_a_miss_and_a_vendor_may_have_a_minimum() -> None:
    optimizer = CachedContextWriter()
    for prefix in ("one " * 50, "two " * 50, "two " * 50):
        optimizer.prepare_context(prefix, "", "x")
    assert optimizer.get_stats()["cache_hits"] == 1
    real = CachedContextWriter(terms_of("anthropic:claude-sonnet-5"))
    for _ in range(3):
        real.prepare_context("short", "", "x")
    assert real.get_stats()["cache_hits"] == 0
    assert "below the minimum" in real.get_report()
