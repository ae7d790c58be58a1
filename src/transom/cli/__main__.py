"""`python -m transom.cli`."""

import sys

from transom.cli.app import main

sys.exit(main())
