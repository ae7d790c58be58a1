"""Investigator: judges whether a feature is ready for its next stage; every number is traced to
its source.
"""
