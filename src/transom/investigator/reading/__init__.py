"""Readers of release data of any shape: test results, scans, reviews, documents, Jira issues; with
places.

Each project uses other keys. The readers use the words of keys and statuses (`words.yaml`),
distinguish measurements from estimates and plans, and give the place of each observation.
"""
