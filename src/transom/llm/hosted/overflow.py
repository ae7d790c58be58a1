"""Sizes of requests that are too long: every vendor reports them in words of its own, few in a
field.
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
"""Characters of what a server said in which its numbers are looked for: these patterns begin anew
at every place, and
nothing else of the process runs meanwhile."""
_NUMBER = r"(?<![\d,.])\d[\d,]{0,19}"  # of thousands of digits Python makes no number
_PUT = {name: f"(?P<{name}>{_NUMBER})" for name in ("needed", "more", "limit")} | {
    "gap": ".{0,200}?"
}
_SAID = (
    # Of several that fit the first counts. `more` is what is to be answered, where that counts as
    # well.
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
"""Tokens of a request that is too long, and the room that there is; None where the server does
not report them.
"""


def overflow(kind: str, said: str, error: Mapping[str, Json]) -> Sizes | None:
    """The sizes of a request refused for its length, else None; by kind, message (one line) and
    body of the error.
    """
    if kind not in _CODES and (not _WORDS.search(said) or _OTHERWISE.search(said, 0, _FIRST_WORDS)):
        return None
    match error:
        case {"n_prompt_tokens": int(needed), "n_ctx": int(limit)}:
            return needed, limit
    for pattern in _SIZES:
        if found := pattern.search(said, 0, _FIRST_WORDS):
            sizes = {
                name: int(number.replace(",", "")) for name, number in found.groupdict().items()
            }
            return sizes["needed"] + sizes.get("more", 0) if "needed" in sizes else None, sizes[
                "limit"
            ]
    return None, None
