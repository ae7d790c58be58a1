"""The pipeline of one story: SM drafts, PO decides, Dev works, the orchestrator checks, QA judges,
the work is merged.

    baseline > sm > po > dev > tests > evidence > qa > merge
                ^    |    ^                 |       |
                +----+    +-----------------+-------+      bounded; a repeated finding asks a person

Each step is a stage of the run, so a resumed run repeats no finished step. The start of each step
is recorded, so that git shows its progress after a kill.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transom.canonical import Json
from transom.errors import InputError, NeedsModel, Paused, ProviderError, ReplyError, WindowOverflow
from transom.llm import Usage
from transom.runs import Artifact, Stage, model_file
from transom.runs.artifact import write_file
from transom.stories.acceptance import Capped, Lack, Work, accept_lacks
from transom.stories.approval import ApprovalFlow, token_counts
from transom.stories.criteria import Covering
from transom.stories.decisions import read_reply
from transom.stories.evidence import AttemptEvidence
from transom.stories.git import Change, Git
from transom.stories.handoff import AgentValidator, timestamp
from transom.stories.judging import StoryJudge
from transom.stories.merge import merge
from transom.stories.results import MERGED_DIFF, FileChange, StoryResult, score_work
from transom.stories.seats import Seats
from transom.stories.shared import Baseline, MergeResult, SeatReply, Stopped
from transom.stories.story import Story
from transom.stories.testrun import RunComparison, TestRun
from transom.stories.workers import AgentLimit

_DIFF_SHOWN = 40_000  # characters of the diff that QA sees
_DIFF_FOR_PERSON = 100_000  # characters of the diff that a page shows beside a question


class StoryFlow(ApprovalFlow):
    """The pipeline of one story."""

    judge: StoryJudge

    async def work(self) -> StoryResult:
        """Run the pipeline to its end or its first stop; other exceptions concern every story of
        the epic.
        """
        result, base = self.result, None
        began = time.monotonic()
        try:
            base = await self._begin()
            before = await self._try_tests()
            base = self.base
            await self.ready()
            await self._build(before)
            result.status = "done"
            self.handoff.cleanup()
        except Capped as stop:
            result.status, result.reason, result.would_be = "paused", stop.reason, "done"
            result.capped_by = [cap.to_json() for cap in stop.caps]
        except Stopped as stop:
            result.status, result.reason = stop.status, stop.reason
            result.was_blocked |= stop.status == "blocked"
        except AgentLimit as limit:
            result.status, result.reason = "paused", str(limit)
            self.epic.limit = str(limit)
        except (Paused, NeedsModel, ProviderError, WindowOverflow) as pause:
            result.status, result.reason = "paused", str(pause)
        except ReplyError as error:
            result.status, result.reason = "failed", str(error)
        if result.status != "done":
            result.blockers.append(result.reason)
            if result.status != "paused":
                self.handoff.add_blocker(
                    result.reason, result.stages[-1].stage if result.stages else "sm"
                )
            self.handoff.save()
            if base:
                await self.epic.places.remove(base.branch, unless_beyond=base.base)
        result.truncations = self.handoff.truncations
        form = re.compile(rf"transom/parked/{re.escape(self.story.slug)}(-\d+)+")
        result.parked = [branch for branch in self.epic.places.parked if form.fullmatch(branch)]
        result.usage = token_counts(self.seats.usage if base else Usage())
        result.cost = self.seats.usage.cost if base else None
        result.seconds = round(result.seconds + time.monotonic() - began, 3)
        return result

    async def _begin(self, head: str = "") -> Baseline:
        """Record the baseline, and make the worktree.

        Args:
            head: the target's newest commit, if the story begins anew from there.
        """
        project, target = self.epic.places.project, self.settings.target
        await self._reclaim(project)

        async def step(_: Stage, story: Story, target: str | None) -> Baseline:
            branch = target or await project.branch()
            base = await project.commit_of(f"refs/heads/{branch}") if branch else None
            if base is None:
                problem = (
                    f"branch {branch!r} does not exist or has no commit"
                    if branch
                    else "no branch is checked out"
                )
                hint = "check out a branch with a commit, or set stories.target"
                raise InputError(problem, place=str(self.epic.project), hint=hint)
            name = await self.epic.places.create(f"transom/{story.slug}", base)
            return Baseline(base=base, branch=name, target=branch, at=timestamp())

        # A commit that mended the tests made another baseline, see `_try_tests`.
        # The newest one is that which a resumed run goes on from.
        folders = (self.run.folder / self.name).glob("baseline-*")
        later = sorted(folders, key=lambda folder: folder.stat().st_mtime)
        name = "baseline"
        if head:
            name = f"baseline-{head[:12]}"
        elif later:
            name = later[-1].name
        artifact = model_file("baseline.json", Baseline)
        stage = f"{self.name}/{name}"
        self.base = (await self.run.stage(stage, step, self.story, target, out=artifact)).value
        # Only now: without a baseline nothing of the story is written.
        self.handoff.path = self.run.folder / "handoffs" / f"{self.story.slug}.yaml"
        self.handoff.created_at = self.base.at
        self.handoff.set_acceptance_criteria(self.story.criteria)
        self.seats = Seats(self.epic, self.name, self.base, self.handoff)
        self.judge = StoryJudge(self.epic, self.name, self.base)
        return self.base

    async def _reclaim(self, project: Git) -> None:
        """Ask a person about a worktree of this story that another run left."""
        places, slug = self.epic.places, self.story.slug
        async with places.lock:
            folder = (await project.worktrees()).get(f"transom/{slug}")
        if folder is None or not folder.is_dir() or folder.is_relative_to(places.root.resolve()):
            return
        # `runs/EPIC/RUN/worktrees/STORY`: another epic may have a story of the same name.
        parents = folder.parents[:4]
        is_of_run = len(parents) > 3 and (parents[0].name, parents[3].name) == ("worktrees", "runs")
        if is_of_run and parents[2].name != self.run.folder.parent.name:
            return
        prompt = (
            f"An earlier run left the worktree {folder} for {self.story.label}; may it be removed?"
        )
        remove = "remove it, and keep its work on a branch"
        if (await self._ask("reclaim", prompt, remove, "leave it"))[0] == remove:
            # Its work may be wanted; only the folder is in the way.
            await Git(folder).park(slug)
            async with places.lock:
                await project("worktree", "remove", "--force", str(folder))

    async def _try_tests(self) -> TestRun:
        """Run the tests on the baseline before anybody is paid.

        If they cannot be run, and the target has a newer commit, the story begins from there.
        """
        before = await self.judge.tests("tests-before", self.base.base)
        # The person may have mended the command by a commit while the story was paused.
        head = await self.epic.places.project.commit_of(f"refs/heads/{self.base.target}")
        if before.problem and head and head != self.base.base:
            await self.epic.places.remove(self.base.branch, unless_beyond=self.base.base)
            await self._begin(head)
            before = await self.judge.tests(f"tests-before-{head[:12]}", head)
        if before.problem:
            raise Stopped(
                "paused",
                f"before anybody is called, {before.problem}; fix the `stories` settings, or commit"
                " what is missing, and run the command again",
            )
        if problem := await self.judge.try_command(before):
            raise Stopped(
                "paused",
                "before anybody is called, the test command was tried with a failing and a passing"
                f" test: {problem}; set `stories.tests` to a command that runs the tests"
                " and reports each failure, and run the command again",
            )
        return before

    async def _build(self, before: TestRun) -> None:
        """Run Dev and QA until the work is merged."""
        start = self.base.base
        findings: tuple[str, ...] = ()
        # What the tests made before Dev came is not Dev's work.
        self.seats.leftovers = before.left
        number, last = 0, self.settings.attempts
        while number < last:
            number += 1
            context: dict[str, Json] = {
                "findings": "\n".join(f"- {finding}" for finding in findings),
                "playbook": await self.seats.recall(self.story),
            }
            worked = await self.seats.ask("dev", number, self.story, context, start)
            # Asked before anything is judged: the tests may be what was changed.
            if worked.value.outside:
                await self._ask_who(number, ", ".join(worked.value.outside[:5]))
            evidence, tests = await self._look(number, start, worked, before)
            start, earlier, findings = worked.value.head, findings, evidence.findings
            if not findings:
                findings, evidence = await self._cover(number, start, evidence, earlier)
            if not findings:
                findings = await self._inspect(number, start, evidence, tests)
            self.seats.learn(number, worked.value.reply, findings)
            if not findings:
                findings = await self._ask_about_summary(number)
                # As after a review, another try costs Dev no attempt.
                last += len(findings)
            if not findings and self.settings.review:
                findings = await self._review(number, start)
                # Work that is sent back without a fault costs Dev no attempt.
                last += len(findings)
            if not findings:
                await self._merge(number, start, before, evidence.coverage)
                return
            # The same finding again: more attempts would cost as much and show the same.
            if repeated := [finding for finding in findings if finding in earlier]:
                prompt = f"{self.story.label}: the same finding came twice: {repeated[0]}"
                answer, reason = await self._ask(
                    f"same#{number}", prompt, "let Dev try again", "give up"
                )
                if answer == "give up":
                    break
                findings += (f"A person says: {reason}",) if reason else ()
        raise Stopped("failed", f"after {number} attempts: {findings[0]}")

    async def _cover(
        self, number: int, head: str, evidence: AttemptEvidence, earlier: tuple[str, ...]
    ) -> tuple[tuple[str, ...], AttemptEvidence]:
        """Return what Dev has to mend about uncovered criteria, else the evidence with what a
        person accepts.

        Dev is asked once more if a test can show the criterion. Then a person is asked.
        """
        missing = [row for row in evidence.coverage if not row.is_covered]
        findings = tuple(row.lack for row in missing)
        # A finding that came twice is one that Dev cannot mend; nor can it after its last try.
        is_last = number == self.settings.attempts or bool({*findings} & {*earlier})
        if missing and evidence.is_shown_by_tests and not is_last:
            return findings, evidence
        lacks = [Lack(f"doubt-{place}", text) for place, text in enumerate(evidence.doubts, 1)]
        # One question for the story: as many as it has criteria would have the same answer.
        if missing and not evidence.is_shown_by_tests:
            text = f"no test can show {self.story.label}: it changes no code that tests run"
            lacks.append(Lack("story", text))
        else:
            lacks += [Lack(f"AC-{row.number}", row.lack) for row in missing]
        diff = f"git -C {self.epic.project} diff {self.base.base[:12]} {head[:12]}"
        stage = f"{self.name}/accept#{number}"
        work = Work(diff, await self._diff_for_person(head) if lacks else "")
        accepted = await accept_lacks(self.run, stage, lacks, work, may_ask=self.epic.may_ask)
        rows = []
        for row in evidence.coverage:
            person = accepted.get(f"AC-{row.number}", accepted.get("story", ""))
            is_open = not row.is_covered
            rows.append(row.model_copy(update={"accepted_by": person}) if is_open else row)
        self.result.coverage = rows
        return (), replace(evidence, coverage=tuple(rows))

    async def _ask_who(self, number: int, paths: str) -> None:
        """Ask a person who changed files outside the worktree while Dev worked."""
        prompt = (
            f"While Dev worked on {self.story.label}, this changed outside its worktree: {paths};"
            " who did that?"
        )
        options = ("a person did; go on", "Dev did; refuse its work")
        if (await self._ask(f"dev#{number}/outside", prompt, *options))[0] != options[0]:
            raise Stopped("failed", f"Dev changed what lies outside its worktree: {paths}")

    async def _look(
        self, number: int, start: str, worked: Artifact[SeatReply], before: TestRun
    ) -> tuple[AttemptEvidence, RunComparison]:
        """Collect the evidence of an attempt, and record it."""
        reply = worked.value
        read = read_reply(reply.reply)
        evidence, tests = await self.judge.look(
            number, self.story, read, (start, reply.head), before
        )
        # The first finding: the others may only follow from it.
        if reply.strayed:
            evidence = replace(evidence, findings=(reply.strayed, *evidence.findings))
        for change in self._by_time(evidence.changes):
            self.handoff.add_file_modified(change.path, change.action, at=reply.at)
        # The hand-over is bounded; the result lists the same files.
        rows = self.handoff.files_modified
        self.result.files_modified = [
            FileChange(path=change.path, action=change.action)
            for change in evidence.changes
            if any(change.path == row["path"] for row in rows)
        ]
        self.result.tests = tests.after.counts
        self.result.coverage = [*evidence.coverage]
        record = {
            "findings": list(evidence.findings),
            "covered": {row.number: [*row.tests] for row in evidence.coverage if row.tests},
            "uncovered": list(evidence.uncovered),
        }
        row = self._record("dev", number, read, worked, record)
        changed = {change.path: change.action for change in evidence.changes}
        row.rate(score_work(row.summary, self.story, changed, tests.problems, evidence.denied))
        return evidence, tests

    def _by_time(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes with the last written file last, so that QA sees what Dev did last."""
        folder = self.epic.places.git(self.base.branch).folder

        def written(change: Change) -> float:
            try:
                return (folder / change.path).stat().st_mtime
            except OSError:
                return 0.0

        return sorted(changes, key=written)

    async def _inspect(
        self, number: int, head: str, evidence: AttemptEvidence, tests: RunComparison
    ) -> tuple[str, ...]:
        """Ask QA about work without findings; returns QA's findings."""
        results: dict[str, Any] = {
            **tests.after.counts,
            "failed_before_as_well": list(tests.old_failures),
            # QA judges with the evidence before it, not from Dev's summary alone.
            "covered": {str(row.number): [*row.lines] for row in evidence.coverage if row.tests},
            "accepted": {
                str(row.number): row.accepted_by for row in evidence.coverage if row.accepted_by
            },
            "uncovered": list(evidence.uncovered),
        }
        diff = await self.epic.places.project.diff(self.base.base, head)
        context: dict[str, Json] = {
            "tests": results,
            "diff": self.handoff.cut(diff, _DIFF_SHOWN, "diff for qa"),
        }
        # QA sees the commit that was judged, not what lies in the worktree.
        artifact = await self.seats.ask("qa", number, self.story, context, head)
        read = read_reply(artifact.value.reply, "qa")
        valid, decision = AgentValidator.validate_qa_output(
            artifact.value.reply, self.handoff, tests, evidence.uncovered
        )
        self._record("qa", number, read, artifact, {"tests": tests.after.counts})
        if not valid:
            raise Stopped("failed", decision)
        return () if decision == "PASS" else tuple(f"QA: {reason}" for reason in read.reasons)

    async def _ask_about_summary(self, number: int) -> tuple[str, ...]:
        """Ask a person whether a summary with a low score is enough; returns what Dev must mend."""
        (row, *_) = [row for row in reversed(self.result.stages) if row.stage == "dev"]
        least = self.settings.least_quality
        if row.quality is None or row.quality >= least:
            return ()
        prompt = (
            f"{self.story.label}: Dev's summary scores {row.quality_of}"
            f" (`stories.least_quality` is {least:g}); is it enough?"
        )
        options = ("it is enough", "have Dev write it again", "give up")
        answer, reason = await self._ask(f"summary#{number}", prompt, *options)
        if answer == "give up":
            raise Stopped("failed", f"a person gave up because of Dev's summary: {reason}")
        if answer == "it is enough":
            return ()
        wanted = reason or "name each criterion and the files that you changed"
        return (f"the summary of attempt {number} scores {row.quality_of}; {wanted}",)

    async def _review(self, number: int, head: str) -> tuple[str, ...]:
        """Have a person look at the diff; returns what Dev has to change."""
        diff = f"git -C {self.epic.project} diff {self.base.base[:12]} {head[:12]}"
        prompt = f"{self.story.label} is ready; may it be merged? See: {diff}"
        options = ("merge it", "send it back", "give up")
        text = await self._diff_for_person(head)
        answer, reason = await self._ask(f"review#{number}", prompt, *options, evidence=text)
        if answer == "give up":
            raise Stopped("failed", f"a person gave up after a look at the diff: {reason}")
        if answer == "merge it":
            return ()
        return (f"a reviewer of attempt {number} says: {reason or 'it cannot be merged so'}",)

    async def _diff_for_person(self, head: str) -> str:
        """Return the diff of the work as a page shows it; the prompt names the command for all."""
        diff = await self.epic.places.project.diff(self.base.base, head)
        if len(diff) > _DIFF_FOR_PERSON:
            hidden = len(diff) - _DIFF_FOR_PERSON
            diff = f"{diff[:_DIFF_FOR_PERSON]}\n... {hidden:,} more characters"
        return diff

    async def _merge(
        self, number: int, head: str, before: TestRun, coverage: tuple[Covering, ...]
    ) -> None:
        """Merge the work into the target; a failed merge pauses the story."""

        async def step(stage: Stage, head: str) -> MergeResult:
            merged = await merge(self.epic, self.story, self.base, head, before, coverage)
            # A merge that failed is tried again when the command is run again.
            stage.memoise = not merged.problem
            return merged

        # One merge at a time: the second is tested together with the first.
        async with self.epic.merging:
            name = f"{self.name}/merge#{number}"
            self.epic.merges += 1  # counted at start and end, so that observers notice a merge
            merged_result = (
                await self.run.stage(name, step, head, out=model_file("merge.json", MergeResult))
            ).value
            self.epic.merges += 1
        if merged_result.problem:
            raise Stopped("paused", f"the work is done and not merged: {merged_result.problem}")
        await self.epic.places.remove(self.base.branch)
        self.result.commits = [head, merged_result.commit]
        text = await self._diff_for_person(head)
        write_file(self.run.folder / self.story.slug / MERGED_DIFF, text.encode("utf-8", "replace"))
