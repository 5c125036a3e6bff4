"""The log of kube-scheduler: scores and events of nodes.

Scores are logged from verbosity 10 of ``schedule_one.go``, events from verbosity 4 of
``eventhandlers.go`` (1.37); ``FLAGS`` enables both and little else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FLAGS = ("--vmodule=schedule_one=10,eventhandlers=4,batch=3",)
_LINE = re.compile(rb'^[IWE]\d{4} .*?\] "([^"]+)"(.*)$')
_PAIR = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
_SCORED, _SUMMED = "Plugin scored node for pod", "Calculated node's final score for pod"
_HINTED = "OpportunisticBatch provided node hint"


class SchedulingLog:
    """A log that is read as it grows.

    Attributes:
        scores: Weighted score by pod, node and plugin.
        sums: Sum of the scores by pod and node.
        hints: Node proposed by batching, by pod; such a pod is not scored.
        nodes: Names of nodes by kind of event received (Add, Update, Delete).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scores: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        self.sums: dict[str, dict[str, int]] = defaultdict(dict)
        self.hints: dict[str, str] = {}
        self.nodes: dict[str, set[str]] = {"Add": set(), "Update": set(), "Delete": set()}
        self._offset = 0

    def read(self) -> None:
        """Read the lines written since the last call."""
        for message, rest in self._new_lines():
            pairs = {key: quoted or bare for key, quoted, bare in _PAIR.findall(rest)}
            if message == _SCORED:
                plugins = self.scores[pairs["pod"]].setdefault(pairs["node"], {})
                plugins[pairs["plugin"]] = int(pairs["score"])
            elif message == _SUMMED:
                self.sums[pairs["pod"]][pairs["node"]] = int(pairs["score"])
            elif message == _HINTED:
                self.hints[pairs["pod"]] = pairs["hint"]
            elif message.endswith(" event for node"):
                self.nodes[message.split()[0]].add(pairs["node"])

    def _new_lines(self) -> Iterator[tuple[str, str]]:
        with self.path.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.splitlines():
            matched = _LINE.match(line)
            if matched:
                yield matched[1].decode(), matched[2].decode()
