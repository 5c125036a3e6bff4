"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, KWOK.

Every component is the published program (``controlplane/``, ``kwok/``) as a separate process, so
that tests can kill and restart each. Facts on its flags: REAL-CLUSTER.md of the design.
"""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from testenv import authorities, building, isolation, native_histograms, prometheus_servers
from testenv.processes import Process

ETCD, API, CONTROLLERS, SCHEDULER, KUBELETS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
)
_READY_S = 60.0
_PARALLEL = 16  # for every kind of work of KWOK; the default is 1


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a test cluster.

    Attributes:
        hpa_sync_s: Sync period of the HPA controller in seconds; upstream default 15 s.
        api_qps: Client-side limit of the controllers and the scheduler, in requests per second.
        scheduler: KubeSchedulerConfiguration without its client connection.
        scheduler_flags: Further flags of the scheduler, such as log verbosity.
    """

    hpa_sync_s: float = 1.0
    api_qps: int = 1000
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    scheduler_flags: tuple[str, ...] = ()


class Cluster:
    """A control plane and its folder of certificates, kubeconfigs and logs."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.folder = folder
        self.settings = settings or Settings()
        self.program = building.build("controlplane")
        self.ports = {
            name: prometheus_servers.free_port() for name in (ETCD, API, CONTROLLERS, SCHEDULER)
        }
        self.authority = authorities.Authority(folder / "pki", "ca")
        self.front_proxy = authorities.Authority(folder / "front-proxy", "front-proxy-ca")
        self.url = f"https://127.0.0.1:{self.ports[API]}"
        self.kubeconfig = self.add_user("admin", ("system:masters",))
        self._client: httpx.Client | None = None
        self.processes = self._prepare()

    def start(self) -> None:
        """Start all components and wait until pods can be run."""
        self.restart_api()
        self.processes[CONTROLLERS].start()
        self.processes[SCHEDULER].start()
        self.processes[KUBELETS].start()
        for name in (CONTROLLERS, SCHEDULER):
            healthy = functools.partial(self._is_healthy, name)
            self.processes[name].wait_until(healthy, _READY_S)
        # Pods are refused until a controller has created their service account.
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_for(lambda: self.request("GET", path, missing=True) is not None, _READY_S)

    def restart_api(self) -> None:
        """Start etcd and the API server if they are not running, and wait for them."""
        etcd, api = self.processes[ETCD], self.processes[API]
        if not etcd.runs:
            etcd.start()
            etcd.wait_until(lambda: _accepts(self.ports[ETCD]), _READY_S)
        if not api.runs:
            self._disconnect()
            api.start()
            api.wait_until(self._api_is_ready, _READY_S)

    def stop(self) -> None:
        """End all components, the API server after its clients."""
        self._disconnect()
        for name in (KUBELETS, SCHEDULER, CONTROLLERS, API, ETCD):
            self.processes[name].stop()

    def configure_scheduler(self, configuration: Mapping[str, Any]) -> None:
        """Run the scheduler with another configuration.

        Args:
            configuration: KubeSchedulerConfiguration; its client connection is filled in.
        """
        scheduler = self.processes[SCHEDULER]
        scheduler.stop()
        self._write_scheduler(configuration)
        scheduler.start()
        scheduler.wait_until(lambda: self._is_healthy(SCHEDULER), _READY_S)

    def add_user(self, name: str, groups: tuple[str, ...] = ()) -> Path:
        """Return a kubeconfig for a user."""
        pair = self.authority.client(name, name, groups)
        path = self.folder / f"{name}.kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority": str(self.authority.pair.certificate),
                    },
                }
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate": str(pair.certificate),
                        "client-key": str(pair.key),
                    },
                }
            ],
        }
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        missing: bool = False,
    ) -> Any:
        """Send a request to the API server as an administrator.

        Args:
            method: HTTP method.
            path: Path with its query.
            body: Body, sent as JSON.
            content: Content type of the body.
            missing: Whether to return ``None`` for status 404 instead of raising an error.
        """
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": content}
        response = self.client.request(method, path, content=data, headers=headers)
        if missing and response.status_code == httpx.codes.NOT_FOUND:
            return None
        if response.is_error:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")
        return response.json()

    @property
    def client(self) -> httpx.Client:
        """A client with the rights of an administrator."""
        if self._client is None:
            trust = ssl.create_default_context(cafile=self.authority.pair.certificate)
            pair = self.folder / "pki" / "admin.crt", self.folder / "pki" / "admin.key"
            trust.load_cert_chain(*pair)
            limits = httpx.Limits(max_connections=32)
            self._client = httpx.Client(
                base_url=self.url, verify=trust, timeout=30.0, limits=limits, trust_env=False
            )
        return self._client

    def metrics(self, name: str) -> str:
        """Return the Prometheus text of a component."""
        if name == API:
            return self.client.get("/metrics").text
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE  # self-signed
        url = f"https://127.0.0.1:{self.ports[name]}/metrics"
        return httpx.get(url, verify=trust, trust_env=False, timeout=10.0).text

    def histogram(self, name: str, labels: Mapping[str, str]) -> native_histograms.Edges:
        """Return a histogram of the API server with edges 9 % apart."""
        answer = self.client.get("/metrics", headers={"Accept": native_histograms.ACCEPT})
        return native_histograms.read(answer.content, name, labels)

    def _disconnect(self) -> None:
        """Close connections, which do not survive a restart of the server."""
        if self._client is not None:
            self._client.close()
        self._client = None

    def _prepare(self) -> dict[str, Process]:
        commands = {
            ETCD: [
                f"--listen=http://127.0.0.1:{self.ports[ETCD]}",
                f"--data-dir={self.folder / 'etcd'}",
            ],
            API: self._api_flags(),
            CONTROLLERS: self._controller_flags(),
            SCHEDULER: self._scheduler_flags(),
        }
        made = {
            name: Process(name, [str(self.program), name, *flags], self.folder / f"{name}.log")
            for name, flags in commands.items()
        }
        kwok = [str(building.build("kwok")), *self._kwok_flags()]
        made[KUBELETS] = Process(KUBELETS, kwok, self.folder / "kwok.log")
        return made

    def _api_flags(self) -> list[str]:
        serving = self.authority.server("kube-apiserver", ("127.0.0.1", "localhost"))
        accounts = self.authority.client("service-accounts", "service-accounts")
        proxy = self.front_proxy.client("front-proxy", "front-proxy-client")
        return [
            f"--etcd-servers=http://127.0.0.1:{self.ports[ETCD]}",
            "--bind-address=127.0.0.1",
            "--advertise-address=240.4.0.2",  # not used: see the next line
            "--endpoint-reconciler-type=none",
            f"--secure-port={self.ports[API]}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self.authority.pair.certificate}",
            "--authorization-mode=RBAC",
            f"--service-cluster-ip-range={isolation.SERVICES}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts.certificate}",
            f"--service-account-signing-key-file={accounts.key}",
            "--enable-aggregator-routing=false",
            f"--requestheader-client-ca-file={self.front_proxy.pair.certificate}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={proxy.certificate}",
            f"--proxy-client-key-file={proxy.key}",
        ]

    def _controller_flags(self) -> list[str]:
        config = self.add_user("system:kube-controller-manager")
        accounts = self.folder / "pki" / "service-accounts.key"
        return [
            f"--kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports[CONTROLLERS]}",
            "--leader-elect=false",
            f"--root-ca-file={self.authority.pair.certificate}",
            f"--service-account-private-key-file={accounts}",
            "--use-service-account-credentials=true",
            f"--kube-api-qps={self.settings.api_qps}",
            f"--kube-api-burst={2 * self.settings.api_qps}",
            f"--horizontal-pod-autoscaler-sync-period={self.settings.hpa_sync_s}s",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
        ]

    def _scheduler_flags(self) -> list[str]:
        config = self.add_user("system:kube-scheduler")
        self._write_scheduler(self.settings.scheduler)
        return [
            f"--config={self.folder / 'scheduler.yaml'}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports[SCHEDULER]}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
            *self.settings.scheduler_flags,
        ]

    def _write_scheduler(self, configuration: Mapping[str, Any]) -> None:
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **configuration,
            "leaderElection": {"leaderElect": False},
            "clientConnection": {
                "kubeconfig": str(self.folder / "system:kube-scheduler.kubeconfig"),
                "qps": self.settings.api_qps,
                "burst": 2 * self.settings.api_qps,
            },
        }
        text = yaml.safe_dump(document)
        (self.folder / "scheduler.yaml").write_text(text, encoding="utf-8")

    def _kwok_flags(self) -> list[str]:
        settings = {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokConfiguration",
            "options": {
                "manageAllNodes": True,
                "cidr": isolation.PODS,
                "nodeIP": isolation.NODE_ADDRESS,
                "nodeLeaseDurationSeconds": 40,
                "nodeLeaseParallelism": _PARALLEL,
                "nodePlayStageParallelism": _PARALLEL,
                "podPlayStageParallelism": _PARALLEL,
            },
        }
        stages = (building.HERE / "kwok" / "stages.yaml").read_text(encoding="utf-8")
        file = self.folder / "kwok.yaml"
        file.write_text(f"{yaml.safe_dump(settings)}---\n{stages}", encoding="utf-8")
        config = self.add_user("kwok", ("system:masters",))
        return [f"--config={file}", f"--kubeconfig={config}"]

    def _api_is_ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return self.client.get("/readyz").status_code == httpx.codes.OK
        return False

    def _is_healthy(self, name: str) -> bool:
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        url = f"https://127.0.0.1:{self.ports[name]}/healthz"
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(url, verify=trust, trust_env=False).status_code == httpx.codes.OK
        return False


@contextlib.contextmanager
def run(folder: Path, settings: Settings | None = None) -> Iterator[Cluster]:
    """Yield a running cluster and stop it at the end."""
    cluster = Cluster(folder, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def wait_for(condition: Callable[[], bool], seconds: float, every_s: float = 0.05) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: If it does not hold in time.
    """
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds:g} s")
        time.sleep(every_s)


def _accepts(port: int) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).is_success
    return False


def main() -> int:
    """Run a cluster until Ctrl-C, for manual inspection."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="kubestow-"))
    folder.mkdir(parents=True, exist_ok=True)
    with run(folder.resolve()) as cluster:
        sys.stdout.write(f"export KUBECONFIG={cluster.kubeconfig}\n")
        sys.stdout.write(f"alias kubectl='{cluster.program} kubectl'\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
