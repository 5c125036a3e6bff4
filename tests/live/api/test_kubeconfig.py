"""Kubeconfigs: which files count, how they merge, which context is chosen."""

# ruff: noqa: S105, S106 - tokens here are made up

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.live.api import kubeconfig, service_accounts
from kubestow.model import errors
from tests.live.api import servers

SERVER = "https://10.0.0.1:6443"


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run outside of a cluster, with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(service_accounts, "FOLDER", tmp_path / "serviceaccount")


def _config(name: str, server: str = SERVER, **user: Any) -> dict[str, Any]:
    """Return a document all entries of which have one name."""
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": user}],
    }


def _refusal(path: Path | None = None, context: str | None = None) -> str:
    with pytest.raises(errors.InputError) as caught:
        kubeconfig.find(str(path) if path else None, context)
    return str(caught.value)


def test_the_current_context_of_a_named_file_is_chosen(tmp_path: Path) -> None:
    path = servers.write_kubeconfig(tmp_path, SERVER, "t")
    result = kubeconfig.find(str(path))
    assert (result.context, result.namespace) == ("c", "shop")
    assert (result.cluster.server, result.user.token) == (SERVER, "t")


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    document = _config("a", token="of-a")
    other = _config("b", "https://10.0.0.2", token="of-b")
    for kind in ("contexts", "clusters", "users"):
        document[kind] += other[kind]
    path = servers.write(tmp_path / "config", document)
    assert kubeconfig.find(str(path)).user.token == "of-a"
    result = kubeconfig.find(str(path), "b")
    assert (result.user.token, result.cluster.server) == ("of-b", "https://10.0.0.2")


def test_a_context_without_namespace_is_in_default(tmp_path: Path) -> None:
    path = servers.write(tmp_path / "config", _config("a"))
    assert kubeconfig.find(str(path)).namespace == "default"


def test_the_file_in_the_home_folder_is_the_default(tmp_path: Path) -> None:
    servers.write(tmp_path / "home" / ".kube" / "config", _config("a", token="home"))
    assert kubeconfig.find().user.token == "home"


def test_the_variable_counts_instead_of_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.write(tmp_path / "home" / ".kube" / "config", _config("a", token="home"))
    other = servers.write(tmp_path / "other", _config("b", token="other"))
    monkeypatch.setenv("KUBECONFIG", f":{tmp_path / 'missing'}:{other}:")
    assert kubeconfig.find().user.token == "other"
    assert "'a': expected one of the contexts (b)" in _refusal(context="a")


def test_the_first_file_wins_whole_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = servers.write(tmp_path / "first", _config("a", token="first"))
    second = _config("a", "https://10.0.0.2", token="second", tokenFile="/second/token")
    second["clusters"][0]["cluster"]["tls-server-name"] = "second"
    second["users"].append({"name": "b", "user": {"token": "of-b"}})
    second["contexts"].append({"name": "b", "context": {"cluster": "a", "user": "b"}})
    second["current-context"] = "b"
    path = servers.write(tmp_path / "second", second)
    monkeypatch.setenv("KUBECONFIG", f"{first}:{path}")
    result = kubeconfig.find()
    assert result.context == "a"
    assert (result.user.token, result.user.token_file) == ("first", None)
    assert (result.cluster.server, result.cluster.server_name) == (SERVER, "")
    assert kubeconfig.find(context="b").user.token == "of-b"


NAMES = st.sampled_from(["a", "b", "c"])
FILES = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "c"]), st.sets(NAMES), st.sets(NAMES)), max_size=4
)


