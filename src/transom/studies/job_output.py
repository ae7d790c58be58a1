"""The output of a solve: its texts, tables and input deck, as read from the job's folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transom.studies.job_files import Deck, Results, read_dat, read_deck, read_f06, read_text

_DECK, _TABLES = ".inp", {".dat": read_dat, ".f06": read_f06, ".out": read_f06}
_SILENT = {".bdf", ".frd", ".cvg", ".json", ".yaml", ".tsv", ".csv", ".op2", ".msh", ".png", ".12d"}


@dataclass(frozen=True)
class JobOutput:
    """The output of a solve.

    Attributes:
        texts: file name -> its text, for all files that may have messages.
        return_code: exit status, negative for a signal, None if unknown.
        stopped: the class of the limit that ended it, e.g. `timeout`, and the limit.
        deck: the input deck, if its format is known.
        results: numbers of the result tables, by file.
        values: extracted outputs; missing: expected outputs that were not found.
        finished: pattern that only a run that converged prints.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    return_code: int | None = None
    stopped: tuple[str, str] | None = None
    deck: Deck | None = None
    results: tuple[tuple[str, Results], ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    missing: Sequence[str] = ()
    finished: str | None = None

    @staticmethod
    def read(
        folder: Path,
        return_code: int | None = None,
        *,
        input_files: Collection[str] = (),
        **fields: Any,
    ) -> JobOutput:
        """Read a job's folder, or one output file, by beginning and end of each file.

        Args:
            input_files: names of the solver's input files, which have no messages.
            fields: other fields.
        """
        paths = (
            [folder]
            if folder.is_file()
            else sorted(path for path in folder.iterdir() if path.is_file())
        )
        deck, results, texts = None, [], {}
        for path in paths:
            # A deck and binary files have no messages; a word in them proves nothing.
            kind = path.suffix.lower()
            if kind == _DECK:
                deck = read_deck(read_text(path))
            elif kind not in _SILENT and path.name not in input_files:
                texts[path.name] = read_text(path)
                if read := _TABLES.get(kind):
                    results.append((path.name, read(texts[path.name].splitlines())))
        return JobOutput(texts, return_code, deck=deck, results=tuple(results), **fields)
