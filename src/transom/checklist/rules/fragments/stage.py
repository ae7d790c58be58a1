"""Whether a file is of the stage of a flow that a check is about: by its name, else by what it does not say."""

import re
from typing import Any


def stages_named(text: str, names: dict[str, str]) -> list[str]:
    """The stages that a name or a text speaks of."""
    told = "_".join(["", *re.findall(r"[a-z0-9]+", text.lower()), ""])
    return [stage for stage, pattern in names.items() if re.search(pattern, told)]


class Stage:
    """Holds a file to the stage that is asked about, where one is.

    A name that names this stage alone is enough. One that names none is enough only where the kind of file allows it
    and the text speaks of no other stage; and where it must show everything `once`, of no entry a second time, since
    that would be an earlier state of the same thing.
    """

    def __init__(self, source_file: str, about: dict[str, Any]) -> None:
        self.told: dict[str, Any] = about.get("stage", {})
        self.seen: set[str] = set()
        base = source_file.replace("\\", "/").rpartition("/")[2]
        named = stages_named(base, self.told["names"]) if self.told else []
        if self.told and named != [self.told["asked"]] and (named or self.told["by"] == "named"):
            raise ValueError(f"this check is about {self.told['asked']} alone, and the name {base} does not say so")
        self.silent = bool(self.told) and not named

    def line(self, number: int, line: str) -> None:
        """A line may name another stage; words that are paths or names of cells do not."""
        words = [word for word in line.split() if not re.search(r"[/\\\[\]\d.]", word)] if self.silent else []
        if words and set(stages_named(" ".join(words), self.told["names"])) - {self.told["asked"]}:
            raise ValueError(f"line {number}: this check is about {self.told['asked']} alone: {line.strip()}")

    def read(self, made: list[dict[str, Any]]) -> None:
        """What became an entry."""
        for one in made if self.silent and self.told["by"] == "once" else []:
            name = one["value"].partition(" ")[0]
            if name in self.seen:
                raise ValueError(f"line {one['line_number']}: {name} a second time, so maybe of another stage")
            self.seen.add(name)
