"""Kind of a file by its name: one rule for the builder and the runtime."""

import re
from typing import Any


def kind_by_name(name: str, sources: list[dict[str, Any]]) -> str | None:
    """Return the kind of the first source whose glob fits the base name, in any case.

    What packing and rotation append (`.gz`, `.1`, `.old`, `-20250304`) is left aside if the
    whole name fits nothing.
    """
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    while True:
        for source in sources:
            for glob in source["files"]:
                first, *others = (
                    re.escape(part).replace(r"\?", ".") for part in glob.lower().split("*")
                )
                # Atomic: a name that does not fit is given up at once, however many stars there
                # are.
                middle = "".join(f"(?>.*?{part})" for part in others[:-1])
                if re.fullmatch(
                    first + middle + "".join(f".*{part}" for part in others[-1:]), base, re.DOTALL
                ):
                    return str(source["kind"])
        # One ending at a time, so that the longest name that fits wins.
        shorter = re.sub(r"(?:\.gz|[._-]\d{1,14}|\.(?:old|bak|orig|prev)|~)\Z", "", base)
        if shorter in ("", base):
            return None
        base = shorter
