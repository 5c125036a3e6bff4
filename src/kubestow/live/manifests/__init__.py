"""The Kubernetes objects of an installation, as plain values."""

from kubestow.live.manifests.api_paths import path_of
from kubestow.live.manifests.installation import render_installation
from kubestow.live.manifests.values import InstallationValues

__all__ = ["InstallationValues", "path_of", "render_installation"]
