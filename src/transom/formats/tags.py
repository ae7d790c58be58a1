"""Parser of replies between XML-like tags, and of code fences.

A model is asked to answer as `<section1> ... </section1>`. The reply may echo the tags, mention
them, wrap everything in a fence, or stop in the middle. Text is taken only from a complete pair; a
start tag without an end tag is a truncated reply and never accepted.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from transom.errors import ReplyError
from transom.formats.markdown import Fence

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_WRAPPED = re.compile(r"(`{3,}|~{3,})(?:markdown|md)[ \t]*\n(.*)\n\1", re.DOTALL)
_LANGUAGES = {"py": "python", "python3": "python", "yml": "yaml"}


@dataclass(frozen=True)
class Tagged:
    """The text of a reply, and warnings for the journal; no warnings for a clean reply."""

    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Tag:
    start: int
    end: int
    opens: bool


@dataclass(frozen=True)
class _Pairs:
    """Complete outermost pairs in order, and the start tags without an end tag."""

    inner: tuple[str, ...]
    unended: tuple[_Tag, ...]


def read_tag(reply: str, tag: str, *, accept: Callable[[str], bool] | None = None) -> Tagged:
    """Return the text between the last complete, non-empty, outermost pair of `<tag>` and `</tag>`.

    Tags in code fences and code spans count only if there is no pair outside them (the whole reply
    is fenced). Line ends become `\\n`, surrounding blanks are dropped.

    Args:
        reply: the model's reply.
        tag: the tag's name.
        accept: whether to take a reply without any such tag as a whole.

    Raises:
        ReplyError: a tag is missing, or nothing is in between; names the tag. Without an end tag
            the reply was cut off.
    """
    text = reply.replace("\r\n", "\n").replace("\r", "\n")
    matches = _tags(text, tag)
    if not matches:
        return _untagged(text, tag, accept)
    masked = _mask_code(text)
    # Code that a reply quotes may show the tags, e.g. as a template.
    outside = [t for t in matches if masked[t.start] == "<"]
    pairs, warnings = _match(text, outside)
    # The whole reply may be a fence.
    if not pairs.inner and len(outside) < len(matches):
        pairs, warnings = _match(text, matches)
    if pairs.unended:
        raise ReplyError(
            f"the reply has <{tag}> without </{tag}>: it was cut off",
            hint=f"answer again, complete, ending with </{tag}>",
        )
    full = [inner.strip() for inner in pairs.inner if inner.strip()]
    if not full:
        problem = (
            f"nothing between <{tag}> and </{tag}>" if pairs.inner else f"</{tag}> without <{tag}>"
        )
        raise ReplyError(f"the reply has {problem}", hint=f"answer between <{tag}> and </{tag}>")
    if len(full) > 1:
        warnings = (*warnings, f"{len(full)} <{tag}> pairs; the last one counts")
    return _unwrapped(full[-1], warnings)


def read_fences(text: str, *languages: str) -> list[Fence]:
    """Return the code fences of a text in order, also nested and indented ones.

    Args:
        text: Markdown; line ends of any kind.
        languages: keep only these; `""` is a fence without a language. `yml` means `yaml`, `py`
            means `python`.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return [fence for fence in _fences(plain, 1) if not languages or fence.lang in languages]


def _untagged(text: str, tag: str, accept: Callable[[str], bool] | None) -> Tagged:
    if accept is not None and text.strip() and accept(text.strip()):
        return _unwrapped(text.strip(), (f"no <{tag}> in the reply; its text was taken whole",))
    raise ReplyError(f"the reply has no <{tag}>", hint=f"answer between <{tag}> and </{tag}>")


def _unwrapped(text: str, warnings: tuple[str, ...]) -> Tagged:
    if (match := _WRAPPED.fullmatch(text)) is not None:
        return Tagged(match[2].strip(), (*warnings, "the text was wrapped in a Markdown fence"))
    return Tagged(text, warnings)


def _tags(text: str, tag: str) -> list[_Tag]:
    name = re.escape(tag)
    pattern = re.compile(rf"<(/?){name}(?:\s[^<>]*)?>", re.IGNORECASE)
    return [_Tag(m.start(), m.end(), not m[1]) for m in pattern.finditer(text)]


def _match(text: str, tags: Sequence[_Tag]) -> tuple[_Pairs, tuple[str, ...]]:
    """Pair the tags. A start tag mentioned in prose may stay open, if a pair that begins its own
    line follows.
    """
    pairs = _pair(text, tags)
    spoken = [t for t in pairs.unended if _mentioned(text, t)]
    if not spoken:
        return pairs, ()
    # Start tags before the mention are ignored: a pair before it may be an abandoned first attempt.
    tail = _pair(
        text, [t for t in tags if t not in spoken and (t.start > spoken[-1].start or not t.opens)]
    )
    if not tail.inner or not all(
        _begins_line(text, t) for t in tags if t.opens and t not in spoken
    ):
        return pairs, ()
    return tail, ("a tag that the prose mentions was passed over",)


def _pair(text: str, tags: Sequence[_Tag]) -> _Pairs:
    stack: list[_Tag] = []
    inner: list[str] = []
    for tag in tags:
        if tag.opens:
            stack.append(tag)
        elif stack:
            start = stack.pop()
            # Only the outermost pair: a reply may nest the tag by mistake.
            if not stack:
                inner.append(text[start.end : tag.start])
    return _Pairs(tuple(inner), tuple(stack))


def _begins_line(text: str, tag: _Tag) -> bool:
    return not text[text.rfind("\n", 0, tag.start) + 1 : tag.start].strip()


def _mentioned(text: str, tag: _Tag) -> bool:
    """Whether words are on both sides of the tag on its line."""
    before = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    after = text[tag.end : (text + "\n").find("\n", tag.end)]
    return bool(re.search(r"\w", before)) and bool(re.search(r"\w", after))


def _mask_code(text: str) -> str:
    """Return the text with fences and code spans replaced by blanks of equal length."""
    rows = text.split("\n")
    blocks: list[tuple[int, int]] = []
    for token in _markdown().parse(text):
        if token.map is None:
            continue
        first, last = token.map
        if token.type in {"fence", "code_block"}:
            rows[first:last] = [" " * len(row) for row in rows[first:last]]
        elif token.type == "inline":
            blocks.append((first, last))
    for first, last in blocks:
        plain = _CODE_SPAN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), "\n".join(rows[first:last]))
        rows[first:last] = plain.split("\n")
    return "\n".join(rows)


def _markdown() -> MarkdownIt:
    # An HTML block would include a fence that follows a tag without a blank line.
    return MarkdownIt("commonmark").disable("html_block")


def _fences(text: str, first: int) -> Iterator[Fence]:
    for token in _markdown().parse(text):
        if token.map is None:
            continue
        line = first + token.map[0]
        if token.type == "fence":
            lang = (token.info.split() or [""])[0].strip("{}.").lower()
            yield Fence(_LANGUAGES.get(lang, lang), token.content, line + 1)
        elif token.type == "code_block" and re.search(
            r"^\s*(?:```|~~~)", token.content, re.MULTILINE
        ):
            yield from _fences(textwrap.dedent(token.content), line)
