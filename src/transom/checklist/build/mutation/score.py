"""The score: the checker's runtime on the files as they are and on every mutant, and what has to be said of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from transom.checklist.atoms import CheckerConfig
from transom.checklist.build.mutation.again import Repeat, Result, result_of
from transom.checklist.build.mutation.alter import Mutant
from transom.checklist.build.mutation.fields import Topic, topics
from transom.checklist.build.mutation.judged import ENOUGH, hidden, misjudged, strange_places
from transom.checklist.build.mutation.plan import Plan, plan
from transom.checklist.build.mutation.runtime import Desk, Kept
from transom.checklist.build.mutation.seen import left_out, left_out_altered, said_otherwise
from transom.checklist.item import InputName, Item
from transom.checklist.patterns import parts
from transom.checklist.results import MutationRow, Survivor
from transom.checklist.run import Inputs, LoadedChecker, Roots, Verdict, check_files, settle
from transom.checklist.spec.shapes import SpecDocument
from transom.sandbox import Sandbox

_SHOWN = 8
_CUT = "of a long file only its beginning, its end and what atom A sees are tried"
# A day before any waiver expires: what is waived by the item counts as waived here.
_DAY = "0001-01-01"


@dataclass(frozen=True)
class Setting:
    """On what a checker is tried.

    Attributes:
        files: the item's input files, or those that stand for them.
        roots: where the files that they name may lie.
        item: whose requirements and waivers count; the checker's own where None.
        texts: excerpts of those files that are long, by their real paths.
    """

    sandbox: Sandbox
    files: tuple[Path, ...]
    roots: tuple[Path, ...]
    item: Item | None = None
    texts: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mutation:
    """What came of it.

    Attributes:
        row: for `build.json`; None where there was nothing to alter.
        problems: what a repair of atom A must mend.
        unseen: lines that atom A leaves out, as they are or on the other side of their outcome.
        why_not: why nothing could be tried, None if something was.
        untried: why an excerpt of a long file shows nothing of the checker; no fault of it.
    """

    row: MutationRow | None = None
    problems: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    why_not: str | None = None
    untried: str | None = None


async def mutate(code: str, config: CheckerConfig, spec: SpecDocument, setting: Setting) -> Mutation:
    """Alter the evidence, run the checker, compare.

    Args:
        code: `atoms.py`, which must load.
        config: `checker.yaml`.
        spec: says where the evidence stands and what must follow from it.

    Raises:
        InputError: the item's patterns do not fit the checker.
    """
    desk = Desk(setting.texts)
    checker = LoadedChecker(Path(), code, config, {}, setting.item, "")
    names = tuple(InputName(str(path), 1) for path in setting.files)
    roots = Roots({f"ROOT{number}": root for number, root in enumerate(setting.roots, 1)})
    inputs = Inputs(names, roots, open=desk.open)
    if setting.item is None:
        inputs = replace(inputs, names=await _answered(checker, inputs, setting))
    about = topics(spec, _patterns(config, setting.item))
    if not about:
        return Mutation(why_not="Section 4.1 says for no category of Section 2 how it is found")
    made = await plan(about, spec, setting.sandbox, desk, inputs, setting.roots)
    if not made.mutants:
        return Mutation(why_not=made.why_none)

    async def run(kept: Kept, texts: Mapping[Path, str]) -> Verdict:
        with desk.showing(texts):
            return await check_files(checker, setting.item, inputs, kept, _DAY)

    async with Kept(setting.sandbox) as kept:
        base = await run(kept, {})
        if base.status == "ERROR":
            said = "; ".join(error.message for error in base.errors)
            if desk.cut:
                return Mutation(untried=f"{_CUT}, and the checker judges only the whole: {said}")
            return Mutation(problems=(f"the checker gives no answer on the files as they are: {said}",))
        first = result_of(base)
        results = [result_of(await run(kept, mutant.texts)) for mutant in made.mutants]
        unseen = await left_out(made.rows, kept)
        unseen += [problem for mutant in made.mutants if (problem := await left_out_altered(mutant, kept))]
        otherwise = await said_otherwise(made.told, kept)
    pairs = list(zip(made.mutants, results, strict=True))
    survivors = [(one, why) for one, result in pairs if (why := _why_survived(one, first, result, about, desk))]
    problems = [*_problems(made, survivors), *otherwise, *misjudged(made.units, base), *hidden(first, about, desk)]
    problems += strange_places(made.units, about, base)
    before = [({}, first), *((mutant.texts, result) for mutant, result in pairs)]
    problems += await Repeat(run, setting.sandbox, desk, made.movable, made.asides).problems(before)
    noted = f" ({_CUT}; lines are counted in that)" if desk.cut else ""
    problems, unseen = ([f"{one}{noted}" for one in dict.fromkeys(some)] for some in (problems, unseen))
    return Mutation(_row(made, survivors), tuple(problems), tuple(unseen))


def _patterns(config: CheckerConfig, item: Item | None) -> tuple[str, ...]:
    """The texts of the patterns that count."""
    wanted = settle(config, item).requirements
    return tuple(part for pattern in wanted.pattern_items for part in parts(pattern)) if wanted.value else ()


# -- did the result follow


def _why_survived(mutant: Mutant, before: Result, after: Result, about: Sequence[Topic], desk: Desk) -> str | None:
    """None where the mutant was noticed."""
    own = before.of(mutant.item), after.of(mutant.item)
    asked = own if mutant.expects != "entry" and any(own) else (before.outcome, after.outcome)
    if asked[0] != asked[1] or after.status == "ERROR" != before.status:
        if mutant.expects != "violation" or after.status == "ERROR":
            return None
        lacks = before.violations + mutant.adds - after.violations
        what = "the added violation is not one" if mutant.adds == 1 else f"{lacks} of {mutant.adds} added are none"
        return f"{what} for the checker" if lacks > 0 else None
    if before.entries == after.entries:
        return f"the result stays {after.status} with the same entries"
    if mutant.expects != "entry":
        return "the text of an entry changes, its outcome does not"
    if mutant.way in ("remove", "blank", "header", "cut"):
        invented = _invented(before, after, mutant, about, desk)
        if invented is not None:
            return f"the text is gone, and the entry says {invented!r} in its place, which stands nowhere"
    return None


def _invented(before: Result, after: Result, mutant: Mutant, about: Sequence[Topic], desk: Desk) -> str | None:
    """A field's new text that no file holds: a default that hides what is missing."""
    wanted = {name for topic in about for name in topic.decisive()}
    held = " ".join([*desk.texts.values(), *mutant.texts.values()]).casefold()
    held = re.sub(r"\s+", " ", held)
    for (ident, name), said in after.fields.items():
        fresh = said - before.fields.get((ident, name), frozenset())
        for text in sorted(fresh if name in wanted else ()):
            if re.sub(r"\s+", " ", text).casefold() not in held:
                return text
    return None


