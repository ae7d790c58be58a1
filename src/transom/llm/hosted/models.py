"""Known properties of models: windows, sampling, caching. Facts of November 2026; settings
override them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from transom.llm.capabilities import Capabilities

_CLAUDE = Capabilities(
    images=True,
    files=True,
    bytes_per_token=1.9,
    context_tokens=200_000,
    streaming=True,
    structured_output=True,
    caching="breakpoints",
)
_GPT = Capabilities(
    images=True,
    files=True,
    bytes_per_token=2.7,
    context_tokens=128_000,
    streaming=True,
    structured_output=True,
    sampling=True,
    caching="automatic",
)
# Models of text alone.
_GPT_TEXT = replace(_GPT, images=False, files=False)
# Ollama's server and vLLM hold every reply to the grammar of an answer, so that no tool is called;
# llama.cpp's refuses a grammar beside tools. What else speaks like OpenAI is taken to be no better.
_COMPATIBLE = Capabilities(
    bytes_per_token=2.0,
    context_tokens=8_192,
    streaming=True,
    structured_output=True,
    structured_with_tools=False,
    sampling=True,
)


# The first pattern that fits counts. The tokenizer of Claude makes 1.35 to 1.6 tokens of one of
# GPT's.
_ANTHROPIC: Mapping[str, Capabilities] = {"*": _CLAUDE}
_OPENAI: Mapping[str, Capabilities] = {
    "gpt-5*": replace(_GPT, context_tokens=400_000, sampling=False),
    "gpt-4.1*": replace(_GPT, context_tokens=1_000_000),
    "gpt-3.5*": _GPT_TEXT,
    "gpt-4": _GPT_TEXT,
    "gpt-4-0*": _GPT_TEXT,
    "o[13]-mini*": replace(_GPT_TEXT, context_tokens=200_000, sampling=False),
    "o[134]*": replace(_GPT, context_tokens=200_000, sampling=False),
    "*": _GPT,
}
_OPENROUTER: Mapping[str, Capabilities] = {
    "anthropic/*": replace(_CLAUDE, sampling=True, tells_cost=True),
    "*": replace(_COMPATIBLE, context_tokens=128_000, tells_cost=True),
}
# Ollama is sent the size of the window; of other compatible servers it is unknown.
_OLLAMA: Mapping[str, Capabilities] = {"*": _COMPATIBLE}
_OTHERS: Mapping[str, Capabilities] = {"*": replace(_COMPATIBLE, context_known=False)}
_TABLES = {"anthropic": _ANTHROPIC, "openai": _OPENAI, "openrouter": _OPENROUTER, "ollama": _OLLAMA}


def known_model(
    service: str,
    model: str,
    *,
    context_tokens: int | None = None,
    parallel_tools: bool = True,
    images: bool | None = None,
    files: bool | None = None,
) -> Capabilities:
    """Return the known properties of a model.

    Args:
        service: of the model; an unknown one is taken for a server with OpenAI's API.
        model: its name.
        context_tokens: its window from the settings, if set.
        parallel_tools: whether one reply may call several tools.
        images: whether it reads images; None for what is known of the model.
        files: the same for PDF files.
    """
    if service == "azure":
        service = "openai"
    # Gateways put the vendor before the name.
    name = model.removeprefix("openai/") if service == "openai" else model
    table = _TABLES.get(service, _OTHERS)
    pattern = next(pattern for pattern in table if fnmatchcase(name, pattern))
    caps = replace(table[pattern], parallel_tools=parallel_tools)
    if images is not None:
        caps = replace(caps, images=images)
    if files is not None:
        caps = replace(caps, files=files)
    if context_tokens is not None:
        caps = replace(caps, context_tokens=context_tokens, context_known=True)
    return caps
