"""From the `model` setting to a chain of providers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from transom.errors import InputError, SettingsError

if TYPE_CHECKING:
    from transom.config import Settings
    from transom.llm import Chain, EgressPolicy, Provider
    from transom.llm.limits import Shelf
    from transom.llm.steady import SteadyProvider

KNOWN = ("rules", "replay:PATH", "anthropic:NAME", "openai:NAME", "ollama:NAME")


@dataclass(frozen=True)
class Surroundings:
    """What providers are made from beside their names.

    Attributes:
        cwd: where a recording's path is meant from.
        settings: of the command.
        base_url: where the one provider that has a server is reached.
        shelf: where limits keep what was spent; with the process where None.
    """

    cwd: Path
    settings: Settings
    base_url: str | None = None
    shelf: Shelf | None = None


def build_chain(spec: str, around: Surroundings) -> Chain:
    """The chain that a `model` setting names, e.g. `openai:NAME,rules`.

    Raises:
        InputError: an empty or unknown name, a recording that cannot be read, a knowledge file that is wrong, a
            provider whose SDK or key is missing, one base URL for several servers.
    """
    from transom.llm import Chain

    names = [name.strip() for name in spec.split(",")]
    hosted = {name.partition(":")[0] for name in names} - {"rules", "replay"}
    if around.base_url and len(hosted) > 1:
        what = f"it cannot be the address of {' and '.join(sorted(hosted))} at once"
        raise InputError(what, where="--base-url", hint="set llm.NAME.base_url for each")
    return Chain(tuple(_provider(name, around) for name in names), _policy(around.settings))


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


def _provider(name: str, around: Surroundings) -> Provider:
    kind, _, rest = name.partition(":")
    if name == "rules":
        return _rules(around.settings)
    if kind == "replay" and rest:
        from transom.llm.replay import ReplayProvider

        return ReplayProvider(Path(around.cwd, rest))
    from transom.llm.hosted import HOSTED

    if kind in HOSTED:
        return hosted_provider(name, around)
    raise unknown_provider(name)


def hosted_provider(
    name: str, around: Surroundings, *, stream: bool | None = None, environ: Mapping[str, str] = os.environ
) -> SteadyProvider:
    """A provider that has a server.

    Args:
        name: e.g. `openai:NAME`.
        around: settings, address, store.
        stream: replies in pieces or whole; as `execution.enable_streaming` has it where None.
        environ: where keys are looked up.

    Raises:
        InputError: see `connect`.
    """
    from transom.llm.hosted import connect

    settings = around.settings
    return connect(
        name,
        getattr(settings.llm, name.partition(":")[0]),
        base_url=around.base_url,
        stream=settings.execution.enable_streaming if stream is None else stream,
        shelf=around.shelf,
        environ=environ,
    )


def unknown_provider(name: str) -> InputError:
    """What to say of a provider that there is not."""
    return InputError(f"unknown provider {name!r}", where="--model", hint=f"use {', '.join(KNOWN[:-1])} or {KNOWN[-1]}")


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
