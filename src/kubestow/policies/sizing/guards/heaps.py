"""Java heaps: memory settings in a container's command line and environment.

A JVM sizes its heap by flags that the cluster does not see, so usage is no evidence of need
(Böttcher 2023, 6.1, point 3). Flags are read from the command, its arguments and the variables
that a JVM reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

# Variables whose flags a JVM, or the usual start scripts, pick up.
_VARIABLES: Final = (
    "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JAVA_OPTS", "JAVA_OPTIONS",
    "JVM_OPTS", "CATALINA_OPTS", "ES_JAVA_OPTS", "KAFKA_HEAP_OPTS",
)  # fmt: skip
_IMAGES: Final = re.compile(
    r"(^|[/_-])(jre|jdk|java|openjdk|temurin|corretto|zulu|tomcat|jetty|wildfly|jenkins|kafka|"
    r"zookeeper|cassandra|elasticsearch|opensearch|solr|logstash|activemq|keycloak|neo4j)"
    r"([:@/_.-]|$)"
)
_HEAP: Final = re.compile(r"-Xmx(\d+)([kKmMgGtT]?)\b|-XX:MaxHeapSize=(\d+)([kKmMgGtT]?)\b")
_SHARE: Final = re.compile(r"-XX:MaxRAMPercentage=(\d+(?:\.\d+)?)")
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
# Memory of a JVM besides its heap: metaspace, code, threads, buffers. Assumed, not measured.
_NON_HEAP: Final = 0.25
_LEAST_NON_HEAP_BYTES: Final = 128 * 2**20


@dataclass(frozen=True, slots=True)
class JavaHeap:
    """The heap of a container, as far as it is known.

    Attributes:
        max_bytes: Largest heap, if a flag sets it.
        ram_percentage: Largest heap in percent of the limit, if a flag sets it.
        why: How the container was recognised.
    """

    max_bytes: int | None
    ram_percentage: float | None
    why: str

    @property
    def least_bytes(self) -> int | None:
        """Smallest memory that fits the heap of the flags; ``None`` if no flag sets it."""
        if self.max_bytes is None:
            return None
        return self.max_bytes + max(int(self.max_bytes * _NON_HEAP), _LEAST_NON_HEAP_BYTES)


def find_java_heap(
    image: str = "",
    command: Iterable[str] = (),
    variables: Mapping[str, str] | None = None,
) -> JavaHeap | None:
    """Return what is known of a container's heap; ``None`` if it does not seem to run Java.

    Args:
        image: The image.
        command: Command and arguments.
        variables: Environment variables with literal values.
    """
    words = [*command]
    environment = variables or {}
    flags = " ".join([*words, *(environment[name] for name in _VARIABLES if name in environment)])
    heap, share = _largest_heap(flags), _SHARE.findall(flags)
    percentage = float(share[-1]) if share else None
    if heap is not None or percentage is not None:
        return JavaHeap(heap, percentage, "heap flag")
    if any(word.rsplit("/", 1)[-1] == "java" for word in words):
        return JavaHeap(None, None, "runs java")
    known = next((name for name in _VARIABLES if name in environment), None)
    if known is not None:
        return JavaHeap(None, None, f"variable {known}")
    if _IMAGES.search(image.lower()):
        return JavaHeap(None, None, "image")
    return None


def _largest_heap(flags: str) -> int | None:
    """Return the heap of the last flag, which takes effect."""
    matches = _HEAP.findall(flags)
    if not matches:
        return None
    short, short_unit, long, long_unit = matches[-1]
    number, unit = (short, short_unit) if short else (long, long_unit)
    return int(number) << _UNITS[unit.lower()]
