"""Describes the stages of a story in lines of progress for people."""

from __future__ import annotations

import re

_STAGE = re.compile(
    r"(?P<story>.+?)(?:/again\d+)?/(?P<step>[a-z-]+)(?:#(?P<number>\d+))?"
    r"(?:/(?P<part>[a-z-]+?)(?:-\d+)?)?"
)
_STEPS = {
    "sm": "SM drafts the story",
    "po": "PO decides",
    "tests-before": "the tests run on the baseline",
    "dev": "Dev works",
    "tests": "the tests run on Dev's work",
    "qa": "QA judges",
    "merge": "the work is merged",
}
_PROOFS = {
    "canaries": "the tests run again, with canaries",
    "ordered": "the tests run again, in their own order",
    "made-to-fail": "the tests run again, made to fail",
    "nested-checks-fail": "the tests run again, with failing checks in their branches and loops",
    "stated-checks-fail": "the tests run again, with failing checks of what the criteria state",
    "bodies-raise": "the tests run again, with functions that raise",
    "bodies-empty": "the tests run again, with functions that return nothing",
    "bodies-inner": "the tests run again, with functions that return other values",
    "bodies-shape": "the tests run again, with functions that return more values",
    "bodies-lower": "the tests run again, with functions that return lower values",
    "bodies-higher": "the tests run again, with functions that return higher values",
    "bodies-varying": "the tests run again, with functions that return another value each time",
    "bodies-inert": "the tests run again, with functions whose results are useless",
    "bodies-near": "the tests run again, with functions that return near values",
    "bodies-turned": "the tests run again, with truth values turned round",
    "bodies-no-truth": "the tests run again, without truth values",
    "bodies-other-error": "the tests run again, with functions that raise other errors",
    "bodies-no-error": "the tests run again, with functions that raise no errors",
    "bodies-arguments": "the tests run again, with functions that get other arguments",
    "bodies-no-arguments": "the tests run again, with functions that refuse arguments",
    "bodies-above": "the tests run again, with functions that return a tenth more",
    "bodies-below": "the tests run again, with functions that return a tenth less",
    "bodies-no-number": "the tests run again, without numbers",
    "bodies-reversed": "the tests run again, with functions that return lists in reverse order",
    "bodies-no-order": "the tests run again, without lists that have an order",
    "bodies-no-list": "the tests run again, without lists",
    "bodies-named": "the tests run again, with a failure in what a criterion names",
    "values-lower": "the tests run again, with lower constants and settings",
    "values-higher": "the tests run again, with higher constants and settings",
    "other-number": "the tests run again, with another number than a criterion states",
    "usual-arguments": "the tests run again, with usual values where no criterion names others",
    "without-function": "the tests run again, with a failure in what a test replaces",
    "bodies-zero": "the tests run again, with functions that return zero values",
    "bodies-other": "the tests run again, with functions that return the same value always",
    "code-of-before": "the tests run again, with the code of before",
}


def describe_stage(name: str) -> str:
    """Return the line for a stage: `1.2/dev#2` is `1.2: Dev works (attempt 2)`.

    Stages that only keep a record have no line.
    """
    if name == "tests-trial/run":
        return "the test command is tried with a test that fails"
    match = _STAGE.fullmatch(name)
    if match is None:
        return ""
    part = match["part"] or ""
    if match["step"] == "proof":
        text = _PROOFS.get(part, "")
    elif part:
        return ""
    else:
        text = _STEPS.get(match["step"], "")
    if not text:
        return ""
    number = int(match["number"] or 1)
    if number > 1 and match["step"] != "proof":
        text += f" (attempt {number})"
    return f"{match['story']}: {text}"
