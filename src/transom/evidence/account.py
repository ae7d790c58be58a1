"""Account for each file, each line and each word of a question: used, or not used and why.

    account = Account(
        files=(FileUse("drc.rpt", "a DRC summary"), unread_file("extra.rpt", "no format fits it")),
        lines=(LineUse("Layer map not checked", "drc.rpt", 14, "no rule explains 'not checked'"),),
        words=words_of_question("DRC is clean in the slow corner", ["DRC", "clean"]),
    )
    account.caps()              # one cap for each unused part that could matter
    account.unread_files()      # if any is left, nothing may be called absent

Entries that are used say by what; entries that are not say why not, and whether they could matter.
What could matter caps a positive verdict. Lines that a rule read or explains are only counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from transom.evidence.caps import Cap

# Suffixes of files whose content is no report. Anything that is not recognised could matter.
_SOURCE_CODE = (
    "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs rb php c cc cpp cxx h hh hpp hxx cs swift"
    " m mm pl pm tcl lua r jl sh bash zsh fish ps1 bat cmd v vh sv svh vhd vhdl css scss less vue"
    " svelte gradle proto sql"
)
_PICTURES_AND_SOUNDS = (
    "png jpg jpeg gif bmp ico webp tif tiff ttf otf woff woff2 eot mp3 mp4 wav webm mov"
)
_BUILD_OUTPUTS = "o obj a so dll dylib exe class pyc pyo jar war whl egg wasm lo la gch pdb"
_NO_REPORTS = frozenset(
    [*_SOURCE_CODE.split(), *_PICTURES_AND_SOUNDS.split(), *_BUILD_OUTPUTS.split(), "lock"]
)
_LOCK_FILES = (
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum .gitignore .gitattributes .gitkeep"
    " .editorconfig .ds_store thumbs.db makefile dockerfile"
)
_NO_REPORT_NAMES = frozenset(_LOCK_FILES.split())
# Words that only hold a sentence together. Words of denial, extent and time always count.
_OPENING = "confirm verify check ensure make sure please that whether if and so then also"
_JOINING = (
    "a an the is are was were be been being am this these those it its there here of to in on at by"
    " for with from as into we i you they our your their do does did has have had can could should"
    " shall must will would may might"
)
_OPENING_WORDS = frozenset(_OPENING.split())
_GRAMMAR = frozenset([*_OPENING.split(), *_JOINING.split()])
_WORD = re.compile(r"[^\W_](?:[\w.%/+#-]*[\w%+#])?|[<>=≤≥]+", re.UNICODE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”|`[^`]*`")
# A token with a slash; a long run of other signs is scanned only once.
_PATH = re.compile(r"(?<![\w.~/*-])[\w.~*-]{0,80}/[\w.~/*-]*[\w*]")
_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]+|\d+(?:[.,:]\d+)*)")
_PLACEHOLDER = "#"


@dataclass(frozen=True)
class FileUse:
    """The use of one input file.

    Attributes:
        path: the path as the verdict shows it.
        reason: what it was taken for, or why it was not used.
        is_used: whether the verdict rests on it, among others.
        could_matter: whether a file that is not used could hold something about the matter.
    """

    path: str
    reason: str
    is_used: bool = True
    could_matter: bool = False


@dataclass(frozen=True)
class LineUse:
    """A line, or several of one shape, that no rule reads or explains.

    Attributes:
        text: the line; of several the first.
        reason: why it is not used: the word of trouble, or the place where each line must be known.
        could_matter: whether it caps a verdict.
        count: how many lines have this shape.
    """

    text: str
    source_file: str
    line_number: int
    reason: str
    could_matter: bool = True
    count: int = 1


@dataclass(frozen=True)
class WordUse:
    """A word of the question, or several in a row.

    Attributes:
        text: the words as the question has them.
        reason: what uses them, or why nothing does.
    """

    text: str
    reason: str
    is_used: bool = True
    could_matter: bool = False


@dataclass(frozen=True)
class Account:
    """What a verdict used and did not use.

    Attributes:
        used_lines: how many lines a rule read or explains.
    """

    files: tuple[FileUse, ...] = ()
    lines: tuple[LineUse, ...] = ()
    words: tuple[WordUse, ...] = ()
    used_lines: int = 0

    def with_account(self, other: Account) -> Account:
        """Return the account of both, such as that of two files."""
        return Account(
            self.files + other.files,
            self.lines + other.lines,
            self.words + other.words,
            self.used_lines + other.used_lines,
        )

    def unread_files(self) -> tuple[FileUse, ...]:
        """Return the files that nobody read and that could hold anything.

        As long as there is one, a verdict must not say that something is absent.
        """
        return tuple(use for use in self.files if not use.is_used and use.could_matter)

    def words_left_out(self) -> tuple[str, ...]:
        """Return the words of the question that nothing used and that could matter."""
        return tuple(use.text for use in self.words if not use.is_used and use.could_matter)

    def caps(self) -> tuple[Cap, ...]:
        """Return a cap for each unused part that could matter: words, then files, then lines."""
        # Words come first, since an answer to them often explains a file or a line as well.
        caps = list[Cap]()
        for text in self.words_left_out():
            caps.append(Cap("words", f'not checked: "{text}"'))
        for use in self.unread_files():
            caps.append(Cap("files", f"{use.path} was not read: {use.reason}", use.path))
        for line in lines_by_shape(self.lines):
            if line.could_matter:
                caps.append(_cap_of_line(line))
        return tuple(caps)

    def to_json(self) -> dict[str, object]:
        """Return the `account` of a verdict's document."""
        files = [
            {"path": use.path, "used": use.is_used, "reason": use.reason} for use in self.files
        ]
        words = [
            {"text": use.text, "used": use.is_used, "reason": use.reason} for use in self.words
        ]
        lines = list[dict[str, object]]()
        for line in lines_by_shape(self.lines):
            lines.append(
                {
                    "text": line.text,
                    "source_file": line.source_file,
                    "line_number": line.line_number,
                    "reason": line.reason,
                    "count": line.count,
                }
            )
        return {"files": files, "lines": lines, "words": words, "used_lines": self.used_lines}


