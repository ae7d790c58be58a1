"""`transom investigate policy`: shows and checks the policy of an investigation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import day_of
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml
from transom.investigator.measures import MEASURES, words_of
from transom.investigator.policy import Policy, load_policy, shipped_text

policy_app = group("investigate policy")

PolicyFile = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="Policy file [the shipped policy].")
]
CheckedFile = Annotated[Path, typer.Argument(metavar="FILE", help="Policy file to check.")]
Measures = Annotated[
    bool, typer.Option("--measures", help="List the measures that rules can name.")
]
CheckDay = Annotated[
    str | None, typer.Option(metavar="DATE", help="Day on which waivers must be valid [today].")
]


@command(policy_app, "show", example="transom investigate policy show > policy.yaml")
def show(session: Session, file: PolicyFile = None, measures: Measures = False) -> int:
    """Print a policy in full, ready to be changed and given as `--policy`.

    A policy without a ladder is shown together with what it takes over from the shipped one.
    """
    if measures:
        rows = {measure: words_of(measure) for measure in sorted(MEASURES)}
        width = max(map(len, rows))
        return session.show(rows, *(f"{name:<{width}}  {text}" for name, text in rows.items()))
    # The shipped text has comments, which a written policy would lose.
    policy = load_policy(session.cwd / file if file is not None else None)
    content = _content(policy)
    text = shipped_text() if file is None else dump_yaml(content)
    return session.show(content, *text.rstrip("\n").split("\n"))


@command(policy_app, "lint", example="transom investigate policy lint policy.yaml")
def lint(session: Session, file: CheckedFile, as_of: CheckDay = None) -> int:
    """Check a policy: unknown keys, measures, stages and criteria are errors with their line.

    Exit: 0, or 1 if a waiver or an acceptance is no longer valid, or a criterion asks for nothing.
    """
    path = session.cwd / file
    if not path.is_file():
        raise InputError("is not a file", place=str(file), hint="name a policy file")
    policy = load_policy(path)
    day = day_of(as_of)
    # What the file's model cannot check: days, and criteria without a condition.
    problems: list[str] = []
    for waiver in policy.waivers:
        if waiver.expires < day:
            problems.append(f"the waiver for {waiver.criterion} expired on {waiver.expires}")
    for acceptance in policy.accept:
        if acceptance.get("until", "9999") < day.isoformat():
            problems.append(f"{acceptance['text']!r} was accepted until {acceptance['until']}")
    for criterion in policy.criteria:
        asks = (
            criterion.rules or criterion.known or criterion.decision or criterion.document,
            criterion.limits or criterion.approvals,
        )
        # Such a criterion would hold for every feature.
        if not any(asks):
            problems.append(f"criterion {criterion.id} asks for nothing")
    lines = [f"{file}: {problem}" for problem in problems]
    if not problems:
        lines.append(f"{file}: {len(policy.criteria)} criteria, {len(policy.stages)} stages")
    return session.show({"file": str(file), "problems": problems}, *lines, code=bool(problems))


def _content(policy: Policy) -> object:
    return policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
