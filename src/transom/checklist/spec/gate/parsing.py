"""Section 1: categories, fields, examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from transom.canonical import Json
from transom.checklist.atoms import ENTRY_KEYS, REFERENCE_FIELD
from transom.checklist.spec.gate.problem import SpecProblem, consecutive, is_thin, listed, missing
from transom.checklist.spec.shapes import Category, Example, ParsingSection
from transom.checklist.spec.words import FIELD_TYPES


def parsing_says(section: ParsingSection) -> Iterator[SpecProblem]:
    """The findings of Section 1."""
    yield from _categories(section)
    for category in section.categories:
        yield from missing("spec.category", category.line, _name(category), [("Purpose", category.purpose)])
        yield from _key(category)
        yield from _fields(category)
    yield from _fields_example(section)
    yield from _output_example(section)


def _name(category: Category) -> str:
    return f"{category.number} {category.name}".strip()


def _categories(section: ParsingSection) -> Iterator[SpecProblem]:
    if not section.keys():
        yield SpecProblem("spec.categories", section.line, "no category with a key in parsed_fields (`### 1.1 ...`)")
    yield from consecutive("spec.categories", [c.number for c in section.categories], "1", section.line)
    for key, count in Counter(section.keys()).items():
        if count > 1:
            yield SpecProblem("spec.categories", section.line, f"category key {key} is used {count} times")


def _key(category: Category) -> Iterator[SpecProblem]:
    strange = [field.name for field in category.fields if field.name not in ENTRY_KEYS]
    if category.key is None and (strange or not category.fields):
        yield SpecProblem("spec.category.key", category.line, f"{_name(category)}: Category key is missing")
    if category.key in (*ENTRY_KEYS, REFERENCE_FIELD):
        yield SpecProblem("spec.category.key", category.line, f"{_name(category)}: the key {category.key} is reserved")


def _fields(category: Category) -> Iterator[SpecProblem]:
    if not category.fields:
        yield SpecProblem("spec.fields", category.line, f"{_name(category)}: Key Fields is missing or empty")
    for name, count in Counter(field.name for field in category.fields).items():
        if count > 1:
            yield SpecProblem(
                "spec.fields", category.line, f"{_name(category)}: field {name} stands there {count} times"
            )
    for field in category.fields:
        if field.type not in FIELD_TYPES:
            given = f"type {field.type!r}" if field.type else "no type"
            wanted = ", ".join(FIELD_TYPES)
            yield SpecProblem(
                "spec.fields.type", field.line, f"field {field.name} has {given}; must be one of {wanted}"
            )
        if is_thin(field.meaning):
            yield SpecProblem("spec.fields.meaning", field.line, f"field {field.name} does not say what it is")


def _unread(gate: str, label: str, example: Example | None, line: int) -> Iterator[SpecProblem]:
    if example is None:
        yield SpecProblem(gate, line, f"{label} is missing (a fenced literal)")
    elif example.error:
        yield SpecProblem(gate, example.line, f"{label} cannot be read: {example.error}")


def _fields_example(section: ParsingSection) -> Iterator[SpecProblem]:
    gate, label, example = "spec.fields.example", "parsed_fields Example", section.fields_example
    yield from _unread(gate, label, example, section.line)
    if example is None or example.error:
        return
    value = example.value
    if not isinstance(value, dict):
        yield SpecProblem(gate, example.line, f"{label} must be one dict of categories")
        return
    keys = section.keys()
    unknown = [key for key in value if key not in (*keys, REFERENCE_FIELD)]
    absent = [key for key in keys if key not in value]
    if unknown or absent:
        yield SpecProblem(
            gate,
            example.line,
            f"{label} must hold exactly the categories; missing {listed(absent)}, unknown {listed(unknown)}",
        )
    for category in section.categories:
        if category.key in value and category.key is not None:
            yield from _category_example(category, value[category.key], example.line)


def _category_example(category: Category, value: Json, line: int) -> Iterator[SpecProblem]:
    gate = "spec.fields.example"
    if not isinstance(value, dict):
        yield SpecProblem(gate, line, f"parsed_fields Example: {category.key} must be a dict of fields")
        return
    declared = {field.name: field.type for field in category.fields}
    unknown = [name for name in value if name not in declared]
    absent = [name for name in declared if name not in value]
    if unknown or absent:
        yield SpecProblem(
            gate,
            line,
            f"parsed_fields Example: {category.key} must hold exactly its Key Fields; "
            f"missing {listed(absent)}, unknown {listed(unknown)}",
        )
    for name in (one for one in declared if one in value):
        if not _fits(declared[name], value[name]):
            yield SpecProblem(
                gate, line, f"parsed_fields Example: {category.key}.{name} is not of type {declared[name]}"
            )


def _fits(kind: str, value: Json) -> bool:
    if value is None:
        return True
    match kind:
        case "String":
            return isinstance(value, str)
        case "Boolean":
            return isinstance(value, bool)
        case "Integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "Number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "List":
            return isinstance(value, list)
        case "Object":
            return isinstance(value, dict)
    return True


def _output_example(section: ParsingSection) -> Iterator[SpecProblem]:
    gate, label, example = "spec.output.example", "Output Example", section.output_example
    yield from _unread(gate, label, example, section.line)
    if example is None or example.error:
        return
    if not isinstance(example.value, list) or not example.value:
        yield SpecProblem(gate, example.line, f"{label} must be a list with at least one entry")
        return
    for position, entry in enumerate(example.value, 1):
        for problem in _entry(entry, section):
            yield SpecProblem(gate, example.line, f"{label}, entry {position}: {problem}")


def _entry(entry: Json, section: ParsingSection) -> Iterator[str]:
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
