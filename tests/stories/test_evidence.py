from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stories.projects import EXAMPLE, TESTS, git, make_project, write
from transom.errors import InputError
from transom.formats.test_files import is_test_file
from transom.formats.yaml_files import load_yaml
from transom.sandbox import Level
from transom.stories.decisions import read_reply
from transom.stories.evidence import AttemptEvidence, Rules, judge
from transom.stories.git import Git
from transom.stories.results import score_work
from transom.stories.stories_yaml import read_stories_yaml
from transom.stories.story import Story
from transom.stories.testrun import TestCommand, TestRun, compare, run_tests
from transom.stories.weakening import weakened

STORIES = "docs/epics/epic-1/stories.yaml"
RULES = Rules(backlog=(STORIES,))
DISCOUNT = "def discount(amount, percent):\n    return amount - amount * percent / 100\n"
DISCOUNT_TEST = (
    "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_ten(self):\n       "
    " self.assertTrue(self.id())\n"
)
GOOD = "FILES:\n- created: till/discounts.py\n- created: tests/test_discounts.py\n"


def stories() -> tuple[Story, ...]:
    return read_stories_yaml(load_yaml(EXAMPLE / "project" / STORIES), STORIES)


def judged(
    project: Path, story: Story, reply: str, ran: dict[str, str] | None = None
) -> AttemptEvidence:
    """Commit what lies in the project, and judge it against its first commit."""

    async def work() -> AttemptEvidence:
        here = Git(project)
        base = await here("rev-list", "--max-parents=0", "HEAD")
        head = await here.commit_all("work\n")
        before = TestRun.model_validate({"cases": {"tests.test_prices.T.test_a": "passed"}})
        after = TestRun.model_validate(
            {"cases": ran or {**before.cases, "tests.test_discounts.T.test_ten": "passed"}}
        )
        return await judge(
            here, story, RULES, (base, base, head), read_reply(reply), compare(before, after)
        )

    return asyncio.run(work())


