"""Requests of kube-scheduler to an extender, and its responses.

``k8s.io/kube-scheduler/extender/v1`` (0.37). Requests are spelled as in Go, responses may be in
lower case. With ``nodeCacheCapable`` nodes are sent by name, otherwise as whole objects; these are
returned as the original bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class PodHead(msgspec.Struct):
    """Metadata of a pod."""

    metadata: _Metadata


class _NodeHead(msgspec.Struct):
    metadata: _Metadata


_NULL = msgspec.Raw(b"null")


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] = []


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """ExtenderArgs: a pod and its candidate nodes, as names or whole objects."""

    pod: msgspec.Raw
    nodes: _NodeList | None = None
    node_names: msgspec.Raw = _NULL

    def __post_init__(self) -> None:
        """Refuse anything but a list of names; its elements are decoded lazily."""
        if self._first not in (b"[", b"n"):
            raise ValueError("NodeNames: expected a list")

    @property
    def is_named(self) -> bool:
        """Return whether nodes are given by name."""
        return self._first == b"["

    @property
    def _first(self) -> bytes:
        return bytes(memoryview(self.node_names)[:1])


class _GivenNodes(msgspec.Struct):
    items: list[msgspec.Raw]


class FilterResult(msgspec.Struct, omit_defaults=True, rename={"node_names": "nodenames"}):
    """ExtenderFilterResult: the feasible nodes, and why others are not."""

    nodes: _GivenNodes | None = None
    node_names: list[str] | msgspec.Raw | None = None
    failed_nodes: dict[str, str] = msgspec.field(default_factory=dict, name="failedNodes")
    error: str = ""


class HostPriority(msgspec.Struct, gc=False):
    """A node's score, 0 to 10."""

    host: str
    score: int


class Binding(msgspec.Struct):
    """ExtenderBindingArgs: a pod and its node."""

    name: str = msgspec.field(name="PodName")
    namespace: str = msgspec.field(name="PodNamespace")
    uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class BindingResult(msgspec.Struct):
    """ExtenderBindingResult: an error, or empty."""

    error: str = ""


read_args = msgspec.json.Decoder(ExtenderArgs).decode
read_pod = msgspec.json.Decoder(PodHead).decode
read_binding = msgspec.json.Decoder(Binding).decode
_read_names = msgspec.json.Decoder(list[str]).decode
_read_node = msgspec.json.Decoder(_NodeHead).decode
write = msgspec.json.Encoder().encode


def node_names(args: ExtenderArgs) -> list[str]:
    """Return the names of the candidate nodes.

    Raises:
        MsgspecError: If they are malformed.
    """
    if args.is_named:
        return _read_names(args.node_names)
    given = args.nodes.items if args.nodes is not None else []
    return [_read_node(node).metadata.name for node in given]


def keep_all(args: ExtenderArgs) -> FilterResult:
    """Return all nodes unchanged."""
    if args.is_named:
        return FilterResult(node_names=args.node_names)
    given = args.nodes.items if args.nodes is not None else []
    return FilterResult(nodes=_GivenNodes(given))


def keep_some(args: ExtenderArgs, kept: Sequence[int], refused: dict[str, str]) -> FilterResult:
    """Return the nodes at some indices, in the form they were sent."""
    if args.is_named:
        names = node_names(args)
        return FilterResult(node_names=[names[index] for index in kept], failed_nodes=refused)
    given = args.nodes.items if args.nodes is not None else []
    return FilterResult(nodes=_GivenNodes([given[index] for index in kept]), failed_nodes=refused)
