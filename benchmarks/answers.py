"""A webhook that only answers: the minimum cost of any webhook for an API server.

It returns the same patch for every pod, reads only the UID of the review, and records nothing.

    python -m benchmarks.answers CERTIFICATE KEY PORT PATCH
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import sys
from typing import cast

import uvloop

_UID = b'"uid":"'
_UID_LENGTH = 36  # the first UID of a review is its own
_LENGTH = b"content-length:"


class Answerer(asyncio.Protocol):
    """A connection.

    Args:
        patch: The JSON patch of all responses, in base64.
    """

    def __init__(self, patch: bytes) -> None:
        self._patch, self._data = patch, b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end or self._transport is None:
            return
        _, _, rest = head.lower().partition(_LENGTH)
        if len(body) < int(rest.partition(b"\r\n")[0] or b"0"):
            return
        self._data = b""
        begin = body.find(_UID) + len(_UID)
        answer = (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"'
            + body[begin : begin + _UID_LENGTH]
            + b'","allowed":true,"patchType":"JSONPatch","patch":"'
            + self._patch
            + b'"}}'
        )
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(answer), answer)
        )


async def serve(certificate: str, key: str, port: int, patch: str) -> None:
    """Serve until the process ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    content = base64.b64encode(patch.encode())
    server = await asyncio.get_running_loop().create_server(
        lambda: Answerer(content), "127.0.0.1", port, ssl=context
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
