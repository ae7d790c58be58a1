"""Tools: what may be done on a model's behalf, within limits."""