# -- what is said of it


async def _answered(checker: LoadedChecker, inputs: Inputs, setting: Setting) -> tuple[InputName, ...]:
    """Where no item says which files there are: those that the checker gives an answer on."""
    answered: list[InputName] = []
    for name in inputs.names:
        alone = replace(inputs, names=(name,))
        if (await check_files(checker, None, alone, setting.sandbox, _DAY)).status != "ERROR":
            answered.append(name)
    return tuple(answered)


def _row(made: Plan, survivors: Sequence[tuple[Mutant, str]]) -> MutationRow:
    told = tuple(
        Survivor(mutation=mutant.says, artifact=mutant.spot.page.shown, line=mutant.spot.number, why=why)
        for mutant, why in survivors
    )
    return MutationRow(killed=len(made.mutants) - len(told), applicable=len(made.mutants), survivors=told)


def _problems(made: Plan, survivors: Sequence[tuple[Mutant, str]]) -> list[str]:
    """Survivors are problems where they are too many, or where one kind or one place of evidence is never noticed."""
    alive = {id(mutant) for mutant, _ in survivors}
    enough = len(made.mutants) - len(alive) >= ENOUGH * len(made.mutants)
    blind: set[int] = set()
    kinds: tuple[Callable[[Mutant], object], ...] = (
        lambda m: m.way,
        lambda m: (m.place, m.way == "cut"),
        lambda m: (m.way, m.spot.page.path, m.item),
    )
    for group in (group for key in kinds for group in _groups(made.mutants, key).values()):
        sure = len(group) > 1 or group[0].expects != "entry"
        if sure and all(id(mutant) in alive for mutant in group):
            blind |= {id(mutant) for mutant in group}
    told = [(mutant, why) for mutant, why in survivors if not enough or id(mutant) in blind]
    # One of every kind first: what is said must fit into a retry, and say all that is wrong.
    firsts = list({mutant.way: (mutant, why) for mutant, why in reversed(told)}.values())
    shown = [*firsts, *(one for one in told if one not in firsts)][:_SHOWN]
    said = [f"{mutant.spot.page.shown}:{mutant.spot.number} altered ({mutant.says}): {why}" for mutant, why in shown]
    return said + (
        [f"and {len(told) - len(shown)} more alterations that leave the result as it is"] if told[_SHOWN:] else []
    )


def _groups(made: Sequence[Mutant], key: Callable[[Mutant], object]) -> dict[object, list[Mutant]]:
    found: dict[object, list[Mutant]] = {}
    for mutant in made:
        found.setdefault(key(mutant), []).append(mutant)
    return found
