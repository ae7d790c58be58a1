"""Vectors of an index, compared exactly: up to about 100,000 vectors, this is faster than an
approximate index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from transom.store import RoomTables, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Vectors:
    """A copy in memory of an index's vectors of one model, updated at each query."""

    def __init__(self, tables: RoomTables, name: str, model: str) -> None:
        self._tables = tables
        self._name = name
        self._model = model
        self._lock = Lock()
        self._positions: dict[int, int] = {}
        # Longer than needed, so that most new vectors need no copy of all others.
        self._rows: NDArray[np.float32] | None = None
        self._last_change = 0

    def near(
        self,
        query: Callable[[], bytes],
        limit: int,
        also: Collection[int],
        among: str,
        values: Sequence[Value],
    ) -> dict[int, float]:
        """Return number -> cosine of the nearest texts, and of the texts in `also`.

        Args:
            query: returns the query's vector, 32-bit floats of length 1; not called if there are no
                vectors.
            limit: number of nearest texts.
            also: numbers of further texts. Those without a vector are left out.
            among, values: a SELECT of the numbers of the allowed texts, and its parameters.
        """
        import numpy as np  # noqa: PLC0415  slow to import

        with self._lock:
            self._refresh()
            if self._rows is None:
                return {}
            # A dictionary keeps its order, so the n-th item has the n-th row.
            items = np.fromiter(self._positions, np.int64, len(self._positions))
            cosines = self._rows[: len(items)] @ np.frombuffer(query(), np.float32)
        candidates = min(len(items), 4 * limit)
        best: Any = np.argpartition(-cosines, candidates - 1)[:candidates]
        allowed = allowed_of(self._tables, items[best].tolist(), among, values)
        # If the filter leaves too few candidates, all allowed texts are compared.
        if len(allowed) < limit and candidates < len(items):
            allowed = {number for (number,) in self._tables.query(among, values)}
            best = np.flatnonzero(np.isin(items, np.fromiter(allowed, np.int64, len(allowed))))
        # A stable order, since equal texts have equal cosines.
        best = best[np.argsort(-cosines[best], kind="stable")]
        nearest: dict[int, float] = {}
        for position in best:
            item = int(items[position])
            if item in allowed and len(nearest) < limit:
                nearest[item] = float(cosines[position])
        for item in also:
            if item in self._positions:
                nearest[item] = float(cosines[self._positions[item]])
        return nearest

    def _refresh(self) -> None:
        """Read the vectors that were stored since the last query, also by other processes."""
        import numpy as np  # noqa: PLC0415  slow to import

        sql = (
            f"SELECT change, item, vector FROM {self._name}_vectors WHERE change > ? AND model = ?"
            " ORDER BY change"
        )
        for change, item, vector in self._tables.query(sql, (self._last_change, self._model)):
            row = np.frombuffer(vector, np.float32)
            position = self._positions.setdefault(item, len(self._positions))
            if self._rows is None:
                self._rows = np.zeros((64, len(row)), np.float32)
            elif position == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[position] = row
            self._last_change = change


def allowed_of(
    tables: RoomTables, items: Sequence[int], among: str, values: Sequence[Value]
) -> set[int]:
    """Return those numbers that a SELECT yields; fast even if it yields many."""
    sql = (
        f"WITH allowed (item) AS ({among}) SELECT item FROM allowed WHERE item IN"
        f" ({','.join('?' * len(items))})"
    )
    return {number for (number,) in tables.query(sql, (*values, *items))}
