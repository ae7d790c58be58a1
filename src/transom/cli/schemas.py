"""`transom schema`: JSON Schemas of the files that people write, and of the documents that commands
print.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any

import typer

from transom.cli.app import nearest, root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import print_json, table
from transom.errors import InputError

INPUTS = {
    "item": ("", "an item of a checklist"),
    "policy": ("transom.investigator.policy:Policy", "a policy of transom investigate"),
    "settings": ("transom.config.model:Settings", "transom.yaml"),
    "stories": ("", "stories.yaml, the backlog of transom story"),
    "study": ("transom.studies.study:Study", "a study of transom study"),
}
"""Files that people write: the model that a schema is made from, or "" if the schema is a file of
the package; and what the file is.
"""

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Schema to print; without it, all are listed.")
]


@command(root, "schema", example="transom schema item > item.schema.json")
def schema(session: Session, name: Name = "") -> int:
    """Print the JSON Schema of a file that you write, or of a document that a command prints.

    To have an editor check a YAML file, save the schema and begin the file with the line
    `# yaml-language-server: $schema=item.schema.json`.
    """
    documents = _documents()
    if not name:
        rows = [(input_name, text) for input_name, (_, text) in INPUTS.items()]
        rows += [(document, "printed by a command") for document in documents]
        names: dict[str, Any] = {"inputs": [*INPUTS], "documents": [*documents]}
        return session.show({"schema": "transom.schema_list/1", **names}, *table(rows))
    if name in INPUTS:
        print_json(input_schema(name))
    elif name in documents:
        print_json(_shipped(f"{documents[name]}.json"))
    else:
        likely = nearest(name, [*INPUTS, *documents])
        raise InputError(f"no schema {name!r}", place="NAME", hint=f"did you mean {likely}?")
    return 0


def _documents() -> dict[str, str]:
    """Return the names of the shipped schemas of documents, and their files' stems."""
    documents = {}
    for path in sorted(files("transom").joinpath("schemas").iterdir(), key=lambda path: path.name):
        stem, _, ending = path.name.rpartition(".")
        # The schema `check-1.json` is that of `transom.check/1`.
        if ending == "json":
            documents[stem.removesuffix("-1")] = stem
    return documents


def _shipped(path: str) -> Any:
    text = files("transom").joinpath("schemas", path).read_text(encoding="utf-8")
    return json.loads(text)


def input_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a file that people write."""
    model_name, text = INPUTS[name]
    if not model_name:
        shipped: dict[str, Any] = _shipped(f"inputs/{name}.json")
        return shipped
    module, _, class_name = model_name.partition(":")
    model = getattr(import_module(module), class_name)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True),
        # The title of the model is the name of a class, which says nothing to a person.
        "title": text,
    }
