"""The options that every command takes, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["text", "json"]


@dataclass(frozen=True)
class CommonOptions:
    """The options of every command.

    `model`, `base_url` and `max_cost` act in commands that may ask a model, `distributed` and
    `priority` in commands whose work can be given to workers.
    """

    format: Annotated[Format, typer.Option(help="Output as text, or as one JSON document.")] = (
        "text"
    )
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER[:NAME]", help="Model to use, or a fallback chain: A,B."),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of a compatible server.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", help="Cost in USD at which runs pause.")
    ] = None
    workspace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Workspace folder [.transom/].")
    ] = None
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Give the work to workers (`transom worker`).")
    ] = False
    priority: Annotated[
        int,
        typer.Option(metavar="N", help="Priority of the work; workers take the highest first."),
    ] = 0
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on stderr.")] = (
        False
    )
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            metavar="",
            help="Print more on stderr.",
            show_default=False,
        ),
    ] = 0
