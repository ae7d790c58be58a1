"""Honest and wrong checkers as data: what `cases/*.yaml` tell, made into checker folders and held
to the gates.

A file of cases is one form of report: `spec` says what is asked, `files` are the reports,
`examples` stand in the ItemSpec, and each of `checkers` is a way of writing atom A: `honest` ones
are to be accepted, `wrong` ones refused by the gate that they name. `instead`, `own` (atoms B and
C), `item` and `form` change what the others share.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.vectors import STANDARD_SOURCE
from transom.checklist.writing.document import assemble
from transom.formats.yaml_files import dump_yaml, load_yaml

CASES = Path(__file__).parent / "cases"

_ATOM = """import json
import re
from typing import Dict, List

SCOPE = "file"
SOURCES = {sources}


def extract_context(text: str, source_file: str) -> List[Dict]:
    results = []
{body}
"""
_SECTION1 = """**Information to extract**: {about}.

### 1.1 {category}

- **Purpose**: {about}
- **Category key**: `{category}`
- **Key Fields**:
{fields}
"""
_SECTION2 = """**Capability type**: 1 (Boolean check)

### 2.1 {name}

- **Purpose**: {about}
- **Required fields**: {required}
- **Validation type**: existence check
- **Condition**: {condition}
- **Mode**: {mode}
- **Quantifier**: {quantifier}
{more}"""
_SECTION4 = """### 4.1 Item-Specific Implementation Points

#### Data Sources

{sources}

#### Extraction: {category}

- **Category key**: `{category}`
- **Location**: {location}
- **Keywords**: {keywords}
- **Patterns**:
{patterns}
- **Method**: {method}

#### Examples

```yaml
{examples}```
"""
_SIGNS = {
    "equals": "==",
    "not_equals": "!=",
    "le": "<=",
    "lt": "<",
    "ge": ">=",
    "gt": ">",
    "matches": "matches",
}


@dataclass(frozen=True)
class Case:
    """One checker. `verdict` is what it must say of the reports where it is honest and its item
    is not.
    """

    name: str
    form: dict[str, Any]
    checker: dict[str, Any]

    @property
    def honest(self) -> bool:
        return bool(self.checker["honest"])

    def write(self, folder: Path) -> Path:
        """The checker's folder."""
        form, target = {**self.form, **self.checker.get("form", {})}, folder / self.name
        files = target / "files"
        files.mkdir(parents=True)
        for name, text in form["files"].items():
            (files / name).write_text(text)
        (target / "ItemSpec.md").write_text(_spec(self.name, form))
        (target / "checker.yaml").write_text(dump_yaml(_config(form["spec"], self.checker)))
        body = "\n".join(
            f"    {line}".rstrip() for line in self.checker["atom"].rstrip().split("\n")
        )
        atom = _replaced(
            _ATOM.format(sources=form["spec"]["sources"], body=body),
            self.checker.get("instead", {}),
        )
        if "own" not in self.checker:
            (target / "atom_a.py").write_text(atom)
            return target
        layer = "" if "return results" in body else LOCKED_LAYER
        logic = _replaced(STANDARD_SOURCE, self.checker["own"])
        (target / "atoms.py").write_text(f"{atom}{layer}\n\n{logic}")
        return target


@functools.cache
def cases() -> tuple[Case, ...]:
    """All of them, named `form-checker`."""
    return tuple(_all())


def _all() -> Iterator[Case]:
    for path in sorted(CASES.glob("*.yaml")):
        form: Any = load_yaml(path).data
        for name, checker in form.pop("checkers").items():
            yield Case(f"{path.stem}-{name}", form, checker)


def _config(spec: dict[str, Any], checker: dict[str, Any]) -> dict[str, Any]:
    item = {"id": "2.1", "name": spec["name"], **spec["item"], **checker.get("item", {})}
    more = {key: checker[key] for key in ("requirements",) if key in checker}
    return {
        "capability_type": 1,
        "atoms": "own" if "own" in checker else "standard",
        "items": [item],
        **more,
    }


def _replaced(text: str, pairs: dict[str, str]) -> str:
    for old, new in pairs.items():
        assert old in text, f"{old!r} stands not in the right checker"
        text = text.replace(old, new)
    return text


def _literal(condition: dict[str, Any]) -> str:
    return f'"{condition["value"]}"' if condition["op"] == "matches" else repr(condition["value"])


def _spec(name: str, form: dict[str, Any]) -> str:
    spec = form["spec"]
    item, category = spec["item"], spec["item"]["select"].partition(".")[0]
    condition = item.get("condition")
    shown = condition and f"`{condition['field']} {_SIGNS[condition['op']]} {_literal(condition)}`"
    count = item.get("count")
    more = [f"- **Take**: {item['take']}"] if item.get("take") else []
    more += [f"- **Count**: `{_SIGNS[count['op']]} {count['value']}`"] if count else []
    about, ranks = spec["about"], ("Primary", "Secondary", "Fallback")
    sources = [
        f"- **{rank} source**: `{one['kind']}` in"
        f" {', '.join(f'`{glob}`' for glob in one['files'])}: the report"
        for rank, one in zip(ranks, spec["sources"], strict=False)
    ]
    one = _SECTION1.format(
        about=about, category=category,
        fields="\n".join(f"  - `{field}` ({kind}): {about}" for field, kind in spec["fields"].items()),
    )  # fmt: skip
    two = _SECTION2.format(
        name=spec["name"], about=about, condition=shown or "none", mode=item.get("mode", "require"),
        required=", ".join(f"`{field}`" for field in (item.get("required") or [item["select"]])),
        quantifier=item.get("quantifier", "per_file").replace("_", " "), more="\n".join([*more, ""]),
    )  # fmt: skip
    four = _SECTION4.format(
        sources="\n".join(sources), category=category, location=spec["location"], method=spec["method"],
        keywords=", ".join(f'"{word}"' for word in spec["keywords"]),
        patterns="\n".join(f"  - `{pattern}`: as named" for pattern in spec["patterns"]),
        examples=dump_yaml(form["examples"]),
    )  # fmt: skip
    return assemble(name, about, {"1": one, "2": two, "3": "**Waiver support**: no\n", "4": four})
