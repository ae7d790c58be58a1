"""Persistent storage: append-only streams, blobs and small tables, in SQLite or PostgreSQL."""

from transom.store.compacting import DatabaseSize, compact
from transom.store.location import PostgresAddress, StoreLocation
from transom.store.network import filesystem_of, is_network
from transom.store.opening import open_store, open_store_for_reading, open_tables
from transom.store.protocol import (
    Connection,
    Lease,
    LeasingStore,
    MigrationStep,
    Record,
    RoomTables,
    Store,
    Value,
    WordIndex,
    WordIndexStep,
)
from transom.store.sqlite import SqliteStore
from transom.store.tables import Tables

__all__ = [
    "Connection",
    "DatabaseSize",
    "Lease",
    "LeasingStore",
    "MigrationStep",
    "PostgresAddress",
    "Record",
    "RoomTables",
    "SqliteStore",
    "Store",
    "StoreLocation",
    "Tables",
    "Value",
    "WordIndex",
    "WordIndexStep",
    "compact",
    "filesystem_of",
    "is_network",
    "open_store",
    "open_store_for_reading",
    "open_tables",
]
