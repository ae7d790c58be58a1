"""Readers and writers of outside formats; they know nothing of the products."""
