"""A small, right atom A, and the YAML that goes with it."""

from __future__ import annotations

from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.writing.document import assemble

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

SECTION1 = """## 1. Parsing Logic

**Information to extract**: the power of each block.

### 1.1 Block Power

- **Purpose**: tells what each block takes
- **Category key**: `block`
- **Key Fields**:
  - `name` (String): the block
  - `power` (String): its power as printed

### Data Structure

**Output Example**:

```python
[
    {
        "value": "cpu 3.5",
        "source_file": "power.rpt",
        "line_number": 4,
        "matched_content": "block cpu power 3.5",
        "parsed_fields": {"block": {"name": "cpu", "power": "3.5"}},
    },
]
```
"""

POINTS = """### 4.1 Item-Specific Implementation Points

#### Data Sources

- **Primary source**: `report` in `*.rpt`: one line for each block

#### Extraction: Block Power

- **Category key**: `block`
- **Location**: one line for each block
- **Keywords**: "block", "power"
- **Patterns**:
  - `^block (?P<name>\\w+) power (?P<power>\\S+)`: name and power
- **Method**: as the pattern says
"""


EXAMPLES = """
#### Examples

```yaml
- item: "2.1"
  outcome: holds
  text: block cpu power 0.30
  fields: {block.name: cpu, block.power: "0.30"}
- item: "2.1"
  outcome: fails
  text: power report
```
"""


def spec_text(
    section1: str = SECTION1, section2: str = SECTION2, points: str = POINTS + EXAMPLES
) -> str:
    """An ItemSpec of these sections, `points` being 4.1."""
    guide = f"## 4. Implementation Guide\n\n{points}"
    sections = {"1": section1, "2": section2, "3": "**Waiver support**: no\n", "4": guide}
    return assemble("POWER", "Report the power of each block.", sections)
