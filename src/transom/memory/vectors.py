"""Vectors of an index, compared exactly: up to about 100,000 that is faster than an approximate
index.
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
        self._places: dict[int, int] = {}
        # allocated in advance, so that adding is cheap
        self._rows: NDArray[np.float32] | None = None
        self._last = 0

    def near(
        self,
        query: Callable[[], bytes],
        many: int,
        also: Collection[int],
        among: str,
        values: Sequence[Value],
    ) -> dict[int, float]:
        """Return number -> cosine of the nearest texts, and of the texts in `also`.

        Args:
            query: returns the query's vector, 32-bit floats of length 1; not called if there are no
                vectors.
            many: number of nearest texts.
            also: numbers of further texts; texts without a vector are left out.
            among, values: a SELECT of the numbers of the allowed texts, and its parameters.
        """
        import numpy as np  # noqa: PLC0415  slow to import

        with self._lock:
            self._refresh()
            if self._rows is None:
                return {}
            # rows are numbered in this order
            items = np.fromiter(self._places, np.int64, len(self._places))
            cosines = self._rows[: len(items)] @ np.frombuffer(query(), np.float32)
        tried = min(len(items), 4 * many)
        best: Any = np.argpartition(-cosines, tried - 1)[:tried]
        allowed = allowed_of(self._tables, items[best].tolist(), among, values)
        if len(allowed) < many and tried < len(items):  # a narrow filter: compare all allowed texts
            allowed = {number for (number,) in self._tables.query(among, values)}
            best = np.flatnonzero(np.isin(items, np.fromiter(allowed, np.int64, len(allowed))))
        best = best[np.argsort(-cosines[best], kind="stable")]
        found = {
            item: float(cosines[place]) for place in best if (item := int(items[place])) in allowed
        }
        nearest = dict([*found.items()][:many])
        return nearest | {
            item: float(cosines[place])
            for item in also
            if (place := self._places.get(item)) is not None
        }

    def _refresh(self) -> None:
        import numpy as np  # noqa: PLC0415  slow to import

        sql = (
            f"SELECT change, item, vector FROM {self._name}_vectors WHERE change > ? AND model = ?"
            " ORDER BY change"
        )
        for change, item, vector in self._tables.query(sql, (self._last, self._model)):
            row = np.frombuffer(vector, np.float32)
            place = self._places.setdefault(item, len(self._places))
            if self._rows is None:
                self._rows = np.zeros((64, len(row)), np.float32)
            elif place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[place] = row
            self._last = change


def allowed_of(
    tables: RoomTables, items: Sequence[int], among: str, values: Sequence[Value]
) -> set[int]:
    """Return which of the numbers a SELECT yields; fast even if it yields many."""
    sql = (
        f"WITH allowed (item) AS ({among}) SELECT item FROM allowed WHERE item IN"
        f" ({','.join('?' * len(items))})"
    )
    return {number for (number,) in tables.query(sql, (*values, *items))}
