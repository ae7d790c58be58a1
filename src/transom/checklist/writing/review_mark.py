"""The comment at the head of an ItemSpec that has findings."""

from __future__ import annotations

from typing import Final

REVIEW_MARK: Final = "NEEDS REVIEW"


def clean(text: str) -> str:
    """Return the text without the comment of `needs_review`, or unchanged without one."""
    if not is_marked(text):
        return text
    return text.partition("-->")[2].lstrip("\r\n")


def is_marked(text: str) -> bool:
    """Return whether the text opens with the comment that `needs_review` writes."""
    head = text.lstrip("\ufeff \r\n")
    return head.startswith("<!--") and head[4:].lstrip().startswith(REVIEW_MARK)
