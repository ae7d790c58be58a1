"""From a one-line description to an ItemSpec."""
