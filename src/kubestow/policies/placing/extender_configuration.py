"""KubeSchedulerConfiguration v1 for profiles that have an extension: with an extenders section.

kube-scheduler then asks an HTTP server that hosts the term. Extenders belong to the scheduler and
not to a profile, so that pods of all its profiles are sent to them; a scheduler that is to serve
other profiles without the term must be another process. Only names of nodes are sent
(``nodeCacheCapable``): the server knows the nodes. If it does not answer in time kube-scheduler
goes on without it (``ignorable``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubestow.model import errors
from kubestow.policies.placing import profiles, scheduler, terms

FILTER_VERB = "filter"
PRIORITIZE_VERB = "prioritize"
TIMEOUT_S = 1.0  # of every request; upstream's default of 5 s would stall the one scheduling thread


@dataclass(frozen=True, slots=True)
class Tls:
    """How kube-scheduler trusts the server; paths are those in its own container.

    Attributes:
        ca_file: Certificates that vouch for the server; empty for those of the system.
        server_name: Name in the server's certificate, where it differs from the address.
        cert_file: Certificate kube-scheduler shows, with its key; empty for none.
        key_file: The key.
    """

    ca_file: str = ""
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the tlsConfig of an extender."""
        found = {
            "serverName": self.server_name,
            "certFile": self.cert_file,
            "keyFile": self.key_file,
            "caFile": self.ca_file,
        }
        return {key: value for key, value in found.items() if value}


def write_extender_configuration(
    profile: profiles.Profile,
    url_prefix: str,
    *,
    tls: Tls | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Any]:
    """Return a profile with its extension as a KubeSchedulerConfiguration.

    Args:
        profile: The profile; one without an extension gets no extenders section.
        url_prefix: Where the server listens, e.g. ``https://kubestow-extender.kubestow.svc:443``.
        tls: How the server is trusted; needed for https, refused for http.
        timeout_s: How long kube-scheduler waits for an answer.

    Raises:
        InputError: If the address does not go with ``tls``, or the weight is not positive.
    """
    document = profiles.write_configuration([profile])
    if profile.extension is None:
        return document
    secure = url_prefix.startswith("https://")
    if not secure and not url_prefix.startswith("http://"):
        raise errors.InputError(
            "url prefix", f"{url_prefix!r}: must begin with http:// or https://"
        )
    if secure != (tls is not None):
        expected = "https needs tls settings" if secure else "http takes no tls settings"
        raise errors.InputError("url prefix", f"{url_prefix!r}: {expected}")
    if profile.extension.weight <= 0:
        raise errors.InputError("weight", f"{profile.extension.weight}: must be > 0")
    extender: dict[str, Any] = {
        "urlPrefix": url_prefix,
        **_verbs(profile, profile.extension),
        "nodeCacheCapable": True,
        "ignorable": True,
        "httpTimeout": f"{round(timeout_s * 1000)}ms",
    }
    if tls is not None:
        extender |= {"enableHTTPS": True, "tlsConfig": tls.as_json()}
    return {**document, "extenders": [extender]}


def _verbs(profile: profiles.Profile, extension: profiles.Extension) -> dict[str, Any]:
    """Return what kube-scheduler asks for; every question takes time with every pod.

    A term of which one point outdoes all scores together decides alone. It is asked once, which
    nodes may take the pod, and names its best. kube-scheduler then has one node left, and works out
    no scores of its own either; the choice is the same. One that makes a shortlist is asked once as
    well.
    """
    verbs: dict[str, Any] = {"filterVerb": FILTER_VERB}
    others = scheduler.MAX_SCORE * sum(weight for _, weight in profile.scores)
    if extension.shortlist or extension.weight * terms.POINT > others:
        return verbs
    if not terms.TERMS.get(extension.term).filters:
        verbs = {}
    return verbs | {"prioritizeVerb": PRIORITIZE_VERB, "weight": extension.weight}
