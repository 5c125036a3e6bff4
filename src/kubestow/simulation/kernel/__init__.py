"""The simulation kernel: clock, events, random streams, integrals; without Kubernetes."""

from kubestow.simulation.kernel.clock import Clock, Ticket
from kubestow.simulation.kernel.integrals import Area
from kubestow.simulation.kernel.random_streams import (
    lognormal,
    make_generator,
    normal,
    stream_key,
    uniform,
)

__all__ = [
    "Area",
    "Clock",
    "Ticket",
    "lognormal",
    "make_generator",
    "normal",
    "stream_key",
    "uniform",
]
