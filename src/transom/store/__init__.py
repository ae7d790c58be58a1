"""Persistent storage: append-only streams, blobs and small tables, in SQLite or PostgreSQL."""

from transom.store.codec import now
from transom.store.compacting import DatabaseSize, compact
from transom.store.content import IndexContent, RoomContent, TableContent
from transom.store.damage import find_damage
from transom.store.job_queue import JobPostponed, JobQueue, LivingWorker, WaitingJobs, WorkerJob
from transom.store.location import PostgresAddress, StoreLocation
from transom.store.moving import CopiedTable, copy_database
from transom.store.network import filesystem_of, is_network
from transom.store.opening import open_jobs, open_store, open_store_for_reading, open_tables
from transom.store.protocol import (
    OUTDATED,
    Connection,
    Lease,
    LeasingStore,
    MigrationStep,
    Record,
    RoomTables,
    Store,
    StreamSummary,
    Summarise,
    SummaryCount,
    SummaryFilter,
    Value,
    WordIndex,
    WordIndexStep,
    keep_unchanged,
)
from transom.store.rows import read_rows
from transom.store.sqlite import SqliteStore
from transom.store.sqlite_copy import copy_file
from transom.store.sqlite_errors import RECOVERY
from transom.store.summaries import summarise_records
from transom.store.tables import Tables

__all__ = [
    "OUTDATED",
    "RECOVERY",
    "Connection",
    "CopiedTable",
    "DatabaseSize",
    "IndexContent",
    "JobPostponed",
    "JobQueue",
    "Lease",
    "LeasingStore",
    "LivingWorker",
    "MigrationStep",
    "PostgresAddress",
    "Record",
    "RoomContent",
    "RoomTables",
    "SqliteStore",
    "Store",
    "StoreLocation",
    "StreamSummary",
    "Summarise",
    "SummaryCount",
    "SummaryFilter",
    "TableContent",
    "Tables",
    "Value",
    "WaitingJobs",
    "WordIndex",
    "WordIndexStep",
    "WorkerJob",
    "compact",
    "copy_database",
    "copy_file",
    "filesystem_of",
    "find_damage",
    "is_network",
    "keep_unchanged",
    "now",
    "open_jobs",
    "open_store",
    "open_store_for_reading",
    "open_tables",
    "read_rows",
    "summarise_records",
]
