"""`rules` for checks: the embedded default that answers the roles without a model, from
knowledge files.
"""

from transom.checklist.rules.knowledge import Knowledge, load_knowledge
from transom.checklist.rules.table import RULE_VERSIONS, rule_table

__all__ = ["RULE_VERSIONS", "Knowledge", "load_knowledge", "rule_table"]
