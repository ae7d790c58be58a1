"""Stories: SM, PO, Dev and QA on a real repository, with evidence instead of claims."""
