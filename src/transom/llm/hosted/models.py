"""Known properties of models: windows, sampling, caching. Facts of November 2026; settings override them.

How a vendor's cache counts is in `cache_terms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from transom.llm.cache_terms import terms_of
from transom.llm.capabilities import Capabilities

_CLAUDE = Capabilities(
    context_tokens=200_000,
    streaming=True,
    structured_output=True,
    vision=True,
    caching="breakpoints",
)
_GPT = Capabilities(
    context_tokens=128_000,
    streaming=True,
    structured_output=True,
    vision=True,
    sampling=True,
    caching="automatic",
)
# Ollama's server and vLLM hold every reply to the grammar of an answer, so that no tool is called; llama.cpp's refuses
# a grammar beside tools. What else speaks like OpenAI is taken to be no better.
_COMPATIBLE = Capabilities(
    context_tokens=8_192,
    streaming=True,
    structured_output=True,
    structured_with_tools=False,
    sampling=True,
)


@dataclass(frozen=True)
class Known:
    """Known properties of the models of one name pattern.

    Attributes:
        caps: what may be asked.
        bytes_per_token: of English, code and logs together; on the low side, so that estimates err upwards.
    """

    caps: Capabilities
    bytes_per_token: float


# The first pattern that fits counts. The tokenizer of Claude makes 1.35 to 1.6 tokens of one of GPT's.
_ANTHROPIC: Mapping[str, Known] = {
    "*": Known(_CLAUDE, 1.9),
}
_OPENAI: Mapping[str, Known] = {
    "gpt-5*": Known(replace(_GPT, context_tokens=400_000, sampling=False), 2.7),
    "gpt-4.1*": Known(replace(_GPT, context_tokens=1_000_000), 2.7),
    "o[134]*": Known(replace(_GPT, context_tokens=200_000, sampling=False), 2.7),
    "*": Known(_GPT, 2.7),
}
_OPENROUTER: Mapping[str, Known] = {
    "anthropic/*": Known(replace(_CLAUDE, sampling=True, tells_cost=True), 1.9),
    "*": Known(replace(_COMPATIBLE, context_tokens=128_000, tells_cost=True), 2.0),
}
# Ollama is sent the size of the window; of other compatible servers it is unknown.
_OLLAMA: Mapping[str, Known] = {"*": Known(_COMPATIBLE, 2.0)}
_OTHERS: Mapping[str, Known] = {"*": Known(replace(_COMPATIBLE, context_known=False), 2.0)}
_TABLES = {"anthropic": _ANTHROPIC, "openai": _OPENAI, "openrouter": _OPENROUTER, "ollama": _OLLAMA}


def known_model(service: str, model: str, *, context_tokens: int | None = None, parallel_tools: bool = True) -> Known:
    """The known properties of a model.

    Args:
        service: `anthropic`, `openai`, `openrouter`; anything else is a server of which nothing is known.
        model: its name.
        context_tokens: its window from the settings, if set.
        parallel_tools: whether one reply may call several.
    """
    table = _TABLES.get(service, _OTHERS)
    name = model.removeprefix("openai/") if service == "openai" else model  # as gateways call them
    found = next(known for pattern, known in table.items() if fnmatchcase(name, pattern))
    caps = replace(found.caps, parallel_tools=parallel_tools)
    if caps.caching != "none":
        caps = replace(caps, cache_minimum=terms_of(f"{service}:{model}").least)
    if context_tokens is not None:
        caps = replace(caps, context_tokens=context_tokens, context_known=True)
    return replace(found, caps=caps)
