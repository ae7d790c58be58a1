"""Specifications of the four tools that read files."""

from __future__ import annotations

from transom.canonical import Json
from transom.llm import ToolSpec

_FILE: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "description": "A path as it was named to you.",
}


def _spec(name: str, description: str, properties: dict[str, Json], *required: str) -> ToolSpec:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema)


LIST = _spec(
    "list_available_files",
    "List the files that there are, without their content: path, size in bytes, type. At most 20 a"
    " call; total_found says how many fit. Only files that were named to you, here or by another"
    " result, can be read.",
    {
        "patterns": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 1024},
            "minItems": 1,
            "maxItems": 50,
            "description": (
                "Globs of base names (*.log), or of paths where they name folders (reports/*.rpt)."
                " A .gz ending need not be written."
            ),
        },
        "search_root": {
            "type": "string",
            "maxLength": 4096,
            "default": "",
            "description": "A folder to look in; empty: everywhere.",
        },
        "max_files": {"type": "integer", "minimum": 1, "default": 20, "description": "At most 20."},
    },
    "patterns",
)
HEADER = _spec(
    "read_file_header",
    "Read the first lines of a file.",
    {
        "file_path": _FILE,
        "max_lines": {
            "type": "integer",
            "minimum": 1,
            "description": "At most 200 lines are read.",
        },
    },
    "file_path",
)
SEARCH = _spec(
    "search_in_file",
    "Find lines that hold a keyword, whatever its case, each with the lines around it in at most"
    " 2000 characters. At most three matches a keyword come back; left_out says how many more there"
    " are, and in which lines.",
    {
        "file_path": _FILE,
        "keywords": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "minItems": 1,
            "maxItems": 20,
            "description": "Plain texts, no patterns.",
        },
        "context_lines": {
            "type": "integer",
            "minimum": 0,
            "default": 10,
            "description": "Before and after a match.",
        },
        "max_matches_per_keyword": {
            "type": "integer",
            "minimum": 1,
            "default": 3,
            "description": "At most three.",
        },
    },
    "file_path",
    "keywords",
)
RANGE = _spec(
    "read_file_range",
    "Read lines of a file by their numbers, at most 200 a call; truncated says whether any were"
    " left out.",
    {
        "file_path": _FILE,
        "start_line": {"type": "integer", "minimum": 1, "description": "Counted from 1."},
        "end_line": {"type": "integer", "minimum": 1, "description": "Included."},
    },
    "file_path",
    "start_line",
    "end_line",
)
FILE_TOOLS: tuple[ToolSpec, ...] = (LIST, HEADER, SEARCH, RANGE)
