"""Write `checker.yaml` and `atoms.py` of a claim, in one step."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pprint import pformat
from typing import Final, Literal

from transom.canonical import Json
from transom.checklist.atoms import (
    LOCKED_LAYER,
    CheckerConfig,
    ClaimRow,
    Condition,
    Operator,
    Requirements,
    ValidationItem,
    Waivers,
    checker_type,
)
from transom.checklist.claims.absent_texts import texts_of_parameter, texts_of_patterns
from transom.checklist.claims.claim_data import (
    SCRIPT_COMMANDS,
    Claim,
    FactPattern,
    LimitedMeasure,
    bad_facts,
    fact_words,
    limited_measure,
    measure_name,
    proof_facts,
    scope_of_claim,
    shipped_claims,
)
from transom.checklist.claims.header_files import header_items, write_header_atoms
from transom.checklist.item import Item
from transom.errors import InputError
from transom.evidence.numbers import NumberLimit, PrintedNumber, read_bound
from transom.evidence.units import factor_to_base, quantity_of
from transom.formats.reports import FactInterest, load_format

_GRANULAR = re.compile(
    r"\bone (?:item|violation|entry|row) (?:per|for (?:each|every))\b"
    r"|\b(?:each|every) [a-z ]{1,60} (?:is|as|gives|makes|yields|becomes)"
    r" (?:one|an) (?:item|entry|row)\b"
)
# "No endpoint may violate timing" asks of each of them, as "every endpoint is met" does.
_OF_EACH: Final = (
    r"\b(?:each|every|no|any|all|none of)(?: the)?(?: [\w-]{{1,30}})? {thing}s?\b"
    r"|\b{thing} by {thing}\b"
)
_MODES: Final = {"each": "require", "allowed": "allow", "forbidden": "forbid"}
_ATOMS = '''"""{title}.

Transom reads each report by its report formats, and gives this file what they measured instead of
the text: one JSON object a line with name, format, line, scope, value, text, number, quantity,
problem and content. Numbers are in the base unit of their quantity (s, W, m2, ratio).
"""

import json
import re
import operator

SCOPE = "report"
COMPARE = {{">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}}
COMPARE["="] = operator.eq
WANTED_SCOPE = {scope}
PROOF = {proof}
BAD = {bad}
LIMIT = {limit}
GROUP_BY = {group_by}
BAD_CATEGORY = {bad_category}
SUBJECT_KEYS = ("endpoint", "object", "category", "cell", "rule", "group", "corner", "check")


def concerns(pattern, fact):
    """Return whether a pattern speaks of a measurement, whose check the report must name."""
    wanted = {{**WANTED_SCOPE, **pattern.get("scope", {{}})}}
    if pattern["name"] != fact["name"]:
        return False
    scope = {{"check": "", **fact["scope"]}}
    return all(scope.get(key, word) == word for key, word in wanted.items())


def breaks(pattern, fact):
    """Return whether a measurement is the bad fact that a pattern describes."""
    number, text = fact["number"], fact["text"]
    if "text" in pattern:
        return text == pattern["text"]
    if "text_contains" in pattern:
        return pattern["text_contains"] in text.lower()
    if "below" in pattern and (number is None or number >= pattern["below"]):
        return False
    if "above" in pattern and (number is None or number <= pattern["above"]):
        return False
    if pattern.get("breaks_limit"):
        return not COMPARE[LIMIT["comparator"]](number, LIMIT["number"])
    return True


def can_be_judged(fact):
    """Return whether a measurement has a number if it should have one, of the limit's quantity."""
    if fact["value"] is not None and fact["number"] is None:
        return False
    return LIMIT is None or LIMIT["quantity"] in (None, fact["quantity"])


def entry_of(fact, why_bad):
    """Return the entry of a measurement, with the reason if it is bad."""
    words = [fact["scope"][key] for key in SUBJECT_KEYS if fact["scope"].get(key)]
    subject = words[0] if words else fact["name"]
    shown = [*words, fact["name"].replace("_", " "), fact["value"] or "", fact["text"]]
{listed}    if fact["name"] == "message" or fact["name"].endswith("_line"):
        shown = [fact["content"].split("\\n")[0].strip()]
    return {{
        "value": " ".join(filter(None, shown)),
        "line_number": fact["line"],
        "matched_content": fact["content"],
        "parsed_fields": {{
            BAD_CATEGORY if why_bad else "measurement": {{
                **fact["scope"],
                "name": subject,
                "measure": fact["name"],
                "value": fact["value"] or fact["text"],
                "holds": not why_bad,
                "why": why_bad or "nothing speaks against it",
            }}
        }},
    }}


