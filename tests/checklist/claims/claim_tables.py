"""Two tables over the honest reports: what must not pass, and what must, by kind and form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.checklist.claims.honest_reports import (
    HEADED,
    HOLD_TABLE,
    HONEST,
    PATH,
    STA,
    HonestReport,
)
from tests.checklist.claims.test_claim_verdicts import TABLE
from transom.checklist.atoms import ClaimRow


@dataclass(frozen=True)
class TableRow:
    """A report with the verdicts that are right for it.

    Attributes:
        kind: what the report lacks, or how it is written.
        base: the form: the tool, report and claim.
        text: the report.
        word: a word of the reason that must be given; empty if the row must pass.
        description: the item's description.
        left_out: words of the description that the claim leaves out.
    """

    kind: str
    base: HonestReport
    text: str | bytes
    word: str = ""
    description: str = "Confirm it."
    left_out: tuple[str, ...] = ()
    form: str = ""

    @property
    def id(self) -> str:
        """The kind and the form."""
        return f"{self.kind}: {self.base.name} {self.form}".strip()

    @property
    def claim(self) -> ClaimRow:
        """The claim, with the words that it leaves out."""
        return self.base.claim.model_copy(update={"left_out": self.left_out})

    @property
    def more(self) -> dict[str, object]:
        """Further keys of the item."""
        return {**self.base.more, "description": self.description}


NOT_MEASURED = ("N/A", "INF", "nan", "1e+30", "2147483647", "99999999")
CRASHES = {
    "Segmentation fault (core dumped)": "Segmentation fault",
    "Killed": "Killed",
    "terminate called after throwing an instance of 'std::bad_alloc'": "terminate called",
    "Error: cannot open file top.lib": "top.lib",
    "ERROR: licence server is not reachable": "licence",
    "*** Aborted at 12:01:07 (signal 6)": "Aborted",
    "FATAL: out of memory": "out of memory",
    "timeout: the monitored command dumped core": "core",
}
OTHER_TOOLS = {"OpenSTA": "Vivado", "OpenROAD": "Innovus", "Innovus": "Calibre", "Netgen": "Calibre", "Yosys": "Genus"}  # fmt: skip
TIMED = ("setup_met", "hold_met", "timing_met", "number_limit")


def must_not_pass() -> Iterator[TableRow]:
    """Yield reports that prove nothing, or the contrary."""
    yield from by_hand()
    crashes = list(CRASHES.items())
    for number, base in enumerate(HONEST):
        yield TableRow("broken", base, base.edited(base.bad), "")
        line, word = crashes[number % len(crashes)]
        is_tree = base.name.startswith("metrics")
        # A document that is no longer well-formed is not read at all.
        yield TableRow("trouble behind it", base, f"{base.text}{line}\n", "" if is_tree else word)
        line, word = crashes[(number + 3) % len(crashes)]
        yield TableRow("trouble before it", base, f"{line}\n{base.text}", "" if is_tree else word)
        first, _, rest = base.text.partition("\n")
        line, word = crashes[(number + 5) % len(crashes)]
        if not is_tree:
            yield TableRow("trouble inside", base, f"{first}\n{line}\n{rest}", word)
        if base.value:
            for sentinel in NOT_MEASURED[number % 2 :: 2]:
                text = base.with_number(sentinel)
                yield TableRow("not measured", base, text, sentinel, form=sentinel)
        if base.end:
            cut = base.text[: base.text.rindex(base.end)]
            yield TableRow("cut off", base, cut, "")
        yield TableRow("empty", base, "", "")
        if base.tool:
            other = OTHER_TOOLS[base.tool]
            yield TableRow("another tool", base, base.text, other, f"Confirm it in {other}.")
        if "-postRoute" not in base.text:
            said = "Confirm it in the routed design."
            yield TableRow("no stage", base, base.text, "post route", said)
        yield TableRow("no corner", base, base.text, "ss_0p72v", "Confirm it in ss_0p72v_125c.")
        words = ("except in the test mode",)
        yield TableRow("words left out", base, base.text, "test mode", left_out=words)
        other_base = HONEST[(number + 17) % len(HONEST)]
        if not _shares_matter(base, other_base):
            yield TableRow("report of another matter", base, other_base.text, "")
        if base.claim.name in TIMED and not is_tree and "#  Command" not in base.text:
            command = (
                "report_worst_slack -max -corner tt" if number % 2 else "report_checks -to r2/D"
            )
            yield TableRow("narrowed by its command", base, f"{command}\n{base.text}", "-")


def _without_check() -> Iterator[tuple[str, str, str]]:
    """Yield form, base and report of slacks of which nothing says the check."""
    summary = (
        "Startpoint                           Endpoint                               Slack\n"
        f"{'-' * 80}\n\nr1/Q (dff1)                          r2/D (dff1)           0.58\n\n"
    )
    groups = f"Group                                  Slack\n{'-' * 44}\nclk              1.31\n\n"
    yield "a bare slack", "OpenSTA slack lines, setup", " time 1ns\nworst slack 0.20\n"
    yield "a bare slack of hold", "OpenSTA slack lines, hold", " time 1ns\nworst slack 0.20\n"
    yield "a log without its commands", "OpenSTA log, setup", f"{STA}worst slack 0.20\n"
    path = PATH.format(kind="max").replace("Path Type: max\n", "")
    yield "a path without its type", "OpenSTA path, setup", path
    headed = HEADED.replace("  Path Type: min\n", "").replace("        -delay_type min\n", "")
    yield "a head without its type", "report_timing with a head, hold", headed
    yield "a table of paths", "OpenSTA path, setup", summary
    yield "a table of groups", "OpenSTA endpoints", groups


def _without_whole() -> Iterator[tuple[str, str, str]]:
    """Yield form, base and report of tables that show some groups alone."""
    first = "|  0.112  |"
    for check, table in (("setup", TABLE), ("hold", HOLD_TABLE)):
        base = f"Innovus table, {check}"
        yield f"no column of all paths, {check}", base, table.replace("   all   ", " reg2out ")
        yield f"one group, {check}", base, table.replace("   all   ", " in2reg  ")
        for printed in ("   N/A   ", "   INF   ", "2147483.6"):
            text = table.replace(first, f"|{printed}|", 1)
            yield f"{printed.strip()} for all paths, {check}", base, text


def by_hand() -> Iterator[TableRow]:
    """Yield rows whose forms are written one by one."""
    bases = {base.name: base for base in HONEST}
    for form, base, text in _without_check():
        yield TableRow("no check named", bases[base], text, "check", form=form)
    for form, base, text in _without_whole():
        yield TableRow("no whole", bases[base], text, "measured", form=form)


def _shares_matter(base: HonestReport, other: HonestReport) -> bool:
    """Return whether a report may prove or break the claim of another one as well."""
    # Each log of a tool may prove these.
    if base.claim.name in ("no_errors", "no_warnings", "versions_approved", "run_successful"):
        return True
    if base.claim.name in TIMED and other.name.startswith("metrics"):
        return True
    # Zero is the same in each unit, so a slack without a unit proves "at least 0 ns" as well.
    if base.claim.name in TIMED and "worst slack" in other.text:
        return True
    # One log may be an honest report of several claims.
    if any(each.text == other.text and each.claim == base.claim for each in HONEST):
        return True
    return base.claim == other.claim or base.text[:8] == other.text[:8]


@dataclass(frozen=True)
class Writing:
    """A way in which the same report may be written."""

    kind: str
    encoding: str = "utf-8"
    newline: str = "\n"
    before: str = ""
    trailing: str = ""
    prefix: bytes = b""
    uses: frozenset[str] = field(default_factory=frozenset)

    def of(self, text: str) -> bytes:
        """Return the report as it is written."""
        lines = [f"{line}{self.trailing}" if line else line for line in text.split("\n")]
        whole = self.before + "\n".join(lines)
        return self.prefix + whole.replace("\n", self.newline).encode(self.encoding)


WRITINGS = [
    Writing("as the tool prints it"),
    Writing("with carriage returns", newline="\r\n"),
    Writing("in UTF-16", encoding="utf-16"),
    Writing("with a byte order mark", prefix=b"\xef\xbb\xbf"),
    Writing("with trailing blanks", trailing="   "),
    Writing("below blank lines", before="\n\n\n"),
    Writing("below a rule", before="=" * 60 + "\n"),
]


def must_pass() -> Iterator[TableRow]:
    """Yield honest reports in the ways in which they are written."""
    for base in HONEST:
        for writing in WRITINGS:
            is_tree = base.name.startswith("metrics")
            if is_tree and writing.before.strip():
                continue
            yield TableRow(writing.kind, base, writing.of(base.text))
        if base.tool:
            said = f"Confirm it in {base.tool}."
            yield TableRow("its tool is named", base, base.text, description=said)