def _cap_of_line(line: LineUse) -> Cap:
    """Return the cap of unexplained lines of one shape."""
    # The count changes from day to day, and an acceptance repeats the text.
    text = f"{line.text.strip()}: {line.reason}"
    return Cap("trouble", text, line.source_file, line.line_number)


def unread_file(path: str, reason: str) -> FileUse:
    """Return the use of a file that nobody read; whether it could matter follows from its name."""
    return FileUse(path, reason, is_used=False, could_matter=file_could_matter(path))


def file_could_matter(path: str) -> bool:
    """Return whether an unread file could hold a report, by its name alone.

    Source code, images, fonts, lock files and outputs of a build could not; all else could.
    """
    name = PurePosixPath(path).name.casefold()
    if name in _NO_REPORT_NAMES:
        return False
    # A name such as ".c" has no stem, and says nothing of its content.
    stem, point, suffix = name.rpartition(".")
    return not (stem and point and suffix in _NO_REPORTS)


def shape_of(line: str) -> str:
    """Return the shape of a line: without its numbers, quoted texts and paths.

    Lines of one shape are one question: `u12 has 3 loads`, `u7 has 14 loads`.
    """
    shape = _QUOTED.sub(_PLACEHOLDER, line)
    shape = _PATH.sub(_PLACEHOLDER, shape)
    return " ".join(_NUMBER.sub(_PLACEHOLDER, shape).split())


def lines_by_shape(lines: Iterable[LineUse]) -> tuple[LineUse, ...]:
    """Return the first line of each shape in each file, with the count of its shape."""
    first = dict[tuple[str, str, bool], LineUse]()
    counts = dict[tuple[str, str, bool], int]()
    for line in lines:
        key = (line.source_file, shape_of(line.text), line.could_matter)
        first.setdefault(key, line)
        counts[key] = counts.get(key, 0) + line.count
    grouped = list[LineUse]()
    for key, line in first.items():
        grouped.append(
            LineUse(
                line.text,
                line.source_file,
                line.line_number,
                line.reason,
                line.could_matter,
                counts[key],
            )
        )
    return tuple(grouped)


def words_of_question(
    question: str, used: Collection[str], used_by: str = "the claim", ignored: Collection[str] = ()
) -> tuple[WordUse, ...]:
    """Account for each word of a question.

    Args:
        question: the sentence of the question.
        used: words and phrases of the question that the answer rests on.
        used_by: what uses them.
        ignored: words that say nothing in this caller's questions, beside words of grammar.

    Returns:
        The words in order. Words that nothing used stand together as long as nothing parts them:
        "in the slow corner" is one entry.
    """
    is_used = _used_places(question, used)
    harmless = _GRAMMAR | {word.casefold() for word in ignored}
    uses = list[WordUse]()
    pending = list[re.Match[str]]()
    for match in _WORD.finditer(question):
        if is_used[match.start()]:
            uses += _left_out(question, pending, harmless)
            pending = []
            uses.append(WordUse(match[0], used_by))
        elif pending and _is_separated(question[pending[-1].end() : match.start()]):
            uses += _left_out(question, pending, harmless)
            pending = [match]
        else:
            pending.append(match)
    return (*uses, *_left_out(question, pending, harmless))


def _used_places(question: str, used: Collection[str]) -> list[bool]:
    """Return for each character of a question whether a used phrase covers it."""
    places = [False] * (len(question) + 1)
    for phrase in used:
        if not phrase.strip():
            continue
        pattern = r"\s+".join(re.escape(word) for word in phrase.split())
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", question, re.IGNORECASE):
            for place in range(match.start(), match.end()):
                places[place] = True
    return places


def _is_separated(gap: str) -> bool:
    """Return whether the text between two words has a mark that separates them."""
    return any(mark in ",;:.!?" for mark in gap)


def _left_out(
    question: str, words: list[re.Match[str]], harmless: Collection[str]
) -> list[WordUse]:
    """Return the entry of words in a row that nothing used; words of grammar alone do no harm."""
    if not words:
        return []
    text = question[words[0].start() : words[-1].end()]
    if all(word[0].casefold() in harmless for word in words):
        return [WordUse(text, "words of grammar", is_used=False)]
    # "Confirm that" says nothing, but "in the" belongs to "slow corner".
    first = 0
    while words[first][0].casefold() in _OPENING_WORDS:
        first += 1
    last = len(words) - 1
    while words[last][0].casefold() in harmless:
        last -= 1
    text = question[words[first].start() : words[last].end()]
    return [WordUse(text, "nothing uses these words", is_used=False, could_matter=True)]
