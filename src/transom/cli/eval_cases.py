"""What products need to run a scenario: a session of its own, paths below its data, what it used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.cli.output import Live
from transom.cli.session import Session
from transom.errors import InputError
from transom.evals import Case, Used
from transom.llm import Chain
from transom.store import Store


def apart(session: Session, case: Case, chain: Chain) -> Session:
    """A session whose workspace is the case's own, so that no epoch is answered from another one's journal."""
    settings = session.settings
    state = settings.state_dir / digest(str(case.folder))[:16] if settings.state_dir else None
    settings = settings.model_copy(update={"workspace": case.folder / ".transom", "state_dir": state})
    answers = case.chain(chain)
    return replace(session, settings=settings, answers=answers, verbosity=-1, open_runs=[], live=Live(), entry={})


def below(case: Case, key: str) -> Path:
    """The file below the data that `input.KEY` names."""
    name = case.scenario.input.get(key)
    if case.data is None or not isinstance(name, str):
        hint = f"write `{key}` below `input`, and `data` in the scenario or in suite.yaml"
        raise InputError(f"the scenario names no {key}", where=case.scenario.id, hint=hint)
    return inside(case, name)


def inside(case: Case, name: str) -> Path:
    """A path below the case's data."""
    root = (case.data or case.folder).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise InputError(f"{name} lies outside the data", where=case.scenario.id, hint="name a path below the data")
    return path


def records_of(store: Store, runs: Iterable[str], kind: str) -> list[Any]:
    """What the journals of some runs have of one kind, in order."""
    return [record.data for run in runs for record in store.read(f"run/{run}") if record.kind == kind]


def used_by(replies: Sequence[Any]) -> Used:
    """What some replies took together."""
    usages = [reply["reply"]["usage"] for reply in replies]
    costs = [usage["cost"] for usage in usages if usage.get("cost") is not None]
    tokens = {name: sum(usage[name] for usage in usages) for name in ("input_tokens", "output_tokens", "cached_tokens")}
    return Used(**tokens, cost_usd=sum(costs) if costs else None)
