"""How logs say that a file is read: a verb of reading, a kind of file, and its path.

    read_verilog -sv lamp.v
    Reading SPEF file 'lamp.spef' ... done
    Design database loaded: lamp.db

The tools share this grammar, so a report format takes it by `reads_files: true` instead of rows of
its own. Only a path names a file: "Netlist loaded successfully" ends what a line above began.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from transom.formats.reports.readings import Measurement
from transom.formats.reports.report_format import ReportFormat, ReportRow, compiled

# What a kind of file is called in a command, such as `read_hdl`, and in a message.
_IN_COMMANDS: Final = {
    "verilog": ("netlist", "verilog", "hdl", "sverilog", "vhdl"),
    "spef": ("spef", "parasitics"),
    "liberty": ("liberty", "lib", "libs", "library"),
    "sdc": ("sdc",),
    "sdf": ("sdf",),
    "lef": ("lef",),
    "def": ("def",),
    "upf": ("upf", "power_intent"),
    "db": ("db", "checkpoint", "ddc", "block", "database"),
}
_IN_MESSAGES: Final = {
    "verilog": ("netlist", "verilog", "hdl", "rtl", "vhdl", "design", "verilog netlist",
                "gate-level netlist", "gate level netlist", "verilog design"),
    "spef": ("spef", "parasitics", "spef parasitics", "parasitic data"),
    "liberty": ("liberty", "library", "timing library", "liberty library"),
    "sdc": ("sdc", "constraints", "timing constraints", "sdc constraints"),
    "sdf": ("sdf",),
    "lef": ("lef",),
    "def": ("def",),
    "upf": ("upf", "power intent"),
    "db": ("database", "design database", "odb", "checkpoint", "design checkpoint"),
}  # fmt: skip


def _either(words: dict[str, tuple[str, ...]]) -> str:
    """Return the pattern of one of the names of all kinds, the longest first."""
    names = sorted((name for each in words.values() for name in each), key=len, reverse=True)
    return "|".join(name.replace(" ", r"\s+").replace("-", r"[\s-]") for name in names)


_VERB: Final = r"(?:(?:finished|done|completed)\s+)?(?:reading|loading|parsing|importing)(?:\s+in)?"
_PAST: Final = r"(?:read|loaded|parsed|imported|restored)"
# A path has a dot, a slash or a variable in it; "..." is none.
_PATH: Final = (
    r"['\"`]?(?P<object>(?=[^\s'\"`]*[./$][^\s'\"`])(?!\.\.\.)[^\s'\"`]*[^\s'\"`.,:;])['\"`]?"
)
_KIND: Final = rf"(?:the\s+)?(?P<kind>{_either(_IN_MESSAGES)})"
_GOOD_END: Final = r"(?:done|completed|complete|finished|ok|successfully|without errors)"
_DONE: Final = rf"(?:\s*\.{{2,3}})?(?:\s*{_GOOD_END})?\.?"
_WAS: Final = rf"(?:(?:has been|was|is)\s+)?(?:successfully\s+)?{_PAST}"
_ARGUMENTS: Final = (
    r" (?:-\w+ (?:\w+ )?)*[{\"]?(?P<object>[^\s{}\";-](?:[^\s{}\"]*[^\s{}\";])?)[}\"]?;?$"
)
_VERB_OF_COMMAND: Final = r"(?:read|load|open|restore|import)"
_PROMPT: Final = r"(?:<CMD> |@?[A-Za-z]\w*(?::\w+)*:?(?: \d+)?> ?|@file\([^()]*\) \d+: |% ?)?"


def _command(kind: str) -> str:
    return rf"(?i:{_VERB_OF_COMMAND}_?{kind}(?:_file)?){_ARGUMENTS}"


# What a tool prints of a command; in a log without commands it is all that names a file.
_ECHO: Final = {"echo": "command"}
_COMMANDS: Final = (_command(rf"(?P<kind>{_either(_IN_COMMANDS)})"), _command("design"))
_MESSAGES: Final = (
    rf"(?i:{_VERB}\s+{_KIND}(?:\s+(?:file|from))?:?\s+{_PATH}{_DONE})$",
    rf"(?i:{_KIND}(?:\s+file)?\s+{_WAS}(?:\s+successfully)?(?::|\s+from)\s+{_PATH}\.?)$",
    rf"(?i:{_KIND}(?:\s+file)?\s+{_PATH}\s+{_WAS}{_DONE})$",
)
_ROWS: Final = (
    ReportRow(pattern=f"^{_PROMPT}{_COMMANDS[0]}", name="file_read"),
    # "Design" is a database in `restore_design`, and a netlist in what a synthesis prints.
    ReportRow(pattern=f"^{_PROMPT}{_COMMANDS[1]}", name="file_read", scope={"kind": "db"}),
    *(ReportRow(pattern=f"^{text}", name="file_read", scope=_ECHO) for text in _MESSAGES),
)
# An error that names the kind of file and its path; of a library, the formats tell more.
_LOST: Final = ReportRow(
    pattern=(
        r"^\W*(?i:error|fatal)\b(?:[^\w].*?)?\b(?i:(?:"
        rf"{_either({kind: names for kind, names in _IN_MESSAGES.items() if kind != 'liberty'})})"
        rf"(?:\s+file)?)\s+{_PATH}(?!\S).*$"
    ),
    name="file_not_read",
    is_trouble=True,
)
_WORD: Final = re.compile(r"[^\s'\"`(),;[\]{}]+")
_NAMED: Final = _either(_IN_MESSAGES)
_ENDS: Final = (
    rf"^(?i:(?:the\s+)?(?:{_NAMED})(?:\s+file)?\s+{_WAS}{_DONE})$",
    rf"^(?i:(?:finished|done|completed)\s+(?:reading|loading|parsing)(?:\s+(?:{_NAMED}))?\.?)$",
)
_BEGINS: Final = (*(f"^{_PROMPT}{text}" for text in _COMMANDS), *(f"^{text}" for text in _MESSAGES))


# A command or a remark of a script; a message begins with a capital, a sign, or words of reading.
_SCRIPT_LINE: Final = re.compile(r"\s*+(?:#.*|[a-z][\w:]*+(?:\s.*)?|[]}{;\"].*)?$")


def _kind_words(names: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the kind for each name, in lower case."""
    return {name: kind for kind, each in names.items() for name in each}


