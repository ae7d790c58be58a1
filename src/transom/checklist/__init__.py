"""Checklist: a one-line description becomes a specification, a checker, and a verdict on real
files.
"""
