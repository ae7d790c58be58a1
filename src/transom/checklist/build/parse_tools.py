"""What the Parser role may call to look at files by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.llm import ToolSpec
from transom.telemetry import Redactor
from transom.tools import MAX_TURNS, Toolbox
from transom.tools.catalogue import Places
from transom.tools.constrained import FileLimits, FileSession
from transom.tools.file_specs import FILE_TOOLS

PARSER_TOOLS: tuple[ToolSpec, ...] = FILE_TOOLS
"""What the role declares, in the order of `parser_tools`."""


def parser_tools(
    own: Sequence[Path],
    roots: Sequence[Path],
    variables: Mapping[str, Path],
    limits: FileLimits | None = None,
    *,
    max_turns: int = MAX_TURNS,
    redact: Redactor | None = None,
) -> Toolbox:
    """The four tools over one session, for one conversation of the role. A new one is made for each attempt.

    Args:
        own: the item's own input files; listed first, wherever they lie.
        roots: folders to look in, and what names are shown relative to.
        variables: what `${NAME}` stands for.
        limits: how much may be looked at.
        max_turns: how many replies may ask for tools.
        redact: takes secrets out of what is shown; one that knows those of the environment by default.
    """
    places = Places(tuple(roots), tuple(own), dict(variables))
    return Toolbox(FileSession(places, limits).tools(), max_turns=max_turns, redact=redact)
