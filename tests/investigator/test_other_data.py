"""The example features in other clothes: other keys, envelopes, spellings and names; each
verdict stays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, judged
from tests.investigator.test_examples import EXPECTED

LABELS = {
    "tool",
    "scanner",
    "framework",
    "environment",
    "measured_at",
    "scanned_at",
    "reviewer",
    "title",
    "period",
}
WORDS = {
    "success": "green", "passed": "OK", "pass": "ok", "failed": "FAILURE", "approved": "Sign-off given",
    "rejected": "Denied", "accepted": "Signed off", "open": "unresolved", "closed": "Resolved", "fixed": "Remediated",
}  # fmt: skip


def camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def renamed(name: Callable[[str], str]) -> Callable[[Any], Any]:
    def every(value: Any) -> Any:
        if isinstance(value, dict):
            return {name(key): every(one) for key, one in value.items()}
        return [every(one) for one in value] if isinstance(value, list) else value

    return every


def leaves(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def every(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: every(one) for key, one in value.items()}
        return [every(one) for one in value] if isinstance(value, list) else change(value)

    return every


def without_labels(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_labels(one) for key, one in value.items() if key not in LABELS}
    return [without_labels(one) for one in value] if isinstance(value, list) else value


CLOTHES: dict[str, Callable[[Any], Any]] = {
    "camel case": renamed(camel),
    "kebab case": renamed(lambda key: key.replace("_", "-")),
    "title case": renamed(lambda key: key.replace("_", " ").title()),
    "an envelope": lambda value: {"meta": {"version": 3}, "data": value},
    "a list of one": lambda value: [value],
    "numbers as text": leaves(lambda one: str(one) if type(one) in (int, float) else one),
    "other words": leaves(lambda one: WORDS.get(one.lower(), one) if isinstance(one, str) else one),
    "no labels": without_labels,
}


@pytest.mark.slow
@pytest.mark.parametrize("clothes", CLOTHES)
def test_a_feature_in_other_clothes_has_its_verdict(tmp_path: Path, clothes: str) -> None:
    for folder, (verdict, _, failing) in EXPECTED.items():
        new = tmp_path / folder.replace("feature", "team-x-")
        shutil.copytree(EXAMPLES / folder, new)
        for path in [*(new / "metrics").glob("*.json"), *(new / "reviews").glob("*.json")]:
            real = (
                folder == "feature6"
                and path.parent.name == "metrics"
                and clothes not in ("an envelope", "a list of one")
            )
            if not real:  # a tool's own report has its own words
                path.write_text(json.dumps(CLOTHES[clothes](json.loads(path.read_text()))))
        decision, _ = judged(tmp_path, new.name)
        assert decision.verdict == verdict, (
            folder,
            [(one.id, one.why) for one in decision.criteria],
        )
        assert {
            one.id for one in decision.criteria if one.required and one.status == "fail"
        } == failing
