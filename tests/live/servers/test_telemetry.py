"""Metrics of servers: registries apart, names, buckets."""

from __future__ import annotations

from kubestow.live.servers import telemetry


def test_two_servers_of_one_process_count_apart() -> None:
    one, other = telemetry.Telemetry("test"), telemetry.Telemetry("test")
    one.counter("things", "Things.").inc()
    other.counter("things", "Things.")
    assert b"kubestow_test_things_total 1.0" in one.write()
    assert b"kubestow_test_things_total 0.0" in other.write()


def test_a_watched_gauge_is_read_when_asked_for() -> None:
    metrics, values = telemetry.Telemetry("test"), [1.0]
    metrics.watch("level", "Level.", lambda: values[-1])
    assert b"kubestow_test_level 1.0" in metrics.write()
    values.append(2.0)
    assert b"kubestow_test_level 2.0" in metrics.write()


def test_latencies_are_distinguished_from_half_a_millisecond_to_ten_seconds() -> None:
    assert (telemetry.BUCKETS_S[0], telemetry.BUCKETS_S[-1]) == (0.0005, 10.0)
    metrics = telemetry.Telemetry("test")
    metrics.latency("took_seconds", "Time.").observe(0.004)
    written = metrics.write().decode()
    assert 'took_seconds_bucket{le="0.002"} 0.0' in written
    assert 'took_seconds_bucket{le="0.005"} 1.0' in written
