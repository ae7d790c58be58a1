"""From an ItemSpec to a checker folder: look at files, write, try by the gates."""
