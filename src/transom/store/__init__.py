"""Persistent storage: append-only streams, blobs and small tables, in one SQLite file."""

from transom.store.compacting import DatabaseSize, compact
from transom.store.network import filesystem_of, is_network
from transom.store.protocol import Record, Store
from transom.store.sqlite import SqliteStore
from transom.store.tables import Tables

__all__ = [
    "DatabaseSize",
    "Record",
    "SqliteStore",
    "Store",
    "Tables",
    "compact",
    "filesystem_of",
    "is_network",
]
