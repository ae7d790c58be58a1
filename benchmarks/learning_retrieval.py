"""How well memory finds what answers a question, on three public collections, beside plain full
text.

    python benchmarks/learning_retrieval.py [--base URL] [--folder DIR] [--only locomo,cranfield]

LoCoMo: 10 long conversations; a question's evidence are the turns that answer it. Cranfield: 1,400
abstracts, 225 questions, judged by people. CISI: 1,460 abstracts of library science, 76 questions
with judgements. Files that are not in the folder are fetched from below
`--base`, where GitHub serves raw files, and are not kept. A collection that cannot be had is
skipped, and that is said. `recall@15` is the part of the evidence among the first 15, `nDCG@10` how
high it stands; in brackets the middle 95 % of the means of 2,000 draws of questions. Plain full
text is SQLite's FTS5 as it comes, asked for any of the question's words.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import math
import os
import random
import re
import sqlite3
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from transom.memory import Embedder, SqliteMemory, find_embedder

LOCOMO = "snap-research/locomo/main/data"
CRANFIELD = "Menotron/cs7is3-cranfield-search/master/data"
CISI = "PsychoProg/tf-idf/main"
FIRST, HIGH = 15, 10
DRAWS = 2_000  # of questions, for an interval


@dataclass(frozen=True)
class Collection:
    """Texts by id, and questions with the ids of what answers them."""

    texts: Mapping[str, str]
    questions: Sequence[tuple[str, frozenset[str]]]


Ranker = Callable[[str], list[str]]


@dataclass(frozen=True)
class Place:
    """Where the files of collections are."""

    folder: Path | None
    base: str

    def file(self, path: str, name: str) -> bytes:
        """A file: of the folder, else fetched.

        Raises:
            OSError: it cannot be had.
        """
        if self.folder and (self.folder / name).is_file():
            return (self.folder / name).read_bytes()
        if not self.base:
            raise FileNotFoundError(f"no {name} in --folder, and no --base to fetch it from")
        with urllib.request.urlopen(f"{self.base.rstrip('/')}/{path}/{name}", timeout=60) as answer:
            return bytes(answer.read())


def locomo(place: Place) -> Iterator[Collection]:
    """One collection a conversation: its turns."""
    try:
        found: list[Any] = json.loads(place.file(LOCOMO, "locomo10.json"))
    except OSError:  # an earlier edition is a folder of files
        archive = zipfile.ZipFile(io.BytesIO(place.file(LOCOMO, "locomo10.zip")))
        found = [
            json.loads(archive.read(name))
            for name in sorted(archive.namelist())
            if name.endswith(".json")
        ]
    for one in found:
        talk = one.get("conversation", one)
        sessions = [turns for key, turns in talk.items() if re.fullmatch(r"session_\d+", key)]
        texts = {
            turn["dia_id"]: f"{turn['speaker']}: {turn.get('text', '')}"
            for turns in sessions
            for turn in turns
        }
        asked = [
            (row["question"], frozenset(row.get("evidence", ())) & texts.keys())
            for row in one["qa"]
        ]
        yield Collection(texts, [(question, evidence) for question, evidence in asked if evidence])


def cranfield(place: Place) -> Iterator[Collection]:
    """The abstracts with their titles; a judgement of 1 to 4 is relevant."""
    texts = {
        str(number): text
        for number, text in enumerate(_parts(place.file(CRANFIELD, "cran.all.1400")), 1)
    }
    questions = _parts(place.file(CRANFIELD, "cran.qry"))
    relevant: dict[int, set[str]] = {}
    for line in place.file(CRANFIELD, "cranqrel").decode().splitlines():
        query, document, judged = map(int, line.split()[:3])
        if 1 <= judged <= 4:
            relevant.setdefault(query, set()).add(str(document))
    asked = [
        (text, frozenset(relevant.get(number, ()))) for number, text in enumerate(questions, 1)
    ]
    yield Collection(texts, [(text, evidence) for text, evidence in asked if evidence])


def cisi(place: Place) -> Iterator[Collection]:
    """The abstracts with their titles; each judged document is relevant."""
    texts = {}
    for number, text in enumerate(_parts(place.file(CISI, "CISI.ALL")), 1):
        texts[str(number)] = text
    relevant: dict[int, set[str]] = {}
    for line in place.file(CISI, "CISI.REL").decode().splitlines():
        query, document = line.split()[:2]
        relevant.setdefault(int(query), set()).add(document)
    questions = []
    for number, text in enumerate(_parts(place.file(CISI, "CISI.QRY")), 1):
        if number in relevant:
            questions.append((text, frozenset(relevant[number])))
    yield Collection(texts, questions)


COLLECTIONS = {"locomo": locomo, "cranfield": cranfield, "cisi": cisi}


def _parts(data: bytes) -> list[str]:
    """Title and text of each entry."""
    entries = re.split(r"^\.I \d+\s*$", data.decode("latin-1"), flags=re.MULTILINE)[1:]
    fields = [
        dict(re.findall(r"^\.([TW])\s*\n(.*?)(?=^\.[A-Z]\s*$|\Z)", one, re.DOTALL | re.MULTILINE))
        for one in entries
    ]
    return [" ".join(f"{one.get('T', '')} {one.get('W', '')}".split()) for one in fields]


def plain(collection: Collection) -> Ranker:
    """FTS5 with its own tokens and its own ranking."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, text)")
    database.executemany("INSERT INTO texts VALUES (?, ?)", collection.texts.items())

    def rank(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sql = "SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in database.execute(sql, (words, FIRST))]

    return rank


async def ours(collection: Collection, path: Path, embedder: Embedder | None) -> SqliteMemory:
    """A memory that holds the collection; with an embedder the one that was made without, its
    texts embedded.
    """
    memory = SqliteMemory.open(path, embedder)
    if embedder:
        await memory.embed_missing()
        return memory
    for key, text in collection.texts.items():
        if text.strip():
            await memory.store(text, key=key)
    return memory


def scores(ranked: Sequence[str], evidence: frozenset[str]) -> tuple[float, float]:
    """Recall@15 and nDCG@10."""
    gain = sum(
        1 / math.log2(place + 2) for place, key in enumerate(ranked[:HIGH]) if key in evidence
    )
    best = sum(1 / math.log2(place + 2) for place in range(min(HIGH, len(evidence))))
    return len(evidence & {*ranked[:FIRST]}) / len(evidence), gain / best


def interval(values: Sequence[float]) -> str:
    """Return the mean, and the middle 95 % of the means of draws with replacement."""
    pick = random.Random(1)
    means = sorted(sum(pick.choices(values, k=len(values))) / len(values) for _ in range(DRAWS))
    low, high = means[DRAWS // 40], means[-DRAWS // 40 - 1]
    return f"{sum(values) / len(values):.3f} [{low:.3f}, {high:.3f}]"


async def measure(
    name: str, collections: Sequence[Collection], folder: Path, embedder: Embedder | None
) -> None:
    """One table."""
    sums: dict[str, list[tuple[float, float]]] = {}
    took: dict[str, float] = {}
    for number, collection in enumerate(collections):
        path = folder / f"{name}-{number}.db"
        rankers: dict[str, Any] = {"plain full text": plain(collection)}
        rankers["memory, by words"] = await ours(collection, path, None)
        if embedder:
            rankers["memory, words and meaning"] = await ours(collection, path, embedder)
        for how, ranker in rankers.items():
            began = time.process_time()
            for question, evidence in collection.questions:
                if isinstance(ranker, SqliteMemory):
                    ranked = [one.entry.id for one in await ranker.retrieve(question, FIRST)]
                else:
                    ranked = ranker(question)
                sums.setdefault(how, []).append(scores(ranked, evidence))
            took[how] = took.get(how, 0.0) + time.process_time() - began
    texts, asked = (
        sum(len(one.texts) for one in collections),
        sum(len(one.questions) for one in collections),
    )
    print(f"{name}: {texts} texts, {asked} questions")
    for how, found in sums.items():
        recall, ndcg = (interval(column) for column in zip(*found, strict=True))
        milliseconds = 1e3 * took[how] / asked
        print(
            f"  {how:26} recall@15 {recall}  nDCG@10 {ndcg}  {milliseconds:6.1f} ms CPU",
            flush=True,
        )


def main() -> int:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--base", default="")
    parser.add_argument("--only", default=",".join(COLLECTIONS))
    given = parser.parse_args()
    embedder = find_embedder()
    if embedder is None:
        print("the embedder is not installed (make embeddings): by words alone")
    for name in given.only.split(","):
        try:
            collections = list(COLLECTIONS[name](Place(given.folder, given.base)))
        except OSError as error:
            print(f"{name}: skipped, it cannot be had ({error})")
            continue
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(measure(name, collections, Path(made), embedder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