def extract_context(text, source_file):
    """Return one entry for each measurement that proves or breaks the claim."""
    facts = [json.loads(line) for line in filter(None, text.split("\\n"))]
    results = []
    for fact in {facts}:
        is_proof = any(concerns(pattern, fact) for pattern in PROOF)
        relevant = [pattern for pattern in BAD if concerns(pattern, fact)]
        if (is_proof or relevant) and can_be_judged(fact):
            why_bad = [pattern["why"] for pattern in relevant if breaks(pattern, fact)]
            if is_proof or why_bad:
                results.append(entry_of(fact, "".join(why_bad[:1])))
{grouped}{locked}'''
_WITHOUT_LOST = '''
def without_lost(facts):
    """Return the facts without the commands whose file could not be read."""
    lost = {fact["scope"].get("object") for fact in facts if fact["name"].endswith("_not_read")}
    return [f for f in facts if f["name"] != "file_read" or f["scope"]["object"] not in lost]
'''
_WITH_STATED_CHECK = '''
def with_stated_check(facts):
    """Return the facts; one of which the report does not name the check is of the stated one."""
    for fact in facts:
        if "check" not in fact["scope"] or fact["scope"].get("assumed") == "check":
            fact["scope"]["check"] = {check!r}
    return facts
'''
_WITH_ECHOES = '''
def with_echoes(facts):
    """Return the facts, each message with the lines right below it that tell it again."""
    joined = []
    for fact in facts:
        last = joined[-1] if joined and "echo" in fact["scope"] else {"name": None}
        is_below = last["name"] == fact["name"]
        if is_below and last["line"] + last["content"].count("\\n") + 1 == fact["line"]:
            last["content"] += "\\n" + fact["content"]
        else:
            joined.append(fact)
    return joined
'''
# What is compared with the list is shown alone; the value itself is under no key of the scope.
_LISTED = """    if not why_bad:
        shown = [fact["scope"].get({key!r}) or fact["text"] or fact["value"]]
"""
_CALL_GROUPED = """    if GROUP_BY:
        results = one_for_each_group(results)
"""
_GROUPED = '''
def one_for_each_group(results):
    """Return the entries, with one for each group: its first bad one, and how many are bad."""
    chosen, counts = {}, {}
    for number, entry in enumerate(results):
        fields = entry["parsed_fields"]["measurement"]
        key = fields.get(GROUP_BY, number)
        counts[key] = counts.get(key, 0) + (not fields["holds"])
        if key not in chosen or (counts[key] == 1 and not fields["holds"]):
            chosen[key] = entry
    for key, entry in chosen.items():
        if isinstance(key, str):
            entry["value"] = f"{key}: {counts[key]} violations"
    return list(chosen.values())
