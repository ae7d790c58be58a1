"""`python -m transom`."""

import sys

from transom.cli import main

sys.exit(main())
