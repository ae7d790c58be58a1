"""Write the checker of a claim on headers: a log's files were loaded, and their heads are complete.

The log names the files; the runtime opens them, and this checker reads them like the log.
"""

from __future__ import annotations

from pprint import pformat

from transom.checklist.atoms import LOCKED_LAYER, Condition, Operator, ValidationItem
from transom.checklist.claims.claim_data import Claim

_LOG = "log"
_WIDTH = 300
"""Characters of a line of the checker that tells of one kind of file."""
_NOT_READ = "not read"
_ATOMS = '''"""{title}.

Transom reads each file by its report formats, and gives this file what they measured instead of the
text: one JSON object a line with name, line, scope, text and content.
"""

import json

SCOPE = "report"
SOURCES = {sources}
PARTS = {parts}
NOT_READ = "not read"
READ = ("file_read", "corner_library")
COMMANDS = {{command: part for part in PARTS for command in part["read_as"]}}


def is_same_file(path, whole_path):
    """Return whether a whole path ends like the path of a command."""
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return whole_path.startswith("/") and whole_path.endswith("/" + path)


def loading_entries(facts):
    """Return one entry for each file that a log reads, and for each kind that it does not read."""
    lost = {{fact["scope"]["object"] for fact in facts if fact["name"].endswith("_not_read")}}
    entries, read_kinds, commands = [], set(), []
    for fact in facts:
        part = COMMANDS.get(fact["scope"].get("kind")) if fact["name"] in READ else None
        if part is None:
            continue
        read_kinds.add(part["kind"])
        path = fact["scope"]["object"]
        reference = {{"kind": part["kind"], "path": path}}
        is_loaded = not any(path == name or is_same_file(path, name) for name in lost)
        if "echo" not in fact["scope"]:
            commands.append(path)
        # Two commands are two files; what a tool prints of a command is the file of that command.
        elif earlier := [command for command in commands if is_same_file(command, path)]:
            commands.remove(earlier[-1])
            reference["command_path"] = earlier[-1]
            if not is_loaded:
                continue
        shown = f"{{part['title']}} {{path}} {{'loaded' if is_loaded else 'not loaded'}}"
        fields = {{part["kind"]: {{"loaded": True}}}}
        if not is_loaded:
            fields = {{part["kind"]: {{"loaded": False, **dict.fromkeys(part["fields"])}}}}
        elif part["fields"]:
            fields["reference"] = reference
        entries.append(entry_of(shown, fact, fields))
    # A database may hold a netlist; any other file shows that the log tells what it reads.
    told = {{fact["scope"].get("kind") for fact in facts if fact["name"] in READ}} - {{"db"}}
    for part in PARTS if read_kinds or told else ():
        if part["kind"] not in read_kinds:
            shown = f"{{part['title']}}: no command of the log reads one"
            fields = {{"loaded": False, **dict.fromkeys(part["fields"])}}
            lines = [fact["text"].lower() for fact in facts if fact["name"] == "sought_line"]
            may_read = any(stem in line for line in lines for stem in part["stems"])
            shown += ", and none is required" if part["is_optional"] else ""
            if part["is_optional"] or may_read:
                fields = dict.fromkeys(fields, NOT_READ)
            entries.append(entry_of(shown, None, {{part["kind"]: fields}}))
    return entries


def header_entries(facts, part):
    """Return the entry of a file's topmost header; a later tool's header was inherited."""
    heads = [fact for fact in facts if fact["name"] not in READ]
    lines = [fact for fact in heads if fact["scope"].get("kind") == part["kind"]]
    fields = dict.fromkeys(part["fields"])
    tools = 0
    for fact in lines:
        tools += "tool" in fact["scope"]
        for field, key in part["fields"].items():
            is_header = key == "format" or tools <= 1
            if fields[field] is None and is_header and fact["scope"].get(key, "").strip():
                fields[field] = fact["scope"][key].strip()
    if not lines:
        return []
    return [entry_of(" ".join(filter(None, fields.values())), lines[0], {{part["kind"]: fields}})]


def entry_of(shown, fact, fields):
    """Return an entry; without a fact it is about the whole file."""
    return {{
        "value": shown,
        "line_number": fact and fact["line"],
        "matched_content": fact["content"] if fact else "",
        "parsed_fields": fields,
    }}


def extract_context(text, source_file):
    """Return what a log loads, or what the head of a file says."""
    facts = [json.loads(line) for line in filter(None, text.split("\\n"))]
    results = loading_entries(facts)
    for part in PARTS:
        results += header_entries(facts, part) if part["fields"] else []
{locked}'''


def write_header_atoms(claim: Claim) -> str:
    """Return `atoms.py` of a claim on headers."""
    sources = [{"kind": _LOG, "rank": "primary", "files": ["*.log", "*.out", "*.txt"]}]
    parts = list[dict[str, object]]()
    for part in claim.headers:
        if part.fields:
            sources.append({"kind": part.kind, "rank": "secondary", "files": [*part.files]})
        is_optional = part.kind in claim.optional
        row: dict[str, object] = {"kind": part.kind, "title": part.title}
        row["is_optional"] = is_optional
        row |= {"read_as": [*part.read_as], "stems": [*part.stems], "fields": part.fields}
        parts.append(row)
    return _ATOMS.format(
        title=claim.title,
        sources=pformat(sources, width=96, sort_dicts=False),
        parts=pformat(parts, width=_WIDTH, sort_dicts=False),
        locked=LOCKED_LAYER,
    )


def header_items(claim: Claim) -> tuple[ValidationItem, ...]:
    """Return the validation items: each kind of file is loaded, and its head is complete.

    A kind of which no field is asked needs to be loaded only. With a list, each head must have a
    text of it, too.
    """
    items = list[ValidationItem]()
    check, mode = ("pattern", "allow") if claim.list else ("existence", "require")
    for part in claim.headers:
        loaded = f"{part.kind}.loaded"
        # A log that may have read one in words that nobody knows is a question, and no violation.
        is_loaded = Condition(field=loaded, op=Operator.IN, value=[True, _NOT_READ])
        items.append(
            ValidationItem(
                id=f"2.{len(items) + 1}",
                name=f"{part.title} File Loading Status",
                select=loaded,
                condition=is_loaded,
                quantifier="exists" if part.is_any else "per_file",
                only_with=_LOG,
                waivable=part.waivable_loading,
                keywords=part.keywords_of("loading"),
                stages=part.stages_of("loading"),
            )
        )
        names = tuple(f"{part.kind}.{field}" for field in part.fields)
        if not names:
            continue
        items.append(
            ValidationItem(
                id=f"2.{len(items) + 1}",
                name=f"{part.title} Version Completeness",
                select=names[0],
                required=names,
                check=check,
                mode=mode,
                take="first",
                keywords=part.keywords_of("version"),
                stages=part.stages_of("version"),
            )
        )
    return tuple(items)
