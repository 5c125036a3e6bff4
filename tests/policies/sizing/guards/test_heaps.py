"""Java heaps: flags, variables, images."""

from __future__ import annotations

import pytest

from kubestow.policies.sizing.guards import heaps

MIB = 2**20


@pytest.mark.parametrize(
    ("command", "variables", "max_bytes", "percentage"),
    [
        (["java", "-Xmx512m", "-jar", "a.jar"], {}, 512 * MIB, None),
        (["java", "-Xmx1G"], {}, 1024 * MIB, None),
        (["java", "-Xmx1048576"], {}, MIB, None),
        (["java", "-XX:MaxHeapSize=2g"], {}, 2048 * MIB, None),
        (["java", "-XX:MaxRAMPercentage=75.0"], {}, None, 75.0),
        (
            ["sh", "-c", "exec java -Xmx64m -Xmx256m app"],
            {},
            256 * MIB,
            None,
        ),  # the last one counts
        (["run.sh"], {"JAVA_TOOL_OPTIONS": "-Xms1g -Xmx3g"}, 3072 * MIB, None),
    ],
)
def test_flags_are_found_where_a_jvm_looks_for_them(
    command: list[str],
    variables: dict[str, str],
    max_bytes: int | None,
    percentage: float | None,
) -> None:
    result = heaps.find_java_heap("registry/app:1", command, variables)
    assert result is not None
    assert (result.max_bytes, result.ram_percentage) == (max_bytes, percentage)
    assert result.why == "heap flag"


@pytest.mark.parametrize(
    ("image", "command", "variables", "why"),
    [
        ("app", ["/usr/bin/java", "-jar", "a.jar"], {}, "runs java"),
        ("app", [], {"CATALINA_OPTS": "-Dx=y"}, "variable CATALINA_OPTS"),
        ("docker.io/library/eclipse-temurin:21-jre", [], {}, "image"),
        ("quay.io/strimzi/kafka:0.4", [], {}, "image"),
    ],
)
def test_java_without_flags_is_recognised(
    image: str, command: list[str], variables: dict[str, str], why: str
) -> None:
    result = heaps.find_java_heap(image, command, variables)
    assert result is not None
    assert (result.max_bytes, result.why) == (None, why)
    assert result.least_bytes is None


@pytest.mark.parametrize(
    ("image", "command"),
    [("nginx:1.27", ["nginx"]), ("node:22", ["node", "javascript.js"]), ("javascript-app:1", [])],
)
def test_what_is_not_java_is_left_alone(image: str, command: list[str]) -> None:
    assert heaps.find_java_heap(image, command) is None


def test_a_heap_needs_room_beside_it() -> None:
    # A quarter of 1024 MiB is 256 MiB; of 256 MiB it would be 64, but an idle JVM takes 128.
    large, small = heaps.JavaHeap(1024 * MIB, None, ""), heaps.JavaHeap(256 * MIB, None, "")
    assert large.least_bytes == 1280 * MIB
    assert small.least_bytes == 384 * MIB
