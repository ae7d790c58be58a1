"""Is a feature ready for its next stage: each source is read by itself, every number is traced to its place."""
