"""How Alembic takes the steps: in the transaction of the connection that it is given."""

from __future__ import annotations

from alembic import context

from equipoise.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
