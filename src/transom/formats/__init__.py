"""Readers and writers of external file formats, independent of the products."""
