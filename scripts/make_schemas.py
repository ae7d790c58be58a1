"""Writes `src/transom/schemas/*.json`, the JSON Schema of every shape that others may build on,
from its model.

python -m scripts.make_schemas            writes
python -m scripts.make_schemas --check    exit 1 and the names of files that are out of date
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

ROOT = Path(__file__).resolve().parents[1]
# A line break inside a paragraph or inside the text of one attribute.
_WRAPPED = re.compile(r"(?<=[^\n])\n(?!\n|Attributes:|    \w+:)\s*")
FOLDER = ROOT / "src" / "transom" / "schemas"


@dataclass(frozen=True)
class Shape:
    """A shape and the model that it is made from.

    Attributes:
        name: what the document's `schema` key says, e.g. `transom.check/1`.
        model: `module:Class`.
        mode: `serialization` for what is only written, where every key is always there;
            `validation` for what people write too.
        printed_only: keys that the stored form lacks, or that are left out where they would be
            empty.
    """

    name: str
    model: str
    mode: Literal["serialization", "validation"] = "serialization"
    printed_only: frozenset[str] = frozenset()

    @property
    def file(self) -> str:
        """`transom.check/1` lies in `check-1.json`."""
        return self.name.removeprefix("transom.").replace("/", "-") + ".json"


_NOT_ALWAYS = {
    "acceptance",
    "baseline",
    "choose",
    "decided_by",
    "doubted",
    "account",
    "accepted_caps",
    "capped_by",
    "formats",
    "identity",
    "known_items",
    "would_be",
    "mode",
    "mutation_kinds",
    "readings",
}
_PRINTED = frozenset({"run_id", "seconds", "applied_at", *_NOT_ALWAYS})
SHAPES = (
    Shape("transom.check/1", "transom.checklist.judging.verdict:Verdict", printed_only=_PRINTED),
    Shape("transom.checks/1", "transom.checklist.judging.verdict:Verdicts", printed_only=_PRINTED),
    Shape("transom.spec/1", "transom.checklist.results:SpecResult"),
    Shape("transom.build/1", "transom.checklist.results:BuildResult"),
    Shape("transom.lint/1", "transom.checklist.results:LintResult"),
    Shape("transom.built/1", "transom.checklist.results:BuildRecord"),
    Shape("transom.intervention/1", "transom.checklist.results:Intervention"),
    Shape("transom.traces/1", "transom.telemetry.read:TraceList"),
    Shape("transom.trace/1", "transom.telemetry.read:TraceDocument"),
    Shape("transom.trace_stats/1", "transom.telemetry.stats:Stats"),
    Shape("transom.approval/1", "transom.checklist.judging.loading:Approval"),
    Shape("transom.checker/1", "transom.checklist.atoms:CheckerConfig", mode="validation"),
    Shape("transom.prices/1", "transom.llm.prices:Prices", mode="validation"),
    Shape("transom.eval/1", "transom.evals.document:Evaluation"),
    Shape("transom.replies/1", "transom.evals.replies:RepliesFile", mode="validation"),
    Shape("transom.story/1", "transom.stories.results:EpicResult"),
    Shape("transom.study/1", "transom.studies.result:StudyResult"),
    Shape("transom.investigation/1", "transom.investigator.result:Investigation"),
    Shape("transom.release/1", "transom.investigator.release:ReleaseAssessment"),
    Shape("transom.trouble/1", "transom.evidence.vocabulary:Vocabulary", mode="validation"),
    Shape("transom.claims/1", "transom.checklist.claims.claim_data:ClaimsFile", mode="validation"),
    Shape("transom.narrowing/1", "transom.checklist.narrowing:NarrowingNames", mode="validation"),
    Shape(
        "transom.report_format/1",
        "transom.formats.reports.report_format:ReportFormat",
        mode="validation",
    ),
    Shape("transom.files/1", "transom.formats.reports.listing:FileList"),
    Shape(
        "transom.release_words/1",
        "transom.investigator.reading.vocabulary:Words",
        mode="validation",
    ),
    Shape(
        "transom.investigation_policy/1", "transom.investigator.policy:Policy", mode="validation"
    ),
)


class _Generator(GenerateJsonSchema):
    """What is written holds every key, also those with a default."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        return self.mode == "serialization" or super().field_is_required(field, total)


def schema_of(shape: Shape) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a shape."""
    module, name = shape.model.split(":")
    model: type[BaseModel] = getattr(importlib.import_module(module), name)
    schema = model.model_json_schema(by_alias=True, mode=shape.mode, schema_generator=_Generator)
    for part in (schema, *schema.get("$defs", {}).values()):
        if "required" in part:
            part["required"] = [key for key in part["required"] if key not in shape.printed_only]
        if "description" in part:
            # Where a docstring breaks its lines is no part of the contract.
            part["description"] = _WRAPPED.sub(" ", part["description"])
    if "schema" not in schema.setdefault("required", []):
        schema["required"].append("schema")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:" + shape.name.replace(".", ":").replace("/", ":"),
    }
    return {**head, **schema, "title": shape.name}


def files() -> Iterator[tuple[Path, str]]:
    """Each schema file and the text that it should hold."""
    for shape in SHAPES:
        yield FOLDER / shape.file, json.dumps(schema_of(shape), indent=2, ensure_ascii=False) + "\n"


def stale() -> list[Path]:
    """Files that differ from their model, are missing, or belong to no shape."""
    wanted = dict(files())
    found = set(FOLDER.glob("*.json"))
    differs = {
        path
        for path, text in wanted.items()
        if path not in found or path.read_text(encoding="utf-8") != text
    }
    return sorted(differs | (found - wanted.keys()))


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` only name those that differ."""
    parser = argparse.ArgumentParser(prog="make_schemas")
    parser.add_argument("--check", action="store_true")
    if parser.parse_args(arguments).check:
        behind = stale()
        sys.stdout.writelines(
            f"{path.relative_to(ROOT)} is out of date; run: make generated\n" for path in behind
        )
        return 1 if behind else 0
    FOLDER.mkdir(exist_ok=True)
    for path in set(FOLDER.glob("*.json")) - {path for path, _ in files()}:
        path.unlink()
    for path, text in files():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
