"""The examples and the alterations of one checker, and what has to be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from transom.checklist.atoms import CheckerConfig, ValidationItem
from transom.checklist.building.artifacts import ATOM_A
from transom.checklist.building.mutation.addition import WAY, try_additions
from transom.checklist.building.mutation.alterations import (
    Alteration,
    alterations,
    is_prose,
    noticed,
)
from transom.checklist.building.mutation.combinations import run_tests
from transom.checklist.building.mutation.examples import Examples, Tried
from transom.checklist.building.mutation.pattern_matches import try_patterns
from transom.checklist.building.mutation.shortening import shortened
from transom.checklist.building.mutation.suggestion import (
    ExampleOutcome,
    SuggestedLine,
    suggest_lines,
)
from transom.checklist.building.prober import ParserAnswer, Prober, RealFile
from transom.checklist.results import SPEC, Combination, MutationRow, Survivor
from transom.checklist.writing.shapes import SpecDocument

_SHOWN: Final = 8
_SHOWN_ADDITIONS: Final = 3
_SEEDS: Final = (1, 2)


@dataclass(frozen=True)
class Mutation:
    """Results of all trials.

    Attributes:
        row: the score for `build.json`; None if there was nothing to try.
        messages: by the gate and the artifact that they are about. `examples` are read otherwise
            than the ItemSpec says, or it contradicts itself; `untested` items have no example;
            `addition`: bad lines that leave an item positive; `mutation`: alterations that atom A
            does not follow; `questions` only its writer can
            answer; `patterns` match no line; `untried`: what could not be tried, and why.
        tests: the combinations of requirements and waivers that were asked for.
        suggestions: lines that a person may confirm as the examples that the ItemSpec lacks.
    """

    row: MutationRow | None
    messages: Mapping[tuple[str, str], Sequence[str]]
    tests: tuple[Combination, ...] = ()
    suggestions: tuple[SuggestedLine, ...] = ()


@dataclass
class _Score:
    """Count of what was tried, and what was not noticed."""

    tried: dict[str, int] = field(default_factory=dict)
    survivors: list[Survivor] = field(default_factory=list)

    def take(self, way: str, survivor: Survivor | None) -> None:
        self.tried[way] = self.tried.get(way, 0) + 1
        if survivor:
            self.survivors.append(survivor)

    def row(self) -> MutationRow | None:
        applicable = sum(self.tried.values())
        if not applicable:
            return None
        killed = applicable - len(self.survivors)
        return MutationRow(
            killed=killed,
            applicable=applicable,
            survivors=tuple(self.survivors),
            kinds=tuple(self.tried),
        )


async def mutate(
    prober: Prober,
    config: CheckerConfig,
    spec: SpecDocument,
    files: Sequence[RealFile],
    *,
    tests: bool = False,
) -> Mutation:
    """Try a checker on the ItemSpec's examples and on altered files.

    `prober` is of `atoms.py`, which must load.

    With `tests` the combinations of requirements and waivers are tried, too.
    """
    score = _Score()
    answers = [(file, await prober.answer(file.name, file.text)) for file in files]
    readable = list[tuple[RealFile, ParserAnswer]]()
    for file, answer in answers:
        if answer.refused is None:
            readable.append(await shortened(prober, file, answer))
    # A refused file is no fault, but somebody has to know that it was not tried.
    refused = []
    for file, answer in answers:
        if answer.refused is not None:
            refused.append(f"{file.name} cannot be tried: {answer.refused}")
    examples = Examples(prober, config, await prober.sources(), tuple(file for file, _ in readable))
    wrong, spec_wrong, untried = await _examples(examples, spec, score)
    combinations = await run_tests(examples, spec) if tests else ()
    problems, questions = await _altered(prober, readable, score)
    overlooked = await _added(examples, spec, score)
    problems += await _same_again(prober, readable, score)
    read = [(file, answer.entries) for file, answer in readable]
    patterns = await try_patterns(spec, config, read, prober)
    suggestions = list[SuggestedLine]()
    for item, outcomes in lacking_examples(config, spec):
        suggestions += await suggest_lines(examples, item, outcomes)
    messages: dict[tuple[str, str], Sequence[str]] = {
        ("examples", ATOM_A): wrong,
        ("examples", SPEC): spec_wrong,
        ("untested", SPEC): _untested(config, spec, suggestions),
        ("addition", ATOM_A): overlooked,
        ("mutation", ATOM_A): (*problems, *patterns.keyed),
        ("questions", ATOM_A): (*questions, *patterns.questions),
        ("patterns", SPEC): patterns.missed,
        ("untried", ATOM_A): (*refused, *untried, *patterns.untried),
    }
    return Mutation(score.row(), messages, combinations, tuple(suggestions))


async def _examples(
    examples: Examples, spec: SpecDocument, score: _Score
) -> tuple[list[str], list[str], list[str]]:
    """Try the examples.

    Returns those that atom A reads wrong, contradictions of the ItemSpec, and what could not be
    tried.
    """
    wrong: list[str] = []
    spec_wrong: list[str] = []
    untried: list[str] = []
    for example in spec.guide.examples:
        # Alone and among real lines: either may hide what the other shows.
        for way, problems in (
            ("example alone", await examples.alone(example)),
            ("example in a real file", await examples.in_place(example) or Tried(untried="")),
        ):
            if problems.untried is not None:
                if problems.untried:
                    untried.append(problems.untried)
                continue
            label = example.file or "example"
            if problems.problem:
                lost = Survivor(mutation=way, artifact=label, line=None, why=problems.problem)
            else:
                lost = None
            score.take(way, lost)
            if problems.problem:
                (spec_wrong if problems.spec else wrong).append(problems.problem)
    return wrong[:_SHOWN], spec_wrong[:_SHOWN], untried


async def _added(examples: Examples, spec: SpecDocument, score: _Score) -> list[str]:
    """Return which bad lines leave an item positive; the first of each item says enough."""
    problems = list[str]()
    for trial in await try_additions(examples, spec):
        survivor = None
        if trial.problem is not None:
            problems.append(trial.problem)
            survivor = Survivor(
                mutation=WAY, artifact=trial.file, line=trial.line or None, why=trial.problem
            )
        score.take(WAY, survivor)
    return problems[:_SHOWN_ADDITIONS]


async def _altered(
    prober: Prober, answers: Sequence[tuple[RealFile, ParserAnswer]], score: _Score
) -> tuple[list[str], list[str]]:
    """Return the alterations that change nothing: faults, and mere questions."""
    problems: list[str] = []
    questions: list[str] = []
    for file, before in answers:
        # Of alterations of one value a single one has to be noticed.
        alive: list[Alteration] = []
        followed: dict[str, str] = {}
        for alteration in alterations(file, before.entries):
            if noticed(alteration, before, await prober.answer(file.name, alteration.text)):
                followed[alteration.of] = alteration.way
            else:
                alive.append(alteration)
        lines: set[int] = set()
        for alteration in alive:
            if alteration.of in followed:
                continue
            why = f"{alteration.says}: atom A says the same as before"
            score.take(
                alteration.way,
                Survivor(
                    mutation=alteration.way, artifact=file.name, line=alteration.line, why=why
                ),
            )
            if alteration.sure:
                problems.append(why)
            elif alteration.line not in lines:
                questions.append(f"{why}; why?")
            lines.add(alteration.line)
        for way in followed.values():
            score.take(way, None)
        questions += await _moved(prober, file, before)
    return problems[:_SHOWN], questions[:_SHOWN]


async def _moved(prober: Prober, file: RealFile, before: ParserAnswer) -> list[str]:
    """Ask whether a blank line at the top changes anything but the numbers of the lines."""
    if not is_prose(file) or not before.entries:
        return []
    after = await prober.answer(file.name, f"\n{file.text}")
    lower = []
    for line, *fields in before.placed:
        lower.append((line + 1 if isinstance(line, int) else line, *fields))
    if after.refused is not None or after.placed == lower:
        return []
    return [
        f"{file.name}: atom A reads something else when a blank line is put before the first one;"
        " why?"
    ]


async def _same_again(
    prober: Prober, answers: Sequence[tuple[RealFile, ParserAnswer]], score: _Score
) -> list[str]:
    """Report entries that differ for the same text: after others, in a fresh process, reordered."""
    problems: list[str] = []
    for file, before in answers:
        if (await prober.asked_again(file.name, file.text)) != before:
            problems.append(
                f"{file.name}: atom A keeps something between calls; it reads something else after"
                " others"
            )
    # Another seed reorders sets; code that goes by their order gives other entries.
    for seed in _SEEDS if answers and not problems else ():
        async with Prober(prober.code, prober.sandbox.seeded(seed)) as fresh:
            other = []
            for file, before in answers:
                if (await fresh.answer(file.name, file.text)) != before:
                    other.append(file.name)
        for name in other:
            problems.append(f"{name}: atom A goes by the order of a set")
    if answers:
        why = problems[0] if problems else None
        if why:
            lost = Survivor(
                mutation="fresh process", artifact=answers[0][0].name, line=None, why=why
            )
        else:
            lost = None
        score.take("fresh process", lost)
    return list(dict.fromkeys(problems))


def lacking_examples(
    config: CheckerConfig, spec: SpecDocument
) -> list[tuple[ValidationItem, list[ExampleOutcome]]]:
    """Return the items of which the ItemSpec has no example that holds, or none that fails."""
    covered = {(example.item, example.outcome) for example in spec.guide.examples}
    lacking = list[tuple[ValidationItem, list[ExampleOutcome]]]()
    for item in config.items:
        outcomes = []
        for outcome in _outcomes(item):
            if (item.id, outcome) not in covered:
                outcomes.append(outcome)
        if outcomes:
            lacking.append((item, outcomes))
    return lacking


def _untested(
    config: CheckerConfig, spec: SpecDocument, suggestions: Sequence[SuggestedLine]
) -> tuple[str, ...]:
    """Return what each item lacks, and how to give it.

    If a person's patterns decide and no condition does, no line fails whatever they are.
    """
    messages = list[str]()
    for item, outcomes in lacking_examples(config, spec):
        message = (
            f"item {item.id}: the ItemSpec has no example that {' and none that '.join(outcomes)},"
            " so nothing shows that it is read right; list one under `#### Examples` in Section"
            f' 4.1: `- {{item: "{item.id}", outcome: {outcomes[-1]}, text: "<a line of the'
            f' report>", fields: {{{item.select}: <what it must yield>}}}}`, or pass --good and'
            " --bad to `transom check lint`"
        )
        for line in suggestions:
            if line.item == item.id:
                message += f"; is this a line that {line.outcome}? {line}"
        messages.append(message)
    return tuple(messages)


def _outcomes(item: ValidationItem) -> tuple[ExampleOutcome, ...]:
    is_by_pattern = item.check == "pattern" and item.condition is None
    if is_by_pattern:
        return ("holds",)
    return ("holds", "fails")
