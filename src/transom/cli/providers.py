"""From the `model` setting to a chain of providers: the runtime's, and those of the checklist."""

from __future__ import annotations

from dataclasses import replace

from transom.config import Settings
from transom.errors import SettingsError
from transom.llm import Chain, Provider
from transom.llm.naming import Surroundings, named_chain

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
    _check_blocks(settings)

    def rules() -> Provider:
        from transom.checklist.rules import RULE_VERSIONS, load_knowledge, rule_table
        from transom.llm import RulesProvider

        knowledge = load_knowledge(settings.paths.knowledge_dirs)
        return RulesProvider(rule_table(knowledge), RULE_VERSIONS, knowledge.digests)

    told = settings.origins.get("model") == "command line"
    seats = {} if told else {role: getattr(settings.llm, seat) for seat, roles in _SEATS.items() for role in roles}
    return named_chain(spec, replace(around, own={"rules": rules}), seats)


def _check_blocks(settings: Settings) -> None:
    if not settings.egress.local_blocks:
        return
    from fnmatch import filter as matching

    from transom.checklist.spec.views import VIEWS
    from transom.formats.yaml_models import nearest_key

    known = sorted({block for view in VIEWS.values() for block in view.sees})
    for pattern in settings.egress.local_blocks:
        if not matching(known, pattern):
            what, near = f"egress.local_blocks: no role sees a block {pattern!r}", nearest_key(pattern, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise SettingsError(what, where=settings.origins.get("egress.local_blocks"), hint=hint)
