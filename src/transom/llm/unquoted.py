"""Errors without what is marked local: a server may quote what it was sent, and errors are told everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from transom.errors import NeedsModel, TransomError
from transom.llm.egress import EgressPolicy
from transom.llm.render import turn_text
from transom.llm.shapes import Request
from transom.llm.turns import Asked, CameBack

_RUN = 10
"""So many characters on end that both have are a quotation."""

_INSTEAD = "[local]"


def unquote(error: TransomError, request: Request, policy: EgressPolicy) -> None:
    """Take out of an error's text what it quotes of the request's local parts; its causes in Python with it.

    Args:
        error: changed in place, since it is raised already. `NeedsModel` stays: it is ours, and says which words of a
            person's own she has to put otherwise.
        request: which it came of.
        policy: what else a user keeps on this machine.
    """
    texts = [] if isinstance(error, NeedsModel) else list(_local(request, policy))
    if not texts:
        return
    runs = {text[at : at + _RUN] for text in texts for at in range(len(text) - _RUN + 1)}
    told = (error.what, error.hint)
    error.what = _without(error.what, runs)
    error.hint = _without(error.hint, runs) if error.hint else error.hint
    if told != (error.what, error.hint):
        error.args = (error.what,)
        error.__cause__, error.__suppress_context__ = None, True


def _local(request: Request, policy: EgressPolicy) -> Iterator[str]:
    window = request.window
    yield from (block.text for block in window.blocks if policy.is_local(block))
    if policy.keep_untrusted or window.egress == "local":
        yield from (turn_text(turn) for turn in window.turns)
        return
    for turn in window.turns:
        if isinstance(turn, CameBack):
            yield from (one.content for one in turn.results if one.egress == "local")
        elif isinstance(turn, Asked) and turn.egress == "local":
            yield turn.text


def _without(text: str, runs: set[str]) -> str:
    quoted = [False] * len(text)
    for at in range(len(text) - _RUN + 1):
        if text[at : at + _RUN] in runs:
            quoted[at : at + _RUN] = [True] * _RUN
    kept: list[str] = []
    for at, char in enumerate(text):
        if not quoted[at]:
            kept.append(char)
        elif not at or not quoted[at - 1]:
            kept.append(_INSTEAD)
    return "".join(kept)
