"""The rows of the five documents, one module a document: each row through a public door."""
