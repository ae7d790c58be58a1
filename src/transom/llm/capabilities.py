"""Capabilities of a provider, so that no request exceeds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from transom.canonical import Json

Caching = Literal["none", "automatic", "breakpoints"]

UNBOUNDED = 10**9
"""The window of a provider that has none: rules and recordings read whatever they are given."""
# Flags that say something about a provider, and name no ability of it.
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
        images: it reads images; else a request with one is refused before it is sent.
        files: it reads PDF files; else a request with one is refused before it is sent.
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
    images: bool = False
    files: bool = False
    structured_output: bool = False
    structured_with_tools: bool = True
    sampling: bool = False
    caching: Caching = "none"
    tells_cost: bool = False
    bytes_per_token: float = 3.0

    def to_json(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def text(self) -> str:
        """Return the capabilities as one line for people."""
        window = f"window {self.context_tokens} tokens"
        if not self.context_known:
            window += " (a guess)"
        present, absent = [], []
        for name in _FLAGS:
            if name in _NO_ABILITY:
                continue
            ability = name.replace("_", " ")
            if getattr(self, name):
                present.append(ability)
            else:
                absent.append(f"no {ability}")
        return f"{window}; {', '.join(present + absent)}; cache {self.caching}"


_FLAGS = tuple([field.name for field in fields(Capabilities) if field.type == "bool"])


def common(providers: Iterable[Capabilities]) -> Capabilities:
    """Return the capabilities that several providers share."""
    all_caps = list(providers)
    # Most chains have one provider, and this is called for every turn.
    if len(all_caps) == 1:
        return all_caps[0]
    caching = all_caps[0].caching
    if any(caps.caching != caching for caps in all_caps):
        caching = "none"
    flags = {}
    for name in _FLAGS:
        flags[name] = all(getattr(caps, name) for caps in all_caps)
    context_tokens = min(caps.context_tokens for caps in all_caps)
    return Capabilities(context_tokens=context_tokens, caching=caching, **flags)
