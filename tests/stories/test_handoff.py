from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from transom.config.story_sections import HandoffSettings
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.stories.handoff import StoryHandoff


def test_the_file_has_the_shape_of_its_design(tmp_path: Path) -> None:
    path = tmp_path / "handoffs" / "story-1.1.yaml"
    handoff = StoryHandoff("story-1.1", path, created_at="2025-11-12T10:30:00")
    handoff.add_stage_summary("sm", "Story drafted", at="2025-11-12T10:30:01")
    handoff.add_stage_summary("po", "All clear", "APPROVED", at="2025-11-12T10:30:02")
    handoff.add_file_modified("docs/a.md", "created", at="2025-11-12T10:30:03")
    handoff.save()
    assert load_yaml(path).data == {
        "story_id": "story-1.1",
        "created_at": "2025-11-12T10:30:00",
        "stages": {
            "sm": {
                "summary": "Story drafted",
                "decision": None,
                "timestamp": "2025-11-12T10:30:01",
            },
            "po": {
                "summary": "All clear",
                "decision": "APPROVED",
                "timestamp": "2025-11-12T10:30:02",
            },
        },
        "files_modified": [
            {"path": "docs/a.md", "action": "created", "timestamp": "2025-11-12T10:30:03"}
        ],
        "decisions": [{"stage": "po", "decision": "APPROVED", "timestamp": "2025-11-12T10:30:02"}],
        "blockers": [],
    }
    handoff.add_stage_summary("po", "No: AC 2", "BLOCKED")
    assert handoff.validate_po_decision() == (True, "BLOCKED")
    assert [one["decision"] for one in handoff.decisions] == ["APPROVED", "BLOCKED"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", handoff.stages["po"]["timestamp"])


def test_each_stage_sees_only_what_it_is_to_see_and_every_cut_is_recorded() -> None:
    handoff = StoryHandoff("s")
    handoff.set_acceptance_criteria([f"criterion {n}" for n in range(13)])
    handoff.add_stage_summary("sm", "s" * 2500)
    handoff.add_stage_summary("po", "p" * 600, "APPROVED")
    handoff.add_stage_summary("dev", "d" * 10)
    for number in range(25):
        handoff.add_file_modified(f"f{number}.py", "modified")
    assert len(handoff.stages["sm"]["summary"]) == 2000
    assert (len(handoff.acceptance_criteria), handoff.criteria_total) == (10, 13)
    assert [one["path"] for one in handoff.files_modified] == [
        f"f{number}.py" for number in range(5, 25)
    ]
    assert handoff.get_context_for_stage("sm") == {}
    po = handoff.get_context_for_stage("po")
    assert list(po) == ["sm_summary"] and len(po["sm_summary"]) == 500
    dev = handoff.get_context_for_stage("dev")
    assert (list(dev), dev["po_decision"], len(dev["po_summary"])) == (
        ["po_decision", "po_summary"],
        "APPROVED",
        500,
    )
    qa = handoff.get_context_for_stage("qa")
    assert (list(qa), qa["dev_summary"]) == (["dev_summary", "files"], "d" * 10)
    assert [one["path"] for one in qa["files"]] == [f"f{number}.py" for number in range(15, 25)]
    told = [
        (row["what"], row["kept"], row["of"], row.get("dropped")) for row in handoff.truncations
    ]
    assert told == [
        ("acceptance_criteria", 10, 13, None),
        ("sm summary", 2000, 2500, None),
        ("files_modified", 20, 25, None),
        ("sm summary for po", 500, 2000, None),
        ("po summary for dev", 500, 600, None),
        ("files for qa", 10, 20, None),
    ]


def test_limits_are_settings_and_a_file_that_is_touched_again_stands_once() -> None:
    handoff = StoryHandoff(
        "s", limits=HandoffSettings(max_summary_length=10, max_files_tracked=2, summary_passed_on=4)
    )
    handoff.add_stage_summary("sm", "0123456789ab")
    assert handoff.stages["sm"]["summary"] == "012345678…"
    assert handoff.get_context_for_stage("po") == {"sm_summary": "012…"}
    handoff.add_file_modified("a", "created")
    handoff.add_file_modified("b", "modified")
    handoff.add_file_modified("a", "modified")
    assert [(one["path"], one["action"]) for one in handoff.files_modified] == [
        ("b", "modified"),
        ("a", "created"),
    ]
    for bad in (
        lambda: handoff.add_stage_summary("ceo", "x"),
        lambda: handoff.get_context_for_stage("ceo"),
    ):
        with pytest.raises(InputError, match="unknown stage 'ceo'"):
            bad()


@pytest.mark.parametrize(
    ("stages", "decisions", "why"),
    [
        ({}, [], "has no decision"),
        ({"po": {"decision": "APPROVED"}}, [], "has no decision"),
        (
            {"po": {"decision": "APPROVED"}},
            [{"stage": "po", "decision": "BLOCKED"}],
            "APPROVED in stages and BLOCKED",
        ),
        (
            {"po": {"decision": "approved"}},
            [{"stage": "po", "decision": "approved"}],
            "unknown decision",
        ),
        ({"po": {"decision": "MAYBE"}}, [{"stage": "po", "decision": "MAYBE"}], "unknown decision"),
    ],
)
def test_a_decision_of_po_counts_only_where_both_places_have_it(
    stages: Any, decisions: Any, why: str
) -> None:
    handoff = StoryHandoff("s")
    handoff.stages, handoff.decisions = stages, decisions
    valid, message = handoff.validate_po_decision()
    assert not valid and why in message


def test_retention_says_which_files_of_finished_stories_stay(tmp_path: Path) -> None:
    def finished(
        folder: str, retention: str, *, stories: int = 1, blocked: bool = False
    ) -> tuple[int, list[str]]:
        for number in range(stories):
            path, limits = (
                tmp_path / folder / f"s{number}.yaml",
                HandoffSettings(retention=retention),
            )
            handoff = StoryHandoff(f"s{number}", path, limits=limits)
            if blocked:
                handoff.add_blocker("no credentials", "po")
            handoff.save()
            handoff.cleanup()
        left = sorted(path.name[:2] for path in (tmp_path / folder / "archive").glob("*.yaml"))
        return len(list((tmp_path / folder).glob("*.yaml"))), left

    assert finished("a", "delete", blocked=True) == (0, [])
    assert finished("b", "archive") == (0, ["s0"])
    assert finished("c", "keep:2", stories=4) == (0, ["s2", "s3"])
    assert finished("d", "failed") == (0, [])
    assert finished("e", "failed", blocked=True) == (0, ["s0"])
