"""KubeSchedulerConfiguration v1 with an extenders section, for profiles with an extension.

kube-scheduler then calls an HTTP server that hosts the term. Extenders belong to the scheduler,
not to a profile, so they receive the pods of all its profiles; to serve other profiles without
the term, run another scheduler process. Only names of nodes are sent (``nodeCacheCapable``): the
server knows the nodes. If it does not respond in time, kube-scheduler continues without it
(``ignorable``).
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
    """TLS settings of kube-scheduler for the server; paths are those in its own container.

    Attributes:
        ca_file: CA certificates that verify the server; empty for those of the system.
        server_name: Name in the server's certificate, where it differs from the address.
        cert_file: Client certificate of kube-scheduler; empty for none.
        key_file: Its key.
    """

    ca_file: str = ""
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the tlsConfig of an extender."""
        settings = {
            "serverName": self.server_name,
            "certFile": self.cert_file,
            "keyFile": self.key_file,
            "caFile": self.ca_file,
        }
        return {key: value for key, value in settings.items() if value}


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
        tls: TLS settings; required for https, refused for http.
        timeout_s: How long kube-scheduler waits for a response, in seconds.

    Raises:
        InputError: If the address does not match ``tls``, or the weight is not positive.
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
    """Return the verbs that kube-scheduler calls; each call costs time for every pod.

    A term of which one point exceeds all other scores together decides alone. It is called once, as
    a filter, and returns its best node. kube-scheduler then has one node left and skips scoring;
    the choice is the same. A term that makes a shortlist is also called only once.
    """
    verbs: dict[str, Any] = {"filterVerb": FILTER_VERB}
    others = scheduler.MAX_SCORE * sum(weight for _, weight in profile.scores)
    if extension.shortlist or extension.weight * terms.POINT > others:
        return verbs
    if not terms.TERMS.get(extension.term).filters:
        verbs = {}
    return verbs | {"prioritizeVerb": PRIORITIZE_VERB, "weight": extension.weight}
