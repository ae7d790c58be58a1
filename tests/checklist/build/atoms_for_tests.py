"""A small, right atom A, and the YAML that goes with it."""

from __future__ import annotations

from transom.checklist.atoms import LOCKED_LAYER

ATOM_A = (
    """import re
from typing import Dict, List

SCOPE = "file"
SOURCES = [{"kind": "report", "rank": "primary", "files": ["*.rpt"]}]


def extract_context(text: str, source_file: str) -> List[Dict]:
    results = []
    for number, line in enumerate(text.split("\\n"), 1):
        match = re.match(r"block (\\w+) power (\\S+)", line)
        if match:
            results.append(
                {
                    "value": match[1] + " " + match[2],
                    "line_number": number,
                    "matched_content": line,
                    "parsed_fields": {"block": {"name": match[1], "power": match[2]}},
                }
            )
"""
    + LOCKED_LAYER
)

CHECKER = """capability_type: 1
atoms: standard
items:
- id: "2.1"
  name: Block power is reported
  select: block.power
  required: [block.power]
  quantifier: each
"""

REPORT = "power report\nblock alu power 1.25\nblock rom power 0.40\n"

SECTION2 = """## 2. Check Logic

**Capability type**: 1 (Boolean check)

### 2.1 Block power is reported

- **Purpose**: Every block states its power.
- **Required fields**: `block.power`
- **Validation type**: existence check
- **Condition**: none
- **Mode**: require
- **Quantifier**: each
"""
