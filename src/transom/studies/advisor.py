"""The advisor: a model explains a study's failures and proposes rules, which are checked by
programs.

It sees the exposed session state and the playbook, and reads records and solver output of trials by
an explicit, bounded tool call. A rule counts if the solves of its scope confirm it, like a learned
one; an explanation counts if its trials failed with that class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from transom.agent import RETRY, Budget, call
from transom.canonical import Json, compact_json
from transom.errors import CapReached, ReplyError, ToolRefused
from transom.formats.text_files import STREAMED_BYTES, TextFile
from transom.learning import SessionState, TaskType
from transom.llm import Block, CallSettings, Role, Tier
from transom.llm.strict_json import read_json
from transom.runs import Run, Stage, model_file
from transom.studies.advice import RULE, StudyInsight
from transom.studies.failure_rules import FeatureCondition, measured
from transom.studies.guide import StudyGuide
from transom.studies.study import Data
from transom.studies.trials import StudyTrial, counts, failures, ranked, used_insights
from transom.tools import Toolbox, ToolLimits, tool

ROLE = "studies.advisor"
BUDGET = Budget(turns=8, tokens=200_000)
MOST_READ = 4_000
"""Characters that one call of the tool returns, at most."""
_PROMPT = Path(__file__).with_name("prompts") / "advisor.md"
_MOST_READS, _SHOWN_TRIALS = 12, 4
_LONGEST = 600  # characters of an explanation, at most


class Explanation(Data):
    """The reason of a class of failures, and trials with it."""

    failure: str
    trials: tuple[int, ...] = Field(min_length=1)
    text: str = Field(min_length=1, max_length=_LONGEST)


class ProposedRule(Data):
    """A proposed rule, without counts."""

    conditions: tuple[FeatureCondition, ...] = Field(min_length=1, max_length=2)


class Proposal(Data):
    """The advisor's answer: unchecked claims."""

    explanations: tuple[Explanation, ...] = ()
    rules: tuple[ProposedRule, ...] = ()


class Advised(Data):
    """The checked advice.

    Attributes:
        explanations: explanations, in the model's words, whose trials ended as stated.
        added: ids of the rules that the solves confirm.
        by: the model that answered.
    """

    explanations: tuple[Explanation, ...] = ()
    added: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    by: str = ""


