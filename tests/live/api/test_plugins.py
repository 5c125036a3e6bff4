"""Exec plugins: real scripts that succeed, fail, hang and print nonsense."""

# ruff: noqa: S105, S106 - tokens here are made up

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import plugins
from kubestow.live.api.accesses import Plugin, ServerAccess
from kubestow.model import errors
from tests.live.api import scripts

CLUSTER = ServerAccess("file: cluster", "https://10.0.0.1:6443")
TOKEN = "hunter2-hunter2-hunter2"


def _run(plugin: Plugin, cluster: ServerAccess = CLUSTER) -> plugins.Issued:
    return asyncio.run(plugins.run(plugin, cluster))


def _refusal(plugin: Plugin, cluster: ServerAccess = CLUSTER) -> str:
    with pytest.raises(errors.InputError) as caught:
        _run(plugin, cluster)
    assert caught.value.place == "file: exec"
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value.problem


def _info(tmp_path: Path, plugin: Plugin, cluster: ServerAccess = CLUSTER) -> Any:
    _run(plugin, cluster)
    return json.loads((tmp_path / "info").read_text("utf-8"))


def _recording(tmp_path: Path) -> Path:
    """Return a script that records its request."""
    output = scripts.credential(token=TOKEN)
    return scripts.write(
        tmp_path / "login",
        f"printf %s \"$KUBERNETES_EXEC_INFO\" >'{tmp_path}/info'\necho '{output}'",
    )


def test_a_token_is_read(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token=TOKEN))
    result = _run(scripts.plugin(path))
    assert (result.token, result.certificate, result.expires_s) == (TOKEN, b"", float("inf"))
    assert TOKEN not in repr(result)


def test_a_certificate_and_an_expiry_are_read(tmp_path: Path) -> None:
    output = scripts.credential(
        token=None,
        clientCertificateData="certificate",
        clientKeyData="key",
        expirationTimestamp="2030-01-01T01:00:00+01:00",
    )
    result = _run(scripts.plugin(scripts.printing(tmp_path / "login", output)))
    assert (result.token, result.certificate, result.key) == ("", b"certificate", b"key")
    assert result.expires_s == 1893456000.0


def test_arguments_and_variables_reach_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTER", "o")
    monkeypatch.setenv("BOTH", "outer")
    output = scripts.credential(token="@")
    path = scripts.write(
        tmp_path / "login",
        f"input=$(cat)\necho '{output}' | sed \"s/@/$1-$2-$OUTER-$BOTH-$input/\"",
    )
    plugin = scripts.plugin(path, "a b", "$HOME", environment={"BOTH": "own"})
    assert _run(plugin).token == "a b-$HOME-o-own-"


def test_a_command_without_a_path_is_found_by_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts.printing(tmp_path / "login", scripts.credential(token=TOKEN))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert _run(scripts.plugin(Path("login"))).token == TOKEN