_WORDS: Final = {**_kind_words(_IN_MESSAGES), **_kind_words(_IN_COMMANDS)}


def with_file_reading(model: ReportFormat) -> ReportFormat:
    """Return a format with the rows of the shared grammar behind its own.

    A format that may begin with a file's reading does not begin anew with the next one.
    """
    changes: dict[str, object] = {
        "rows": (_LOST, *model.rows, *_ROWS),
        "explained": (*model.explained, *_ENDS),
        "words": {**model.words, "kind": {**_WORDS, **model.words.get("kind", {})}},
    }
    if model.reads_files == "begins":
        changes["begins"] = (*model.begins, *_BEGINS)
        changes["explained"] = (*model.explained, *_ENDS, *_BEGINS)
    return model.model_copy(update=changes)


class LostFiles:
    """Tells which file an error is about: one that it names, or that of the line right above it."""

    def __init__(self) -> None:
        self._paths = dict[str, None]()
        self._last, self._line = "", 0

    def lost_by(self, fact: Measurement) -> Measurement | None:
        """Take the next fact; return that a file was not read, if the fact is an error about it."""
        if fact.name in ("file_read", "corner_library"):
            self._last, self._line = fact.scope.get("object", ""), fact.line
            self._paths[self._last] = None
            return None
        is_error = fact.name == "message" and fact.scope.get("severity") == "error"
        if not is_error or not self._paths:
            return None
        words = {word.rstrip(".").partition(":")[0] for word in _WORD.findall(fact.content)}
        names = tuple(f"/{word}" for word in words if "." in word)
        named = [path for path in self._paths if f"/{path}".endswith(names)]
        if not named and fact.line == self._line + 1:
            named = [self._last]
        if not named:
            return None
        # A second line of the error is about the same file.
        self._last, self._line = named[-1], fact.line
        scope = {"object": named[-1]}
        return Measurement("file_not_read", fact.line, scope, is_trouble=True, content=fact.content)


def begins_by_reading(line: str) -> bool:
    """Return whether a line begins a log as one of these commands and messages."""
    return any(compiled(pattern).search(line) for pattern in _BEGINS)


def holds_commands_alone(lines: Iterable[str]) -> bool:
    """Return whether a text that reads files may be a script, because nothing answers its commands.

    The first line that is no bare command ends the search.
    """
    for line in lines:
        is_message = any(compiled(f"^{text}").search(line) for text in _MESSAGES)
        if is_message or _SCRIPT_LINE.match(line) is None:
            return False
    return True
