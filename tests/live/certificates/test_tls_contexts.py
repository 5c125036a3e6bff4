"""TLS: who is believed, and certificates that change while a server serves."""

from __future__ import annotations

import ssl

import httpx
import pytest

from kubestow.live.certificates import tls_contexts
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.servers import running
from kubestow.model import errors
from tests.live.servers import make


def serial_of(port: int, client: ssl.SSLContext) -> str:
    """Return the number of the certificate a server shows to a new connection."""
    with (
        make.connected(port) as plain,
        client.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        result = secure.getpeercert()
        assert result is not None
        return str(result["serialNumber"])


def test_a_new_certificate_serves_under_load_without_a_failed_request() -> None:
    signer = make.authority()
    context, client = tls_contexts.make_tls_context(), make.trusting(signer)
    tls_contexts.load_certificate(context, make.serving(signer))
    with running.in_background(make.server(context=context)) as server:
        first = serial_of(server.port, client)
        kept = httpx.Client(verify=client, base_url=server.url)

        def ask() -> None:
            assert kept.post("/measure", content=b"abc").text == "3"
            with httpx.Client(verify=client, base_url=server.url) as fresh:
                assert fresh.post("/measure", content=b"abc").text == "3"

        with kept, make.Steady(ask, 3) as steady:
            seen = {first}
            for _ in range(10):
                steady.wait_for(5)
                pair = make.serving(signer)
                assert server.loop is not None
                server.loop.call_soon_threadsafe(tls_contexts.load_certificate, context, pair)
                steady.wait_for(5)
                seen.add(serial_of(server.port, client))
        assert steady.failures == []
        assert len(seen) == 11


def test_a_key_of_another_certificate_is_refused_and_the_old_one_serves_on() -> None:
    signer = make.authority()
    one, other = make.serving(signer), make.serving(signer)
    context, client = tls_contexts.make_tls_context(), make.trusting(signer)
    tls_contexts.load_certificate(context, one)
    with pytest.raises(errors.InputError, match="does not match"):
        tls_contexts.load_certificate(context, KeyPair(one.certificate, other.key))
    with running.in_background(make.server(context=context)) as server:
        assert serial_of(server.port, client)


@pytest.mark.parametrize("pair", [KeyPair(b"", b""), KeyPair(b"junk", b"junk")])
def test_what_is_no_certificate_is_refused(pair: KeyPair) -> None:
    with pytest.raises(errors.InputError, match="expected certificates"):
        tls_contexts.load_certificate(tls_contexts.make_tls_context(), pair)


def test_no_message_shows_a_key() -> None:
    signer = make.authority()
    pair = make.serving(signer)
    assert "PRIVATE" not in repr(pair)
    with pytest.raises(errors.InputError) as caught:
        tls_contexts.load_certificate(
            tls_contexts.make_tls_context(), KeyPair(pair.certificate, pair.key[:-80])
        )
    assert pair.key.decode()[40:60] not in str(caught.value)


@pytest.mark.parametrize("required", [True, False])
def test_clients_are_known_by_their_certificate(tmp_path: object, required: bool) -> None:
    signer, clients = make.authority(), make.authority()
    context = tls_contexts.make_tls_context(clients.certificate, required=required)
    tls_contexts.load_certificate(context, make.serving(signer))
    shown = make.trusting(signer)
    tls_contexts.load_certificate(shown, _client(clients, "front-proxy"))
    with running.in_background(make.server(context=context)) as server:
        with httpx.Client(verify=shown, base_url=server.url) as known:
            assert "front-proxy" in known.get("/name").text
        with httpx.Client(verify=make.trusting(signer), base_url=server.url) as unknown:
            if required:
                with pytest.raises(httpx.TransportError):
                    unknown.get("/name")
            else:
                assert unknown.get("/name").text == "nobody"


def test_a_client_of_another_authority_is_refused() -> None:
    signer, clients, strangers = make.authority(), make.authority(), make.authority()
    context = tls_contexts.make_tls_context(clients.certificate)
    tls_contexts.load_certificate(context, make.serving(signer))
    shown = make.trusting(signer)
    tls_contexts.load_certificate(shown, _client(strangers, "front-proxy"))
    with (
        running.in_background(make.server(context=context)) as server,
        httpx.Client(verify=shown, base_url=server.url) as client,
        pytest.raises(httpx.TransportError),
    ):
        client.get("/name")


def test_required_clients_need_an_authority() -> None:
    with pytest.raises(errors.InputError, match="are missing"):
        tls_contexts.make_tls_context(required=True)


def test_old_protocols_are_refused() -> None:
    context = tls_contexts.make_tls_context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def _client(signer: KeyPair, name: str) -> KeyPair:
    """Return a client's certificate."""
    import datetime as dt

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    issuer = x509.load_pem_x509_certificate(signer.certificate)
    secret = serialization.load_pem_private_key(signer.key, None)
    assert isinstance(secret, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(secret.public_key()), critical=False
        )
        .sign(secret, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return KeyPair(
        made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
