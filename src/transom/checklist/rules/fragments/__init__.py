"""Pieces of Atom A: real functions, tested and typed here, whose source is copied into the atoms
that are generated.

A piece uses the builtins, `re`, the names that it shares with its neighbours (`entry`, the
constants), and its own rule, a plain dict that the generator writes into the atom as a literal.
None opens a file or knows an item. A piece raises `ValueError` where a text cannot be read for
certain: the verdict is then ERROR, never a guess.
"""
