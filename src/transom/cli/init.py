"""`transom init`: a settings file to start from, which editors check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.app import root
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.schemas import input_schema
from transom.config import FILE_NAMES, find_settings_file
from transom.errors import InputError

SCHEMA_FILE = "transom.schema.json"
PROMPTS = "prompts"
_SETTINGS = """\
# yaml-language-server: $schema={schema}
# Settings of Transom. Every key is optional; `transom schema settings` lists them all.

# The model that answers, or a fallback chain: anthropic:NAME,rules.
# `rules` needs no model, key or network.
model: rules
"""

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the project [.].", show_default=False)
]

Prompts = Annotated[
    bool,
    typer.Option(
        "--prompts", help="Also write the shipped prompts of `check` to prompts/, to be changed."
    ),
]


@command(root, "init", example="transom init")
def init(session: Session, folder: Folder = Path(), prompts: Prompts = False) -> int:
    """Write a settings file, and the schema by which an editor checks it.

    Files that exist are kept unchanged. Commit them.
    """
    target = session.cwd / folder
    if not target.is_dir():
        raise InputError("there is no such folder", place=str(folder), hint="create it first")
    schema_text = json.dumps(input_schema("settings"), indent=2, ensure_ascii=False) + "\n"
    settings_text = _SETTINGS.format(schema=SCHEMA_FILE)
    earlier = find_settings_file(target)
    # The first name is the usual one.
    settings_path = target / FILE_NAMES[0]
    # Another settings file of this folder would be hidden by a new one.
    if earlier is not None and earlier.is_relative_to(target):
        settings_path = earlier
    schema_entry = _write_new(target / SCHEMA_FILE, schema_text)
    settings_entry = _write_new(settings_path, settings_text)
    files = [schema_entry, settings_entry]
    if prompts:
        from transom.checklist.writing.views import shipped_prompts  # other commands need none

        (target / PROMPTS).mkdir(exist_ok=True)
        for name, text in shipped_prompts().items():
            entry = _write_new(target / PROMPTS / f"{name}.md", f"{text}\n")
            files.append({**entry, "path": f"{PROMPTS}/{name}.md"})
    lines = [f"{entry['action']} {folder / entry['path']}" for entry in files]
    if prompts:
        lines.append(
            f"to use them: paths: {{prompts_dir: {PROMPTS}}} in {settings_path.name}; remove those"
            " that you do not change"
        )
    # A file that exists may have no line for editors yet.
    if settings_entry["action"] == "kept":
        lines.append(f"have an editor check it: # yaml-language-server: $schema={SCHEMA_FILE}")
    elif earlier is not None:
        lines.append(f"it takes the place of {earlier}, which this folder used so far")
    return session.show({"schema": "transom.init/1", "files": files}, *lines)


def _write_new(path: Path, text: str) -> dict[str, Any]:
    """Write a file, unless there is something of that name; return what was done."""
    try:
        # In one step, so that a file that somebody makes at this moment is not overwritten.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return {"path": path.name, "action": "kept"}
    except OSError as error:
        problem = f"it cannot be written: {error.strerror}"
        raise InputError(problem, place=str(path)) from error
    return {"path": path.name, "action": "wrote"}
