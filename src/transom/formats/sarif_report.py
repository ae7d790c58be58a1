"""Writer of SARIF 2.1.0 for code hosts and editors: results with rule, place and suppression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from transom.canonical import digest, pretty_json

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
State = Literal["new", "unchanged"]
_NO_ID = re.compile(r"\s+")


@dataclass(frozen=True)
class SarifRule:
    """The rule of results: an id without blanks, and one sentence."""

    id: str
    text: str


@dataclass(frozen=True)
class SarifResult:
    """One result.

    Attributes:
        rule: the id of its rule.
        message: the finding.
        kind: `pass`, `fail`, `open` (undecided) or `review` (a person must decide).
        file, line, snippet: its place, as far as known; the file relative to the analysed root.
        suppressed: the reason why a person accepts it; None if it is not accepted.
        state: compared with an earlier result; None if there is none.
    """

    rule: str
    message: str
    kind: Literal["pass", "fail", "open", "review"] = "fail"
    file: str | None = None
    line: int | None = None
    snippet: str = ""
    suppressed: str | None = None
    state: State | None = None


def sarif_report(
    version: str,
    rules: Sequence[SarifRule],
    results: Iterable[SarifResult],
    errors: Sequence[str] = (),
) -> bytes:
    """Return one log with one run of Transom.

    Args:
        version: Transom's version.
        rules: rules with unique ids.
        results: results of these rules.
        errors: reasons why something could not be analysed; with any, the run counts as not
            successful.
    """
    places = {rule.id: number for number, rule in enumerate(rules)}
    described = [
        {"id": _NO_ID.sub("-", rule.id), "shortDescription": {"text": rule.text or rule.id}}
        for rule in rules
    ]
    notes = [{"level": "error", "message": {"text": text}} for text in errors]
    invocation: dict[str, Any] = {"executionSuccessful": not errors}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    run = {
        "tool": {"driver": {"name": "Transom", "version": version, "rules": described}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(result, places) for result in results],
    }
    return pretty_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}).encode(
        "utf-8", "backslashreplace"
    )


def _result(row: SarifResult, places: dict[str, int]) -> dict[str, Any]:
    # Line numbers change; rule, file and text identify a result.
    stable = digest([row.rule, row.file or "", row.message, row.snippet])
    document: dict[str, Any] = {
        "ruleId": _NO_ID.sub("-", row.rule),
        "ruleIndex": places[row.rule],
        "kind": row.kind,
        # The standard requires the level `none` for every kind but `fail`.
        "level": "error" if row.kind == "fail" else "none",
        "message": {"text": row.message or row.rule},
        "partialFingerprints": {"transom/v1": stable},
    }
    if row.file:
        place: dict[str, Any] = {
            "artifactLocation": {"uri": quote(row.file.replace("\\", "/"), safe="/")}
        }
        if row.line:
            snippet = {"snippet": {"text": row.snippet}} if row.snippet else {}
            place["region"] = {"startLine": row.line, **snippet}
        document["locations"] = [{"physicalLocation": place}]
    if row.state:
        document["baselineState"] = row.state
    if row.suppressed is not None:
        document["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": row.suppressed}
        ]
    return document
