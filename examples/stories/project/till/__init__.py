"""A small till: prices and totals."""
