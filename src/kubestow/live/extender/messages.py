"""What kube-scheduler sends to an extender, and what it takes for an answer.

``k8s.io/kube-scheduler/extender/v1`` (0.37). Requests are spelled as in Go, answers may be spelled
in lower case. With ``nodeCacheCapable`` nodes go by name, otherwise as whole objects; these are
handed back as the bytes that came.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class PodHead(msgspec.Struct):
    """Who a pod is."""

    metadata: _Metadata


class _NodeHead(msgspec.Struct):
    metadata: _Metadata


_NULL = msgspec.Raw(b"null")


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] = []


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """ExtenderArgs: a pod, and the nodes that are left for it: their names, or whole."""

    pod: msgspec.Raw
    nodes: _NodeList | None = None
    node_names: msgspec.Raw = _NULL

    def __post_init__(self) -> None:
        """Refuse what can be no list of names; what is in the list is read later, if at all."""
        if self._first not in (b"[", b"n"):
            raise ValueError("NodeNames: expected a list")

    @property
    def is_named(self) -> bool:
        """Return whether nodes go by their names."""
        return self._first == b"["

    @property
    def _first(self) -> bytes:
        return bytes(memoryview(self.node_names)[:1])


class _GivenNodes(msgspec.Struct):
    items: list[msgspec.Raw]


class FilterAnswer(msgspec.Struct, omit_defaults=True, rename={"node_names": "nodenames"}):
    """ExtenderFilterResult: the nodes that may take the pod, and why others may not."""

    nodes: _GivenNodes | None = None
    node_names: list[str] | msgspec.Raw | None = None
    failed_nodes: dict[str, str] = msgspec.field(default_factory=dict, name="failedNodes")
    error: str = ""


class HostPriority(msgspec.Struct, gc=False):
    """A node's score, 0 to 10."""

    host: str
    score: int


class Binding(msgspec.Struct):
    """ExtenderBindingArgs: which pod goes where."""

    name: str = msgspec.field(name="PodName")
    namespace: str = msgspec.field(name="PodNamespace")
    uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class BindingAnswer(msgspec.Struct):
    """ExtenderBindingResult: an error, or none."""

    error: str = ""


read_question = msgspec.json.Decoder(ExtenderArgs).decode
read_pod = msgspec.json.Decoder(PodHead).decode
read_binding = msgspec.json.Decoder(Binding).decode
_read_names = msgspec.json.Decoder(list[str]).decode
_read_node = msgspec.json.Decoder(_NodeHead).decode
write = msgspec.json.Encoder().encode


def node_names(question: ExtenderArgs) -> list[str]:
    """Return the names of the nodes a question is about.

    Raises:
        MsgspecError: If they are none.
    """
    if question.is_named:
        return _read_names(question.node_names)
    found = question.nodes.items if question.nodes is not None else []
    return [_read_node(node).metadata.name for node in found]


def answer_all(question: ExtenderArgs) -> FilterAnswer:
    """Return all nodes as they came."""
    if question.is_named:
        return FilterAnswer(node_names=question.node_names)
    given = question.nodes.items if question.nodes is not None else []
    return FilterAnswer(nodes=_GivenNodes(given))


def answer(question: ExtenderArgs, kept: Sequence[int], refused: dict[str, str]) -> FilterAnswer:
    """Return the nodes at some positions in the way they came."""
    if question.is_named:
        names = node_names(question)
        return FilterAnswer(node_names=[names[place] for place in kept], failed_nodes=refused)
    given = question.nodes.items if question.nodes is not None else []
    return FilterAnswer(nodes=_GivenNodes([given[place] for place in kept]), failed_nodes=refused)
