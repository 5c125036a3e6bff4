"""Control loops of the simulated cluster: hosts of the policies, and what they observe."""

from kubestow.simulation.loops.moving import start_moving
from kubestow.simulation.loops.observations import Observer
from kubestow.simulation.loops.provisioning import ProvisioningLoop
from kubestow.simulation.loops.scaling import SCALABLE, TARGETS, set_static, start_scaling
from kubestow.simulation.loops.scheduling import SchedulerHost
from kubestow.simulation.loops.vpa import start_sizing

__all__ = [
    "SCALABLE",
    "TARGETS",
    "Observer",
    "ProvisioningLoop",
    "SchedulerHost",
    "set_static",
    "start_moving",
    "start_scaling",
    "start_sizing",
]
