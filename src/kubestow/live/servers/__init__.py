"""HTTP servers of the live components: listening, limits, metrics, graceful shutdown."""

from kubestow.live.servers.fast_path import JSON, TEXT, FastRequest, FastResponse, Handler
from kubestow.live.servers.protocols import PEER
from kubestow.live.servers.running import Server, run, serve, settle_memory
from kubestow.live.servers.settings import MIB, ServerSettings, read_address
from kubestow.live.servers.telemetry import CONTENT_TYPE, Telemetry

__all__ = [
    "CONTENT_TYPE",
    "JSON",
    "MIB",
    "PEER",
    "TEXT",
    "FastRequest",
    "FastResponse",
    "Handler",
    "Server",
    "ServerSettings",
    "Telemetry",
    "read_address",
    "run",
    "serve",
    "settle_memory",
]
