"""The service account of a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubestow.live.api import service_accounts
from kubestow.model import errors

INSIDE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("token", "t"), ("ca.crt", "c"), ("namespace", "shop\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(service_accounts, "FOLDER", tmp_path)
    return tmp_path


def test_a_pod_finds_server_authority_token_and_namespace(folder: Path) -> None:
    result = service_accounts.find(INSIDE)
    assert result is not None
    assert (result.cluster.server, result.namespace) == ("https://10.0.0.1:443", "shop")
    assert result.cluster.authority == folder / "ca.crt"
    assert result.user.token_file == folder / "token"
    assert result.context is None


def test_an_address_of_ipv6_is_bracketed() -> None:
    result = service_accounts.find(INSIDE | {"KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert result is not None
    assert result.cluster.server == "https://[fd00::1]:443"


def test_the_variable_of_the_namespace_counts_first() -> None:
    result = service_accounts.find(INSIDE | {"POD_NAMESPACE": "other"})
    assert result is not None
    assert result.namespace == "other"


def test_without_its_files_the_namespace_is_default_and_the_system_is_trusted(
    folder: Path,
) -> None:
    (folder / "namespace").unlink()
    (folder / "ca.crt").unlink()
    result = service_accounts.find(INSIDE)
    assert result is not None
    assert (result.namespace, result.cluster.authority) == ("default", None)


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_without_a_variable_this_is_no_pod(name: str) -> None:
    assert service_accounts.find({**INSIDE, name: ""}) is None


def test_without_a_token_this_is_no_pod(folder: Path) -> None:
    (folder / "token").unlink()
    assert service_accounts.find(INSIDE) is None
    (folder / "token").mkdir()
    assert service_accounts.find(INSIDE) is None


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(errors.InputError, match="KUBERNETES_SERVICE_PORT: 'tcp://x': expected"):
        service_accounts.find(INSIDE | {"KUBERNETES_SERVICE_PORT": "tcp://x"})