@given(FILES)
@settings(max_examples=40)
def test_merging_takes_the_first_of_each_name(
    files: list[tuple[str, set[str], set[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for index, (current, clusters, users) in enumerate(files):
            document = {
                "current-context": current,
                "clusters": [{"name": n, "cluster": {"server": index}} for n in sorted(clusters)],
                "users": [{"name": n, "user": {"token": index}} for n in sorted(users)],
            }
            paths.append(servers.write(Path(folder, str(index), "config"), document))
        merged = kubeconfig.read(paths)
    assert merged.current_context == next((c for c, _, _ in files if c), "")
    for kind, member, column in (("clusters", "cluster", 1), ("users", "user", 2)):
        expected: dict[str, int] = {}
        for index, file in enumerate(files):
            expected = dict.fromkeys(file[column], index) | expected
        result = {
            name: int(next(iter(each.entry[member].mapping().values())))
            for name, each in merged.named[kind].items()
        }
        assert result == expected
        folders = {name: int(each.folder.name) for name, each in merged.named[kind].items()}
        assert folders == expected


def test_relative_paths_start_from_the_file_they_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    cluster = {"server": SERVER, "certificate-authority": "pki/ca.crt"}
    user = {
        "client-certificate": "a.crt",
        "client-key": "/keys/a.key",
        "tokenFile": "../token",
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "interactiveMode": "Never",
            "command": "./bin/login",
        },
    }
    context = {"current-context": "a", "contexts": _config("a")["contexts"]}
    one = servers.write(first / "x", context | {"clusters": [{"name": "a", "cluster": cluster}]})
    two = servers.write(second / "y", {"users": [{"name": "a", "user": user}]})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", f"{one.relative_to(tmp_path)}:{two}")
    result = kubeconfig.find()
    assert result.cluster.authority == first / "pki" / "ca.crt"
    assert result.user.certificate == second / "a.crt"
    assert result.user.key == Path("/keys/a.key")
    assert result.user.token_file == second / ".." / "token"
    assert result.user.plugin is not None
    assert result.user.plugin.command == str(second / "bin" / "login")


def test_a_context_without_user_is_anonymous(tmp_path: Path) -> None:
    document = _config("a", token="unused")
    del document["contexts"][0]["context"]["user"]
    result = kubeconfig.find(str(servers.write(tmp_path / "config", document)))
    assert result.user.token == ""


@pytest.mark.parametrize("kind", ["cluster", "user"])
def test_a_context_of_something_unknown_is_refused(tmp_path: Path, kind: str) -> None:
    document = _config("a")
    document["contexts"][0]["context"][kind] = "other"
    path = servers.write(tmp_path / "config", document)
    expected = f"contexts[0].context.{kind}: 'other': expected one of the {kind}s (a)"
    assert _refusal(path) == f"{path}: {expected}"


def test_a_current_context_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = servers.write(tmp_path / "config", _config("a") | {"current-context": "other"})
    assert _refusal(path) == f"{path}: 'other': expected one of the contexts (a)"


@pytest.mark.parametrize("text", ["", "{}", "kind: Config\nclusters:\n", "current-context: ''"])
def test_a_named_file_that_chooses_nothing_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, "utf-8")
    assert _refusal(path) == f"{path}: no current-context: expected a kubeconfig of a cluster"


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "home" / ".kube" / "config"
    problem = "no current-context and no service account: expected a kubeconfig of a cluster"
    assert _refusal() == f"{place}: {problem}"


def test_a_named_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert _refusal(path) == f"{path}: no such file: expected a kubeconfig of a cluster"


def test_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path))
    assert "Is a directory: expected a kubeconfig of a cluster" in _refusal()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a: [", "not valid YAML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"kind: Secret", "kind: 'Secret': expected one of Config"),
        (b"apiVersion: v2", "apiVersion: 'v2': expected one of v1"),
        (b"a: 1\n---\nb: 2", "2 documents: expected one kubeconfig"),
        (b"clusters: [{name: a}, {name: a}]", "clusters[1].name: 'a': expected a name that occurs"),
        (b"users: [{user: {}}]", "users[0].name: None: expected text"),
        (b"users: {}", "users: expected a list"),
        (b"[hunter2]", "expected a mapping"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text)
    refusal = _refusal(path)
    assert refusal.startswith(str(path))
    assert problem in refusal
    assert "hunter2" not in refusal


@pytest.mark.parametrize("secret", ["!hunter2", "*hunter2", "'hunter2", "hunter2: hunter2", "`h"])
def test_broken_yaml_is_refused_without_its_secrets(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"users:\n- name: a\n  user:\n    password: {secret}\n", "utf-8")
    refusal = _refusal(path)
    assert "not valid YAML" in refusal
    assert "line 4" in refusal or "line 5" in refusal
    assert "hunter2" not in refusal


def test_a_pod_uses_its_service_account_unless_a_context_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service_accounts.FOLDER.mkdir()
    (service_accounts.FOLDER / "token").write_text("t")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.9")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert kubeconfig.find().cluster.server == "https://10.0.0.9:443"
    path = servers.write(tmp_path / "config", _config("a"))
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert kubeconfig.find().cluster.server == SERVER
    servers.write(path, _config("a") | {"current-context": ""})
    assert kubeconfig.find().cluster.server == "https://10.0.0.9:443"
    assert "no current-context" in _refusal(path)
