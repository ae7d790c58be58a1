"""From an ItemSpec to a checker folder: look, write, hold to the gates."""
