"""Section 1: categories, fields, examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import SchemaValidator
from pydantic_core import core_schema as cs

from transom.checklist.atoms import ENTRY_KEYS, REFERENCE_FIELD
from transom.checklist.writing.gate.problems import Problems
from transom.checklist.writing.shapes import Category, Example, ParsingSection
from transom.checklist.writing.words import FIELD_TYPES

_TYPES: Final[Mapping[str, cs.CoreSchema]] = {
    "String": cs.str_schema(),
    "Boolean": cs.bool_schema(),
    "Integer": cs.int_schema(),
    "Number": cs.float_schema(),
    "List": cs.list_schema(),
    "Object": cs.dict_schema(),
}


def check_parsing(problems: Problems, section: ParsingSection) -> None:
    """Check Section 1."""
    message = "no category with a key in parsed_fields (`### 1.1 ...`)"
    problems.unless(section.keys(), "spec.categories", section.line, message)
    problems.numbered(
        "spec.categories", [category.number for category in section.categories], "1", section.line
    )
    for key, count in Counter(section.keys()).items():
        problems.unless(
            count == 1, "spec.categories", section.line, f"category key {key} is used {count} times"
        )
    for category in section.categories:
        _category(problems, category)
    fields, output = _fields(section, required=True), cs.list_schema(_entry(section), min_length=1)
    _example(
        problems,
        section,
        "parsed_fields Example",
        section.fields_example,
        fields,
        "spec.fields.example",
    )
    _example(
        problems, section, "Output Example", section.output_example, output, "spec.output.example"
    )


def _category(problems: Problems, category: Category) -> None:
    name, line = f"{category.number} {category.name}".strip(), category.line
    problems.thin(category.purpose, "spec.category.purpose", line, f"{name}: Purpose")
    strange = []
    for field in category.fields:
        if field.name not in ENTRY_KEYS:
            strange.append(field.name)
    keyless = category.key is None and (strange or not category.fields)
    problems.unless(not keyless, "spec.category.key", line, f"{name}: Category key is missing")
    # These keys belong to the entry itself, and would be overwritten.
    reserved = category.key in (*ENTRY_KEYS, REFERENCE_FIELD)
    problems.unless(
        not reserved, "spec.category.key", line, f"{name}: the key {category.key} is reserved"
    )
    problems.unless(category.fields, "spec.fields", line, f"{name}: Key Fields is missing or empty")
    for key, count in Counter(field.name for field in category.fields).items():
        problems.unless(
            count == 1, "spec.fields", line, f"{name}: field {key} stands there {count} times"
        )
    for field in category.fields:
        message = (
            f"field {field.name} has type {field.type or 'none'}; must be one of"
            f" {', '.join(FIELD_TYPES)}"
        )
        problems.unless(field.type in FIELD_TYPES, "spec.fields.type", field.line, message)
        problems.thin(
            field.meaning, "spec.fields.meaning", field.line, f"what field {field.name} is"
        )


def _example(
    problems: Problems,
    section: ParsingSection,
    label: str,
    example: Example | None,
    schema: cs.CoreSchema,
    gate: str,
) -> None:
    if example is None:
        problems.add(gate, section.line, f"{label} is missing (a fenced literal)")
    elif example.error:
        problems.add(gate, example.line, f"{label} cannot be read: {example.error}")
    else:
        try:
            SchemaValidator(schema).validate_python(example.value, strict=True)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                place = f", {'.'.join(map(str, detail['loc']))}" if detail["loc"] else ""
                problems.add(gate, example.line, f"{label}{place}: {detail['msg']}")


def _fields(section: ParsingSection, *, required: bool) -> cs.CoreSchema:
    """Return the schema of `parsed_fields`; if `required`, of all fields with their types."""
    categories = {}
    for category in section.categories:
        if category.key:
            categories[category.key] = {
                field.name: cs.nullable_schema(
                    _TYPES.get(field.type, cs.any_schema()) if required else cs.any_schema()
                )
                for field in category.fields
            }
    typed_fields = {}
    for key, fields in categories.items():
        typed_fields[key] = cs.typed_dict_field(_exactly(fields, required), required=required)
    reference = cs.typed_dict_field(
        _exactly({"kind": cs.any_schema(), "path": cs.any_schema()}), required=False
    )
    return cs.typed_dict_schema(
        {**typed_fields, REFERENCE_FIELD: reference}, extra_behavior="forbid"
    )


def _entry(section: ParsingSection) -> cs.CoreSchema:
    line = cs.nullable_schema(cs.int_schema(ge=1))
    kinds = (
        cs.str_schema(),
        cs.str_schema(),
        line,
        cs.any_schema(),
        _fields(section, required=False),
    )
    return _exactly(dict(zip(ENTRY_KEYS, kinds, strict=True)))


def _exactly(keys: Mapping[str, cs.CoreSchema], required: bool = True) -> cs.CoreSchema:
    fields = {key: cs.typed_dict_field(schema, required=required) for key, schema in keys.items()}
    return cs.typed_dict_schema(fields, extra_behavior="forbid")
