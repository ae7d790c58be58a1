"""The four tools that read features: `get_jira_data`, `get_analysis`, `list_docs`, `read_doc`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from transom.canonical import Json, compact_json
from transom.errors import InputError, ToolRefused
from transom.formats.json_tree import parse_json
from transom.formats.text_decoding import decode_text
from transom.formats.text_files import TextFile
from transom.investigator.features import Feature
from transom.investigator.reading.recognition import ANALYSIS_TYPES
from transom.investigator.sources import DataFolder
from transom.tools import Arguments, ToolDefinition

_MOST_LISTED = 1_600  # characters
_FEATURE_ID = {
    "feature_id": {"type": "string", "description": "The id of a feature, from get_jira_data."}
}


def jira_tool(data: DataFolder) -> ToolDefinition:
    """Return the tool `get_jira_data`: all features, six fields each."""
    text = "Metadata of all features: folder, jira_key, feature_id, summary, status, data_quality."
    return _tool(
        "get_jira_data", text, {}, lambda _: [feature.to_json() for feature in data.features]
    )


def reading_tools(data: DataFolder, only: Feature | None = None) -> list[ToolDefinition]:
    """Return the tools `get_analysis`, `list_docs` and `read_doc`.

    Args:
        only: the one feature that may be read, in a conversation about it.
    """

    def feature_of(arguments: Arguments) -> Feature:
        feature = data.feature(str(arguments["feature_id"]))
        if only is not None and feature != only:
            raise InputError(
                f"{feature.feature_id} may not be read here",
                hint=f"this is about {only.feature_id}",
            )
        return feature

    def get_analysis(arguments: Arguments) -> Json:
        feature, name = feature_of(arguments), str(arguments["analysis_type"])
        files = data.analysis_files(feature, name)
        if not files:
            return {"status": "NO_DATA", "analysis_type": name, "feature_id": feature.feature_id}
        contents: dict[str, Json] = {file.source: _content(data, file.source) for file in files}
        if len(contents) == 1:
            return next(iter(contents.values()))
        return {"files": contents}

    def list_docs(arguments: Arguments) -> Json:
        docs = data.docs(feature_of(arguments))
        return [
            {
                "path": document.source,
                "name": document.path.name,
                "size": document.path.stat().st_size,
            }
            for document in docs
        ]

    def read_doc(arguments: Arguments) -> Json:
        document = data.doc(str(arguments["path"]), only)
        try:
            return TextFile(document.path).whole()
        except InputError as error:  # the model knows the document by its name, not by its path
            raise InputError(error.problem, place=document.source, hint=error.hint) from error

    kinds = {"type": "string", "description": f"One of: {', '.join(ANALYSIS_TYPES)}"}
    path = {"path": {"type": "string", "description": "A path exactly as list_docs gave it."}}
    return [
        _tool(
            "get_analysis",
            "Analysis data of a feature.",
            {**_FEATURE_ID, "analysis_type": kinds},
            get_analysis,
        ),
        _tool(
            "list_docs",
            "The planning documents of a feature: path, name, size.",
            _FEATURE_ID,
            list_docs,
        ),
        _tool("read_doc", "The contents of a document.", path, read_doc),
    ]


def shortened(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool with its list cut to a number of characters, for a conversation that must
    stay small.
    """

    def handler(arguments: Arguments) -> Json:
        rows: Any = tool.handler(arguments)
        room, first_rows = _MOST_LISTED, list[Json]()
        for row in rows:
            room -= len(compact_json(row))
            if room < 0:
                return [
                    *first_rows,
                    f"... and {len(rows) - len(first_rows)} more;"
                    " have them looked at with read_closely",
                ]
            first_rows.append(row)
        return first_rows

    return replace(tool, handler=handler)


def _content(data: DataFolder, source: str) -> Json:
    text = decode_text(data.read(source))
    if text.lstrip().startswith("<"):
        return {"file": source, "text": text}
    return parse_json(text, source)


def _tool(
    name: str, description: str, properties: dict[str, Any], handler: Callable[[Arguments], Json]
) -> ToolDefinition:
    def refusing(arguments: Arguments) -> Json:
        try:
            return handler(arguments)
        except InputError as error:
            raise ToolRefused(error.problem, place=error.place, hint=error.hint) from error

    parameters: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolDefinition(name, description, parameters, refusing, effect="pure")
