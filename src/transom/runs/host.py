"""What a stage needs of the run that it is a stage of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from transom.context import WindowBudget
from transom.llm import Chain
from transom.llm.deltas import OnDelta
from transom.runs.journal import RunState
from transom.runs.spending import Spending
from transom.store import Record, Store
from transom.telemetry import Telemetry


class Host(Protocol):
    """What a stage needs of its run."""

    id: str
    folder: Path
    store: Store
    chain: Chain
    telemetry: Telemetry
    log_calls: bool
    stage_seconds: float
    on_delta: OnDelta | None
    budget: WindowBudget
    spending: Spending | None

    @property
    def state(self) -> RunState: ...

    async def append(self, kind: str, data: dict[str, Any], *, sync: bool | None = None) -> None: ...

    def append_soon(self, kind: str, data: dict[str, Any]) -> None: ...

    async def settle(self) -> None: ...

    def records(self) -> list[Record]: ...
