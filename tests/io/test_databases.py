"""A real PostgreSQL server: tables, queries, types, and what goes wrong in one sentence; names of tables in quotes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hopsight.io.frames import quoted_table
from hopsight.loading import load
from hopsight.runs.request import Source
from postgres_server import postgres_server


def test_names_of_tables_cannot_end_the_query() -> None:
    assert quoted_table('x"; DROP TABLE y; --') == '"x""; DROP TABLE y; --"'


def test_run_records_keep_no_password() -> None:
    source = Source(
        path="postgresql://ann:secret@host/bank?table=pay", nodes="postgresql://ann:secret@host/bank?table=p"
    )
    assert "secret" not in repr(source.repeatable())
    assert source.repeatable().path == "postgresql://ann@host/bank?table=pay"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres_server(tmp_path_factory.mktemp("postgres")) as address:
        yield address


@pytest.fixture(scope="module")
def bank(server: str) -> str:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in (
            "CREATE SCHEMA bank",
            'CREATE TABLE bank."Payments" (payer bigint, payee bigint, amount numeric(10, 2), at timestamptz)',
            'INSERT INTO bank."Payments" VALUES (7, 8, 1.50, now()), (8, 9, 20, now()), (9, 10, 3.25, now())',
            "CREATE TABLE people (id bigint, age numeric(5, 1), city text, member boolean, born date)",
            "INSERT INTO people VALUES (7, 31.5, 'Oslo', true, '1990-01-02'), (8, 42, 'Bern', false, '1980-01-02'), "
            "(9, 27, 'Oslo', true, '1999-01-02'), (10, 50, 'Zürich', false, '1970-01-02')",
        ):
            cursor.execute(statement)
        connection.commit()
    return server


@pytest.mark.postgres
def test_tables_and_queries_of_a_server(bank: str) -> None:
    for edges, nodes in (
        (f"{bank}?table=bank.Payments", f"{bank}?table=people"),
        (f'{bank}?query=SELECT payer, payee FROM bank."Payments"', (bank, "SELECT * FROM people WHERE age > 0")),
        (f"{bank}?connect_timeout=5&table=bank.Payments", f"{bank}?table=public.people"),
    ):
        graph = load(edges, nodes=nodes, notices=[])
        assert graph.node_ids.tolist() == [7, 8, 9, 10]
        assert graph.edges.tolist() == [[0, 1, 2], [1, 2, 3]]
        assert {"age", "city=Zürich", "member"} <= set(graph.attribute_names)
        assert graph.attributes[:, graph.attribute_names.index("age")].tolist() == [31.5, 42, 27, 50]


@pytest.mark.postgres
def test_a_connection_to_a_server(bank: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(bank) as connection:
        edges, nodes = (connection, 'SELECT * FROM bank."Payments"'), (connection, "SELECT * FROM people")
        assert load(edges, nodes=nodes, notices=[]).n_edges == 3


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("?table=nowhere", "nowhere"),
        ("?query=SELEKT 1", "syntax error"),
        ("?query=DROP TABLE people", "read-only transaction"),
    ],
)
def test_what_the_server_refuses_is_one_sentence(bank: str, options: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        load(f"{bank}{options}", nodes=f"{bank}?table=people")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("cannot read postgresql://ann@127.0.0.1")


@pytest.mark.postgres
def test_a_server_that_is_not_there(bank: str) -> None:
    with pytest.raises(ValueError, match="refused") as caught:
        load("postgresql://ann:secret@127.0.0.1:1/bank?table=x", nodes=f"{bank}?table=people")
    assert "secret" not in str(caught.value)