'''


@dataclass(frozen=True)
class ClaimFiles:
    """The files of a checker that was written from a claim."""

    config: CheckerConfig
    atoms: str


def limit_of(parameters: Mapping[str, str]) -> NumberLimit | None:
    """Return the limit among the parameters of a claim.

    Raises:
        InputError: the limit is no comparison with a number.
    """
    if "limit" not in parameters:
        return None
    bound = read_bound(parameters["limit"], decimal_mark=".")
    if not isinstance(bound, NumberLimit):
        raise InputError(
            f"the limit {parameters['limit']!r} is no comparison: {bound.message}",
            place="reads_as.parameters.limit",
            hint='write it as "at least 0.1 ns" or "< 50 %"',
        )
    measure = limited_measure(parameters)
    if measure is not None and not fits_measure(bound, measure):
        raise InputError(
            f"the limit {parameters['limit']!r} is no {measure.quantity}",
            place="reads_as.parameters.limit",
            hint="write the limit with its unit",
        )
    return bound


def fits_measure(bound: NumberLimit, measure: LimitedMeasure) -> bool:
    """Return whether a limit is of what is measured; zero needs no unit."""
    if not measure.quantity or (not bound.number.unit and bound.number.value == 0):
        return True
    return quantity_of(bound.number.unit) == measure.quantity


def match_of_claim(config: CheckerConfig) -> Literal["contains", "words", "exact"]:
    """Return how the values of a checker are compared with the plain texts of its item's list."""
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    if claim is None or claim.list in (None, "forbidden"):
        return "contains"
    return claim.match


def interest_of(config: CheckerConfig, atoms: str) -> FactInterest | None:
    """Return the measurements that the checker of a claim asks for, or None if it may ask for any.

    A checker that was written or edited by hand, or by a model, is given all of them.

    Args:
        config: `checker.yaml`.
        atoms: the text of the checker's functions.
    """
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    if config.claim is None or claim is None:
        return None
    # The standard functions may stand behind it.
    if not atoms.startswith(_text_of_atoms(claim, config.claim)):
        return None
    parameters = config.claim.parameters
    patterns = [*bad_facts(claim, parameters), *claim.looked_at, *claim.alarming]
    patterns += itertools.chain.from_iterable(proof_facts(claim, parameters))
    # Messages that the tool itself calls mere warnings are excused.
    names = {"message", *(measure_name(pattern, parameters) for pattern in patterns)}
    kinds = {kind for part in claim.headers for kind in (part.kind, *part.read_as)}
    return FactInterest(frozenset(names), frozenset(kinds))


def is_of_headers(config: CheckerConfig) -> bool:
    """Return whether a claim asks which files a log reads."""
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    return claim is not None and bool(claim.headers)


def sought_texts(config: CheckerConfig) -> tuple[str, ...]:
    """Return the texts that a claim looks for in each line of its files.

    Raises:
        InputError: an item lists an expression instead of a text.
    """
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    if config.claim is None or claim is None:
        return ()
    if claim.headers:
        stems = itertools.chain.from_iterable(part.stems for part in claim.headers)
        return (*stems, *(SCRIPT_COMMANDS if claim.optional else ()))
    if claim.list != "forbidden":
        return texts_of_parameter(config.claim.parameters.get("text", ""))
    texts = texts_of_patterns(config.requirements.pattern_items)
    if texts is None:
        raise InputError(
            f"the claim {config.claim.name} looks for plain texts",
            place=config.item_id,
            hint="write pattern_items without regex:, * and ?",
        )
    return texts


def holds_limit(number: PrintedNumber, limit: NumberLimit) -> bool:
    """Return whether a number holds a limit, each in its own unit."""
    value = number.value * (factor_to_base(number.unit) or Decimal(1))
    bound = limit.number.value * (factor_to_base(limit.number.unit) or Decimal(1))
    return {
        ">=": value >= bound,
        "<=": value <= bound,
        ">": value > bound,
        "<": value < bound,
    }.get(limit.comparator, value == bound)


def write_claim(item: Item, row: ClaimRow, own_format: dict[str, Json] | None = None) -> ClaimFiles:
    """Write the files of an item's claim.

    Args:
        item: the item.
        row: its claim.
        own_format: the item's own report format, if it was read already.

    Raises:
        InputError: the claim is not known, its limit is no comparison, or its own report format
            cannot be read.
    """
    if row.format and own_format is None:
        own_format = load_format(item.path.parent / row.format).model.model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
    claim = shipped_claims().claims[row.name]
    atoms = _text_of_atoms(claim, row)
    config = _config(item, claim, row).model_copy(update={"report_format": own_format})
    return ClaimFiles(config, atoms)


def _asks_of_each(description: str, claim: Claim) -> bool:
    """Return whether a description asks for one item a line, or of each thing that was measured."""
    text = " ".join(description.lower().split())
    if _GRANULAR.search(text):
        return True
    # A measurement such as `endpoint_slack` begins with its thing.
    names = [pattern.name.split("_") for patterns in claim.proof for pattern in patterns]
    things = {re.escape(words[0]) for words in names if len(words) > 1}
    return any(re.search(_OF_EACH.format(thing=thing), text) for thing in things)


def _config(item: Item, claim: Claim, row: ClaimRow) -> CheckerConfig:
    """Return `checker.yaml` of a claim."""
    requirements = item.requirements or Requirements()
    waivers = item.waivers or Waivers()
    # Each line that a person taught is judged by itself.
    is_granular = bool(row.format) and claim.bad[0] in claim.proof[0]
    is_granular |= _asks_of_each(item.description, claim)
    common = {
        "id": "2.1",
        "name": claim.title,
        "quantifier": "each" if is_granular and not claim.first else "per_file",
    }
    if claim.first:
        common["take"] = "first"
    if claim.headers:
        items = [*header_items(claim)]
    elif claim.list:
        mode = _MODES[claim.list]
        select = f"measurement.{claim.value}"
        items = [ValidationItem(**common, select=select, check="pattern", mode=mode)]
        if claim.bad and claim.list != "forbidden":
            name = " or ".join(fact_words(pattern, row) for pattern in claim.bad)
            refuted = {"id": "2.2", "name": f"No {name}", "select": "refuting.name"}
            items.append(ValidationItem(**refuted, mode="forbid"))
    else:
        condition = Condition(field="measurement.holds", op=Operator.EQUALS, value=True)
        items = [ValidationItem(**common, select="measurement.holds", condition=condition)]
    return CheckerConfig(
        item_id=item.item_id,
        description=" ".join(item.description.split()),
        capability_type=_capability(claim, requirements, waivers),
        requirements=requirements,
        waivers=waivers,
        claim=row,
        items=tuple(items),
    )


def _capability(claim: Claim, requirements: Requirements, waivers: Waivers) -> int:
    """Return what a checker can do; a claim with waivers of its own can take them any time."""
    run_type = checker_type(requirements.value, waivers.value)
    if not any(part.waivers for part in claim.headers):
        return run_type
    return 3 if requirements.value is not None else 4


def _text_of_atoms(claim: Claim, row: ClaimRow) -> str:
    """Return `atoms.py` of a claim."""
    return write_header_atoms(claim) if claim.headers else _atoms(claim, row)


def _atoms(claim: Claim, row: ClaimRow) -> str:
    """Return `atoms.py` of a claim on measurements."""
    proof = list[dict[str, object]]()
    for alternatives in proof_facts(claim, row.parameters):
        for pattern in alternatives:
            # The end of a log shows that nothing is missing; it is no value that a list may name.
            if claim.list is None or pattern.name != "log_end":
                proof.append(_pattern(pattern, row.parameters))
    bad = list[dict[str, object]]()
    for pattern in bad_facts(claim, row.parameters):
        bad.append({**_pattern(pattern, row.parameters), "why": fact_words(pattern, row)})
    limit: dict[str, object] | None = None
    bound = limit_of(row.parameters)
    if bound is not None:
        unit = bound.number.unit
        number = float(bound.number.value * (factor_to_base(unit) or Decimal(1)))
        # A limit of zero needs no unit, and a count has none.
        quantity = quantity_of(unit) if unit else ("" if bound.number.value else None)
        limit = {"comparator": bound.comparator, "number": number, "quantity": quantity}
    helpers = _GROUPED if claim.group_by else ""
    facts = "facts"
    if any(pattern.name.endswith("_not_read") for pattern in claim.bad):
        helpers, facts = helpers + _WITHOUT_LOST, "without_lost(facts)"
    elif "severity" in claim.fixed:
        helpers, facts = helpers + _WITH_ECHOES, "with_echoes(facts)"
    elif row.stated_check:
        helpers += _WITH_STATED_CHECK.format(check=row.stated_check)
        facts = "with_stated_check(facts)"
    return _ATOMS.format(
        title=f"{claim.title}",
        facts=facts,
        scope=json.dumps(scope_of_claim(claim, row.parameters)),
        proof=pformat(proof, width=96),
        bad=pformat(bad, width=96),
        limit=pformat(limit, width=96),
        group_by=pformat(claim.group_by),
        listed=_LISTED.format(key=claim.value) if claim.list else "",
        # What refutes a list is no entry of it.
        bad_category=pformat("refuting" if claim.list in ("each", "allowed") else "measurement"),
        grouped=_CALL_GROUPED if claim.group_by else "",
        locked=LOCKED_LAYER,
    ) + helpers.replace("\\\\n", "\\n")


def _pattern(pattern: FactPattern, parameters: dict[str, str]) -> dict[str, object]:
    """Return a pattern as `atoms.py` has it: only what it asks for."""
    excluded = {"whole", "check", "scope"}
    data = pattern.model_dump(exclude_none=True, exclude_defaults=True, exclude=excluded)
    scope = dict(pattern.scope)
    if pattern.check:
        scope["check"] = pattern.check
    if scope:
        data["scope"] = scope
    return {**data, "name": measure_name(pattern, parameters)}
