"""Capabilities of a provider, so that no request exceeds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from transom.canonical import Json

Caching = Literal["none", "automatic", "breakpoints"]

UNBOUNDED = 10**9
"""The window of a provider that has none: rules and recordings read whatever they are given."""
_NO_ABILITY = ("context_known", "tells_cost")


@dataclass(frozen=True)
class Capabilities:
    """The features of a provider and its model.

    Attributes:
        context_tokens: the window, request and reply together.
        context_known: whether the window is known; otherwise it is a guess, and no request is
            refused for it.
        tools: it calls tools; else a request that offers some is refused before it is sent.
        parallel_tools: one reply may call several; where it may not, the vendor's switch is set, or
            the prompt says so.
        streaming: its replies come in pieces.
        structured_output: its server holds an answer to a JSON Schema; answers are checked in any
            case.
        structured_with_tools: it does so beside tools, too. Otherwise a request with tools carries
            its schema in the prompt: the server would hold every reply to it, or refuse the
            request.
        sampling: it takes a temperature.
        caching: whether a prefix that was seen before costs less, and whether the request has to
            mark where it ends.
        tells_cost: its server reports the cost of each reply.
        bytes_per_token: of English, code and logs together; on the low side, so that estimates err
            upwards.
    """

    context_tokens: int = UNBOUNDED
    context_known: bool = True
    tools: bool = True
    parallel_tools: bool = True
    streaming: bool = False
    structured_output: bool = False
    structured_with_tools: bool = True
    sampling: bool = False
    caching: Caching = "none"
    tells_cost: bool = False
    bytes_per_token: float = 3.0

    def to_json(self) -> dict[str, Json]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def text(self) -> str:
        """One line, for people."""
        window = f"window {self.context_tokens} tokens" + (
            "" if self.context_known else " (a guess)"
        )
        names = [
            one.name for one in fields(self) if one.type == "bool" and one.name not in _NO_ABILITY
        ]
        flags = [(name.replace("_", " "), getattr(self, name)) for name in names]
        has = [what for what, there in flags if there]
        lacks = [f"no {what}" for what, there in flags if not there]
        return f"{window}; {', '.join([*has, *lacks])}; cache {self.caching}"


def common(several: Iterable[Capabilities]) -> Capabilities:
    """The capabilities that several providers share."""
    many = list(several)
    if len(many) == 1:  # as in most chains, for every turn
        return many[0]
    caching: Caching = many[0].caching if len({one.caching for one in many}) == 1 else "none"
    able = {
        one.name: all(getattr(each, one.name) for each in many)
        for one in fields(Capabilities)
        if one.type == "bool"
    }
    return Capabilities(
        context_tokens=min(one.context_tokens for one in many), caching=caching, **able
    )
