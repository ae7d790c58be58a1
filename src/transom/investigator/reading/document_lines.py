"""Reads the lines of a document in order: its headings, states, claims, dependencies and risks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from transom.evidence.subject_names import Facet
from transom.evidence.trouble import TroubleFinder
from transom.formats.measurements import Observation, Remark, SubjectFact
from transom.investigator.reading.reviews import sentence
from transom.investigator.reading.steering import found_in_text
from transom.investigator.reading.vocabulary import key_words, plain_words, words

MOST_REMARKS = 40
_LONGEST_MARK = 8  # words of a line such as "Superseded by ADR 7"
_MOST_MARKS = 12  # first lines, in which a mark speaks of the whole document
_LONGEST_NAME, _MOST_NAMES = 80, 12
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WORD = re.compile(r"[^\W\d_][\w'-]+")
_RISKS = re.compile(
    r"\b(?:risks?|open (?:questions?|issues?|points?|items?)|known"
    r" (?:issues?|limitations?|problems?)|"
    r"unresolved|blockers?)\b",
    re.IGNORECASE,
)
_MITIGATED = re.compile(
    r"\b(?:mitigat\w+|resolved|closed|accepted|none|no open|handled|covered by|addressed)\b",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>\S.*)")
# `**Depends on:** a, b`, `Dependencies: a and b`
_LABELLED_DEPENDENCIES = re.compile(
    r"\W{0,6}(?:depends on|dependencies)\W{0,3}:\W{0,4}(?P<names>\w[^\n]{0,300})", re.IGNORECASE
)
# "It depends on a and on the b."; not "does not depend on"
_DEPENDS_ON = re.compile(
    r"\b(?:depends|relies|is based) on (?P<names>[^.;:()\n]{1,200})", re.IGNORECASE
)
_BEHIND_NAME = re.compile(r"[:(,;–—-]\s|\s\(|\.\s*$")  # "gauge-feed: the levels"
_LIST_MARKS = re.compile(r"[,;]| and (?:on )?| or (?:on )?")
_STAGE = re.compile(
    r"\b(?:status|stage|phase|current"
    r" stage)\b\s*+(?:\*\*)?\s*+[:|]\s*+(?:\*\*)?\s*+(?P<stage>[^|*\s][^|*\n]{0,59})",
    re.IGNORECASE,
)
_KINDS_OF_COVERAGE = r"(?:test |code |line |statement |unit ){0,5}coverage\b"
_CLAIMS = tuple(
    (measure, unit, re.compile(pattern, re.IGNORECASE))
    for measure, unit, pattern in (
        (
            "coverage.line",
            "%",
            rf"\b{_KINDS_OF_COVERAGE}[^.\n|]{{0,40}}?(?<![\d.])(\d{{1,3}}(?:\.\d+)?)\s?%",
        ),
        (
            "coverage.line",
            "%",
            rf"(?<![\d.])(\d{{1,3}}(?:\.\d+)?)\s?% (?:of )?{_KINDS_OF_COVERAGE}",
        ),
        (
            "tests.failed",
            "",
            r"(?<![\d.,])(\d[\d,]*) (?:unit )?tests? (?:are |is |still |currently )*fail",
        ),
    )
)
_HOPED = re.compile(
    r"[<>≥≤]|\b(?:target|goal|at"
    r" least|minimum|must|should|will|aim|require[sd]?|threshold|planned|expect\w*|before)\b",
    re.IGNORECASE,
)
_GOALS = re.compile(
    r"\b(?:criteria|goals?|targets?|requirements?|done|objectives?|plan|strategy)\b", re.IGNORECASE
)
_DEPENDENCIES = re.compile(r"\bdepend(?:s|enc(?:y|ies))\b", re.IGNORECASE)
_RULE_CELL = re.compile(r":?-+:?")
# Heads of the column that names a dependency or a component, the surest first.
_NAME_HEADS = (
    _DEPENDENCIES,
    re.compile(r"\b(?:services?|systems?|components?|librar(?:y|ies)|packages?|modules?)\b", re.I),
    re.compile(r"\bnames?\b", re.IGNORECASE),
)
_COMPONENTS = re.compile(
    r"^(?:\d+[.)]?\s*)?(?:components?|modules?|building blocks)$", re.IGNORECASE
)
# `Status: Draft`, `**Status**: Draft`, `| Status | Draft |`
_LABEL = re.compile(
    r"\s{0,3}(?:[-*|>]\s*)?(?:\*\*|__)?(?P<name>[^\W\d_](?:[^\W\d_]| ){1,28})(?:\*\*|__)?\s*+[:|]"
    r"\s*+(?:\*\*|__)?\s*+(?P<value>\S.*)"
)
_STATUS_LABELS = frozenset(
    ("status", "document status", "doc status", "state", "approval", "approval status")
)
_FACETS: dict[str, Facet] = {
    "feature": "feature",
    "feature id": "feature",
    "feature name": "feature",
    "epic": "feature",
    "jira": "feature",
    "jira key": "feature",
    "ticket": "feature",
    "issue": "feature",
    "date": "date",
    "last updated": "date",
    "updated": "date",
    "version": "version",
}
_MARKED = re.compile(
    r"(?:draft|work in progress|wip|superseded|obsolete|deprecated|rejected|withdrawn|not approved"
    r"|template|entwurf|brouillon|borrador|bozza)\b",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"\b(?:rejected|superseded|obsolete|deprecated|withdrawn|replaced|ersetzt|abgelöst|veraltet"
    r"|verworfen|remplacée?|obsolète|abandonnée?|reemplazad[oa]|sustituid[oa]|obsolet[oa]"
    r"|sostituit[oa]|superat[oa]|substituíd[oa]|vervangen|verouderd)\b"
)
_LONGEST_LINE = 4000
_MOST_HEAD = 60  # first lines, in which a document may state its own stage


def _name_column(head: Sequence[str], heads: Sequence[re.Pattern[str]]) -> int:
    """Return the column of a table that names its things; the first one if no head says."""
    for pattern in heads:
        for column, cell in enumerate(head):
            if pattern.search(cell):
                return column
    return 0


def _document_status(text: str) -> str:
    """Return what a status line means: a draft is in doubt, a rejected one is none."""
    plain = " ".join(plain_words(text))
    if _REPLACED.search(plain):
        return "fail"
    status = words().status_of(text)
    if status in ("pass", "ended") and not TroubleFinder("release").in_status(text):
        return "pass"
    if status is None and not TroubleFinder("release").in_status(text):
        return "pass"
    return "conditional"


class DocumentReader:
    """Reads a document's lines in order.

    Attributes:
        line: the number of the last line.
        size: characters until there.
        words: words of substance.
        hollow: passages that nobody filled in.
        binary, stopped: whether the reader gave up, since the file is no text, or too long.
    """

    def __init__(self, name: str) -> None:
        self._own_names = set(key_words(PurePosixPath(name).stem))
        self._open_heading = 0  # level of a heading below which nothing stands yet
        self.line = self.size = self.words = self.hollow = 0
        self.title = ""
        self.depth = 0
        self.states: list[Observation] = []
        self.subject: list[SubjectFact] = []
        self.binary = self.stopped = False
        self.remarks: list[Remark] = []
        self.claims: list[Observation] = []
        self._fenced = self._commented = False
        self._section = ""
        self._depends = self._risky = False
        self._parts = 0  # level of a heading whose subheadings are components
        self._controls = 0
        self._table: list[str] | None = None  # the cells of the row before, in a table
        self._name_column = 0

    def take(self, line: str) -> None:
        self.line += 1
        self.size += len(line) + 1
        self._look_for_binary(line)
        # Code blocks quote other files, so nothing in them is a claim of the document.
        if _FENCE.match(line):
            self._fenced = not self._fenced
            return
        # A line of megabytes is no prose; its beginning tells enough.
        text = line[:_LONGEST_LINE]
        self.remarks += found_in_text(text, f"line:{self.line}")
        if self._fenced:
            self._open_heading = 0
            self.words += len(_WORD.findall(text))
            return
        text = self._visible(text)
        if heading := _HEADING.match(text):
            self._take_heading(heading)
            return
        self._state(text)
        self._list_parts(text)
        self._weigh(text)
        self._claim(text)
        self._risk(text)

    def _take_heading(self, heading: re.Match[str]) -> None:
        title = heading[1].rstrip().rstrip("#").rstrip()
        level = len(heading[0].strip()) - len(heading[0].strip().lstrip("#"))
        # Below "Components" each heading names one.
        if self._parts and level > self._parts:
            self._name("document.component", title)
        elif level <= self._parts or not self._parts:
            self._parts = level if _COMPONENTS.search(title) else 0
        # A heading right behind one of its own level or above it is a section left open.
        if self._open_heading and level <= self._open_heading:
            self.hollow += 1
        self._open_heading = level
        self.depth = level
        self._section = title
        # "Entwurf" is German for a draft, and for the design that a document is named after.
        if not self._own_names & set(key_words(title)):
            self._draft(title)
        self._depends = _DEPENDENCIES.search(title) is not None
        self._risky = _RISKS.search(title) is not None
        self.title = self.title or title

    def end(self) -> None:
        """Count the last section, if nothing stands in it."""
        if self._open_heading:
            self.hollow += 1
            self._open_heading = 0

    def _visible(self, text: str) -> str:
        """Return a line without comments, which may span lines."""
        visible_text = ""
        while text:
            before, mark, text = text.partition("-->" if self._commented else "<!--")
            visible_text += "" if self._commented else before
            self._commented = self._commented != bool(mark)
        return visible_text

    def _look_for_binary(self, line: str) -> None:
        if line.isascii() and line.isprintable():
            return
        self._controls += sum(
            1 for sign in line[:_LONGEST_LINE] if (sign < " " and sign != "\t") or sign == "\ufffd"
        )
        self.binary = self.binary or "\0" in line or self._controls > max(20, self.size // 10)

    def _weigh(self, text: str) -> None:
        stripped = text.strip().strip("*_|->#").strip()
        if not stripped:
            return
        vocabulary, lower = words(), stripped.lower()
        # The expressions are slow, so a quick look comes first.
        maybe = any(word in lower for word in vocabulary.triggers.hollow)
        self._open_heading = 0
        if maybe and (
            vocabulary.placeholders.match(stripped) or vocabulary.placeholder_lines.search(stripped)
        ):
            self.hollow += 1
        else:
            self.words += len(_WORD.findall(stripped))

    def _state(self, text: str) -> None:
        """Record what a document says of itself in its first lines: status, feature, date."""
        # Further down a label is about a part of the document.
        if self.line > _MOST_HEAD:
            return
        label = _LABEL.match(text)
        if label is None:
            self._draft(text)
            return
        name, value = label["name"].strip().casefold(), label["value"].strip(" *|_`")
        place = f"line:{self.line}"
        facet = _FACETS.get(name)
        if facet is not None and value:
            self.subject.append(SubjectFact(facet=facet, text=value[:120], locator=place))
        # The words of keys are English ones: `Statut`, `Estado` are "status".
        if _STATUS_LABELS & {name, " ".join(key_words(name))} and value and self.depth <= 2:
            self.states.append(
                Observation(
                    measure="document.status",
                    value=_document_status(value),
                    locator=place,
                    said=value[:60],
                    label="status",
                    quote=text.strip()[:240],
                )
            )

    def _draft(self, text: str) -> None:
        """Record a mark that stands alone in a line: `DRAFT`, `> Superseded by ADR 7`."""
        plain = text.strip().strip("*_>#[]()!: -").strip()
        if 0 < len(plain.split()) <= _LONGEST_MARK and self.line <= _MOST_MARKS:
            status = _document_status(plain)
            if _MARKED.match(plain) and status != "pass":
                self.states.append(
                    Observation(
                        measure="document.status",
                        value=status,
                        locator=f"line:{self.line}",
                        said=plain[:60],
                        label="mark",
                        quote=text.strip()[:240],
                    )
                )

    def _claim(self, text: str) -> None:
        stage = _STAGE.search(text) if self.line <= _MOST_HEAD else None
        if stage:
            place = f"line:{self.line}"
            self.claims.append(
                Observation(
                    measure="document.stage",
                    value=stage["stage"].strip(),
                    locator=place,
                    quote=text.strip()[:240],
                )
            )
        # Most lines have neither word, and the expressions are slow.
        for measure, unit, pattern in _CLAIMS if "overage" in text or "fail" in text else ():
            match = pattern.search(text)
            # A target in a plan is no claim that it was reached.
            hoped = _HOPED.search(text) or _GOALS.search(self._section)
            if match and not hoped and len(self.claims) < MOST_REMARKS:
                value = float(match[1].replace(",", ""))
                place = f"line:{self.line}"
                quote = sentence(text, match.start())
                self.claims.append(
                    Observation(
                        measure=f"claim.{measure}",
                        value=value,
                        unit=unit,
                        locator=place,
                        quote=quote,
                    )
                )

    def _list_parts(self, text: str) -> None:
        """Record the dependencies or components of a line.

        `Depends on: a, b` counts anywhere. A table row or a bullet counts right below a heading on
        either; below one on dependencies also a sentence that says it.
        """
        table, self._table = self._table, None
        # Below a component's own heading, bullets describe that one.
        is_on_components = self._parts > 0 and self.depth == self._parts
        measure = "document.component" if is_on_components else "document.depends"
        if labelled := _LABELLED_DEPENDENCIES.match(text):
            measure, names = "document.depends", _LIST_MARKS.split(labelled["names"])
        elif not self._depends and not is_on_components:
            return
        elif text.lstrip().startswith("|"):
            names = self._names_in_row(text, table, measure)
        elif bullet := _BULLET.match(text):
            is_nested = is_on_components and text[:1].isspace()
            names = [] if is_nested else [_BEHIND_NAME.split(bullet["text"])[0]]
        else:
            names = []
            for sentence_ in _DEPENDS_ON.finditer(text) if self._depends else ():
                names += _LIST_MARKS.split(sentence_["names"])
        for name in names:
            plain = name.strip().rstrip(".").strip("`* ").removeprefix("on ").removeprefix("the ")
            if plain and not re.fullmatch(r"[-: ]+", plain) and not _DEPENDENCIES.search(plain):
                self._name(measure, plain)

    def _names_in_row(self, text: str, row_before: list[str] | None, measure: str) -> list[str]:
        """Return the name in a table's row; the row above the rule is the table's head."""
        cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
        self._table = cells
        if row_before is None:
            self._name_column = 0
        if not all(_RULE_CELL.fullmatch(cell) for cell in cells):
            return [cells[self._name_column]] if self._name_column < len(cells) else []
        if row_before is not None:
            head = (measure, f"line:{self.line - 1}")
            self.claims = [row for row in self.claims if (row.measure, row.locator) != head]
            heads = _NAME_HEADS if measure == "document.depends" else _NAME_HEADS[1:]
            self._name_column = _name_column(row_before, heads)
        return []

    def _name(self, measure: str, name: str) -> None:
        if (
            len(name) <= _LONGEST_NAME
            and sum(claim.measure == measure for claim in self.claims) < _MOST_NAMES
        ):
            quote = " ".join(name.split())
            self.claims.append(
                Observation(measure=measure, value=quote, locator=f"line:{self.line}", quote=quote)
            )

    def _risk(self, text: str) -> None:
        bullet = _BULLET.match(text) if self._risky else None
        if bullet is None or len(self.remarks) > MOST_REMARKS:
            return
        # A ticked box or a mitigation is a risk that somebody took care of.
        if bullet["box"] in ("x", "X") or _MITIGATED.search(text) or len(bullet["text"]) < 12:
            return
        risk_text = " ".join(bullet["text"].split())[:240]
        self.remarks.append(
            Remark(
                kind="risk",
                text=risk_text,
                locator=f"line:{self.line}",
                quote=risk_text,
                severity="low",
            )
        )
