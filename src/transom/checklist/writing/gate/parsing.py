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


def check_parsing(found: Problems, section: ParsingSection) -> None:
    """The findings of Section 1."""
    what = "no category with a key in parsed_fields (`### 1.1 ...`)"
    found.unless(section.keys(), "spec.categories", section.line, what)
    found.numbered(
        "spec.categories", [category.number for category in section.categories], "1", section.line
    )
    for key, count in Counter(section.keys()).items():
        found.unless(
            count == 1, "spec.categories", section.line, f"category key {key} is used {count} times"
        )
    for category in section.categories:
        _category(found, category)
    fields, output = _fields(section, whole=True), cs.list_schema(_entry(section), min_length=1)
    _example(
        found,
        section,
        "parsed_fields Example",
        section.fields_example,
        fields,
        "spec.fields.example",
    )
    _example(
        found, section, "Output Example", section.output_example, output, "spec.output.example"
    )


def _category(found: Problems, category: Category) -> None:
    name, line = f"{category.number} {category.name}".strip(), category.line
    found.thin(category.purpose, "spec.category.purpose", line, f"{name}: Purpose")
    strange = [field.name for field in category.fields if field.name not in ENTRY_KEYS]
    keyless = category.key is None and (strange or not category.fields)
    found.unless(not keyless, "spec.category.key", line, f"{name}: Category key is missing")
    reserved = category.key in (*ENTRY_KEYS, REFERENCE_FIELD)
    found.unless(
        not reserved, "spec.category.key", line, f"{name}: the key {category.key} is reserved"
    )
    found.unless(category.fields, "spec.fields", line, f"{name}: Key Fields is missing or empty")
    for field, count in Counter(field.name for field in category.fields).items():
        found.unless(
            count == 1, "spec.fields", line, f"{name}: field {field} stands there {count} times"
        )
    for one in category.fields:
        what = (
            f"field {one.name} has type {one.type or 'none'}; must be one of"
            f" {', '.join(FIELD_TYPES)}"
        )
        found.unless(one.type in FIELD_TYPES, "spec.fields.type", one.line, what)
        found.thin(one.meaning, "spec.fields.meaning", one.line, f"what field {one.name} is")


def _example(
    found: Problems,
    section: ParsingSection,
    label: str,
    example: Example | None,
    schema: cs.CoreSchema,
    gate: str,
) -> None:
    if example is None:
        found.add(gate, section.line, f"{label} is missing (a fenced literal)")
    elif example.error:
        found.add(gate, example.line, f"{label} cannot be read: {example.error}")
    else:
        try:
            SchemaValidator(schema).validate_python(example.value, strict=True)
        except ValidationError as error:
            for one in error.errors(include_url=False, include_input=False):
                place = f", {'.'.join(map(str, one['loc']))}" if one["loc"] else ""
                found.add(gate, example.line, f"{label}{place}: {one['msg']}")


def _fields(section: ParsingSection, *, whole: bool) -> cs.CoreSchema:
    """`parsed_fields` with these categories and fields alone; where it is `whole`, all of them
    with their types.
    """
    categories = {
        category.key: {
            field.name: cs.nullable_schema(
                _TYPES.get(field.type, cs.any_schema()) if whole else cs.any_schema()
            )
            for field in category.fields
        }
        for category in section.categories
        if category.key
    }
    made = {
        key: cs.typed_dict_field(_exactly(fields, whole), required=whole)
        for key, fields in categories.items()
    }
    reference = cs.typed_dict_field(
        _exactly({"kind": cs.any_schema(), "path": cs.any_schema()}), required=False
    )
    return cs.typed_dict_schema({**made, REFERENCE_FIELD: reference}, extra_behavior="forbid")


def _entry(section: ParsingSection) -> cs.CoreSchema:
    line = cs.nullable_schema(cs.int_schema(ge=1))
    kinds = (cs.str_schema(), cs.str_schema(), line, cs.any_schema(), _fields(section, whole=False))
    return _exactly(dict(zip(ENTRY_KEYS, kinds, strict=True)))


def _exactly(keys: Mapping[str, cs.CoreSchema], required: bool = True) -> cs.CoreSchema:
    fields = {key: cs.typed_dict_field(schema, required=required) for key, schema in keys.items()}
    return cs.typed_dict_schema(fields, extra_behavior="forbid")
