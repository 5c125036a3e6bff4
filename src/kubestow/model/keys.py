"""Keys of workloads and their containers, for usage, recommendations and the store.

A key outlives pods: it names the controller, not its pods.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_CRON: Final = re.compile(r"-\d{8,10}$")  # the minute that a CronJob appends to its Jobs' names


class WorkloadKey(NamedTuple):
    """A workload, such as a Deployment or a CronJob.

    Attributes:
        namespace: The namespace.
        kind: The kind, as in ``model.identities.Identity``.
        name: The stable name.
    """

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}"


class ContainerKey(NamedTuple):
    """A container of a workload, independent of pod names.

    Attributes:
        namespace: Namespace of the workload.
        kind: Kind of the workload, as in ``model.identities.Identity``.
        workload: Its stable name.
        container: Name of the container.
    """

    namespace: str
    kind: str
    workload: str
    container: str

    @property
    def of(self) -> WorkloadKey:
        """The workload it belongs to."""
        return WorkloadKey(self.namespace, self.kind, self.workload)

    def __str__(self) -> str:
        return "/".join(self)


def guess_job_owner(name: str) -> tuple[str, str]:
    """Return kind and name of the workload of a Job whose owner is no longer known.

    >>> guess_job_owner("nightly-29000000"), guess_job_owner("once")
    (('CronJob', 'nightly'), ('Job', 'once'))
    """
    return ("CronJob", _CRON.sub("", name)) if _CRON.search(name) else ("Job", name)
