"""Learned states of recommenders per container and resource, with optimistic locking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kubestow.live.stores import containers, documents, engines, faults, schema
from kubestow.live.stores.engines import Store
from kubestow.model.keys import ContainerKey

_TABLE = schema.agents_table


@dataclass(frozen=True, slots=True)
class AgentState:
    """A state and its version.

    Attributes:
        state: Plain JSON values.
        version: Number of writes; 0 if it is not in the store yet. A new state is written with the
            version of the state it was computed from.
    """

    state: Any
    version: int = 0


def read(store: Store, container: ContainerKey) -> dict[str, AgentState]:
    """Return all states of a container by resource."""
    query = (
        sa.select(_TABLE.c.resource, _TABLE.c.state, _TABLE.c.version)
        .select_from(_TABLE.join(schema.containers_table))
        .where(containers.is_key(container))
    )
    with store.reading() as connection:
        return {
            name: AgentState(state, version) for name, state, version in connection.execute(query)
        }


def write(
    store: Store, container: ContainerKey, resource: str, state: AgentState, now_s: float
) -> None:
    """Write a state.

    Raises:
        StateConflictError: If it was changed since it was read.
        InputError: If it cannot be represented in JSON.
    """
    with store.writing() as connection:
        number = containers.container_numbers(connection, [container])[container]
        put(connection, number, resource, state, now_s)


def put(
    connection: sa.Connection, container_id: int, resource: str, state: AgentState, now_s: float
) -> None:
    """Write a state inside a transaction, as ``write`` does."""
    documents.check(f"state of {resource}", state.state)
    values = {"state": state.state, "version": state.version + 1, "updated_at_s": now_s}
    same = {"container_id": container_id, "resource": resource}
    if state.version == 0:
        new = engines.insert(connection, _TABLE).values(**same, **values).on_conflict_do_nothing()
        options = {"preserve_rowcount": True}  # otherwise not available for inserts
        written = connection.execute(new, execution_options=options).rowcount
    else:
        conditions = [_TABLE.c[name] == value for name, value in same.items()]
        conditions.append(_TABLE.c.version == state.version)
        written = connection.execute(_TABLE.update().where(*conditions).values(values)).rowcount
    if written != 1:
        raise faults.StateConflictError(f"state of {resource}: not version {state.version} now")
