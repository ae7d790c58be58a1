"""What it takes to show a trace of many spans: four times as many are to take about four times as
long.

All spans have one parent, as the calls of a long run have. Processor time, the least of three,
within one process. The bar is 8; 16 would be a cost that grows with the square.
"""

from __future__ import annotations

import sys
import time

from transom.telemetry.otlp_json import SpanRow
from transom.telemetry.read import failures, waterfall

FEW, TIMES, BAR = 10_000, 4, 8


def seconds(spans: int) -> float:
    """Of a waterfall of so many, and of what failed in it."""
    rows = [
        SpanRow("look", f"{number:016x}", f"{0:016x}" if number else None, number, None)
        for number in range(spans)
    ]
    taken = []
    for _ in range(3):
        began = time.process_time()
        waterfall(rows)
        failures(rows)
        taken.append(time.process_time() - began)
    return min(taken)


def main() -> None:
    """Print one line."""
    few, many = seconds(FEW), seconds(FEW * TIMES)
    sys.stdout.write(
        f"trace show: {FEW} spans {few:.2f} s, {TIMES} times as many {many / few:.1f} x (bar"
        f" {BAR})\n"
    )


if __name__ == "__main__":
    main()
