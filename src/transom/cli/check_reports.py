"""`--report FORMAT:PATH` of `check run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.checklist.run.reports import REPORTS, report
from transom.checklist.run.verdict import Verdict, Verdicts
from transom.cli.session import Session
from transom.errors import InputError
from transom.runs import write_file


@dataclass(frozen=True)
class Report:
    """A report that was asked for; `folders` are where the files that it shows lines of may lie."""

    kind: str
    path: Path
    folders: tuple[Path, ...] = ()

    def write(self, document: Verdict | Verdicts) -> None:
        """Write the file.

        Raises:
            InputError: it cannot be written.
        """
        write_file(self.path, report(self.kind, document, self.folders))


def parse_reports(
    session: Session, texts: Sequence[str], variables: Sequence[str], targets: Sequence[Path]
) -> list[Report]:
    """Each `FORMAT:PATH`; the folders are those of `--var`, of the settings, and of the targets.

    Raises:
        InputError: another format, or no path.
    """
    places = [*session.variables(variables).values(), *(target.absolute().parent for target in targets)]
    folders = tuple(sorted(dict.fromkeys(places), key=lambda place: len(place.parts)))  # names begin at the outermost
    return [_parsed(text, folders) for text in texts]


def _parsed(text: str, folders: tuple[Path, ...]) -> Report:
    kind, colon, path = text.partition(":")
    if kind not in REPORTS or not colon or not path:
        hint = f"write FORMAT:PATH with one of {', '.join(REPORTS)}"
        raise InputError(f"{text!r} is no report", where="--report", hint=hint)
    return Report(kind, Path(path), folders)
