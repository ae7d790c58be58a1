"""The judge of one story: runs the tests, compares them with the baseline, and proves the result.

Each run is a stage, so a resumed story repeats none that is finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from secrets import token_hex
from typing import Any

from transom.canonical import Json
from transom.formats.source_functions import can_replace
from transom.formats.test_files import is_test_file
from transom.runs import Stage, model_file
from transom.stories.canaries import CanaryWords
from transom.stories.criteria import Covering, cover, named_in_criteria
from transom.stories.criterion_words import quoted_texts
from transom.stories.decisions import Read
from transom.stories.evidence import (
    AttemptEvidence,
    Rules,
    changed_harness,
    changed_texts,
    files_of,
    has_tests,
    is_backlog_or_page,
    judge,
)
from transom.stories.git import Git
from transom.stories.harness import importable_modules, named_files, scripts_named_in
from transom.stories.merge import tested, tested_with
from transom.stories.proof import Proof, check_command_fails, prove
from transom.stories.shared import Baseline, Epic
from transom.stories.stated_values import can_be_derived, numbers_of_project, written_as
from transom.stories.story import Story, StoryRecord
from transom.stories.story_files import StoryFiles
from transom.stories.testrun import RunComparison, TestRun, compare, readable


class Seed(StoryRecord):
    """The secret from which the canaries of a proof are made."""

    word: str


class CommandTrial(StoryRecord):
    """Whether the test command reports a failing test; `problem`: why not, or ""."""

    problem: str = ""


class StoryJudge:
    """The judge of one story, whose stages begin with `name`."""

    def __init__(self, epic: Epic, name: str, base: Baseline) -> None:
        self.epic, self.run, self.name, self.base = epic, epic.run, name, base
        self.project: Git = epic.places.project
        self.argv = list(epic.settings.tests.argv)

    async def tests(self, name: str, commit: str, harness: Sequence[str] = ()) -> TestRun:
        """Run the tests on a commit, once per commit and command.

        Args:
            harness: files that are taken from the baseline.
        """

        async def step(
            stage: Stage, commit: str, branch: str, _: list[str], harness: list[str]
        ) -> TestRun:
            if harness:
                result = await tested_with(self.epic, self.base, commit, harness, {})
            else:
                await self.epic.places.restore(branch, commit)
                result = await tested(self.epic, self.epic.places.git(branch))
            # A command that a person corrects must be tried again.
            stage.memoise = not result.problem or not name.startswith("tests-before")
            return result

        # another command makes another run
        # The inputs name the stage: a resumed run finds its own result again.
        inputs = (commit, self.base.branch, self.argv, [*harness])
        artifact = model_file("tests.json", TestRun)
        return (await self.run.stage(f"{self.name}/{name}", step, *inputs, out=artifact)).value

    async def try_command(self, before: TestRun) -> str:
        """Return why the test command cannot show a failing test, or "". Nobody is paid yet.

        One trial holds for all stories of the run.
        """
        async with self.epic.trying:
            if self.epic.trial is None:
                self.epic.trial = await self._try_once(before)
        return self.epic.trial

    async def _try_once(self, before: TestRun) -> str:
        files = await self._other_tests(before)
        words = CanaryWords(await self._seed("tests-trial/seed", "the test command"))

        async def step(stage: Stage, _: list[str]) -> CommandTrial:
            async def run(__: str, changed: Mapping[str, str | None]) -> TestRun:
                return await tested_with(self.epic, self.base, self.base.base, (), changed)

            problem = await check_command_fails(files, words, run)
            # A command that a person corrects must be tried again.
            stage.memoise = not problem
            return CommandTrial(problem=problem)

        artifact = model_file("trial.json", CommandTrial)
        return (
            await self.run.stage("tests-trial/run", step, self.argv, out=artifact)
        ).value.problem

    async def _seed(self, name: str, purpose: str) -> str:
        """Return a secret of this run, which is recorded before it is used."""

        async def step(_: Stage, __: str) -> Seed:
            return Seed(word=token_hex(16))

        return (
            await self.run.stage(name, step, purpose, out=model_file("seed.json", Seed))
        ).value.word

    async def look(
        self, number: int, story: Story, read: Read, commits: tuple[str, str], before: TestRun
    ) -> tuple[AttemptEvidence, RunComparison]:
        """Collect the evidence of an attempt: tests, diff, claims, and the proof of a green run.

        Args:
            commits: the attempt's start and its end.
        """
        start, head = commits
        rules = await self._rules()
        texts = await changed_texts(self.project, self.base.base, head)
        harness = changed_harness(texts, rules)
        tests = compare(before, await self.tests(f"tests#{number}", head, harness))
        three = (self.base.base, start, head)
        evidence = await judge(self.project, story, rules, three, read, tests)
        # Dev has to change something anyway, so the proof would be run twice.
        if evidence.findings:
            return evidence, tests
        claimed = {case for cases in evidence.claimed.values() for case in cases}
        cases_to_prove = frozenset((*claimed, *evidence.changed_tests))
        files = files_of(texts, await self._other_tests(before))

        place = f"{self.name}/proof#{number}"

        async def run(label: str, changed: Mapping[str, str | None]) -> TestRun:
            async def step(_: Stage, commit: str, __: list[str], changed: Json) -> TestRun:
                texts: Any = changed
                # The order depends on the commit alone, so that a resumed run has the same.
                order = head if label == "canaries" else ""
                return await tested_with(self.epic, self.base, commit, harness, texts, order)

            artifact = model_file("tests.json", TestRun)
            inputs = (head, self.argv, dict(changed))
            return (await self.run.stage(f"{place}/{label}", step, *inputs, out=artifact)).value

        words = CanaryWords(await self._seed(f"{place}/seed", head))
        named = named_in_criteria(story, evidence.claimed, files)
        proof = await prove(files, cases_to_prove, before, tests.after, words, run, named)
        files = replace(files, unheld=await self._unheld(story, files, head))
        return _with_proof(story, evidence, tests, proof, files), tests

    async def _unheld(self, story: Story, files: StoryFiles, commit: str) -> frozenset[str]:
        """Return the quoted texts and the numbers of criteria that no file of a commit holds, apart
        from what people read: the story itself holds them all.
        """
        unheld = set[str]()
        whole = "\n".join([*files.checks.values(), files.code_now])
        quoted = {text for row in story.criteria for text in quoted_texts(row)}
        for text in sorted(quoted):
            if text.lower() not in whole.lower() and not await self._is_held(commit, text, files):
                unheld.add(text)
        for row in story.criteria:
            for number in numbers_of_project(row):
                if can_be_derived(number, whole):
                    continue
                notations = [
                    await self._is_held(commit, notation, files, whole_word=True)
                    for notation in written_as(number)
                ]
                if not any(notations):
                    unheld.add(number.text)
        return frozenset(unheld)

    async def _is_held(
        self, commit: str, text: str, files: StoryFiles, *, whole_word: bool = False
    ) -> bool:
        """Whether a file of a commit holds a text, apart from what people read and from the
        changed files of code: in those, comments hold it at most.
        """
        paths = await self.project.holding(commit, text, whole_word=whole_word)
        programs = {path for path in (*files.code, *files.tests) if can_replace(path)}
        others = [path for path in paths if path not in programs]
        return not all(is_backlog_or_page(path, self.epic.backlog.files) for path in others)

    async def _rules(self) -> Rules:
        settings, tests = self.epic.settings.stories, self.epic.settings.tests
        tracked = frozenset(await self.project.paths(self.base.base))
        harness = named_files(self.argv, tracked)
        # Two steps: a makefile names a script, which names another one.
        for _ in range(2):
            for path in harness:
                text = await self.project.text(self.base.base, path) or ""
                harness |= scripts_named_in(text, tracked)
        return Rules(
            settings.also_allowed,
            settings.protected,
            self.epic.backlog.files,
            harness,
            importable_modules(readable(tests, self.epic.project)),
        )

    async def _other_tests(self, before: TestRun) -> dict[str, str]:
        """Return a test file of the baseline, path -> text: one that ran, as far as names tell."""
        paths = [path for path in await self.project.paths(self.base.base) if is_test_file(path)]
        # A file that the command does not run would hold canaries that nobody sees.
        names = " ".join(before.cases)
        # The stable sort puts a file first whose name is part of a test's name.
        paths.sort(key=lambda path: PurePosixPath(path).stem.partition(".")[0] not in names)
        for path in paths:
            text = await self.project.text(self.base.base, path) or ""
            if is_test_file(PurePosixPath(path).name) and has_tests(path, text):
                return {path: text}
        return {}


def _with_proof(
    story: Story, evidence: AttemptEvidence, tests: RunComparison, proof: Proof, files: StoryFiles
) -> AttemptEvidence:
    """Return the evidence with what the proof showed."""
    findings = [f"tests: {problem}" for problem in proof.problems]
    coverage: tuple[Covering, ...] = ()
    if not findings:
        # A criterion is only judged by runs that can be believed.
        coverage = cover(story, evidence.claimed, tests.after, proof, files)
        for case in evidence.changed_tests:
            if case in proof.unmoved:
                findings.append(f"tests: {case} was changed and runs none of the story's code")
            elif case in proof.unchecked:
                findings.append(
                    f"tests: {case} was changed and passes although the changed functions return"
                    " nothing"
                )
            elif case in proof.loose:
                findings.append(
                    f"tests: {case} was changed and passes although the changed functions return"
                    " other values"
                )
    return replace(
        evidence,
        findings=tuple(findings),
        doubts=(*evidence.doubts, *proof.doubts),
        coverage=coverage,
        is_shown_by_tests=proof.has_code,
    )
