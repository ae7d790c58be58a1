"""The advisor: a model explains a study's failures and proposes rules. Programs decide what of that counts.

It sees the exposed session state and the playbook. Records and solver output of trials are read only by an explicit,
bounded call of a tool. A rule counts where the solves of its scope bear it out, as a learned one; an explanation where
the trials that it names ended so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transom.agent import RETRY, Budget, call
from transom.canonical import Json, compact_json
from transom.errors import CapReached, ReplyError, ToolRefused
from transom.learning import SessionState, TaskType
from transom.llm import Block, CallSettings, Role, Tier
from transom.llm.reading import read_json
from transom.runs import Run, Stage, model_file, text_file
from transom.studies.advice import RULE, Insight
from transom.studies.guide import Guide
from transom.studies.rules import Condition, measured
from transom.studies.study import Study
from transom.studies.trials import Trial, Wanted, counts, failures
from transom.tools import Toolbox, ToolDefinition, ToolLimits
from transom.tools.definition import Arguments

ROLE = "studies.advisor"
BUDGET = Budget(turns=8, tokens=200_000)
MOST_READ = 4_000
"""Characters that one call of the tool returns."""
_PROMPT = Path(__file__).with_name("prompts") / "advisor.md"
_MOST_READS, _SHOWN_TRIALS, _SHOWN_INSIGHTS = 12, 4, 30
_LONGEST = 600  # characters of an explanation


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Explanation(_Model):
    """Why designs fail with a class, and trials that did."""

    failure: str
    trials: tuple[int, ...] = Field(min_length=1)
    text: str = Field(min_length=1, max_length=_LONGEST)


class ProposedCondition(_Model):
    """A feature at or beyond a threshold."""

    feature: str
    above: bool
    threshold: float = Field(allow_inf_nan=False)


class ProposedRule(_Model):
    """A rule, without the counts that bear it out."""

    conditions: tuple[ProposedCondition, ...] = Field(min_length=1, max_length=2)


class Advice(_Model):
    """The advisor's answer: claims, until they were checked."""

    explanations: tuple[Explanation, ...] = ()
    rules: tuple[ProposedRule, ...] = ()


class Advised(_Model):
    """What of an advice counts.

    Attributes:
        explanations: whose trials ended as they say. The words are the model's.
        added: ids of the rules that the solves bear out.
        refused: what does not count, and why.
        by: who answered.
    """

    explanations: tuple[Explanation, ...] = ()
    added: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    by: str = ""


