"""Text of HTML, Word, PDF and gzip files, and the forms in it."""

from __future__ import annotations

import gzip
import sys

import pytest

from tests.investigator.written import pdf_file, word_file
from transom.errors import InputError
from transom.formats.data_text import data_suffix, parse_data
from transom.formats.office_text import text_bytes
from transom.formats.written_forms import parse_form


def test_a_page_without_scripts_styles_and_struck_text() -> None:
    page = b"<html><style>p{}</style><h2>Result</h2><p>Fine <del>bad</del></p><script>x</script>"
    assert text_bytes(page, "a.html").decode().split() == ["##", "Result", "Fine"]


def test_a_word_file_keeps_what_stands_in_content_controls() -> None:
    pytest.importorskip("docx")
    control = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>Decision: no</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    struck = (
        "<w:p><w:r><w:rPr><w:strike/></w:rPr><w:t>old</w:t></w:r><w:r><w:t>new</w:t></w:r></w:p>"
    )
    text = text_bytes(word_file(control + struck), "a.docx").decode()
    assert text.split() == ["Decision:", "no", "new"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pdf_file([["text"], []]), "page 2 of 2"),
        (b"%PDF-1.7\n\x00", "damaged PDF"),
        (word_file("<w:p><w:ins><w:r><w:t>x</w:t></w:r></w:ins></w:p>"), "tracked changes"),
        (b"PK\x03\x04\x00", "damaged archive"),
        (gzip.compress(b"text" * 99)[:-9], "cut short"),
    ],
    # Archives hold the time at which they were made, and a name must be the same in each process.
    ids=["an empty page", "no page", "tracked changes", "no archive", "a part of an archive"],
)
def test_what_cannot_be_seen_is_an_error(data: bytes, problem: str) -> None:
    pytest.importorskip("docx")
    pytest.importorskip("pypdf")
    with pytest.raises(InputError, match=problem):
        text_bytes(data, "report")


@pytest.mark.parametrize(
    ("module", "data"), [("pypdf", pdf_file([["a"]])), ("docx", word_file(""))]
)
def test_a_missing_library_says_what_to_install(
    module: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match="documents"):
        text_bytes(data, "report")


def test_labels_tables_boxes_and_prose_of_a_form() -> None:
    form = parse_form(
        "---\nreviewer: Ada\n---\n# Review\n\n**Decision** Approved\n\n## Findings\n\n"
        "| Severity | Open |\n|---|---|\n| High | 0 |\n\n## Checks\n\n- [x] Threats\n- [ ] Keys\n\n"
        "Nothing else was seen.\n\n## Outcome\n\n~~Rejected~~ Fine.\n",
        "review.md",
    )
    assert form == {
        "reviewer": "Ada",
        "title": "Review",
        "Decision": "Approved",
        "Findings": {"Open": {"High": "0"}},
        "Checks": {
            "items": [
                {"item": "Threats", "completed": True},
                {"item": "Keys", "completed": False},
            ],
            "text": ["Nothing else was seen."],
        },
        "Outcome": "Fine",
    }


def test_a_label_that_comes_twice_keeps_both_values() -> None:
    assert parse_form("Decision: yes\nDecision: no\n", "a.md") == {"Decision": ["yes", "no"]}


def test_the_suffix_of_a_packed_file_is_that_of_its_content() -> None:
    assert data_suffix("a/Report.XML.gz") == ".xml"
    assert parse_data("a: 1\n", "x.yaml.gz") == {"a": 1}
