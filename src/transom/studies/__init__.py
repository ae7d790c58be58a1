"""Studies: optimisation with solvers that may fail, which learns from each failure and says why."""
