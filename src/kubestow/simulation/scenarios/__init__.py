"""Scenario files: their structure, defaults and checks."""

from kubestow.simulation.scenarios.cluster import Failure, Maintenance, Pool
from kubestow.simulation.scenarios.document import Scenario, ScenarioSpec, read_scenario
from kubestow.simulation.scenarios.policies import (
    NO_SCALER,
    ScalingPolicy,
    SizingGuards,
    SizingPolicy,
)
from kubestow.simulation.scenarios.sampled_signals import SignalTrace, step_means, trace_key
from kubestow.simulation.scenarios.signals import TRACE, Signal
from kubestow.simulation.scenarios.storage import (
    ANYWHERE,
    HOST,
    ZONE,
    ScenarioStorageClass,
    ScenarioVolume,
)
from kubestow.simulation.scenarios.workloads import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    PIPELINE,
    POOLED,
    REQUESTS,
    RUNS,
    STATEFUL_SET,
    Disruption,
    ScenarioUsage,
    ScenarioWorkload,
)

__all__ = [
    "ANYWHERE",
    "DAEMON_SET",
    "DEPLOYMENT",
    "HOST",
    "JOB",
    "NO_SCALER",
    "PIPELINE",
    "POOLED",
    "REQUESTS",
    "RUNS",
    "STATEFUL_SET",
    "TRACE",
    "ZONE",
    "Disruption",
    "Failure",
    "Maintenance",
    "Pool",
    "ScalingPolicy",
    "Scenario",
    "ScenarioSpec",
    "ScenarioStorageClass",
    "ScenarioUsage",
    "ScenarioVolume",
    "ScenarioWorkload",
    "Signal",
    "SignalTrace",
    "SizingGuards",
    "SizingPolicy",
    "read_scenario",
    "step_means",
    "trace_key",
]
