"""The error for a machine without the packages that studies need."""

from __future__ import annotations

from transom.errors import InputError, install_hint


def optuna_missing() -> InputError:
    """Return the error for a machine without Optuna, with the command that installs it."""
    return InputError("studies need Optuna", hint=f"run: {install_hint('studies')}")
