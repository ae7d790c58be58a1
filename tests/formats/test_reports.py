"""Reports in outside formats, read back by what reads them elsewhere."""

from __future__ import annotations

import csv
import gzip
import io
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from junitparser import Error, Failure, JUnitXml, Skipped

from transom.formats.csv_report import csv_report
from transom.formats.html_report import SourceLine, context_lines, html_report
from transom.formats.junit_report import ReportedCase, junit_report
from transom.formats.report_page import Page, PageEntry, Section, VerdictPart, text_of
from transom.formats.sarif_report import SarifResult, SarifRule, sarif_report

HOSTILE = "</pre><script>fetch('http://x.example')</script> & ]]> \x00\x1b[31m\ud800 \u2028 ünï"


def test_junit_says_how_each_case_ended() -> None:
    cases = [
        ReportedCase("a", "suite.x", seconds=1.5, output=HOSTILE),
        ReportedCase("b", "suite.x", "failed", "two are missing", "line 1\nline 2"),
        ReportedCase("c", "suite.y", "error", HOSTILE),
        ReportedCase("d", "suite.y", "skipped", "waived"),
    ]
    read = JUnitXml.fromstring(junit_report("nightly", cases, {"model": "rules"}))
    (suite,) = list(read)
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == (
        "nightly",
        4,
        1,
        1,
        1,
    )
    properties = suite.properties()  # type: ignore[no-untyped-call]  # junitparser is typed in part
    assert [(one.name, one.value) for one in properties] == [("model", "rules")]
    ended = [type(case.result[0]) if case.result else None for case in suite]
    assert ended == [None, Failure, Error, Skipped]
    first, second, *_ = suite
    assert (first.classname, first.time, second.result[0].text) == (
        "suite.x",
        1.5,
        "line 1\nline 2",
    )
    assert "<script>" in first.system_out and "\ufffd" in first.system_out


def test_csv_holds_texts_as_they_are_and_runs_none() -> None:
    rows: list[list[object]] = [
        ["a,b", 'say "x"\nnext', None, -0.5],
        ["=1+2", "+1", "-1e3", "@now"],
        ["-x", "5%", "", True],
    ]
    data = csv_report(["one", "two", "three", "four"], rows)
    assert data.startswith(b"\xef\xbb\xbf")
    read = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert read == [
        ["one", "two", "three", "four"],
        ["a,b", 'say "x"\nnext', "", "-0.5"],
        ["'=1+2", "+1", "-1e3", "'@now"],
        ["'-x", "5%", "", "True"],
    ]


_TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
_URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~/%+-]+$"}
_PLACE = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": _URI},
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "additionalProperties": False,
                    "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "snippet": _TEXT,
                    },
                },
            },
        }
    },
}
_SUPPRESSION = {
    "type": "object",
    "required": ["kind"],
    "additionalProperties": False,
    "properties": {
        "kind": {"enum": ["inSource", "external"]},
        "status": {"enum": ["accepted", "underReview", "rejected"]},
        "justification": {"type": "string"},
    },
}
_RESULT = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _TEXT,
        "locations": {"type": "array", "items": _PLACE},
        "suppressions": {"type": "array", "items": _SUPPRESSION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    # The standard: a kind other than `fail` has the level `none`.
    "if": {"properties": {"kind": {"not": {"const": "fail"}}}},
    "then": {"properties": {"level": {"const": "none"}}},
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {"shortDescription": _TEXT},
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {"message": _TEXT},
                                    },
                                }
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": _RESULT},
                },
            },
        },
    },
}
"""What the standard's own schema asks of the parts that are written here."""


def test_sarif_follows_its_schema_and_names_place_rule_and_suppression() -> None:
    rules = [SarifRule("STA 01", "No endpoint is violated."), SarifRule("VER-01", "")]
    results = [
        SarifResult("STA 01", "slack -0.2", file="a b/ü.rpt", line=7, snippet=HOSTILE),
        SarifResult("STA 01", "slack -0.1", suppressed="next ECO"),
        SarifResult("VER-01", "", kind="pass", file="top.v"),
    ]
    data = sarif_report("0.1.0", rules, results, errors=["cannot read x"])
    log = json.loads(data)
    Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["STA-01", "VER-01"]
    first, second, third = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("STA-01", 0, "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%C3%BC.rpt"
    assert place["region"]["startLine"] == 7
    assert second["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "next ECO"}
    ]
    assert "region" not in third["locations"][0]["physicalLocation"]
    assert run["invocations"][0]["executionSuccessful"] is False
    moved = json.loads(
        sarif_report(
            "0.1.0",
            rules,
            [SarifResult("STA 01", "slack -0.2", file="a b/ü.rpt", line=9, snippet=HOSTILE)],
        )
    )
    assert moved["runs"][0]["results"][0]["partialFingerprints"] == first["partialFingerprints"]


class Reader(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page() -> Page:
    entry = PageEntry(HOSTILE, "fail", HOSTILE, 7, HOSTILE, ((HOSTILE, HOSTILE),), HOSTILE)
    sections = (Section("Missing", (entry,), (HOSTILE,)), Section("Rest", closed=True))
    part = VerdictPart(HOSTILE, "FAIL", "fail", HOSTILE, sections, (HOSTILE,))
    return Page("Checks", (part, VerdictPart("B", "PASS", "pass")), HOSTILE)


def test_html_escapes_every_text_and_names_nothing_outside() -> None:
    text = html_report(page()).decode("utf-8")
    read = Reader(text)
    assert not {tag for tag, _ in read.tags} & {"script", "img", "link", "iframe", "object", "form"}
    links = [
        value
        for _, attributes in read.tags
        for name, value in attributes.items()
        if name in ("href", "src")
    ]
    assert links == ["#part-1", "#part-2"]
    assert "url(" not in text.partition("</style>")[0] and "@import" not in text
    assert sum("<script>fetch" in one for one in read.texts) == 13
    assert ("span", {"class": "line marked"}) in read.tags
    assert text.index("FAIL") < text.index("Missing (1)")


def test_a_text_is_cut_and_nothing_in_it_steers_a_terminal() -> None:
    found = tuple(
        PageEntry(f"{HOSTILE} {number}", "fail", "a.log", number, note="n" * 400)
        for number in range(25)
    )
    part = VerdictPart(
        "B",
        "FAIL",
        "fail",
        "25 missing",
        (Section("", (PageEntry("no file", "error"),)), Section("Missing", found)),
    )
    lines = text_of(part).splitlines()
    assert lines[:4] == ["FAIL  B  25 missing", "  error: no file", "", "Missing (25)"]
    assert lines[-1] == "  … and 5 more (--format json lists all)"
    assert lines[4].startswith("  a.log:0: </pre>") and len(lines[5]) == 306
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("packed", [False, True])
def test_evidence_is_shown_between_its_neighbours(tmp_path: Path, packed: bool) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 21)) + "z" * 1000
    path = tmp_path / "log"
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if packed else data)
    found = context_lines(path, [1, 10, 11, 21, 30])
    assert found[1] == (
        SourceLine(1, "line 1", marked=True),
        SourceLine(2, "line 2"),
        SourceLine(3, "line 3"),
    )
    assert [(one.number, one.marked) for one in found[10]] == [
        (8, False),
        (9, False),
        (10, True),
        (11, False),
        (12, False),
    ]
    assert len(found[21][-1].text) == 401
    assert 30 not in found
    path.write_bytes(b"caf\xe9\nx\n")
    assert context_lines(path, [1])[1][0].text == "café"
    assert context_lines(tmp_path / "gone", [1]) == {}
