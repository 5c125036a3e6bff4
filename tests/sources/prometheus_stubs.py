"""A server of canned answers, and what goes wrong with a question."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus.settings import PrometheusSettings

URL = "http://prometheus.test"
SECRET = "s3cr3t-t0ken"  # noqa: S105 - made up, to look for it in logs and errors
ONE = {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [5.25, "1.5"]}]}


def success(data: dict[str, Any], **more: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "success", "data": data, **more})


def packed(content: bytes) -> httpx.Response:
    """Return an answer that says that it is packed."""
    stream = httpx.ByteStream(content)
    return httpx.Response(200, stream=stream, headers={"Content-Encoding": "gzip"})


class Server:
    """Answers from a list, one after the other, and remembers what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []
        self.pauses_s: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(
        self, settings: PrometheusSettings | None = None, **more: Any
    ) -> prometheus_client.PrometheusClient:
        wire = httpx.MockTransport(self)
        chosen = settings or PrometheusSettings(URL)
        return prometheus_client.PrometheusClient(
            chosen, wire=wire, sleep=self.pauses_s.append, **more
        )


def problem(client: prometheus_client.PrometheusClient) -> tuple[str, str]:
    """Return kind and text of what goes wrong with a question."""
    with client, pytest.raises(faults.ReadError) as failed:
        client.query("up")
    return failed.value.kind, str(failed.value)
