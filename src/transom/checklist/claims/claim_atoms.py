"""Write `atoms.py` of a claim: the functions that sort what the reports measured."""

from __future__ import annotations

import json
from decimal import Decimal
from pprint import pformat

from transom.checklist.atoms import (
    LOCKED_LAYER,
    ClaimRow,
)
from transom.checklist.claims.claim_data import (
    Claim,
    FactPattern,
    bad_facts,
    fact_words,
    measure_name,
    proof_facts,
    scope_of_claim,
)
from transom.checklist.claims.claim_limits import limit_of
from transom.checklist.claims.header_files import write_header_atoms
from transom.evidence.units import factor_to_base, quantity_of

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


def text_of_atoms(claim: Claim, row: ClaimRow) -> str:
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
        # Zero is the same in each unit, and a count has none.
        quantity = (quantity_of(unit) if unit else "") if bound.number.value else None
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
