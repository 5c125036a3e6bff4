"""Certificates shared by replicas through a Secret, and those in mounted files."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.certificates import bundles, pairs, plans, sources
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.certificates.sources import ManagedCertificate
from kubestow.model import errors
from tests.live.certificates.fake_clusters import FakeCluster
from tests.live.servers import make

NOW = 1_800_000_000.0
NAMES = ("web.shop.svc",)
SECRETS = "/api/v1/namespaces/shop/secrets"
SECRET = f"{SECRETS}/certificates"
HOOK = bundles.Webhooks("kubestow")


def replica(
    cluster: FakeCluster, targets: Sequence[bundles.BundleTarget] = ()
) -> ManagedCertificate:
    return ManagedCertificate(cluster, "shop", "certificates", NAMES, targets)


def hooked() -> FakeCluster:
    """Return a cluster with a webhook configuration of two webhooks."""
    cluster = FakeCluster()
    hooks = [{"name": name, "clientConfig": {"url": "https://x"}} for name in ("a.x.io", "b.x.io")]
    cluster.add(HOOK.path, {"webhooks": hooks})
    return cluster


def authorities_in(cluster: FakeCluster) -> tuple[Any, ...]:
    pem = base64.b64decode(cluster.objects[SECRET]["data"]["ca.crt"])
    return pairs.read_certificates("", pem)


def test_the_first_replica_makes_the_secret_and_the_next_adopts_it() -> None:
    cluster = FakeCluster()
    first = asyncio.run(replica(cluster).current(NOW))
    second = asyncio.run(replica(cluster).current(NOW))
    assert first == second
    assert cluster.writes == [("POST", SECRET)]


@pytest.mark.parametrize("empty", [True, False], ids=["an empty secret", "no secret"])
def test_replicas_that_start_at_once_agree_on_one_authority(empty: bool) -> None:
    cluster = FakeCluster()
    if empty:  # as a chart makes it, so that rights can be limited to its name
        cluster.add(SECRET, {"metadata": {"name": "certificates"}, "type": "Opaque"})

    async def start() -> list[KeyPair]:
        return await asyncio.gather(*(replica(cluster).current(NOW) for _ in range(8)))

    assert len(set(asyncio.run(start()))) == 1
    assert len(authorities_in(cluster)) == 1
    assert len(cluster.writes) == 1


def test_replicas_that_rotate_at_once_agree_on_one_new_authority() -> None:
    cluster = FakeCluster()
    asyncio.run(replica(cluster).current(NOW))
    later_s = NOW + 250 * plans.DAY_S

    async def rotate() -> list[KeyPair]:
        return await asyncio.gather(*(replica(cluster).current(later_s) for _ in range(8)))

    assert len(set(asyncio.run(rotate()))) == 1
    assert len(authorities_in(cluster)) == 2


def test_other_contents_of_the_secret_survive() -> None:
    cluster = FakeCluster()
    cluster.add(SECRET, {"metadata": {"name": "certificates"}, "data": {"mine": "eA=="}})
    asyncio.run(replica(cluster).current(NOW))
    assert cluster.objects[SECRET]["data"]["mine"] == "eA=="


def test_a_secret_of_someone_else_is_not_overwritten() -> None:
    cluster = FakeCluster()
    cluster.add(SECRET, {"metadata": {"name": "certificates"}, "data": {"tls.crt": "eA=="}})
    with pytest.raises(errors.InputError, match="Secret shop/certificates"):
        asyncio.run(replica(cluster).current(NOW))
    assert cluster.writes == []


def test_the_bundle_is_written_to_all_webhooks_and_only_when_it_differs() -> None:
    cluster = hooked()
    for _ in range(3):
        asyncio.run(replica(cluster, [HOOK]).current(NOW))
    reported = {hook["clientConfig"]["caBundle"] for hook in cluster.objects[HOOK.path]["webhooks"]}
    assert reported == {cluster.objects[SECRET]["data"]["ca.crt"]}
    assert cluster.writes == [("POST", SECRET), ("PATCH", HOOK.path)]


def test_a_rotation_publishes_the_new_authority_before_it_signs() -> None:
    cluster = hooked()
    source = replica(cluster, [HOOK])
    old = asyncio.run(source.current(NOW))
    later_s = NOW + 250 * plans.DAY_S
    # The certificate has ended meanwhile; renewed regularly it would be of the old authority.
    between = asyncio.run(source.current(NOW + 200 * plans.DAY_S))
    assert between != old
    during = asyncio.run(source.current(later_s))
    assert during == between
    reported = cluster.objects[HOOK.path]["webhooks"][0]["clientConfig"]["caBundle"]
    assert len(pairs.read_certificates("", base64.b64decode(reported))) == 2
    after = asyncio.run(source.current(later_s + 601.0))
    newest, oldest = authorities_in(cluster)
    served = pairs.check("", after)
    assert pairs.is_signed_by(served, newest)
    assert not pairs.is_signed_by(served, oldest)


def test_a_new_authority_that_cannot_be_published_does_not_sign() -> None:
    cluster = hooked()
    source = replica(cluster, [HOOK])
    asyncio.run(source.current(NOW))
    before = asyncio.run(source.current(NOW + 200 * plans.DAY_S))
    cluster.refused = {HOOK.path}
    for after_s in (250 * plans.DAY_S, 251 * plans.DAY_S):
        with pytest.raises(sources.RenewalError, match="Forbidden") as caught:
            asyncio.run(source.current(NOW + after_s))
        assert caught.value.pair == before
    cluster.refused = set()
    assert asyncio.run(source.current(NOW + 252 * plans.DAY_S)) != before


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    cluster = FakeCluster()
    cluster.refused = {SECRETS}
    with pytest.raises(ApiError, match="Forbidden"):
        asyncio.run(replica(cluster).current(NOW))


def test_webhooks_that_change_their_order_get_the_bundle_all_the_same() -> None:
    class Shuffling(FakeCluster):
        async def patch(self, path: str, body: Any, content_type: str = "") -> dict[str, Any]:
            if not self.writes:
                self.writes.append(("shuffled", path))
                self.objects[path]["webhooks"].reverse()
            return await super().patch(path, body, content_type)

    cluster = Shuffling()
    cluster.objects = hooked().objects
    cluster.objects[HOOK.path]["webhooks"][0]["clientConfig"]["caBundle"] = "YQ=="
    assert asyncio.run(bundles.announce(cluster, HOOK, b"a"))
    hooks = cluster.objects[HOOK.path]["webhooks"]
    assert {hook["clientConfig"]["caBundle"] for hook in hooks} == {"YQ=="}


def test_what_cert_manager_injects_is_left_alone() -> None:
    cluster = hooked()
    note = {"cert-manager.io/inject-ca-from": "shop/web"}
    cluster.objects[HOOK.path]["metadata"]["annotations"] = note
    assert not asyncio.run(bundles.announce(cluster, HOOK, b"a"))
    assert cluster.writes == []


def test_an_api_service_gets_the_bundle_instead_of_blind_trust() -> None:
    target = bundles.ApiService("v1beta1.custom.metrics.k8s.io")
    cluster = FakeCluster()
    cluster.add(target.path, {"spec": {"insecureSkipTLSVerify": True, "group": "g"}})
    assert asyncio.run(bundles.announce(cluster, target, b"a"))
    assert cluster.objects[target.path]["spec"] == {"caBundle": "YQ==", "group": "g"}
    assert not asyncio.run(bundles.announce(cluster, target, b"a"))


def test_mounted_files_are_read_anew(tmp_path: Path) -> None:
    signer = make.authority()
    source = sources.mounted_folder(tmp_path)
    for _ in range(2):
        pair = make.serving(signer)
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)
        assert asyncio.run(source.current(NOW)) == pair


def test_mounted_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    signer = make.authority()
    (tmp_path / "tls.crt").write_bytes(make.serving(signer).certificate)
    (tmp_path / "tls.key").write_bytes(make.serving(signer).key)
    with pytest.raises(errors.InputError, match="does not match"):
        asyncio.run(sources.mounted_folder(tmp_path).current(NOW))


def test_missing_and_huge_files_are_refused(tmp_path: Path) -> None:
    source = sources.mounted_folder(tmp_path)
    with pytest.raises(errors.InputError, match=r"tls\.crt: cannot be read"):
        asyncio.run(source.current(NOW))
    (tmp_path / "tls.crt").write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(errors.InputError, match="at most"):
        asyncio.run(source.current(NOW))
