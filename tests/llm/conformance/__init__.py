"""What every adapter must do, whatever its server does: one table, behaviour by adapter, over a
real local server.
"""
