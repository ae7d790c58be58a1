"""Transom at a version that no worker has, for tests: `python -m tests.workers.other_version`."""

from __future__ import annotations

import sys

import transom

if __name__ == "__main__":
    transom.__version__ = "0.0.9"
    from transom.cli import main

    sys.exit(main())
