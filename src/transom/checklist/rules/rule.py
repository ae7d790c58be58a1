"""What every rule by which files are read has."""

from __future__ import annotations

from transom.checklist.atoms import Shape
from transom.checklist.rules.saying import Key, Line


class Rule(Shape):
    """A rule for one kind of file. `about` explains its patterns, in Section 4.1's words."""

    file: Key
    about: Line

    def watched(self) -> list[str]:
        """Regexes of lines that change something where nothing goes on from the lines before."""
        raise NotImplementedError

    def categories(self) -> tuple[str, ...]:
        """What it yields."""
        return (str(getattr(self, "category")),)  # noqa: B009  of most rules a field