@dataclass(frozen=True)
class Advisor:
    """The advisor of one finished study, whose guide has already stored its rows."""

    folder: Path
    trials: Sequence[StudyTrial]
    guide: StudyGuide

    async def advise(self, run: Run) -> Advised:
        """Ask the model, check its answer, and store the confirmed rules; new trials cause a new
        question.

        Raises:
            TransomError: no provider could advise.
        """
        # The only way to a record or an output is this tool, which is counted and cut to a length.
        tools = Toolbox(
            [tool(effect="pure", limits=ToolLimits(calls=_MOST_READS))(self.read_trial)]
        )
        prompt = (Block("instructions", _PROMPT.read_text(encoding="utf-8"), Tier.STABLE),)
        sees = frozenset({"instructions", "session_state", "playbook", "failures", RETRY})
        role = Role(ROLE, prompt, sees, tools.specs, CallSettings(max_tokens=4096))
        # The text of failures comes from solvers, so its block is marked as untrusted.
        session, failed = self.session(run.id), self.failures()

        async def ask(stage: Stage, _: str, failed: str, playbook: str) -> Proposal:
            blocks = [session.block(), Block("failures", failed, trust="untrusted")]
            blocks += [Block("playbook", playbook, Tier.SESSION, "untrusted")] if playbook else []
            try:
                return (await call(stage, role, blocks, _read, tools=tools, budget=BUDGET)).value
            except CapReached as cap:
                if cap.cap != "tokens":  # a cap of the whole run: a person must raise it
                    raise
                raise ReplyError(f"the advisor came to no answer: {cap.problem}") from cap

        recalled = await self.guide.advice.playbook.recall(run, "advice/recall", failed)
        advice_file = model_file("advice.json", Proposal)
        outcome = await run.stage(
            "advice", ask, session.get_llm_context(), failed, recalled, out=advice_file, uses=[role]
        )
        return self.check(outcome.value).model_copy(update={"by": outcome.by})

    def session(self, session_id: str) -> SessionState:
        """Return the study as a session: status and newest errors are exposed, trials isolated."""
        study, session, totals = self.guide.study, SessionState(session_id), counts(self.trials)
        best = next(
            ((item.values[0], item.number) for item in ranked(study, self.trials)), (None, None)
        )
        session.exposed.task_type = TaskType.ANALYZE_RESULTS
        session.exposed.current_objective = ", ".join(
            f"{item.direction} {item.name}" for item in study.objectives
        )
        session.update_study_status(
            study.study, "complete", totals.complete + totals.failed, totals.total, *best
        )
        for trial in self.trials:
            session.add_trial(trial.model_dump())
            if trial.kind == "failed":
                session.add_error(f"trial {trial.number}: {trial.reason[:200]}", trial.failure)
        session.use_items(*used_insights(self.trials))
        return session

    def failures(self) -> str:
        """Return failed designs by class with their features, the newest few of each."""
        lines = [f"features: {', '.join(sorted(self.guide.features.formulas))}"]
        for failure, number in failures(self.trials).items():
            lines.append(f"{failure}: {number} solves")
            for trial in self._ended(failure)[-_SHOWN_TRIALS:]:
                features = self.guide.features(self.guide.study.values(trial.params))
                shown_lines = ", ".join(
                    f"{name} {value:.3g}" for name, value in sorted(features.items())
                )
                lines.append(
                    f"- trial {trial.number}: {shown_lines}: {' '.join(trial.reason.split())[:200]}"
                )
        return "\n".join(lines)

    def _ended(self, failure: str) -> list[StudyTrial]:
        ended = []
        for trial in self.trials:
            if trial.kind == "failed" and trial.failure == failure:
                ended.append(trial)
        return ended

    def check(self, proposal: Proposal) -> Advised:
        """Check a proposal against trials and rows, and store the rules that hold."""
        explained, added, refused = [], list[str](), list[str]()
        for item in proposal.explanations:
            # A model may name trials that ended otherwise: its explanation is then worth nothing.
            if wrong := set(item.trials) - {trial.number for trial in self._ended(item.failure)}:
                refused.append(
                    f"explanation of {item.failure!r}: trial {min(wrong)} did not fail so"
                )
            else:
                explained.append(item)
        advice, scope, name = self.guide.advice, self.guide.study.scope, self.guide.study.study
        rows = advice.rows(scope)
        for proposed in proposal.rules:
            # Counts are taken from the solves, never from the model.
            conditions = tuple(sorted(proposed.conditions))
            rule, problem = measured(conditions, rows)
            known_rules = {}
            for insight in advice.insights(scope):
                if insight.kind == RULE:
                    known_rules[insight.rule.key] = insight.data
            # A rule with the same numbers was added at an earlier end of the study.
            if rule and known_rules.get(rule.key, rule.to_data()) == rule.to_data():
                words = self.guide.in_words(rule.sentence)
                added.append(advice.add(StudyInsight(scope, RULE, words, rule.to_data()), name))
            else:
                refused.append(
                    f"rule {' and '.join(map(str, conditions))}: {problem or 'it is known'}"
                )
        return Advised(explanations=tuple(explained), added=tuple(added), refused=tuple(refused))

    def read_trial(self, trial: int, what: str = "record", offset: int = 0) -> str:
        """Read a trial's record, or 4,000 characters of a file of its solver, from a character on.

        Args:
            what: `record`, or a file that the record names.
        """
        matches = next((item for item in self.trials if item.number == trial), None)
        if matches is None:
            raise ToolRefused(f"unknown trial {trial}", hint="see the block failures")
        folder = self.folder / "trials" / f"{trial:05d}"
        files = sorted(
            path.name for path in folder.glob("*") if path.is_file() and not path.is_symlink()
        )
        start = max(0, offset)
        if what == "record":
            text = compact_json(
                {**matches.to_record(), "params": dict(matches.params), "files": list[Json](files)}
            )
            return text[start : start + MOST_READ]
        if what not in files:
            raise ToolRefused(
                f"trial {trial} has no {what}", hint=f"known: record, {', '.join(files)}"
            )
        return _part(folder / what, start)


def _part(path: Path, start: int) -> str:
    """Return the characters of a file from a position on, at most as many as a call may read."""
    text, skipped = "", 0
    for piece in TextFile(path, limit=STREAMED_BYTES).pieces():
        text += piece[max(0, start - skipped) :][: MOST_READ - len(text)]
        skipped += len(piece)
        if len(text) == MOST_READ:
            break
    return text


def _read(text: str) -> Proposal:
    try:
        return Proposal.model_validate(read_json(text))
    except (ValueError, ValidationError) as error:
        raise ReplyError(
            f"the advice is not the JSON that was asked for: {str(error).splitlines()[0]}"
        ) from error
