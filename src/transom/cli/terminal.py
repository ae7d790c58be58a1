"""Questions that a person answers on the terminal."""

from __future__ import annotations

import sys

from transom.cli.command_session import Session
from transom.cli.output import print_text, style, typed
from transom.runs.open_questions import OpenQuestion


def on_terminal(session: Session) -> bool:
    """Return whether a person can be asked."""
    if session.verbosity < 0 or session.format != "text":
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_on_terminal(question: OpenQuestion) -> str:
    """Ask on the terminal until an option is typed, or any text if there are no options.

    Returns:
        The answer; "" if the person leaves it for later.
    """
    print_text("", style(question.asks, "bold"), *question.numbered)
    options = question.options
    prompt = f"1 to {len(options)}" if options else "answer"
    while True:
        text = typed(f"{prompt} (empty: later): ")
        # An option may be long, so its number is enough.
        if text.isdecimal() and 1 <= int(text) <= len(options):
            return options[int(text) - 1]
        if not text or not options or text in options:
            return text
