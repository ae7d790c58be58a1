"""A store in a PostgreSQL database, for workers on many machines. It needs the extra `postgres`."""