def test_honest_work_has_no_findings_and_names_the_tests_of_each_criterion(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    write(project, "till/discounts.py", DISCOUNT)
    write(project, "tests/test_discounts.py", DISCOUNT_TEST)
    evidence = judged(
        project, stories()[0], f"{GOOD}TESTS:\n- AC 1: tests/test_discounts.py::T::test_ten\n"
    )
    assert evidence.findings == ()
    assert [(one.path, one.action) for one in evidence.changes] == [
        ("tests/test_discounts.py", "created"),
        ("till/discounts.py", "created"),
    ]
    assert evidence.claimed == {1: ("tests.test_discounts.T.test_ten",)}


@pytest.mark.parametrize(
    ("files", "tests", "why"),
    [
        ({}, "", "Dev changed no file"),
        ({}, "TESTS:\n- AC 1: test_nowhere\n", "test_nowhere is claimed to cover criterion 1"),
        (
            {"till/discounts.py": DISCOUNT, "tests/test_discounts.py": DISCOUNT_TEST},
            "TESTS:\n- AC 2: test_hundred\n",
            "test_hundred is claimed to cover criterion 2",
        ),
    ],
)
def test_a_score_says_what_contradicts_the_reply(
    tmp_path: Path, files: dict[str, str], tests: str, why: str
) -> None:
    project, (story, *_) = make_project(tmp_path), stories()
    for path, text in files.items():
        write(project, path, text)
    evidence = judged(project, story, f"SUMMARY: written and tested.\n{GOOD}{tests}")
    changes = {change.path: change.action for change in evidence.changes}
    score = score_work("written and tested.", story, changes, (), evidence.denied)
    assert score.parts["claims"] == 0
    assert f"is contradicted: {why}" in str(score)
    assert "no false claim" not in str(score)


@pytest.mark.parametrize(
    ("files", "reply", "what"),
    [
        ({}, GOOD, "worktree: Dev changed no file"),
        ({"till/discounts.py": DISCOUNT}, GOOD, "tests/test_discounts.py is listed and unchanged"),
        (
            {"till/discounts.py": DISCOUNT, "till/extra.py": "x = 1\n"},
            GOOD,
            "till/extra.py: the story does not allow",
        ),
        (
            {"till/discounts.py": DISCOUNT, "tests/test_b.py": "x = 1\n"},
            GOOD,
            "tests/test_b.py is created and not listed",
        ),
        ({"till/discounts.py": DISCOUNT}, "I did it.", "Dev lists no files"),
        (
            {"run_tests.py": "import sys\nsys.exit(0)\n"},
            GOOD,
            "run_tests.py: it decides how tests are run",
        ),
        ({"tests/conftest.py": "x = 1\n"}, GOOD, "tests/conftest.py: it decides how tests are run"),
        ({".gitignore": "*\n"}, GOOD, ".gitignore: it decides how tests are run"),
        ({STORIES: "stories: []\n"}, GOOD, f"{STORIES}: it belongs to the backlog"),
        ({"till/discounts.py": "->/etc/passwd"}, GOOD, "till/discounts.py: it is a link"),
        (
            {"tests/test_prices.py": "import unittest\n"},
            GOOD,
            "TotalTest.test_nothing_costs_nothing is gone",
        ),
        (
            {"tests/test_prices.py": None},
            GOOD,
            "tests/test_prices.py: TotalTest.test_nothing_costs_nothing is gone",
        ),
        (
            {"till/discounts.py": DISCOUNT},
            f"{GOOD}TESTS:\n- AC 1: test_no_such\n",
            "test_no_such is claimed to cover",
        ),
        (
            {"till/discounts.py": DISCOUNT},
            f"{GOOD}TESTS:\n- AC 7: test_ten\n",
            "unknown criterion 7",
        ),
    ],
)
def test_what_is_wrong_with_work_is_found(
    tmp_path: Path, files: dict[str, str | None], reply: str, what: str
) -> None:
    project = make_project(tmp_path)
    for path, text in files.items():
        if text is None:
            (project / path).unlink()
        elif text.startswith("->"):
            (project / path).symlink_to(text[2:])
        else:
            write(project, path, text)
    findings = judged(project, stories()[0], reply).findings
    assert any(what in one for one in findings), findings


BEFORE = """
import pytest, unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(1), 2)
        with self.assertRaises(ValueError):
            f(None)
def test_b():
    assert f(2) == 3
    assert f(3) == 4
"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("assert f(3) == 4", "assert f(3) == 4\n    assert f(4) == 5", ""),
        ("def test_b", "def test_c():\n    assert f(9)\ndef test_b", ""),
        ("    assert f(3) == 4\n", "", "makes 1 checks, and made 2"),
        ("assert f(3) == 4", "assert True", "makes 1 checks, and made 2"),
        ("assert f(3) == 4", "assert f(3) == 5", "no longer checks: f(3) == 4"),
        ("def test_b", "@pytest.mark.skip\ndef test_b", "test_b makes 0 checks, and made 2"),
        (
            "def test_b",
            "@pytest.mark.xfail(reason='x')\ndef test_b",
            "test_b makes 0 checks, and made 2",
        ),
        ("class T", "@unittest.skip('later')\nclass T", "T.test_a makes 0 checks, and made 2"),
        (
            "import pytest, unittest\n",
            "import pytest, unittest\npytestmark = pytest.mark.skip\n",
            "makes 0 checks",
        ),
        (
            "    assert f(2) == 3",
            "    pytest.skip('x')\n    assert f(2) == 3",
            "test_b makes 0 checks, and made 2",
        ),
        ("    assert f(2) == 3", "    return\n    assert f(2) == 3", "makes 0 checks, and made 2"),
        (
            "    assert f(3) == 4",
            "    try:\n        assert f(3) == 4\n    except AssertionError:\n        pass",
            "makes 1",
        ),
        ("    assert f(3) == 4", "    if False:\n        assert f(3) == 4", "makes 1"),
        ("def test_b", "def check_b", "test_b is gone"),
        (
            "self.assertEqual(f(1), 2)",
            "self.assertEqual(2, 2)",
            "T.test_a makes 1 checks, and made 2",
        ),
        ("class T", "class T(", "T.test_a is gone"),
    ],
)
def test_a_test_that_checks_less_is_found(old: str, new: str, what: str) -> None:
    assert old in BEFORE
    found = findings({"test_x.py": BEFORE}, {"test_x.py": BEFORE.replace(old, new)})
    assert (not found) if not what else what in found[0][1]


def test_a_test_may_move_and_what_the_story_names_may_change_but_not_check_less() -> None:
    moved = {
        "test_x.py": BEFORE.partition("def test_b")[0],
        "test_y.py": "def test_b" + BEFORE.partition("def test_b")[2],
    }
    assert findings({"test_x.py": BEFORE}, moved) == ()
    other = BEFORE.replace("f(3) == 4", "f(3) == 5")
    result = weakened({"test_x.py": BEFORE}, {"test_x.py": other}, {"test_x.py"})
    assert (result.findings, result.changed) == ((), (("test_x.py", "test_b"),))


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("    assert f(3) == 4\n", "", "makes 1 checks, and made 2"),
        ("f(3) == 4", "f(3) == 4 or True", "checks less than"),
        ("f(3) == 4", "f(3) is not None", "checks less than"),
        ("f(3) == 4", "f(3) > 0", "checks less than"),
        ("f(3) == 4", "f(3) == f(3)", "checks less than"),
        ("f(3) == 4", "f(3) in (3, 4, 5)", "checks less than"),
        ("f(3) == 4", "f(3) == pytest.approx(4, abs=2)", "allows a difference of 2"),
        ("self.assertEqual(f(1), 2)", "self.assertIsNotNone(f(1))", "checks less than"),
        ("self.assertEqual(f(1), 2)", "self.assertAlmostEqual(f(1), 2)", "checks less than"),
        ("assertRaises(ValueError)", "assertRaises(Exception)", "checks less than"),
        ("assert f(3) == 4", "assert f(3) == 4\ndef test_b():\n    pass", "test_b makes 0 checks"),
        ("assert f(3) == 4", "assert f(3) == 4\ntest_b = print", "hidden by a later definition"),
    ],
)
def test_a_file_that_the_story_names_must_not_check_less(old: str, new: str, finding: str) -> None:
    assert old in BEFORE
    found = findings({"test_x.py": BEFORE}, {"test_x.py": BEFORE.replace(old, new)}, "test_x.py")
    assert any(finding in text for _, text in found), found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("abs(f(1) - 2) < 0.01", "abs(f(1) - 2) < 0.5"),
        ("f(1) == pytest.approx(2)", "f(1) == pytest.approx(2, rel=0.3)"),
        ("math.isclose(f(1), 2, abs_tol=0.01)", "math.isclose(f(1), 2, abs_tol=1)"),
    ],
)
def test_a_larger_tolerance_is_found_and_a_smaller_one_is_not(old: str, new: str) -> None:
    texts = [f"def test_a():\n    assert {check}\n" for check in (old, new)]
    assert "allows a difference" in findings({"t.py": texts[0]}, {"t.py": texts[1]}, "t.py")[0][1]
    assert findings({"t.py": texts[1]}, {"t.py": texts[0]}, "t.py") == ()


def findings(
    before: dict[str, str], after: Mapping[str, str | None], *named: str
) -> tuple[tuple[str, str], ...]:
    return weakened(before, {**after}, named).findings


def test_tests_of_other_languages_are_counted() -> None:
    old = "it('adds', () => {\n  expect(add(1)).toBe(2);\n  expect(add(2)).toBe(3);\n});\n"
    for new in (
        old.replace("  expect(add(2)).toBe(3);\n", ""),
        old.replace("it(", "it.skip("),
        old.replace("toBe(3)", "toBeTruthy()"),
    ):
        assert findings({"a.test.ts": old}, {"a.test.ts": new})
    assert findings({"a.test.ts": old}, {"a.test.ts": None}) == (("a.test.ts", "is gone"),)
    more = old + "it('x', () => { expect(1).toBe(1) });\n"
    assert not findings({"a.test.ts": old}, {"a.test.ts": more})
    named = (
        "tests/a.py",
        "src/test_a.py",
        "a_test.go",
        "a.spec.js",
        "till/prices.py",
        "tests/notes.md",
    )
    assert [is_test_file(path) for path in named] == [True, True, True, True, False, False]


def test_everything_that_lies_in_a_worktree_can_be_parked_and_nothing_here_changes(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    write(project, "till/prices.py", "half done\n")
    write(project, "new.py", "new\n")
    before = git(project, "status", "--porcelain")
    branches = [asyncio.run(Git(project).park("story-1")) for _ in range(2)]
    assert branches == ["transom/parked/story-1-1", "transom/parked/story-1-2"]
    assert git(project, "status", "--porcelain") == before
    assert git(project, "show", f"{branches[0]}:new.py") == "new"
    assert git(project, "show", f"{branches[0]}:till/prices.py") == "half done"


def test_what_happens_outside_the_worktree_shows(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    here = Git(project)
    write(project, "mine.txt", "a person's work\n")
    git(project, "add", "mine.txt")
    git(project, "commit", "--quiet", "-m", "mine")
    before = asyncio.run(here.state())
    write(project, "notes.txt", "a note that nobody committed\n")
    git(project, "branch", "transom/story-1")
    write(project, ".transom/state.db", "ours\n")
    assert asyncio.run(here.state()) == before
    write(project, "mine.txt", "changed again\n")
    git(project, "tag", "v1")
    after = asyncio.run(here.state())
    assert {key for key in {**before, **after} if before.get(key) != after.get(key)} == {
        "mine.txt",
        "refs/tags/v1",
    }


def test_hooks_and_settings_of_the_repository_run_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    mark = tmp_path / "mark"
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    hook.chmod(0o755)
    git(project, "config", "diff.external", f"touch {mark}")
    git(project, "config", "core.fsmonitor", f"touch {mark}")
    write(project, "a.py", "a\n")

    async def work() -> None:
        here = Git(project)
        base = await here("rev-parse", "HEAD")
        head = await here.commit_all("mine\n")
        assert await here.changes(base, head)
        await here.look()

    asyncio.run(work())
    assert not mark.exists()


@pytest.mark.needs("L3")
def test_the_orchestrator_runs_the_tests_itself_and_a_report_of_before_is_not_taken(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path)
    run = asyncio.run(run_tests(TESTS, project, project))
    assert (run.counts, run.code, run.problem) == ({"passed": 4, "failed": 0, "skipped": 0}, 0, "")
    write(project, "till/prices.py", "def total(items):\n    return 0\n")
    broken = asyncio.run(run_tests(TESTS, project, project))
    assert broken.code == 1 and broken.bad and compare(run, broken).problems
    assert not list(project.glob(".transom-junit*"))


@pytest.mark.needs("L3")
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('All tests passed!')", "left no report (exit 0)"),
        ("open(argv[1], 'w').write('<nonsense')", "is not a JUnit report"),
        ("import os; os.symlink('/etc/passwd', argv[1])", "left no report"),
        ("while True: pass", "ended by the limit on time"),
    ],
)
def test_a_run_that_says_nothing_says_why(tmp_path: Path, code: str, why: str) -> None:
    command = TestCommand(
        ("{python}", "-c", f"from sys import argv\n{code}", "{junit}"),
        seconds=0.6 if "while" in code else 60,
    )
    assert why in asyncio.run(run_tests(command, tmp_path, tmp_path)).problem


@pytest.mark.needs("L3")
@pytest.mark.parametrize(
    "code", ["open('../mark', 'w')", "import socket; socket.socket()", "open('/etc/mark', 'w')"]
)
def test_tests_of_an_agent_stay_in_the_sandbox(tmp_path: Path, code: str) -> None:
    (tmp_path / "w").mkdir()
    command = TestCommand(("{python}", "-c", code, "{junit}"), seconds=20)
    assert asyncio.run(run_tests(command, tmp_path / "w", tmp_path)).problem
    assert not (tmp_path / "mark").exists() and not Path("/etc/mark").exists()


def test_without_a_command_for_the_tests_nothing_is_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no command for the tests"):
        asyncio.run(run_tests(TestCommand(()), tmp_path, tmp_path))


async def test_tests_import_the_worktree_and_not_what_an_environment_has_of_the_project(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    told = ("{python}", "-c", "import os; print(os.environ['PYTHONPATH'])")
    for environment, path in (({}, f"{tmp_path}/src:{tmp_path}"), ({"PYTHONPATH": "lib"}, "lib")):
        command = TestCommand(told, environment=environment, level=Level.NONE)
        assert (await run_tests(command, tmp_path, tmp_path)).output == path


def test_a_repository_within_the_worktree_runs_nothing(tmp_path: Path) -> None:
    project, nested = make_project(tmp_path), tmp_path / "project" / "nested"
    write(nested, ".gitattributes", "* filter=x\n")
    git(project, "init", "--quiet", "nested")
    git(nested, "add", "--all")
    git(nested, "commit", "--quiet", "--message", "x")
    git(nested, "config", "filter.x.clean", f"touch {tmp_path}/ran; cat")

    async def look() -> None:
        await Git(project).commit_all("all\n")
        # what only looks changed is read through the filter
        os.utime(nested / ".gitattributes", (0, 0))
        await Git(project).look()
        await Git(project).clear()

    asyncio.run(look())
    assert not (tmp_path / "ran").exists()
