"""`python -m transom.cli`."""

import sys

from transom.cli import main

sys.exit(main())
