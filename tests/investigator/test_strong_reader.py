"""Readers with a strong model's sentences: what is true stays, bad news above all; what is false
does not.

The sentences were written by hand from the windows of the readers. False ones stand in place of
the true ones in a second run.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.investigator.running import Place, model
from transom.investigator.ledger import UNCHECKED
from transom.investigator.result import Investigation
from transom.llm import Request

STRONG = Path(__file__).parent / "data" / "strong"
REPLIES = yaml.safe_load((STRONG / "replies.yaml").read_text(encoding="utf-8"))
QUESTIONS = {
    "cold_chain": "Is Cold Chain Alerts ready for production?",
    "spendenquittung": "Is SPQ-58 ready for production?",
}


def sentences(folder: str, *kinds: str) -> dict[str, list[str]]:
    """Return the written sentences of each source of a feature."""
    return {
        source: [text for kind in kinds for text in written.get(kind, [])]
        for source, written in REPLIES.items()
        if source.startswith(folder)
    }


async def read(
    tmp_path: Path, folder: str, *kinds: str
) -> tuple[Investigation, dict[str, str], int]:
    """Return the answer, the summary of each source, and the number of calls."""
    shutil.copytree(STRONG / "incoming", tmp_path / "data")
    replies = sentences(folder, *kinds)
    log: list[Request] = []

    def answer(request: Request) -> str:
        source = json.loads(request.window.text("source"))["source"]
        return "\n".join(replies[source])

    place = Place(tmp_path, tmp_path / "data")
    result = await place.ask(QUESTIONS[folder], model({"reader": answer}, log))
    summaries = {}
    for conversation in result.sub_conversations:
        summaries[conversation.purpose.removeprefix("Read ")] = conversation.summary
    assert summaries.keys() == replies.keys()
    return result, summaries, len(log)


def stays(sentence: str, summary: str) -> bool:
    """Whether a sentence stands in a summary, whatever ids it cites there."""
    return words_of(sentence) in words_of(summary)


def words_of(text: str) -> str:
    """Return a text without ids, places and marks."""
    plain = re.sub(r"\s?\[[^\]]*\]", "", text.replace(f"({UNCHECKED})", ""))
    return " ".join(plain.split())


def test_there_are_enough_sentences_and_each_kind_has_bad_news() -> None:
    for folder in QUESTIONS:
        assert sum(map(len, sentences(folder, "good", "bad").values())) >= 30
        assert sum(map(len, sentences(folder, "bad").values())) >= 10
        assert sum(map(len, sentences(folder, "lies").values())) >= 30


@pytest.mark.parametrize("folder", QUESTIONS)
async def test_true_sentences_stay_and_bad_news_is_never_lost(tmp_path: Path, folder: str) -> None:
    _, summaries, calls = await read(tmp_path, folder, "good", "bad")
    assert calls <= 25
    lost = []
    written = sentences(folder, "good", "bad")
    for source, texts in written.items():
        lost += [text for text in texts if not stays(text, summaries[source])]
    assert lost == []


@pytest.mark.parametrize("folder", QUESTIONS)
async def test_no_false_sentence_stays_unmarked(tmp_path: Path, folder: str) -> None:
    _, summaries, _ = await read(tmp_path, folder, "lies")
    unmarked = []
    for source, texts in sentences(folder, "lies").items():
        lines = [line for line in summaries[source].splitlines() if UNCHECKED not in line]
        unmarked += [text for text in texts if stays(text, "\n".join(lines))]
    assert unmarked == []
