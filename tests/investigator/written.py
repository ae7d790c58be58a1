"""One review in the forms that people write: data, Markdown, HTML, Word and PDF."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Fields = Mapping[str, Any]
Rows = Sequence[Sequence[str]]
Form = Callable[[str, Fields, Rows], str | bytes]
"""Writes a title, labels with their values, and a table whose first row is its head."""

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def as_json(title: str, fields: Fields, rows: Rows) -> str:
    return json.dumps({"title": title, **fields, **_table(rows)})


def as_yaml(title: str, fields: Fields, rows: Rows) -> str:
    # JSON values are YAML values.
    members = {"title": title, **fields, **_table(rows)}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in members.items())


def _table(rows: Rows) -> dict[str, Any]:
    if not rows:
        return {}
    return {"results": [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]}


def as_list(title: str, fields: Fields, rows: Rows) -> str:
    lines = [f"- **{key}:** {value}" for key, value in fields.items()]
    return "\n".join([f"# {title}", "", *lines, "", *_pipes(rows), ""])


def as_lines(title: str, fields: Fields, rows: Rows) -> str:
    lines = [f"{key}: {value}  " for key, value in fields.items()]
    return "\n".join([title, "=" * len(title), "", *lines, "", *_pipes(rows), ""])


def as_sections(title: str, fields: Fields, rows: Rows) -> str:
    lines = [line for key, value in fields.items() for line in (f"## {key}", "", str(value), "")]
    table = ["## Results", "", *_pipes(rows)] if rows else []
    return "\n".join([f"# {title}", "", *lines, *table, ""])


def as_two_columns(title: str, fields: Fields, rows: Rows) -> str:
    pairs = [("Field", "Value"), *fields.items()]
    return "\n".join([f"# {title}", "", *_pipes(pairs), "", *_pipes(rows), ""])


def as_front_matter(title: str, fields: Fields, rows: Rows) -> str:
    lines = [f"{key}: {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", f"# {title}", "", *_pipes(rows), ""])


def _pipes(rows: Sequence[Sequence[Any]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]


def as_html(title: str, fields: Fields, rows: Rows) -> str:
    lines = [f"<p><b>{key}</b>: {value}</p>" for key, value in fields.items()]
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows[1:]]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0]) if rows else ""
    table = f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
    style = "<style>b{color:red}</style>"
    return f"<!DOCTYPE html><html><head><title>x</title>{style}</head><body><h1>{title}</h1>{''.join(lines)}{table if rows else ''}</body></html>"


def as_word(title: str, fields: Fields, rows: Rows) -> bytes:
    heading = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{_run(title)}</w:p>'
    lines = [f"<w:p>{_run(f'{key}: {value}')}</w:p>" for key, value in fields.items()]
    return word_file(heading + "".join(lines) + _word_table(rows))


def as_word_table(title: str, fields: Fields, rows: Rows) -> bytes:
    return word_file(f"<w:p>{_run(title)}</w:p>{_word_table([*fields.items()])}{_word_table(rows)}")


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def _word_table(rows: Sequence[Sequence[Any]]) -> str:
    lines = ["".join(f"<w:tc><w:p>{_run(str(cell))}</w:p></w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in lines)}</w:tbl>" if rows else ""


def word_file(body: str) -> bytes:
    """Return a Word document with this body, as its XML."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        override = f'<Override PartName="/word/document.xml" ContentType="{_MAIN}"/>'
        default = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types">{default}{override}</Types>',
        )
        relation = f'<Relationship Id="rId1" Type="{_OFFICE}" Target="word/document.xml"/>'
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships">{relation}</Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{_WORD}"><w:body>{body}<w:sectPr/></w:body></w:document>',
        )
    return buffer.getvalue()


def as_pdf(title: str, fields: Fields, rows: Rows) -> bytes:
    lines = [f"{key}: {value}" for key, value in fields.items()]
    return pdf_file([[title, *lines, *("   ".join(row) for row in rows)]])


def pdf_file(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with these lines on its pages."""
    numbers = [4 + 2 * number for number in range(len(pages))]
    kids = " ".join(f"{number + 1} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in zip(numbers, pages, strict=True):
        shown = " ".join(f"({_escaped(line)}) Tj T*" for line in lines)
        stream = f"BT /F1 11 Tf 50 780 Td 14 TL {shown} ET" if lines else ""
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"{page} {font} /Contents {number} 0 R >>")
    data, offsets = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    rows = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{rows}"
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + (table + trailer).encode()


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


FORMS: dict[str, tuple[Form, str]] = {
    "JSON": (as_json, "json"), "YAML": (as_yaml, "yaml"), "Markdown list": (as_list, "md"),
    "Markdown lines": (as_lines, "md"), "Markdown sections": (as_sections, "md"),
    "Markdown table": (as_two_columns, "md"), "front matter": (as_front_matter, "md"),
    "HTML": (as_html, "html"), "Word": (as_word, "docx"), "Word table": (as_word_table, "docx"),
    "PDF": (as_pdf, "pdf"),
}  # fmt: skip
