"""Totals of a purchase, in euros."""


def total(items):
    """The sum of `(price, quantity)` pairs."""
    return sum(price * quantity for price, quantity in items)


def with_tax(amount, rate=0.2):
    """The amount with tax added."""
    return amount * (1 + rate)
