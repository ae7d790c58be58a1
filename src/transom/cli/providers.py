"""From the `model` setting to a chain of providers: the runtime's, and those of the checklist."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from transom.errors import SettingsError
from transom.llm.naming import Surroundings, named_chain

if TYPE_CHECKING:
    from transom.config import Settings
    from transom.llm import Chain, Provider

_SEATS = {
    **{name: (f"checklist.{name}",) for name in ("analysis", "section1", "section2", "section3", "section4")},
    "agent_a": ("checklist.parser", "checklist.answers"),
    "agent_b": ("checklist.logic",),
    "reflect": ("checklist.repair_a", "checklist.repair_b"),
}


def build_chain(spec: str, around: Surroundings) -> Chain:
    """The chain that a `model` setting names, with the checklist's own seats.

    A `--model` of the command line answers every role: whoever gives it means it.
    """
    settings = around.settings
    for pattern in settings.egress.local_blocks:
        _check_block(pattern, settings.origins.get("egress.local_blocks"))
    told = settings.origins.get("model") == "command line"
    seats = {} if told else {role: getattr(settings.llm, seat) for seat, roles in _SEATS.items() for role in roles}
    return named_chain(spec, replace(around, own={"rules": lambda: _rules(settings)}), seats)


def known_providers(around: Surroundings) -> tuple[str, ...]:
    """What `--model` may name."""
    return ("rules", *around.known)


def _check_block(pattern: str, where: str | None) -> None:
    from fnmatch import filter as matching

    from transom.checklist.spec.views import VIEWS
    from transom.cli.history import nearest

    known = sorted({block for view in VIEWS.values() for block in view.blocks})
    if not matching(known, pattern):
        what = f"egress.local_blocks: no role sees a block {pattern!r}"
        raise SettingsError(what, where=where, hint=f"did you mean {nearest(pattern, known)}?")


def knowledge_domains(settings: Settings) -> list[str]:
    """What `rules` knows."""
    from transom.checklist.rules import load_knowledge

    return [domain.domain for domain in load_knowledge(settings.paths.knowledge_dirs).domains]


def _rules(settings: Settings) -> Provider:
    from transom.checklist.rules import RULE_VERSIONS, load_knowledge, rule_table
    from transom.llm import RulesProvider

    knowledge = load_knowledge(settings.paths.knowledge_dirs)
    return RulesProvider(rule_table(knowledge), RULE_VERSIONS, knowledge.digests)
