"""The databases that tests of the store and of the service are given."""

from __future__ import annotations

import pytest

sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.mark.parametrize("again", [1, 2])
def test_every_test_has_a_database_of_its_own(database_url: str, again: int) -> None:
    """What one test wrote, the next does not find."""
    engine = sqlalchemy.create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE found (number INTEGER)"))
        connection.execute(sqlalchemy.text("INSERT INTO found VALUES (1)"))
    with engine.begin() as connection:
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM found")).scalar() == 1
    engine.dispose()
