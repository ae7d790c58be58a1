"""From the `model` setting to a chain of providers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transom.errors import InputError, SettingsError

if TYPE_CHECKING:
    from transom.config import Settings
    from transom.llm import Chain, EgressPolicy, Provider

KNOWN = ("rules", "replay:PATH")
LATER = ("anthropic", "openai", "ollama")
"""Providers that come with the extras of the same names, not in this version."""


def build_chain(spec: str, cwd: Path, settings: Settings) -> Chain:
    """The chain that a `model` setting names, e.g. `replay:calls.json,rules`.

    Raises:
        InputError: an empty or unknown name, a recording that cannot be read, a knowledge file that is wrong.
    """
    from transom.llm import Chain

    return Chain(tuple(_provider(name.strip(), cwd, settings) for name in spec.split(",")), _policy(settings))


def _policy(settings: Settings) -> EgressPolicy:
    """What the settings keep on this machine.

    Raises:
        SettingsError: a name that no block has would keep nothing; the nearest is named.
    """
    from transom.llm import EgressPolicy

    for pattern in settings.egress.local_blocks:
        _check_block(pattern, settings.origins.get("egress.local_blocks"))
    return EgressPolicy(settings.egress.local_blocks, keep_untrusted=settings.egress.logs == "local")


def _check_block(pattern: str, where: str | None) -> None:
    from fnmatch import filter as matching

    from transom.checklist.spec.views import VIEWS
    from transom.cli.nearest import nearest

    known = sorted({block for view in VIEWS.values() for block in view.blocks})
    if not matching(known, pattern):
        what = f"egress.local_blocks: no role sees a block {pattern!r}"
        raise SettingsError(what, where=where, hint=f"did you mean {nearest(pattern, known)}?")


def _provider(name: str, cwd: Path, settings: Settings) -> Provider:
    kind, _, rest = name.partition(":")
    if name == "rules":
        return _rules(settings)
    if kind == "replay" and rest:
        from transom.llm.replay import ReplayProvider

        return ReplayProvider(Path(cwd, rest))
    raise unknown_provider(name)


def unknown_provider(name: str) -> InputError:
    """What to say of a provider that cannot be used."""
    kind = name.partition(":")[0]
    known = " or ".join(KNOWN)
    if kind in LATER:
        return InputError(f"this version has no provider {kind} yet", where="--model", hint=f"use {known}")
    coming = ", ".join(LATER)
    return InputError(
        f"unknown provider {name!r}", where="--model", hint=f"use {known}; {coming} come later, as extras"
    )


def knowledge_domains(settings: Settings) -> list[str]:
    """What `rules` knows.

    Raises:
        InputError: a knowledge file is wrong.
    """
    from transom.checklist.rules import load_knowledge

    return [domain.domain for domain in load_knowledge(settings.paths.knowledge_dirs).domains]


def knowledge_remarks(settings: Settings) -> list[str]:
    """What somebody who writes a domain should know, though it is no error.

    Raises:
        InputError: a knowledge file is wrong.
    """
    from transom.checklist.rules import load_knowledge
    from transom.checklist.rules.plan import MAX_SCENARIOS, MIN_SCENARIOS

    knowledge = load_knowledge(settings.paths.knowledge_dirs)
    few = "{}: {} in `waivers`; a description that allows waivers is understood from {} (to {}) that cover its items on"
    return [
        few.format(knowledge.files[one.domain], f"{len(one.waivers)} scenario(s)", MIN_SCENARIOS, MAX_SCENARIOS)
        for one in knowledge.domains
        if len(one.waivers) < MIN_SCENARIOS
    ]


def _rules(settings: Settings) -> Provider:
    from transom.checklist.rules import RULE_VERSIONS, load_knowledge, rule_table
    from transom.llm import RulesProvider

    knowledge = load_knowledge(settings.paths.knowledge_dirs)
    return RulesProvider(rule_table(knowledge), RULE_VERSIONS, knowledge.digests)
