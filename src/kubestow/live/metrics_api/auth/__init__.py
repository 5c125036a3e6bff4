"""Authentication and authorization of the metrics API."""

from kubestow.live.metrics_api.auth.authentication import Authenticator
from kubestow.live.metrics_api.auth.authorization import Authorizer, ResourceAttributes
from kubestow.live.metrics_api.auth.tls import ClientCertificateContext
from kubestow.live.metrics_api.auth.users import User

__all__ = ["Authenticator", "Authorizer", "ClientCertificateContext", "ResourceAttributes", "User"]
