"""Text of HTML pages, Word documents and PDFs as Markdown, and of gzip files as they were packed.

Everything downstream reads one form: headings begin with `#`, rows of tables with `|`. What a
converter cannot see, such as a scanned page or a change that nobody accepted, is an error: a
partial look proves nothing.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final

from transom.errors import InputError, install_hint
from transom.formats.text_decoding import decode_text
from transom.formats.text_files import unpacked_bytes

MOST_BYTES: Final = 64 << 20
OFFICE_SUFFIXES: Final = (".html", ".htm", ".docx", ".pdf")
"""Suffixes of files whose text is converted to Markdown."""
_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"
_WORD_PART = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEAD = 1000  # characters in which a page begins
_LONGEST_TITLE = 80
_HIDDEN_TAGS = ("title", "script", "style", "template", "noscript")
_STRUCK_TAGS = ("del", "s", "strike")
_BLOCK_TAGS = ("p", "div", "section", "article", "header", "footer", "ul", "ol", "table", "br",
               "blockquote", "pre", "dl", "dd", "dt", "form", "fieldset", "main")  # fmt: skip


def text_bytes(data: bytes, location: str) -> bytes:
    """Return the bytes of a file as text: unpacked, and as Markdown if it is HTML, DOCX or PDF.

    Other files are returned as they are.

    Raises:
        InputError: the file is damaged, is encrypted, or holds what no converter can see.
    """
    data = unpacked_bytes(data, MOST_BYTES, location)
    if data.startswith(_PDF):
        return _pdf_text(data, location).encode()
    if data.startswith(_ZIP):
        return _word_text(data, location).encode()
    head = data[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return _html_text(decode_text(data)).encode()
    return data


# HTML


class _PageReader(HTMLParser):
    """Collects the visible text of a page as lines of Markdown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines = list[str]()
        self._text = ""
        self._prefix = ""
        self._hidden = 0
        self._row: list[str] | None = None
        self._rows = list[list[str]]()
        self._has_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in (*_HIDDEN_TAGS, *_STRUCK_TAGS):
            self._hidden += 1
        elif tag == "input" and ("type", "checkbox") in attrs:
            self._text += "☒ " if any(name == "checked" for name, _ in attrs) else "☐ "
        elif tag == "tr":
            self._row = []
        elif tag in ("td", "th"):
            self._text = ""
            # The first row is a head if all of its cells are; `<th>Decision</th><td>Approved</td>`
            # is a label with its value.
            if not self._rows:
                self._has_head = tag == "th" and (self._has_head or not self._row)
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._end_line()
            self._prefix = "#" * int(tag[1]) + " "
        elif tag == "li":
            self._end_line()
            self._prefix = "- "
        elif tag in _BLOCK_TAGS:
            self._end_block(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in (*_HIDDEN_TAGS, *_STRUCK_TAGS):
            self._hidden = max(0, self._hidden - 1)
        elif tag in ("td", "th"):
            if self._row is not None:
                self._row.append(_one_line(self._text))
            self._text = ""
        elif tag == "tr":
            if self._row:
                self._rows.append(self._row)
            self._row = None
        elif tag == "table":
            self.lines += markdown_table(self._rows, has_head=self._has_head)
            self._rows, self._has_head = [], False
        elif tag in _BLOCK_TAGS or tag == "li" or (len(tag) == 2 and tag[0] == "h"):
            self._end_block(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text += data

    def _end_block(self, tag: str) -> None:
        # A paragraph in a cell is a part of the cell.
        if self._row is None:
            self._end_line(blank=tag != "br")
        else:
            self._text += " "

    def _end_line(self, *, blank: bool = True) -> None:
        line = _one_line(self._text)
        if line:
            self.lines.append(f"{self._prefix}{line}")
            if blank:
                self.lines.append("")
        self._text = self._prefix = ""

    def close(self) -> None:
        super().close()
        self._end_line()
        self.lines += markdown_table(self._rows, has_head=self._has_head)


def _html_text(page: str) -> str:
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    return "\n".join(reader.lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def markdown_table(rows: list[list[str]], *, has_head: bool) -> list[str]:
    """Return the lines of a table in Markdown; a table without a head gets an empty one."""
    if not rows:
        return []
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] for row in rows]
    if not has_head:
        filled = [[""] * width, *filled]
    lines = list[str]()
    for row in filled:
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return ["", lines[0], f"|{'---|' * width}", *lines[1:], ""]


# Word


def _word_text(data: bytes, location: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            size = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile as error:
        raise InputError("is a damaged archive", place=location, hint="copy it again") from error
    if _WORD_PART not in names:
        kind = "an archive"
        if any(name.startswith("xl/") for name in names):
            kind = "a workbook; export its sheets as CSV"
        raise InputError(f"is {kind}", place=location, hint="unpack or export it")
    if size > MOST_BYTES * 4:
        raise InputError("unpacks to too much text", place=location, hint="split it")
    try:
        import docx  # noqa: PLC0415  an optional extra
    except ImportError as error:
        raise InputError(
            f"is a Word document; {install_hint('documents')} to read it",
            place=location,
            hint=install_hint("documents"),
        ) from error
    try:
        document = docx.Document(io.BytesIO(data))
    except Exception as error:  # the parser raises many kinds
        raise InputError(
            "is a damaged Word document", place=location, hint="save it again"
        ) from error
    body: Any = document.element.body
    for tag in ("ins", "del"):
        if next(body.iter(f"{_WORD}{tag}"), None) is not None:
            raise InputError(
                "has tracked changes that nobody accepted",
                place=location,
                hint="accept or reject them",
            )
    styles = {style.style_id: str(style.name) for style in document.styles}
    lines = list[str]()
    for section in document.sections:
        # A mark such as DRAFT often stands in the header alone.
        for paragraph in section.header.paragraphs:
            if paragraph.text.strip():
                lines += [paragraph.text.strip(), ""]
    lines += _word_lines(body, styles)
    return "\n".join(lines) + "\n"


def _word_lines(parent: Any, styles: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a body, also of its content controls, which the library passes over."""
    for child in parent:
        if child.tag == f"{_WORD}p":
            text = _word_paragraph(child)
            if text:
                yield f"{_word_prefix(child, styles)}{text}"
                yield ""
        elif child.tag == f"{_WORD}tbl":
            rows = list[list[str]]()
            for row in child.iter(f"{_WORD}tr"):
                rows.append([_word_cell(cell) for cell in row.iter(f"{_WORD}tc")])
            is_form = len(rows[0]) == 2 if rows else False
            yield from markdown_table(rows, has_head=not is_form)
        elif child.tag in (f"{_WORD}sdt", f"{_WORD}sdtContent"):
            yield from _word_lines(child, styles)


def _word_cell(cell: Any) -> str:
    texts = [_word_paragraph(paragraph) for paragraph in cell.iter(f"{_WORD}p")]
    return " ".join(text for text in texts if text)


def _word_paragraph(paragraph: Any) -> str:
    """Return the text of a paragraph without what is struck out."""
    pieces = list[str]()
    for run in paragraph.iter(f"{_WORD}r"):
        strike = run.find(f"{_WORD}rPr/{_WORD}strike")
        if strike is not None and strike.get(f"{_WORD}val") not in ("0", "false"):
            continue
        for piece in run:
            if piece.tag == f"{_WORD}t":
                pieces.append(piece.text or "")
            elif piece.tag in (f"{_WORD}tab", f"{_WORD}br"):
                pieces.append(" ")
    return _one_line("".join(pieces))


def _word_prefix(paragraph: Any, styles: dict[str, str]) -> str:
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    style_id = style.get(f"{_WORD}val") if style is not None else ""
    name = styles.get(style_id, style_id or "").casefold()
    if name == "title":
        return "# "
    if name.startswith("heading") and name[-1:].isdigit():
        return "#" * min(6, int(name[-1])) + " "
    if name.startswith("list") or paragraph.find(f"{_WORD}pPr/{_WORD}numPr") is not None:
        return "- "
    return ""


# PDF


def _pdf_text(data: bytes, location: str) -> str:
    try:
        import pypdf  # noqa: PLC0415  an optional extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            f"is a PDF; {install_hint('documents')} to read it",
            place=location,
            hint=install_hint("documents"),
        ) from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("is encrypted", place=location, hint="save it without a password")
        pages = [page.extract_text() or "" for page in reader.pages]
    except (PyPdfError, ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise InputError("is a damaged PDF", place=location, hint="save it again") from error
    for number, page in enumerate(pages, 1):
        if not page.strip():
            raise InputError(
                f"has no text on page {number} of {len(pages)}, only a picture or nothing",
                place=location,
                hint="save it with its text",
            )
    lines = "\n".join(pages).split("\n")
    title = next((line.strip() for line in lines if line.strip()), "")
    if title and len(title) <= _LONGEST_TITLE and ":" not in title:
        lines[lines.index(next(line for line in lines if line.strip()))] = f"# {title}\n"
    # A PDF has lines and no paragraphs: each line may be a label with its value.
    return "\n".join(lines) + "\n"
