"""Persistent storage: append-only streams, blobs and small tables, in one SQLite file."""

from transom.store.compacting import DatabaseSize, compact
from transom.store.damage import find_damage
from transom.store.network import filesystem_of, is_network
from transom.store.protocol import Record, Store
from transom.store.sqlite import SqliteStore
from transom.store.sqlite_errors import RECOVERY
from transom.store.tables import Tables

__all__ = [
    "RECOVERY",
    "DatabaseSize",
    "Record",
    "SqliteStore",
    "Store",
    "Tables",
    "compact",
    "filesystem_of",
    "find_damage",
    "is_network",
]
