"""Readers of Kubernetes objects: clusters, pods, autoscalers, recorded observations."""

from kubestow.sources.manifests.autoscalers import read_autoscalers
from kubestow.sources.manifests.cluster import build_cluster, read_cluster, read_node, read_service
from kubestow.sources.manifests.custom_kinds import RULES, KindRule, read_rules
from kubestow.sources.manifests.documents import (
    Document,
    parse_documents,
    read_documents,
    unfold_document,
)
from kubestow.sources.manifests.expansion import KINDS, read_workload
from kubestow.sources.manifests.node_shapes import parse_nodes
from kubestow.sources.manifests.observations import read_observations
from kubestow.sources.manifests.pod_json import UNREADABLE, read_uid
from kubestow.sources.manifests.pods import PodReader, PodReading

__all__ = [
    "KINDS",
    "RULES",
    "UNREADABLE",
    "Document",
    "KindRule",
    "PodReader",
    "PodReading",
    "build_cluster",
    "parse_documents",
    "parse_nodes",
    "read_autoscalers",
    "read_cluster",
    "read_documents",
    "read_node",
    "read_observations",
    "read_rules",
    "read_service",
    "read_uid",
    "read_workload",
    "unfold_document",
]
