"""Gates on atoms B and C: the vectors, likeness with the shipped ones, and no value of the item."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import CheckerConfig, Entry
from transom.checklist.building.artifacts import ATOM_A, ATOM_B, ATOM_C, FUNCTIONS, Parts, tree_of
from transom.checklist.building.prober import Check, Prober
from transom.checklist.item import Item
from transom.checklist.judging.runner import AtomWorker
from transom.checklist.patterns import parts
from transom.checklist.standard_atoms import check_existence, validate_logic
from transom.checklist.vectors import STANDARD_SOURCE, Vector
from transom.evidence.findings import Finding

KINDS: Final = ("alternatives", "regex", "wildcard", "contains", "exact")
# Words of the contract itself, which atoms B and C are made of; a value of an item may happen to be
# one of them.
CONTRACT: Final = frozenset(
    {
        *KINDS,
        "regex:",
        "invalid regex:",
        "invalid regex",
        "invalid",
        "is_match",
        "reason",
        "kind",
        "evidence",
        "items",
        "value",
        "source_file",
        "line_number",
        "matched_content",
        "parsed_fields",
        "search",
        "match",
        "pattern",
        "text",
        "found",
        "nothing found",
        "matches",
        "does not match",
        "none",
        "item",
        "list",
        "true",
        "false",
    }
)
_SHORTEST = 3
_TRIES = 24
_OWN = 40
_ALPHABET = "ab|*?[].r:0 -"


def is_shipped(atoms: Parts) -> bool:
    """Return whether B and C are the shipped ones, word for word."""
    return STANDARD_SOURCE.strip() in atoms.full_text


async def check_vector(prober: Prober, vector: Vector) -> list[Finding]:
    """Try one vector of atom B or C."""

    async def problems(worker: AtomWorker) -> list[str]:
        problems: list[str] = []
        for call in vector.calls:
            result = await worker.call(vector.function, dict(call.arguments))
            for problem in call.problems(result):
                problems.append(f"{vector.function}({_arguments_text(call.arguments)}): {problem}")
        return problems

    return await prober.findings(problems, f"vectors.{vector.name}", FUNCTIONS[vector.function])


async def check_likeness(prober: Prober, atoms: Parts, own: Sequence[str] = ()) -> list[Finding]:
    """Compare own atoms with the shipped ones, for every kind that they do not extend.

    A kind is extended by another name: what calls itself `wildcard` must be the wildcard that
    everybody knows. The texts in `own` belong to the item; they must be compared like all others,
    and no finding names them.
    """
    # Asking the shipped atoms about themselves would only cost time.
    if is_shipped(atoms):
        return []
    chance = random.Random(0)  # the same questions in every build
    questions = []
    for _ in range(_TRIES):
        for pattern in _patterns(chance):
            questions.append((_like(pattern, chance), pattern))
    findings = await prober.findings(_compared(questions), "likeness", ATOM_B)
    own_texts = []
    for text in own[:_OWN]:
        if not text.startswith("regex:"):
            own_texts.append(text)
    # Secrets of the item are tried last, and never quoted.
    if not findings and await prober.findings(
        _compared([(first, second) for first in own_texts for second in own_texts]),
        "likeness",
        ATOM_B,
    ):
        message = (
            "validate_logic answers otherwise than the shipped one where a text is this item's own"
        )
        findings = [Finding("likeness", ATOM_B, atoms.line_of(ATOM_B), message)]
    lists: list[list[Json]] = [
        [],
        [{}],
        [{"value": _text(chance)} for _ in range(3)],
        [{"value": "", "x": None}],
    ]
    return findings + await prober.findings(_counted(lists), "likeness", ATOM_C)


def _compared(questions: Sequence[tuple[str, str]]) -> Check:
    async def problems(worker: AtomWorker) -> list[str]:
        problems: dict[str, str] = {}
        for text, pattern in questions:
            # A checker may set either as its default.
            for strategy in ("contains", "exact"):
                expected = validate_logic(text, pattern, None, strategy)
                result = await worker.call(
                    "validate_logic", {"text": text, "pattern": pattern, "default_match": strategy}
                )
                answer = result if isinstance(result, dict) else {}
                kind = answer.get("kind")
                # A kind of another name is an extension, which may answer as it likes.
                if kind not in KINDS and isinstance(kind, str):
                    continue
                if kind != expected["kind"] or answer.get("is_match") is not expected["is_match"]:
                    answered = (
                        f"validate_logic({text!r}, {pattern!r}, default_match={strategy!r}) answers"
                        f" {result!r:.120}"
                    )
                    problems.setdefault(
                        str(expected["kind"]), f"{answered}; the shipped one: {expected!r:.120}"
                    )
        return list(problems.values())

    return problems


def _counted(lists: Sequence[Sequence[Json]]) -> Check:
    async def problems(worker: AtomWorker) -> list[str]:
        for items in lists:
            expected = check_existence(items)  # type: ignore[arg-type]  # entries of any shape
            result = await worker.call("check_existence", {"items": items})
            if not isinstance(result, dict) or any(
                result.get(key) != expected[key] for key in ("is_match", "evidence")
            ):
                return [
                    f"check_existence({items!r:.80}) answers {result!r:.120}; the shipped one:"
                    f" {expected!r:.120}"
                ]
        return []

    return problems


def _patterns(chance: random.Random) -> Iterator[str]:
    """Yield a pattern of each kind."""
    yield f"{_text(chance)}|{_text(chance)}"
    yield f"regex:{chance.choice(('^a', 'b$', '[ab]+', 'a.b', '[', '0|1', ''))}"
    yield f"{_text(chance)}{chance.choice('*?')}{_text(chance)}".replace("|", "")
    yield re.sub(r"[|*?]", "", _text(chance)) or "a"


def _like(pattern: str, chance: random.Random) -> str:
    """Return a text near to what the pattern matches, so that both answers come up."""
    part = chance.choice(pattern.removeprefix("regex:").split("|"))
    fitting = ""
    for sign in part:
        if sign == "*":
            fitting += _text(chance)
        elif sign == "?":
            fitting += chance.choice("ab[]")
        else:
            fitting += sign
    position = chance.randrange(len(fitting) + 1)
    return chance.choice(
        (
            fitting,
            fitting,
            fitting[:position] + fitting[position + 1 :],
            fitting[:position] + chance.choice("ab*") + fitting[position:],
            fitting.upper(),
            f"a{fitting}",
            f"{fitting}b",
            f" {fitting} ",
            _text(chance),
            pattern,
        )
    )


def _text(chance: random.Random) -> str:
    return "".join(chance.choice(_ALPHABET) for _ in range(chance.randrange(7)))


def check_hard_coding(atoms: Parts, values: Mapping[str, str]) -> list[Finding]:
    """Report literals of B and C that are or hold one of the item's values.

    The values have beside them what they are.
    """
    tree = None if is_shipped(atoms) else tree_of(atoms.logic)
    if tree is None:
        return []
    findings: list[Finding] = []
    for line, literal in literals(tree):
        # Atom A reads the files of this item, so it may know their words.
        if literal.strip().casefold() in CONTRACT or atoms.artifact(line) == ATOM_A:
            continue
        origin = next((origin for value, origin in values.items() if _holds(literal, value)), None)
        if origin:
            message = f"{literal[:60]!r} is or holds {origin} of this item; B and C know no item"
            findings.append(Finding("hard_coding", atoms.artifact(line), line, message))
    return findings


def item_values(
    config: CheckerConfig, item: Item | None, entries: Sequence[Entry]
) -> dict[str, str]:
    """Return everything that belongs to one item alone, with what it is."""
    origins: dict[str, str] = {config.item_id: "the id"}
    pattern_texts = [
        (config.requirements, config.waivers),
        *([(item.requirements, item.waivers)] if item else []),
    ]
    for requirements, waivers in pattern_texts:
        for pattern in requirements.pattern_items if requirements else ():
            origins.update(dict.fromkeys(parts(pattern), "a pattern"))
        for waiver in waivers.waive_items if waivers else ():
            origins[waiver.pattern] = "a waiver"
    for validation_item in config.items:
        origins.update(
            dict.fromkeys((*validation_item.keywords, *validation_item.hints), "a keyword")
        )
        origins |= {validation_item.id: "an item's id", validation_item.name: "an item's name"}
    # The folder of a file is the same for many items; its name is not.
    for name in item.input_files if item else ():
        origins[re.split(r"[/\\]", name.written)[-1]] = "a file name"
    for entry in entries:
        origins.update(dict.fromkeys(_texts(entry), "a value of the evidence"))
    values: dict[str, str] = {}
    for value, origin in origins.items():
        if value.strip() and value.strip().casefold() not in CONTRACT:
            values[value] = origin
    return values


def _texts(entry: Entry) -> list[str]:
    fields = []
    for part in entry.parsed_fields.values():
        if isinstance(part, dict):
            fields.append(part)
    return [
        entry.value,
        *(text for part in fields for text in part.values() if isinstance(text, str)),
    ]


def _holds(literal: str, value: str) -> bool:
    plain, expected = literal.strip().casefold(), value.strip().casefold()
    if plain == expected or plain == expected.removeprefix("regex:"):
        return True
    # Short values such as "0" are in any code.
    return len(expected) > _SHORTEST and bool(
        re.search(rf"(?<!\w){re.escape(expected)}(?!\w)", plain)
    )


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the texts in the code with their lines, without docstrings."""
    # A docstring may explain by an example; it decides nothing.
    docstrings = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        ):
            docstrings.add(id(node.body[0].value))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and node.value.strip()
        ):
            yield node.lineno, node.value


def _arguments_text(arguments: object) -> str:
    text = str(arguments)
    if len(text) <= 80:
        return text
    return f"{text[:77]}..."
