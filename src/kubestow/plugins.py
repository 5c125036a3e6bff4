"""Everything that a package with its own policies imports.

A package declares an entry point in one of six groups; the policy is then available under its name
in scenarios, on the command line and in the library, like a built-in one.

========================== ======================== ==========================================
group                      object                   used by
========================== ======================== ==========================================
``kubestow.recommenders``  ``RecommenderEntry``     ``recommend``, ``policies.sizing``
``kubestow.forecasters``   ``ForecasterEntry``      ``forecast``, ``backtest``
``kubestow.scalers``       ``ScalerEntry``          ``scale``, ``policies.scaling``
``kubestow.placing_terms`` ``TermEntry``            profiles of ``place``, ``extender``
``kubestow.heuristics``    ``OfflineHeuristic``     ``pack``
``kubestow.movers``        ``MoverEntry``           ``policies.moving``
========================== ======================== ==========================================

``examples/plugin`` is such a package. Parameters of a policy are a frozen dataclass with defaults;
scenario files write its fields in camel case.
"""

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.model.errors import InputError
from kubestow.model.pods import Pod
from kubestow.model.states import ClusterState
from kubestow.model.usage import Usage
from kubestow.policies.forecasting.protocols import PointFitted, PointForecaster
from kubestow.policies.forecasting.registry import ForecasterEntry, ForecastTask
from kubestow.policies.moving.plans import MovePlan, Mover
from kubestow.policies.moving.registry import MoverEntry
from kubestow.policies.placing.packing import Instance, OfflineHeuristic, Packing
from kubestow.policies.placing.terms import Loads, Term, TermEntry, TermScores
from kubestow.policies.scaling.decisions import Scaler, ScalingDecision
from kubestow.policies.scaling.hpa import AutoscalerSpec
from kubestow.policies.scaling.observations import ScalingObservation
from kubestow.policies.scaling.registry import ScalerEntry
from kubestow.policies.sizing.estimates import Estimates, Estimator
from kubestow.policies.sizing.registry import RecommenderEntry

__all__ = [
    "AutoscalerSpec",
    "Bools",
    "ClusterState",
    "Estimates",
    "Estimator",
    "Floats",
    "ForecastTask",
    "ForecasterEntry",
    "InputError",
    "Instance",
    "Ints",
    "Loads",
    "MovePlan",
    "Mover",
    "MoverEntry",
    "OfflineHeuristic",
    "Packing",
    "Pod",
    "PointFitted",
    "PointForecaster",
    "RecommenderEntry",
    "Scaler",
    "ScalerEntry",
    "ScalingDecision",
    "ScalingObservation",
    "Term",
    "TermEntry",
    "TermScores",
    "Usage",
]
