"""Release data of any shape: test results, scans, reviews, documents and Jira's issues, as observations with places.

The same file has other keys in every project. These readers go by the words of keys and statuses (`words.yaml`), tell
measurements from estimates and plans, and name for each observation the place where it stands.
"""
