"""Evidence: what a positive verdict must rest on. Numbers, words of trouble, identity, accounting
and claims are read here, for every product, as plain data and pure functions.
"""
