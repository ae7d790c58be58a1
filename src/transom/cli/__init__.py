"""The command line: the only code that knows all products."""

from transom.cli.app import main

__all__ = ["main"]
