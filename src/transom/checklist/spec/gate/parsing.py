"""Section 1: categories, fields, examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import ENTRY_KEYS, REFERENCE_FIELD
from transom.checklist.spec.gate.problems import Problems, comma_list
from transom.checklist.spec.shapes import Category, Example, ParsingSection
from transom.checklist.spec.words import FIELD_TYPES

_JSON_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "String": str, "Boolean": bool, "Integer": int, "Number": (int, float), "List": list, "Object": dict,
}  # fmt: skip


def check_parsing(found: Problems, section: ParsingSection) -> None:
    """The findings of Section 1."""
    what = "no category with a key in parsed_fields (`### 1.1 ...`)"
    found.unless(section.keys(), "spec.categories", section.line, what)
    found.numbered("spec.categories", [category.number for category in section.categories], "1", section.line)
    for key, count in Counter(section.keys()).items():
        found.unless(count == 1, "spec.categories", section.line, f"category key {key} is used {count} times")
    for category in section.categories:
        _category(found, category)
    if fields := _read(found, "spec.fields.example", "parsed_fields Example", section.fields_example, section.line):
        _fields_example(found, section, fields)
    if output := _read(found, "spec.output.example", "Output Example", section.output_example, section.line):
        _output_example(found, section, output)


def _category(found: Problems, category: Category) -> None:
    name, line = f"{category.number} {category.name}".strip(), category.line
    found.thin(category.purpose, "spec.category.purpose", line, f"{name}: Purpose")
    strange = [field.name for field in category.fields if field.name not in ENTRY_KEYS]
    keyless = category.key is None and (strange or not category.fields)
    found.unless(not keyless, "spec.category.key", line, f"{name}: Category key is missing")
    reserved = category.key in (*ENTRY_KEYS, REFERENCE_FIELD)
    found.unless(not reserved, "spec.category.key", line, f"{name}: the key {category.key} is reserved")
    found.unless(category.fields, "spec.fields", line, f"{name}: Key Fields is missing or empty")
    for field, count in Counter(field.name for field in category.fields).items():
        found.unless(count == 1, "spec.fields", line, f"{name}: field {field} stands there {count} times")
    for one in category.fields:
        what = f"field {one.name} has type {one.type or 'none'}; must be one of {', '.join(FIELD_TYPES)}"
        found.unless(one.type in FIELD_TYPES, "spec.fields.type", one.line, what)
        found.thin(one.meaning, "spec.fields.meaning", one.line, f"what field {one.name} is")


def _read(found: Problems, gate: str, label: str, example: Example | None, line: int) -> Example | None:
    """An example that could be read."""
    if example is None:
        found.add(gate, line, f"{label} is missing (a fenced literal)")
    elif example.error:
        found.add(gate, example.line, f"{label} cannot be read: {example.error}")
    return example if example and not example.error else None


def _fields_example(found: Problems, section: ParsingSection, example: Example) -> None:
    for problem in _fields_problems(section, example.value):
        found.add("spec.fields.example", example.line, f"parsed_fields Example {problem}")


def _fields_problems(section: ParsingSection, value: Json) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "must be one dict of categories"
        return
    yield from _other_keys("the categories", section.keys(), [key for key in value if key != REFERENCE_FIELD])
    for category in section.categories:
        fields = value.get(category.key) if category.key in value else {}
        if not isinstance(fields, dict):
            yield f"{category.key} must be a dict of fields"
        elif category.key in value:
            declared = {field.name: field.type for field in category.fields}
            yield from _other_keys(f"the Key Fields of {category.key}", declared, fields)
            for name in (one for one in declared if one in fields and not _fits(declared[one], fields[one])):
                yield f"{category.key}.{name} is not of type {declared[name]}"


def _other_keys(what: str, wanted: Collection[str], given: Collection[str]) -> Iterator[str]:
    absent, unknown = [key for key in wanted if key not in given], [key for key in given if key not in wanted]
    if absent or unknown:
        yield f"must hold exactly {what}; missing {comma_list(absent)}, unknown {comma_list(unknown)}"


def _fits(kind: str, value: Json) -> bool:
    if value is None or kind not in _JSON_TYPES:
        return True
    return isinstance(value, _JSON_TYPES[kind]) and isinstance(value, bool) is (kind == "Boolean")


def _output_example(found: Problems, section: ParsingSection, example: Example) -> None:
    gate, entries = "spec.output.example", example.value
    if not isinstance(entries, list) or not entries:
        found.add(gate, example.line, "Output Example must be a list with at least one entry")
        return
    for position, entry in enumerate(entries, 1):
        for problem in _entry_problems(entry, section):
            found.add(gate, example.line, f"Output Example, entry {position}: {problem}")


def _entry_problems(entry: Json, section: ParsingSection) -> Iterator[str]:
    if not isinstance(entry, dict) or set(entry) != set(ENTRY_KEYS):
        yield f"must have exactly the keys {', '.join(ENTRY_KEYS)}"
        return
    yield from (f"{key} must be a text" for key in ENTRY_KEYS[:2] if not isinstance(entry[key], str))
    line = entry["line_number"]
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        yield "line_number must be an integer from 1, or null"
    parsed = entry["parsed_fields"]
    if not isinstance(parsed, dict):
        yield "parsed_fields must be a dict"
        return
    fields = {category.key: {field.name for field in category.fields} for category in section.categories}
    for key, inner in parsed.items():
        if key == REFERENCE_FIELD:
            if not isinstance(inner, dict) or set(inner) != {"kind", "path"}:
                yield "reference must have exactly the keys kind and path"
        elif key not in fields or not isinstance(inner, dict):
            yield f"parsed_fields has {key}, which is no category"
        elif unknown := sorted(set(inner) - fields[key]):
            yield f"{key} has {', '.join(unknown)}, not among its Key Fields"
