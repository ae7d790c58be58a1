"""The product does not know its acceptance data, and the check that says so would notice."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import leak

from tests.repository.tracked import ROOT


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small set of items and data with a name in each place that counts."""
    item = tmp_path / "data" / "eda-items" / "X-1"
    item.mkdir(parents=True)
    (item / "item.yaml").write_text("description: Confirm the zebrafish count.\n", encoding="utf-8")
    expected = {"unusedkey": [{"value": "okapi_stripes"}, 12345678]}
    (item / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    folder = tmp_path / "data" / "eda" / "axolotl"
    folder.mkdir(parents=True)
    (folder / "top.v").write_text(
        "module pangolin (clk);\n  BUFQX4 narwhal_u1 (.A(a));\n", encoding="utf-8"
    )
    (folder / "top.spef.gz").write_bytes(
        gzip.compress(b'*DESIGN "capybara"\n*VENDOR "Wombatics"\nordinary prose\n')
    )
    (folder / "t.rpt").write_text("Startpoint: quokka_reg (rising edge)\n", encoding="utf-8")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "name",
    [
        "zebrafish",
        "okapi_stripes",
        "stripes",
        "12345678",
        "axolotl",
        "pangolin",
        "bufqx4",
        "narwhal_u1",
        "narwhal",
        "capybara",
        "wombatics",
        "quokka_reg",
    ],
)
def test_a_name_of_the_data_is_found_in_the_source(name: str, data: Path, tmp_path: Path) -> None:
    source = tmp_path / "src" / "product"
    source.mkdir(parents=True)
    (source / "rules.yaml").write_text(
        f"first: line\nwords: [x_{name.title()}_y, {name}]\n", encoding="utf-8"
    )
    assert f"product/rules.yaml:2 {name}" in leak.hits(source, leak.data_tokens(data))


@pytest.mark.parametrize("word", ["unusedkey", "ordinary", "prose", "rising", "module"])
def test_the_language_of_tools_is_no_name(word: str, data: Path) -> None:
    assert word not in leak.data_tokens(data)


def test_the_kept_words_are_reviewed_words() -> None:
    assert len(leak.kept_words()) > 100


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("banana\napricot\n", "not sorted"),
        ("banana\nbanana\n", "twice"),
        ("gcd_top2\n", "no word"),
        ("short\n", "no word"),
        ("Capital\n", "no word"),
    ],
)
def test_a_kept_list_that_hides_a_name_is_refused(lines: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text(f"# words\n{lines}", encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        leak.kept_words(path)


def test_without_the_data_it_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.leak", "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        0,
        "leak: skipped, the acceptance data is not on this machine\n",
    )


def test_the_product_does_not_know_its_acceptance_data(shared_data: Path) -> None:
    forbidden = leak.data_tokens(shared_data) - leak.kept_words()
    assert len(forbidden) > 1000
    assert leak.hits(leak.SOURCE, forbidden) == []
