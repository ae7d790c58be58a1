"""Writes the planning documents of this folder from `features.yaml` and `texts.yaml`: `python
make.py`.

The same script writes the same bytes. Jira's issues, metrics and reviews are written by hand.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
TEXTS: dict[str, Any] = yaml.safe_load((HERE / "texts.yaml").read_text("utf-8"))
Feature = dict[str, Any]


def main() -> None:
    features = yaml.safe_load((HERE / "features.yaml").read_text("utf-8"))
    for feature in features:
        folder = HERE / feature["folder"]
        for name, text in documents(feature):
            write(
                folder / "planning" / f"{name}.md",
                text + TEXTS["steering"].get(name, "") * (feature["folder"] == "feature5"),
            )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# Planning documents


def documents(feature: Feature) -> Iterator[tuple[str, str]]:
    pick = random.Random(feature["id"])
    yield "DESIGN_DOC", design(feature, pick)
    yield "ARCHITECTURE", architecture(feature, pick)
    yield "DATABASE_SCHEMA", schema(feature, pick)
    yield "API_SPECIFICATION", api(feature, pick)
    yield "USER_STORIES", stories(feature, pick)
    yield "TEST_STRATEGY", test_strategy(feature, pick)
    yield "SECURITY_DESIGN", security(feature, pick)
    yield "OPERATIONS_HANDBOOK", operations(feature, pick)
    yield "MEETING_NOTES", meetings(feature, pick)
    if feature["folder"] == "feature4":
        yield (
            "DEPLOYMENT_PLAN",
            "# Deployment plan: Volunteer Credits\n\n## Steps\n\nTODO\n\n## Rollback\n\nTBD\n",
        )
    else:
        yield "DEPLOYMENT_PLAN", deployment(feature, pick)


def head(feature: Feature, title: str) -> str:
    stage = {"feature2": "In development"}.get(feature["folder"])
    rows = [
        f"# {title}: {feature['name']}",
        "",
        f"Feature `{feature['id']}`, issue {feature['key']}.",
        "",
    ]
    if stage and title == "Design":
        rows += [f"Status: {stage}", ""]
    return "\n".join(rows)


def design(feature: Feature, pick: random.Random) -> str:
    rows = [
        head(feature, "Design"),
        "## Goal",
        "",
        feature["goal"],
        "",
        "## Problem",
        "",
        feature["problem"],
        "",
    ]
    rows += ["## How it works", ""]
    for name, what, columns in feature["entities"]:
        rows += [f"### {name}", "", what, ""]
        rows += [
            pick.choice(TEXTS["reasons"]).format(name=name, column=column, what=meaning.lower())
            for column, _, meaning in columns
        ]
        rows += [""]
    rows += ["## Flows", ""]
    for method, path, what in feature["endpoints"]:
        actor = pick.choice(feature["actors"])
        rows += [f"### {what}", "", f"A {actor} starts this flow with `{method} {path}`."]
        rows += [
            one.format(entity=pick.choice(feature["entities"])[0], actor=actor)
            for one in pick.sample(TEXTS["flow"], 8)
        ]
        rows += [""]
    rows += ["## What was decided against", ""]
    rows += [
        f"- {one.format(depends=pick.choice(feature['depends']))}"
        for one in pick.sample(TEXTS["against"], 4)
    ]
    return "\n".join([*rows, ""])


def architecture(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Architecture"), "## Context", ""]
    rows += [
        (
            "The feature is a module of the lending service. It talks to"
            f" {', '.join(feature['depends'])}."
        ),
        "",
    ]
    rows += ["## Components", ""]
    parts = ["Routes", "Rules", "Repository", "Outbox", "Worker", "Adapter"]
    for part in parts:
        rows += [f"### {part}", ""]
        rows += [
            one.format(part=part.lower(), entity=pick.choice(feature["entities"])[0])
            for one in pick.sample(TEXTS["component"], 6)
        ]
        rows += [""]
    rows += ["## Dependencies", "", "| depends on | for | when it is away |", "|---|---|---|"]
    rows += [
        f"| {one} | {pick.choice(TEXTS['uses'])} | {pick.choice(TEXTS['away'])} |"
        for one in feature["depends"]
    ]
    rows += ["", "## Jobs", ""]
    for job in feature["jobs"]:
        rows += [
            f"### {job.capitalize()}",
            "",
            *[one.format(job=job) for one in pick.sample(TEXTS["job"], 4)],
            "",
        ]
    rows += ["## Decisions", ""]
    for number, one in enumerate(pick.sample(TEXTS["decisions"], 6), 1):
        rows += [
            f"### Decision {number}",
            "",
            one.format(depends=pick.choice(feature["depends"])),
            "",
        ]
    return "\n".join(rows)


def schema(feature: Feature, pick: random.Random) -> str:
    rows = [
        head(feature, "Database schema"),
        "All tables live in the schema `lending`. Times are in UTC.",
        "",
    ]
    for name, what, columns in feature["entities"]:
        rows += [f"## {name}", "", what, "", "| column | type | meaning |", "|---|---|---|"]
        rows += [f"| {column} | {kind} | {meaning} |" for column, kind, meaning in columns]
        rows += ["", "```sql", f"create table lending.{name} ("]
        rows += [
            f"    {column} {kind}{' primary key' if n == 0 else ''},"
            for n, (column, kind, _) in enumerate(columns)
        ]
        rows += [
            "    created_at timestamptz not null default now(),",
            "    changed_at timestamptz",
            ");",
        ]
        rows += [
            f"create index {name}_{columns[1][0]}_idx on lending.{name} ({columns[1][0]});",
            "```",
            "",
        ]
        rows += [
            one.format(name=name, column=pick.choice(columns)[0])
            for one in pick.sample(TEXTS["table"], 4)
        ]
        rows += [""]
    return "\n".join(rows)


def api(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "API specification"), "All answers are JSON. Errors follow RFC 9457.", ""]
    for method, path, what in feature["endpoints"]:
        name, _, columns = pick.choice(feature["entities"])
        body = {column: example(kind, pick) for column, kind, _ in columns}
        rows += [f"## {method} {path}", "", f"{what}.", "", "### Who may call it", ""]
        rows += [f"- {actor}: {pick.choice(TEXTS['rights'])}" for actor in feature["actors"]]
        rows += ["", "### Parameters", "", "| name | in | meaning |", "|---|---|---|"]
        rows += [
            f"| {column} | {'path' if n == 0 and '{' in path else 'body'} | {meaning} |"
            for n, (column, _, meaning) in enumerate(columns)
        ]
        rows += [
            "",
            "### Example",
            "",
            "```json",
            json.dumps(body, indent=2),
            "```",
            "",
            "### Errors",
            "",
        ]
        rows += [f"- {one.format(name=name)}" for one in TEXTS["errors"]]
        rows += ["", *[one.format(name=name) for one in TEXTS["api_notes"]], ""]
    return "\n".join(rows)


def example(kind: str, pick: random.Random) -> str | int | float:
    if kind == "uuid":
        first, second = (
            f"{pick.getrandbits(32):08x}-{pick.getrandbits(16):04x}",
            f"{pick.getrandbits(48):012x}",
        )
        return f"{first}-4{pick.getrandbits(12):03x}-a{pick.getrandbits(12):03x}-{second}"
    if kind in ("integer", "smallint"):
        return pick.randrange(1, 40)
    if kind == "numeric":
        return pick.randrange(10, 400) / 4
    return {"date": "2026-09-14", "time": "09:30", "timestamptz": "2026-09-14T07:42:10Z"}.get(
        kind, "text"
    )


def stories(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "User stories")]
    number = 0
    for actor in feature["actors"]:
        rows += [f"## As a {actor}", ""]
        for _, path, what in feature["endpoints"]:
            number += 1
            rows += [
                f"### Story {number}: {what}",
                "",
                (
                    f"As a {actor} I want this: {what.lower()}, so that"
                    f" {pick.choice(TEXTS['so_that'])}."
                ),
                "",
            ]
            rows += ["Acceptance criteria:", ""]
            rows += [
                f"- {one.format(path=path, entity=pick.choice(feature['entities'])[0])}"
                for one in pick.sample(TEXTS["acceptance"], 7)
            ]
            rows += [""]
    return "\n".join(rows)


def test_strategy(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Test strategy"), *pick.sample(TEXTS["testing"], 6), "", "## Levels", ""]
    rows += [
        "- Unit tests cover rules and repositories; line coverage must reach at least 80 %.",
        "- Contract tests run against each service that the feature depends on.",
        "- Acceptance tests are written from the user stories, with those who asked for them.",
        "",
    ]
    rows += ["## Cases", "", "| case | level | given | then |", "|---|---|---|---|"]
    for number in range(1, 651):
        name, _, columns = pick.choice(feature["entities"])
        given, then = pick.choice(TEXTS["given"]), pick.choice(TEXTS["then"])
        level, column = pick.choice(["unit", "contract", "acceptance"]), pick.choice(columns)[0]
        case = f"{given.format(entity=name, column=column)} | {then.format(entity=name)}"
        rows.append(f"| T{number:03d} | {level} | {case} |")
    return "\n".join([*rows, ""])


def security(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Security design"), "## Threats and answers", ""]
    for number, (threat, answer) in enumerate(pick.sample(TEXTS["threats"], 8), 1):
        rows += [
            f"### Threat {number}",
            "",
            threat.format(entity=pick.choice(feature["entities"])[0]),
            "",
            f"Answer: {answer}",
            "",
        ]
    rows += ["## Data", "", "| table | personal data | kept for |", "|---|---|---|"]
    personal, kept = (
        ["none", "member id", "member id and time"],
        ["90 days", "one year", "three years"],
    )
    rows += [
        f"| {name} | {pick.choice(personal)} | {pick.choice(kept)} |"
        for name, _, _ in feature["entities"]
    ]
    return "\n".join([*rows, "", *pick.sample(TEXTS["testing"], 2), ""])


def operations(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Operations handbook"), "## What to watch", ""]
    for job in feature["jobs"]:
        rows += [
            f"### {job.capitalize()}",
            "",
            *[one.format(job=job) for one in pick.sample(TEXTS["job"], 5)],
            "",
        ]
    rows += ["## What to do when", ""]
    for symptom, steps in pick.sample(TEXTS["symptoms"], 5):
        rows += [f"### {symptom}", "", *[f"{n}. {one}" for n, one in enumerate(steps, 1)], ""]
    return "\n".join(rows)


def deployment(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Deployment plan"), "## Before", ""]
    rows += [f"- [x] {one}" for one in TEXTS["before"]]
    rows += ["", "## Steps", ""]
    for number, depot in enumerate(
        ["north", "harbour", "old town", "university", "mill street"], 1
    ):
        rows += [
            f"{number}. Switch the feature on for the depot {depot}. {pick.choice(TEXTS['watch'])}"
        ]
    rows += ["", "## Way back", ""]
    rows += [one.format(entity=pick.choice(feature["entities"])[0]) for one in TEXTS["back"]]
    rows += ["", "## Who is there", "", "| day | on call | decides |", "|---|---|---|"]
    rows += [
        f"| {day} | {pick.choice(TEXTS['people'])} | {pick.choice(TEXTS['people'])} |"
        for day in ["Monday", "Tuesday", "Wednesday", "Thursday"]
    ]
    return "\n".join([*rows, ""])


def meetings(feature: Feature, pick: random.Random) -> str:
    rows = [head(feature, "Meeting notes")]
    for month, day in (
        (3, 11),
        (4, 1),
        (4, 22),
        (5, 13),
        (6, 3),
        (6, 24),
        (7, 15),
        (8, 5),
        (9, 2),
        (9, 9),
        (9, 16),
    ):
        present = ", ".join(pick.sample(TEXTS["people"], 4))
        rows += [f"## 2026-{month:02d}-{day:02d}", "", f"Present: {present}.", ""]
        for _, _, what in feature["endpoints"]:
            rows += [
                f"- {pick.choice(TEXTS['people'])} showed this: {what.lower()}."
                f" {pick.choice(TEXTS['talk'])}"
            ]
        rows += ["", *pick.sample(TEXTS["talk"], 4), ""]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