def test_the_request_to_a_plugin_is_not_interactive(tmp_path: Path) -> None:
    assert _info(tmp_path, scripts.plugin(_recording(tmp_path))) == {
        "apiVersion": scripts.VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


def test_a_plugin_gets_a_description_of_the_cluster_if_configured_so(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_text("pem")
    cluster = ServerAccess(
        "file: cluster",
        "https://10.0.0.1:6443",
        authority=authority,
        server_name="kubernetes",
        proxy="http://proxy:3128",
        compressed=False,
        plugin_settings={"audience": "x"},
    )
    plugin = scripts.plugin(_recording(tmp_path), describes_cluster=True)
    assert _info(tmp_path, plugin, cluster)["spec"]["cluster"] == {
        "server": "https://10.0.0.1:6443",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": base64.b64encode(b"pem").decode(),
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
        "config": {"audience": "x"},
    }
    bare = ServerAccess("file: cluster", "https://a", insecure=True)
    assert _info(tmp_path, plugin, bare)["spec"]["cluster"] == {
        "server": "https://a",
        "insecure-skip-tls-verify": True,
        "config": None,
    }


def test_settings_that_are_not_json_are_refused(tmp_path: Path) -> None:
    cluster = ServerAccess("file: cluster", "https://a", plugin_settings={None: 1j})
    with pytest.raises(errors.InputError, match=r"file: cluster\.extensions: expected settings"):
        _run(scripts.plugin(_recording(tmp_path), describes_cluster=True), cluster)


def test_a_missing_program_is_refused_with_its_hint(tmp_path: Path) -> None:
    plugin = scripts.plugin(tmp_path / "login", hint="brew\ninstall \x1b[1mlogin")
    expected = f"'{tmp_path}/login': not found: expected an executable; brew install [1mlogin"
    assert _refusal(plugin) == expected


def test_a_program_that_cannot_run_is_refused(tmp_path: Path) -> None:
    path = scripts.write(tmp_path / "login", "")
    path.write_text("#!/nowhere/sh\n")
    assert "No such file or directory: expected an executable" in _refusal(scripts.plugin(path))


def test_an_argument_that_no_program_can_get_is_refused(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token=TOKEN))
    assert "null byte: expected an executable" in _refusal(scripts.plugin(path, "a\0b"))


def test_a_failure_shows_standard_error_but_no_secret(tmp_path: Path) -> None:
    path = scripts.write(
        tmp_path / "login",
        f"""echo '{scripts.credential(token=TOKEN)}'
        printf 'not\\033[0m logged in as %s\\n' {TOKEN} >&2
        exit 3""",
    )
    assert _refusal(scripts.plugin(path)).endswith("exit code 3: not [0m logged in as ...")


def test_a_silent_failure_is_said_to_be_one(tmp_path: Path) -> None:
    path = scripts.write(tmp_path / "login", "exit 1")
    assert _refusal(scripts.plugin(path)).endswith("exit code 1: nothing on standard error")


def test_a_long_complaint_is_cut(tmp_path: Path) -> None:
    path = scripts.write(tmp_path / "login", "yes long | head -n 10000 >&2\necho end >&2\nexit 1")
    problem = _refusal(scripts.plugin(path))
    assert problem.endswith("long end")
    assert len(problem) < 700


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("", "standard output is not JSON: expected an ExecCredential"),
        (TOKEN, "standard output is not JSON: expected an ExecCredential"),
        (f'{{"token": "{TOKEN}"', "standard output is not JSON"),
        (f'["{TOKEN}"]', "standard output: Expected `object`, got `array`"),
        (
            scripts.credential(token=TOKEN).replace("ExecCredential", TOKEN),
            "printed another kind: expected an ExecCredential",
        ),
        (
            scripts.credential(TOKEN, token=TOKEN),
            f"printed another version: expected {scripts.VERSION}",
        ),
        (
            scripts.credential("client.authentication.k8s.io/v1beta1", token=TOKEN),
            f"printed {scripts.VERSION}beta1: expected {scripts.VERSION}",
        ),
        (scripts.credential(), "printed no credentials: expected a token or a client certificate"),
        (scripts.credential(token=""), "printed no credentials"),
        (scripts.credential().replace("{}", "null"), "printed no credentials"),
        (scripts.credential(token=[TOKEN]), "Expected `str | null`, got `array` - at `$.status.t"),
        (
            scripts.credential(token=TOKEN, clientCertificateData="x"),
            "printed a certificate or a key: expected both or neither",
        ),
        (
            scripts.credential(token=TOKEN, clientKeyData="x"),
            "printed a certificate or a key: expected both or neither",
        ),
        (
            scripts.credential(token=TOKEN, expirationTimestamp="tomorrow"),
            "Invalid RFC3339 encoded datetime - at `$.status.expirationTimestamp`",
        ),
        (
            scripts.credential(token=TOKEN, expirationTimestamp="2030-01-01T00:00:00"),
            "Expected `datetime` with a timezone component",
        ),
    ],
)
def test_other_output_is_refused(tmp_path: Path, output: str, problem: str) -> None:
    path = scripts.printing(tmp_path / "login", output)
    assert problem in _refusal(scripts.plugin(path))


def test_output_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = scripts.write(tmp_path / "login", 'printf \'{"kind": "\\377"}\'')
    assert "standard output is not JSON" in _refusal(scripts.plugin(path))


def _is_alive(group: int) -> bool:
    """Return whether a process of a group is left; zombies do not count."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, result = path.read_text().rpartition(")")[2].split()[:3]
            if int(result) == group and state != "Z":
                return True
    return False


def _ends(group: int) -> bool:
    until_s = time.monotonic() + 10.0
    while _is_alive(group) and time.monotonic() < until_s:
        time.sleep(0.01)
    return not _is_alive(group)


@pytest.mark.parametrize("body", ["sleep 60", "sleep 60 &\nwait", "exec >&- 2>&-\nsleep 60"])
def test_a_plugin_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(plugins, "TIMEOUT_S", 1.0)
    path = scripts.write(tmp_path / "login", f"echo $$ >'{tmp_path}/pid'\n{body}")
    began_s = time.monotonic()
    assert _refusal(scripts.plugin(path)).endswith("still running after 1 s")
    assert time.monotonic() - began_s < 10.0
    assert _ends(int((tmp_path / "pid").read_text()))


def test_a_plugin_ends_with_the_task_that_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scripts.write(tmp_path / "login", f"echo $$ >'{tmp_path}/pid'\nsleep 60")
    reading, read = asyncio.Event(), plugins._read

    async def note(*given: Any) -> bytes:
        reading.set()
        return await read(*given)

    async def give_up() -> None:
        running = asyncio.create_task(plugins.run(scripts.plugin(path), CLUSTER))
        await reading.wait()
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        running.cancel()
        await running

    monkeypatch.setattr(plugins, "_read", note)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(give_up())
    assert _ends(int((tmp_path / "pid").read_text()))


def test_endless_output_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "MOST_OUTPUT", 100_000)
    path = scripts.write(tmp_path / "login", "yes | tr -d '\\n'")
    assert _refusal(scripts.plugin(path)).endswith("more than 100000 bytes on standard output")


def test_much_on_standard_error_holds_up_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "MOST_OUTPUT", 100_000)
    output = scripts.credential(token=TOKEN)
    path = scripts.write(tmp_path / "login", f"yes | head -c 1000000 >&2\necho '{output}'")
    assert _run(scripts.plugin(path)).token == TOKEN
