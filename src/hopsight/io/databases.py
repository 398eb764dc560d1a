"""Read a table of a PostgreSQL server, or of a connection that the user has opened."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from hopsight.io.dataframes import _without_extensions, frame_of, is_frame
from hopsight.io.reader import rows_to_frame
from hopsight.system.lazy_polars import pl

READ_ONLY = quote("-c default_transaction_read_only=on")


def read_postgresql(address: str, query: str) -> pl.DataFrame:
    """Return the result of a query; the session is read-only. Passwords may be in ``PGPASSWORD`` or ``~/.pgpass``."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ValueError(
            "reading PostgreSQL needs the package adbc-driver-postgresql; run pip install 'hopsight[sql]'"
        ) from None
    if not re.search(r"[?&]options=", address):
        address += f"{'&' if '?' in address else '?'}options={READ_ONLY}"
    try:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return _without_extensions(cursor.fetch_polars())
    except dbapi.Error as error:
        raise ValueError(_words(error)) from None


def read_connection(connection: Any, query: str) -> pl.DataFrame:
    """Return the result of a query over a connection of DuckDB, SQLAlchemy, ADBC or any DB-API library."""
    if hasattr(connection, "sql"):  # DuckDB
        relation = connection.sql(query)
        if not is_frame(relation):
            raise ValueError("the query returns no table; it must be a SELECT statement")
        return frame_of(relation)
    if not hasattr(connection, "cursor"):
        return pl.read_database(query, connection)
    cursor = connection.cursor()
    try:
        cursor.execute(query)
        if cursor.description is None:
            raise ValueError("the query returns no table; it must be a SELECT statement")
        if hasattr(cursor, "fetch_polars"):
            return _without_extensions(cursor.fetch_polars())
        return rows_to_frame([str(column[0]) for column in cursor.description], cursor.fetchmany)
    finally:
        cursor.close()


def quoted_table(name: str) -> str:
    """Return the name of a table, perhaps with its schema, in quotes.

    >>> quoted_table('bank.pay"ments')
    '"bank"."pay""ments"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split(".", 1))


def _words(error: Exception) -> str:
    """Return the server's message in one line, without the driver's words around it."""
    text = " ".join(str(error).split())
    text = re.sub(r"^[A-Z_]+: |\[libpq\] |Failed to execute query '.*': |\. SQLSTATE: \w+$|ERROR: +", "", text)
    return text[:300]
