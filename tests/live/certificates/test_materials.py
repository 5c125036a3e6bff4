"""Certificates as they are made, and as a Secret holds them."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from kubestow.live.certificates import authorities, materials, pairs, plans
from kubestow.live.certificates.materials import Materials
from kubestow.model import errors

NOW = 1_800_000_000.0
NAMES = ("web", "web.shop.svc", "10.0.0.1")
RULES = plans.RenewalRules()


def make(now_s: float = NOW) -> Materials:
    return materials.carry_out(plans.plan(None, NAMES, RULES, now_s), None, NAMES, RULES, now_s)


def test_a_certificate_is_for_servers_of_the_given_names_on_p_256() -> None:
    serving = pairs.check("", make().serving)
    assert pairs.names_of(serving) == set(NAMES)
    key = serving.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    usage = serving.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]
    assert not serving.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert serving.not_valid_after_utc == dt.datetime.fromtimestamp(NOW, dt.UTC) + dt.timedelta(90)


def test_an_authority_signs_servers_and_no_authorities() -> None:
    signer = pairs.check("", authorities.make_authority(NOW, 365 * plans.DAY_S))
    constraints = signer.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (constraints.ca, constraints.path_length) == (True, 0)


def test_a_certificate_never_outlives_its_authority() -> None:
    signer = authorities.make_authority(NOW, 10 * plans.DAY_S)
    serving = pairs.check("", authorities.make_serving(signer, NAMES, NOW, 90 * plans.DAY_S))
    assert serving.not_valid_after_utc.timestamp() == NOW + 10 * plans.DAY_S


def test_a_secret_gives_back_what_was_put_in() -> None:
    made = make()
    assert materials.read("Secret", materials.write(made)) == made
    assert materials.secret("c", "shop", made)["type"] == "kubestow.io/certificates"


@pytest.mark.parametrize("data", [None, {}, {"other": "eA=="}, {"tls.crt": ""}])
def test_a_secret_without_ours_is_free(data: dict[str, str] | None) -> None:
    assert materials.read("Secret", data) is None


def test_half_a_secret_is_not_overwritten() -> None:
    data = materials.write(make())
    del data["ca.key"]
    with pytest.raises(errors.InputError, match=r"lacks ca\.key; delete the Secret"):
        materials.read("Secret shop/c", data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("tls.key", "!"), ("tls.crt", "eA=="), ("ca.key", "eA==")],
    ids=["no base64", "no certificate", "no key"],
)
def test_a_damaged_secret_is_refused_without_showing_it(name: str, value: str) -> None:
    data = materials.write(make()) | {name: value}
    with pytest.raises(errors.InputError) as caught:
        materials.read("Secret shop/c", data)
    assert "Secret shop/c" in str(caught.value)
    assert data["tls.key"][:40] not in str(caught.value)


def test_keys_are_in_no_representation() -> None:
    assert "PRIVATE" not in repr(make())


def test_years_of_rotations_never_serves_what_is_not_believed() -> None:
    """Day by day over two years, whoever holds yesterday's bundle believes the server."""
    held = make()
    bundles, authorities_seen, certificates_seen = [held.bundle], set(), set()
    for day in range(1, 730):
        now_s = NOW + day * plans.DAY_S
        plan = plans.plan(materials.facts(held), NAMES, RULES, now_s)
        if not plan.empty:
            held = materials.carry_out(plan, held, NAMES, RULES, now_s)
        serving = pairs.check("", held.serving)
        for bundle in (bundles[-1], held.bundle):
            believed = pairs.read_certificates("", bundle)
            assert any(pairs.is_signed_by(serving, each) for each in believed)
        assert materials.life_of(serving).holds(now_s)
        bundles.append(held.bundle)
        authorities_seen.add(held.signer_key)
        certificates_seen.add(held.serving.certificate)
        assert len(pairs.read_certificates("", held.bundle)) <= 2
    # Authorities at days 0, 244, 488; certificates about every 60 days and with each authority.
    assert len(authorities_seen) == 3
    assert 12 <= len(certificates_seen) <= 16
