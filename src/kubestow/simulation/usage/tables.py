"""Signals, services and nodes as arrays of records."""

from __future__ import annotations

import numpy as np

from kubestow.simulation.usage import containers

SIGNAL = containers.make(
    [
        ("value", np.float64),  # in this step
        ("noise", np.float64),  # standard deviation of the relative noise
        ("kept", np.float64),  # correlation of the noise from one step to the next
    ]
)

SERVICE = containers.make(
    [
        ("pooled", np.bool_),  # requests go to a free pod
        ("played", np.bool_),  # every request is simulated
        ("stream", np.int64),  # key of its random numbers
        ("workload", np.int64),
        ("rate", np.float64),  # requests per second in this step
        ("work_s", np.float64),  # CPU time of a request
        ("threads", np.float64),  # cores a request can use at once
        ("memory", np.float64),  # bytes held by a request
        ("base_memory", np.float64),
        ("base_cpu", np.float64),
        ("network", np.float64),  # bytes per request
        ("disk", np.float64),
        ("slo_s", np.float64),
        ("timeout_s", np.float64),
        ("variability", np.float64),
        ("shares_s", np.float64),  # seconds of all receivers in this step
        ("received_s", np.float64),  # seconds of this step, of those that still receive
        ("stopped_s", np.float64),  # seconds of this step, of those that stopped receiving
        ("capacity", np.float64),  # cores of a pooled service
        ("offered", np.float64),  # requests of this step
        ("taken", np.float64),  # received by a pod
        ("served", np.float64),
        ("dropped", np.float64),  # no pod to receive them
        ("timed_out", np.float64),  # clients timed out
        ("late", np.float64),  # over the objective
        ("queue", np.float64),  # in pods at the end of the step
        ("response_sum", np.float64),  # of response times (s)
        ("response_squares", np.float64),
        ("all_offered", np.float64),  # the same since the start of the run
        ("all_served", np.float64),
        ("all_dropped", np.float64),  # including timed out ones
        ("all_late", np.float64),
        ("all_response", np.float64),
    ]
)

HOST = containers.make(
    [
        ("crowded", np.bool_),  # demand exceeds the cores
        ("cores", np.float64),
        ("room", np.float64),  # bytes of memory
        ("reserve", np.float64),  # bytes of memory below which the kubelet evicts
        ("network", np.float64),  # bytes per second
        ("disk", np.float64),
        ("wanted", np.float64),  # cores
        ("weight", np.float64),  # of all containers with demand
        ("left", np.float64),  # cores left, while they are divided
        ("left_weight", np.float64),
        ("fair", np.float64),  # cores per weight
        ("cpu", np.float64),  # cores used
        ("memory", np.float64),  # bytes in use
        ("cache", np.float64),
        ("network_wanted", np.float64),
        ("disk_wanted", np.float64),
    ]
)
