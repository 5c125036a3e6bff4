"""Kubernetes API client: kubeconfig, credentials, requests, lists, watches."""

from kubestow.live.api.clients import STRATEGIC_PATCH, ApiClient, connect
from kubestow.live.api.errors import CONFLICT, FORBIDDEN, NOT_FOUND, ApiError
from kubestow.live.api.listings import read_list
from kubestow.live.api.metadata_lists import list_names
from kubestow.live.api.watches import Freshness, ResourceWatch

__all__ = [
    "CONFLICT",
    "FORBIDDEN",
    "NOT_FOUND",
    "STRATEGIC_PATCH",
    "ApiClient",
    "ApiError",
    "Freshness",
    "ResourceWatch",
    "connect",
    "list_names",
    "read_list",
]
