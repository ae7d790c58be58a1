"""What an output says last about convergence, for solves whose return code says nothing.

Many solvers end with 0 after their last iteration, converged or not. A line counts if it states
that there was no convergence; advice, settings, statistics, and steps that are tried again don't.
Statements are read in the languages in which solvers print them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

Verdict = Literal["converged", "unconverged"]

_LATEST = 40  # last lines of a run that are read: tables of times and references come behind it

# Words also of other languages that solvers print: German, French, Spanish, Italian, Portuguese,
# Dutch, Polish, Czech; Russian, Chinese and Japanese stand by themselves.
_STEM = r"(?:[ck]onver[gj]\w*|zbie[żz]n\w*)"
_REACHED = (
    r"(?:achieved|reached|obtained|attained|met|satisfied|fulfilled|possible|found|erreicht|erzielt"
    r"|attein\w*|alcanz\w*|raggiunt\w*|atingid\w*)"
)
_WORDS = r"(?:(?!and\b|or\b|but\b|until\b|which\b|while\b)[\w'’-]+ ){0,5}?"  # of the same clause
_CAPITALS = r"\b(?:NO[NT]?|DID_NOT|FAILED_TO)_CONV\w*(?![\w]*\s*[:=])"
# A limit of iterations is met, or the solution grows without bounds.
_ABANDONED = (
    r"\b(?:max\w*\.?|limit)\b[^.;:=]{0,30}\b(?:iterations?|trials|cycles)\b[^.;:=]{0,20}"
    r"\b(?:exceeded|reached|exhausted|atteint)\b"
    r"|\b(?:iterations?|trials|cycles) limit\b[^.;:=]{0,20}\b(?:exceeded|reached|exhausted)\b"
    r"|\b(?:exceed(?:ed|s)?|reached|hit)\b[^.;:=]{0,30}\b(?:max\w*\.?|limit)\b[^.;:=]{0,30}"
    r"\b(?:iterations?|trials|cycles)\b|\b(?:exceed(?:ed|s)?|reached|hit) the iterations? limit\b"
    r"|\b(?:solution|solver|iterations?|residuals?|run|calculation|has|have|is|newton)\b"
    r"[\w ]{0,20}\bdiverged\b|\bdivergence (?:was )?(?:detected|occurred)\b|\bdivergiert\b"
)
_MENTION = re.compile(
    rf"{_STEM}|{_CAPITALS}|{_ABANDONED}|сош[ёе]?л|сходи|收[敛斂]|収束", re.IGNORECASE
)
_DENIED = re.compile(
    # a verb: `has not yet converged`, `was not enough cycles to converge`, `n'a pas convergé`
    rf"\b(?:not|never|nicht|pas|n[ãa]o"
    rf"|(?:has|have|had|did|does|do|is|was|were|are|could|can)n['’]?t"
    rf"|cannot|fail(?:s|ed|ure|ing)?|unable|nie|niet|non|no)[ -]{{1,2}}{_WORDS}{_STEM}"
    # a noun: `no SCF convergence`, `without converging`, `keine Konvergenz`
    rf"|\b(?:without|before|lack of|keine?|ohne|geen|zonder|sans|sin|sem|senza|mancata|brak|bez"
    rf"|absence de|d[ée]faut de)"
    rf"[ -]{{1,2}}(?:\w+ )?{_STEM}"
    rf"|\b(?:un|ne){_STEM}|\bnon-?{_STEM}|{_CAPITALS}|{_ABANDONED}"
    # and in the other order: `convergence was not achieved`, `converge pas`
    rf"|\b{_STEM}(?: criteri(?:on|a)| toleranc\w+)?"
    rf"(?: (?:is|was|were|are|has|have|been|could|can|wurde|ist|n['’]est))*"
    rf" (?:not|never|nicht|non|pas|n[ãa]o|niet|failed|failure|fails|\w{{2,5}}n['’]t)\b"
    rf"(?: (?:be |been )?{_REACHED})?"
    rf"|\bconvergencia no {_REACHED}"
    # or as the value of a key: `"converged": false`
    rf"|(?<!\w)(?:is_|has_)?{_STEM}['\"]?\s*[:=]\s*(?:false|f|no|failed)\b"
    rf"|не сош[ёе]?л|не сходи|расход|[不未]收[敛斂]|没有收敛|未収束|収束(?:し(?:ない|ませ)|せず)",
    re.IGNORECASE,
)
# What needs a verb: `not converged points` names points, `no convergence problems` problems.
_NAME = re.compile(
    r"(?:not|non|un|ne)[ -]?converged$|\b(?:no|non|without|sin|sem|sans|ohne|keine?|geen|brak|bez)"
    r"[ -](?:\w{1,30} )?\w{1,30}(?:en[cz]\w{0,9}|ent|ing)$"
    r"|en[cz]\w{0,9} (?:not|non|nicht|pas|niet)$",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(?:do|does|did|has|have|had|is|are|was|were|be|been|could|can)\b", re.IGNORECASE
)
_GOES_WITH = re.compile(
    r"[\s*!.<>]*(?:$|[(,;:.=\d-]|\b(?:yet|in|within|after|at|for|on|because|due|owing|as|since|with"
    r"|by|during|under|to|from|and|but|when|while|until|despite|although|even|nach|bei|mit|au"
    rf"|(?:is|was|has been|wurde|est) |{_REACHED})\b)",
    re.IGNORECASE,
)
# The run goes on: `did not converge, retrying`.
_GOES_ON = re.compile(
    r"\b(?:(?:re-?)?(?:try|tri|start|solv|runn|peat)(?:ing|ed|es)|re-?(?:try|start|run|solve)|again"
    r"|cut\w*"
    r"|halv\w*|reduc\w*|bisect\w*|smaller|switch\w*|instead|then|continu\w*|first|initial\w*"
    r"|increas\w*|fall\w*|using|adapt\w*|adjust\w*|relax\w*|later|next|finally|new|accept\w*"
    r"|ignor\w*|line search)\b",
    re.IGNORECASE,
)
# What a person should do, and not what the run does: `did not converge; try a smaller step`.
_ADVICE = re.compile(
    r"\b(?:please|consider|try|increase|decrease|reduce|check|see|adjust|use|you)\b", re.IGNORECASE
)
# It is no event: `if it does not converge`, `may not converge`.
_NO_EVENT = re.compile(
    r"\b(?:if|whether|unless|in case|when|should|may|might|would|number of|count of|percent\w*"
    r"|falls|si|that|which)\b(?! not (?:have|be) )|%|# of\b",
    re.IGNORECASE,
)
_NONE_BEFORE = re.compile(r"(?:^|[:;,.(=])\s*(?:0|zero|none|no)\b[\w ]{0,30}$", re.IGNORECASE)
_NONE_BEHIND = re.compile(
    r"[\s\w'\")]{0,30}[:=(]\s*(?:0|none|no|false|off)\b(?!\.\d*[1-9])|\s{2,}0\b(?!\.\d*[1-9])",
    re.IGNORECASE,
)
# A number of a summary: `nonlinear convergence fails = 7`; but `unconverged points: 3` are bad.
_STATISTIC = re.compile(r"[\s\w'\")]{0,30}[:=]\s*[-+\d][\d.eE+-]{0,30}\s{0,9}%?\s{0,9}$")
_SETTING = re.compile(
    r"toleran|criteri|limit|threshold|monitor|history|check|parameter|control|study|plot"
    r"|[:=]\s*[-+\d.]",
    re.IGNORECASE,
)
_ROW = re.compile(r"\s*\d")


def statements(lines: Sequence[str]) -> Iterator[tuple[int, Verdict]]:
    """Yield the index of each line that states whether there was convergence, and what it states,
    from the end of an output upwards.
    """
    for index in range(len(lines) - 1, max(-1, len(lines) - 1 - _LATEST), -1):
        if not _MENTION.search(lines[index]):
            continue
        verdict = _verdict(lines[index])
        # In a table of iterations, only the last row counts.
        if verdict == "unconverged" and _is_followed_by_row(lines, index):
            continue
        if verdict:
            yield index, verdict


def _verdict(line: str) -> Verdict | None:
    """Return what a line that mentions convergence states; None if it states nothing."""
    statement = _DENIED.search(line)
    if statement is None:
        return None if _SETTING.search(line) else "converged"
    before, behind = line[: statement.start()], line[statement.end() :]
    if _NONE_BEFORE.search(before.strip()) or _NONE_BEHIND.match(behind):
        return "converged"  # `0 of 12 steps did not converge` is good news
    condition = _NO_EVENT.search(line)
    if condition and condition.start() < statement.start():
        return None
    is_name = _NAME.search(statement[0]) is not None
    has_value = ":" in statement[0] or "=" in statement[0]
    if not is_name and not has_value and _STATISTIC.match(behind):
        return None
    if is_name and not _AUXILIARY.search(before) and not _GOES_WITH.match(behind):
        return None
    # A step that is tried again: how that ended, the lines behind it would say.
    if _GOES_ON.search(behind) and not _ADVICE.search(behind):
        return "converged"
    return "unconverged"


def _is_followed_by_row(lines: Sequence[str], index: int) -> bool:
    """Return whether a line is the row of a table, and the next one, too."""
    if not _ROW.match(lines[index]):
        return False
    for line in lines[index + 1 :]:
        if line.strip():
            return _ROW.match(line) is not None
    return False
