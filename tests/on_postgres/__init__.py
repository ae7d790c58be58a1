"""The whole suite on PostgreSQL: every database file of a test becomes a schema of one server.

`STORE=postgresql` turns it on. Processes that a test starts find `sitecustomize.py` of this folder
on their path, so commands keep their workspaces in the same schemas as the test itself.
"""