@dataclass(frozen=True)
class Advisor:
    """The advisor of one study that came to its end.

    Attributes:
        folder: of the study; the trials' own folders lie in it.
        trials: all of them.
        guide: the study's, which has kept its rows already.
    """

    study: Study
    folder: Path
    trials: Sequence[Trial]
    guide: Guide

    async def advise(self, run: Run, used: Sequence[str], records: Json) -> Advised:
        """Ask, check, and keep the rules that hold.

        Args:
            run: the study's.
            used: ids of the insights that acted.
            records: all trials; other ones are asked about anew.

        Raises:
            ProviderError, ReplyError, TransomError: nobody could advise.
        """
        tools = Toolbox([self._read_tool()])
        prompt = (Block("instructions", _PROMPT.read_text(encoding="utf-8"), Tier.STABLE),)
        sees = frozenset({"instructions", "session_state", "playbook", "failures", RETRY})
        role = Role(ROLE, prompt, sees, tools.specs, CallSettings(max_tokens=4096))

        async def recall(_: Stage, __: Json) -> str:
            known = self.guide.insights[:_SHOWN_INSIGHTS]
            return "\n".join(f"[{one.id}] {one.content} ({one.helpful} right, {one.harmful} wrong)" for one in known)

        async def ask(stage: Stage, _: Json, playbook: str) -> Advice:
            blocks = [self.session(run.id, used).block(), Block("failures", self.failures(), trust="untrusted")]
            blocks += [Block("playbook", playbook, Tier.SESSION, "untrusted")] if playbook else []
            try:
                return (await call(stage, role, blocks, _read, tools=tools, budget=BUDGET)).value
            except CapReached as cap:
                if cap.cap != "tokens":  # of the whole run: a person raises it
                    raise
                raise ReplyError(f"the advisor came to no answer: {cap.what}") from cap

        recalled = await run.stage("advice/recall", recall, records, out=text_file("playbook.txt"))
        out = model_file("advice.json", Advice)
        found = await run.stage("advice", ask, records, recalled, out=out, uses=[role])
        return self.check(found.value).model_copy(update={"by": found.by})

    def session(self, session_id: str, used: Sequence[str]) -> SessionState:
        """The study as a session: its standing and newest errors are exposed, its trials isolated."""
        session, made, ranked = SessionState(session_id), counts(self.trials), Wanted.of(self.study).ranked(self.trials)
        best = ranked[0] if ranked else None
        session.exposed.task_type = TaskType.ANALYZE_RESULTS
        session.exposed.current_objective = ", ".join(f"{one.direction} {one.name}" for one in self.study.objectives)
        done, value = made["complete"] + made["failed"], best.values[0] if best else None
        session.update_study_status(
            self.study.study, "complete", done, made["total"], value, best.number if best else None
        )
        for trial in self.trials:
            session.add_trial(trial.to_record() | {"number": trial.number, "params": dict(trial.params)})
            if trial.kind == "failed":
                session.add_error(f"trial {trial.number}: {trial.reason[:200]}", trial.failure)
        session.use_items(*used)
        return session

    def failures(self) -> str:
        """Failed designs by class with their features, the newest few of each."""
        lines = [f"features: {', '.join(sorted(self.guide.features.formulas))}"]
        for failure, number in failures(self.trials).items():
            lines.append(f"{failure}: {number} solves")
            mine = [one for one in self.trials if one.kind == "failed" and one.failure == failure]
            for one in mine[-_SHOWN_TRIALS:]:
                features = self.guide.features(self.study.values(one.params))
                told = ", ".join(f"{name} {value:.3g}" for name, value in sorted(features.items()))
                lines.append(f"- trial {one.number}: {told}: {' '.join(one.reason.split())[:200]}")
        return "\n".join(lines)

    def check(self, advice: Advice) -> Advised:
        """Hold an advice against trials and rows, and keep the rules that stand."""
        refused: list[str] = []
        explained = []
        for one in advice.explanations:
            ended = {trial.number for trial in self.trials if trial.kind == "failed" and trial.failure == one.failure}
            if wrong := [number for number in one.trials if number not in ended]:
                refused.append(f"explanation of {one.failure!r}: trial {wrong[0]} did not end so")
            else:
                explained.append(one)
        rows, added = self.guide.advice.rows(self.study.scope), []
        known = {one.rule.key: one for one in self.guide.advice.insights(self.study.scope) if one.kind == RULE}
        for proposed in advice.rules:
            conditions = tuple(sorted(Condition(one.feature, one.above, one.threshold) for one in proposed.conditions))
            rule, problem = measured(conditions, rows)
            there = known.get(rule.key) if rule else None
            if rule is None or (there and there.data != rule.to_data()):
                refused.append(f"rule {' and '.join(map(str, conditions))}: {problem or 'it is known'}")
                continue
            if there is None:  # else it was added when the study ended before
                insight = Insight(
                    self.study.scope,
                    RULE,
                    self.guide.in_words(rule.sentence),
                    rule.to_data(),
                    sources=(self.study.study,),
                )
                there = known[rule.key] = replace(insight, id=self.guide.advice.add(insight))
            added.append(there.id)
        return Advised(explanations=tuple(explained), added=tuple(added), refused=tuple(refused))

    def _read_tool(self) -> ToolDefinition:
        number: dict[str, Json] = {"type": "integer", "minimum": 0}
        what = {"type": "string", "description": "`record`, or a file that the record names"}
        properties: dict[str, Any] = {"trial": number, "what": {**what, "default": "record"}, "offset": number}
        schema: dict[str, Json] = {"type": "object", "properties": properties, "required": ["trial"]}
        schema["additionalProperties"] = False
        text = f"Read a trial's record, or {MOST_READ} characters of a file of its solver, from a character on."
        limits = ToolLimits(calls=_MOST_READS)
        return ToolDefinition("read_trial", text, schema, self._read_trial, effect="pure", limits=limits)

    def _read_trial(self, arguments: Arguments) -> Json:
        found = next((one for one in self.trials if one.number == arguments["trial"]), None)
        if found is None:
            raise ToolRefused(f"there is no trial {arguments['trial']}", hint="see the block failures")
        folder = self.folder / "trials" / f"{found.number:05d}"
        files = sorted(path.name for path in folder.glob("*") if path.is_file() and not path.is_symlink())
        what, offset = str(arguments.get("what", "record")), int(str(arguments.get("offset", 0)))
        if what == "record":
            told = compact_json({**found.to_record(), "params": dict(found.params), "files": list[Json](files)})
        elif what in files:
            with (folder / what).open("rb") as file:
                file.seek(offset)
                told, offset = file.read(MOST_READ).decode("utf-8", "replace"), 0
        else:
            raise ToolRefused(f"trial {found.number} has no {what}", hint=f"there are record, {', '.join(files)}")
        piece: Json = told[offset : offset + MOST_READ]
        return piece


def _read(text: str) -> Advice:
    try:
        return Advice.model_validate(read_json(text))
    except (ValueError, ValidationError) as error:
        raise ReplyError(f"the advice is not the JSON that was asked for: {str(error).splitlines()[0]}") from error
