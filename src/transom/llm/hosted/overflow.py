"""Sizes of requests that are too long, read from the servers' messages.

Every vendor words the message differently, and few report the sizes in fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from transom.canonical import Json

_CODES = {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}
_WORDS = re.compile(
    r"context (?:length|window|size|limit)|exceed\w{0,4}"
    r" [^.]{0,80}\bcontext_(?:length|window|size|limit)"
    r"|(?:prompt|input) (?:is )?too long|prompt exceeds max length|exceeded model token limit"
    r"|input (?:length|tokens) exceed|too many tokens|longer than the maximum model length"
    r"|input token count .{0,40}exceeds the maximum number of tokens|maximum prompt length is \d"
    r"|\bn_keep\b.{0,30}>= ?n_ctx\b"
    r"|reduce the length of the (?:messages|input|prompt)|`inputs` (?:tokens \+ `max_new_tokens`"
    r" )?must ",
    re.I,
)
_OTHERWISE = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|unsupported|unexpected|invalid|missing|extra)\W+(?:\w+\W+){0,2}?"
    r"(?:parameter|argument|field|option|key|property|keyword)",
    re.I,
)
"""Complaints about a parameter, whose name may be that of the window."""

_FIRST_WORDS = 4_000
"""Characters of a message in which numbers are looked for.

The patterns begin anew at every position, and nothing else of the process runs meanwhile.
"""
_NUMBER = r"(?<![\d,.])\d[\d,]{0,19}"  # of thousands of digits Python makes no number
_PUT = {name: f"(?P<{name}>{_NUMBER})" for name in ("needed", "more", "limit")} | {
    "gap": ".{0,200}?"
}
_SAID = (
    # The first that fits counts. `more` is the length of the answer, if the server counts it too.
    "{needed} \\+ {more} > {limit}",  # Anthropic, with max_tokens
    "{needed} tokens? > {limit}",  # Anthropic
    # vLLM
    "too large: {more}\\.{gap}context length is {limit} tokens{gap}has {needed} input tokens",
    # vLLM
    (
        "passed {needed} input tokens and requested {more} output tokens{gap}context length is only"
        " {limit}"
    ),
    "context length is {limit} tokens{gap}for a total of (?:at least )?{needed} tokens",  # vLLM
    # vLLM
    "context length is {limit} tokens{gap}your (?:request|prompt) has {needed} input tokens",
    "\\(length {needed}\\) is longer than the maximum model length of {limit}",  # vLLM
    # OpenAI, OpenRouter
    "(?:length is|limit of) {limit} tokens{gap}(?:resulted in|requested(?: about)?) {needed} ",
    "context length of {limit} tokens{gap}requested a total of {needed} tokens",  # SGLang
    # llama.cpp, SGLang, Together
    "\\({needed} tokens\\) (?:exceeds|is longer than) {gap}\\({limit} tokens\\)",
    "\\({needed}\\) exceeds {gap}\\({limit}\\)",  # Gemini, SGLang
    "exceeds the maximum number of tokens allowed \\(?{limit}",  # Gemini
    "contains {needed} tokens {gap}too large for model with {limit} ",  # Mistral
    "maximum prompt length is {limit} but the request contains {needed} ",  # xAI
    "must be <= {limit}\\. Given: {needed} `inputs` tokens and {more} ",  # TGI, Together
    "must have less than {limit} tokens\\. Given: {needed}",  # TGI
    "first {needed} tokens {gap}context length of only {limit} ",  # LM Studio
    "n_keep:? ?\\(?{needed}\\)? ?>= ?n_ctx:? ?\\(?{limit}",  # LM Studio
    "too long: {needed}, model maximum context length: {limit}",  # Fireworks
    "cannot exceed {limit} - received {needed}",  # Cohere
    "token count of {needed} exceeds the limit of {limit}",  # GitHub
    "Current length is {needed} while limit is {limit}",  # Cerebras
    "model token limit: {limit}",  # Moonshot
    "context length is (?:only )?{limit} tokens",  # who says no more than that
)
_SIZES = tuple(re.compile(text.format_map(_PUT), re.I | re.S) for text in _SAID)


Sizes = tuple[int | None, int | None]
"""Tokens of a request that is too long, and the limit; None if the server does not report it."""


def overflow(kind: str, message: str, error: Mapping[str, Json]) -> Sizes | None:
    """Return the sizes of a request that was refused for its length, or None if it was not.

    Args:
        kind: the vendor's name for the error.
        message: of the error, in one line.
        error: the body of the error.
    """
    if kind not in _CODES:
        # A server that does not know a parameter names it, and its name may be `context_window`.
        is_other = _OTHERWISE.search(message, 0, _FIRST_WORDS)
        if is_other or not _WORDS.search(message):
            return None
    match error:
        case {"n_prompt_tokens": int(needed), "n_ctx": int(limit)}:
            return needed, limit
    for pattern in _SIZES:
        if match := pattern.search(message, 0, _FIRST_WORDS):
            sizes = {}
            for name, number in match.groupdict().items():
                sizes[name] = int(number.replace(",", ""))
            if "needed" not in sizes:
                return None, sizes["limit"]
            return sizes["needed"] + sizes.get("more", 0), sizes["limit"]
    return None, None
