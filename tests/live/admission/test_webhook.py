"""The webhook over HTTPS, with what a real API server sends."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.live.admission import app, reviewer
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.servers.settings import ServerSettings
from kubestow.live.stores import decisions, engines, recommendations
from kubestow.model.decisions import DecisionRecord
from kubestow.model.keys import ContainerKey
from tests.live.admission import make
from tests.live.patching import apply
from tests.live.servers.make import Steady

Hook = tuple[app.Webhook, httpx.Client]


@pytest.fixture
def url(tmp_path: Path) -> str:
    result = f"sqlite:///{tmp_path}/store.db"
    make.keep(result)
    return result


@pytest.fixture
def hook(url: str) -> Iterator[Hook]:
    with make.webhook(url) as made:
        wait_for_table(made[0])
        yield made


def wait_for_table(hook: app.Webhook) -> None:
    pause = threading.Event()
    for _ in range(4000):
        if hook.recommendations.table is not None:
            return
        pause.wait(0.005)
    raise AssertionError("no table")


def post(client: httpx.Client, review: Any) -> dict[str, Any]:
    answer = client.post(make.PATH, json=review)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    result: dict[str, Any] = answer.json()
    assert result["kind"] == "AdmissionReview"
    assert result["response"]["uid"] == review["request"]["uid"]
    assert result["response"]["allowed"] is True
    return result


def count(hook: app.Webhook, outcome: str, reason: str = "") -> float:
    labels = {"outcome": outcome, "reason": reason}
    registry = hook.metrics.registry
    return registry.get_sample_value("kubestow_admission_reviews_total", labels) or 0.0


def decided(url: str, workload: str = "default/Deployment/web") -> tuple[DecisionRecord, ...]:
    with engines.open_store(url) as store:
        return decisions.newest_decisions(store, f"workload/{workload}")


def test_a_labelled_pod_gets_what_was_learned(hook: Hook) -> None:
    made, client = hook
    review = make.managed()
    pod = review["request"]["object"]
    answer = post(client, review)
    assert answer["response"]["patchType"] == "JSONPatch"
    patched = apply(pod, make.patch_of(answer))
    assert patched["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "512m", "memory": "1216M"},
        "limits": {"memory": "1216M"},
    }
    note = json.loads(patched["metadata"].pop("annotations")["kubestow.io/changed"])
    assert note["identity"] == "default/Deployment/web"
    assert note["containers"]["c"]["strategy"] == "q-learning"
    assert note["containers"]["c"]["changes"]["limits.cpu"] == {"old": "500m", "new": None}
    # Nothing else is different.
    patched["spec"]["containers"][0]["resources"] = pod["spec"]["containers"][0]["resources"]
    assert patched == pod
    assert count(made, "changed") == 1.0


def test_the_headers_of_an_api_server_are_understood(hook: Hook) -> None:
    _, client = hook
    sent = json.loads((make.DATA / "headers.json").read_text(encoding="utf-8"))
    body = json.dumps(make.managed()).encode()
    headers = sent | {"Content-Length": str(len(body))}
    assert client.post(make.PATH, content=body, headers=headers).status_code == 200


def test_a_pod_without_the_label_is_let_through_unchanged(hook: Hook) -> None:
    made, client = hook
    assert make.patch_of(post(client, make.recorded("pods-main-create"))) == []
    assert count(made, "unchanged", "no-label") == 1.0


@pytest.mark.parametrize(
    "name", ["pods-resize-update", "pods-binding-create", "deployments-main-create"]
)
def test_other_requests_are_let_through_unchanged(hook: Hook, name: str) -> None:
    made, client = hook
    assert make.patch_of(post(client, make.managed(make.recorded(name)))) == []
    assert count(made, "unchanged", "not-a-creation") == 1.0


def test_in_a_mixed_pod_only_the_known_container_changes(hook: Hook) -> None:
    made, client = hook
    review = make.managed()
    spec = review["request"]["object"]["spec"]
    known = spec["containers"][0]
    known["resources"]["requests"] |= {"ephemeral-storage": "1Gi"}
    known["resources"]["limits"] |= {"example.com/gpu": "1", "hugepages-2Mi": "64Mi"}
    known["resources"]["claims"] = [{"name": "device"}]
    stranger = copy.deepcopy(known) | {"name": "stranger"}
    spec["containers"] = [stranger, known]
    spec["initContainers"] = [copy.deepcopy(known)]
    patched = apply(review["request"]["object"], make.patch_of(post(client, review)))
    assert json.dumps(patched["spec"]["containers"][0]) == json.dumps(stranger)
    assert json.dumps(patched["spec"]["initContainers"]) == json.dumps(spec["initContainers"])
    assert patched["spec"]["containers"][1]["resources"] == {
        "requests": {"cpu": "512m", "memory": "1216M", "ephemeral-storage": "1Gi"},
        "limits": {"memory": "1216M", "example.com/gpu": "1", "hugepages-2Mi": "64Mi"},
        "claims": [{"name": "device"}],
    }
    skipped = {"reason": "unknown"}
    name = "kubestow_admission_skipped_containers_total"
    assert made.metrics.registry.get_sample_value(name, skipped) == 1.0


def test_a_workload_is_known_by_its_label_in_the_namespace_of_the_request(url: str) -> None:
    make.keep(url, ContainerKey("ci", "id", "tests", "c"), cpu="700m")
    with make.webhook(url) as (made, client):
        wait_for_table(made)
        review = make.managed()
        review["request"]["namespace"] = "ci"
        metadata = review["request"]["object"]["metadata"]
        del metadata["namespace"]
        metadata["labels"]["kubestow.io/id"] = "tests"
        patched = apply(review["request"]["object"], make.patch_of(post(client, review)))
    assert patched["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "700m"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"labels": {"kubestow.io/id": "never-seen"}}, "unknown"),
        ({"annotations": {"kubestow.io/freeze": "true"}}, "frozen"),
        ({"labels": {"kubestow.io/freeze": "true"}}, "frozen"),
        ({"annotations": {"kubestow.io/mode": "off"}}, "frozen"),
    ],
)
def test_why_a_pod_is_left_alone_is_counted(
    hook: Hook, change: dict[str, dict[str, str]], reason: str
) -> None:
    made, client = hook
    review = make.managed()
    metadata = review["request"]["object"]["metadata"]
    for key, values in change.items():
        metadata[key] = {**metadata.get(key, {}), **values}
    assert make.patch_of(post(client, review)) == []
    assert count(made, "unchanged", reason) == 1.0


@pytest.mark.parametrize(
    ("evidence", "least", "acts"),
    [(None, 7, False), (None, 0, False), (6, 7, False), (7, 7, True), (2, 2, True), (0, 0, True)],
    ids=["unknown", "unknown is never enough", "thin", "enough", "set lower", "any that is stated"],
)
def test_thin_evidence_changes_no_pod(
    url: str, evidence: int | None, least: int, acts: bool
) -> None:
    made = replace(make.learned(time_s=time.time()), evidence=evidence)
    with engines.open_store(url) as store:
        recommendations.insert(store, make.WEB, [made])
    policy = AdmissionPolicy(min_evidence=least)
    with make.webhook(url, policy) as (hooked, client):
        wait_for_table(hooked)
        assert bool(make.patch_of(post(client, make.managed()))) == acts
        assert count(hooked, "unchanged", "thin-evidence") == (0.0 if acts else 1.0)
        name = "kubestow_admission_skipped_containers_total"
        skipped = hooked.metrics.registry.get_sample_value(name, {"reason": "thin-evidence"})
        assert skipped == (None if acts else 1.0)


def test_a_frozen_workload_and_pod_level_resources_are_left_alone(url: str) -> None:
    policy = AdmissionPolicy(frozen=frozenset({"default/Deployment/web"}))
    with make.webhook(url, policy) as (made, client):
        wait_for_table(made)
        assert make.patch_of(post(client, make.managed())) == []
        assert count(made, "unchanged", "frozen") == 1.0
        review = make.managed()
        review["request"]["object"]["spec"]["resources"] = {"requests": {"cpu": "1"}}
        assert make.patch_of(post(client, review)) == []
        assert count(made, "unchanged", "pod-level") == 1.0


@pytest.mark.parametrize("by_option", [True, False], ids=["option", "annotation"])
def test_a_dry_run_only_says_what_would_change(url: str, by_option: bool) -> None:
    review = (
        make.managed() if by_option else make.managed(annotations={"kubestow.io/mode": "dry-run"})
    )
    with make.webhook(url, AdmissionPolicy(dry_run=by_option)) as (made, client):
        wait_for_table(made)
        pod = review["request"]["object"]
        patched = apply(pod, make.patch_of(post(client, review)))
        assert patched["spec"] == pod["spec"]
        note = json.loads(patched["metadata"]["annotations"]["kubestow.io/would-change"])
        assert note["containers"]["c"]["changes"]["requests.cpu"] == {"old": "250m", "new": "512m"}
        assert count(made, "would_change", "dry_run") == 1.0
    (record,) = decided(url)
    assert record.outcome is not None
    assert record.outcome.startswith("would change: c requests.cpu 250m -> 512m")


def test_a_second_call_keeps_the_old_amounts_of_the_first(hook: Hook) -> None:
    # API servers call again if another webhook changed the pod after the first call.
    _, client = hook
    review = make.managed()
    patched = apply(review["request"]["object"], make.patch_of(post(client, review)))
    patched["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "7"
    review["request"]["object"] = patched
    again = apply(patched, make.patch_of(post(client, review)))
    note = json.loads(again["metadata"]["annotations"]["kubestow.io/changed"])
    changes = note["containers"]["c"]["changes"]
    assert changes["requests.cpu"] == {"old": "250m", "new": "512m"}
    assert changes["limits.cpu"] == {"old": "500m", "new": None}


@pytest.mark.parametrize("text", ["", "junk", "[]", '{"identity":"other","containers":{}}'])
def test_foreign_annotations_of_that_name_do_no_harm(hook: Hook, text: str) -> None:
    _, client = hook
    review = make.managed(annotations={"kubestow.io/changed": text})
    patched = apply(review["request"]["object"], make.patch_of(post(client, review)))
    note = json.loads(patched["metadata"]["annotations"]["kubestow.io/changed"])
    assert note["containers"]["c"]["changes"]["requests.cpu"] == {"old": "250m", "new": "512m"}


def test_every_change_leaves_a_record_with_old_new_and_reason(hook: Hook, url: str) -> None:
    made, client = hook
    post(client, make.managed())
    assert made.journal.stop() == 0
    (record,) = decided(url)
    assert (record.kind, record.policy) == ("sizing", "admission")
    assert record.parameters["pod"] == "web-55bb7c94b4-*"
    assert record.parameters["strategies"] == ["q-learning"]
    amounts = {each.name: dict(each.terms) for each in record.candidates}
    assert amounts["c/requests.cpu"] == {"old": 250.0, "new": 512.0, "learned": 512.0}
    assert amounts["c/limits.cpu"] == {"old": 500.0, "learned": 512.0}


def test_a_request_that_is_not_carried_out_leaves_no_record(hook: Hook, url: str) -> None:
    # kubectl --dry-run=server: the webhook promises to have no side effects then.
    made, client = hook
    review = make.managed()
    review["request"]["dryRun"] = True
    assert make.patch_of(post(client, review))
    assert count(made, "changed", "dry_run") == 1.0
    assert made.journal.stop() == 0
    assert decided(url) == ()


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "text/plain", 415),
        (b"{}", "", 415),
        (b"{", "application/json", 400),
        (b"\x00\xff", "application/json", 400),
        (b'{"kind":"Pod","apiVersion":"v1"}', "application/json; charset=utf-8", 400),
        (b"x" * (3 * 2**20 + 1), "application/json", 413),
    ],
    ids=["text", "no type", "half", "junk", "a pod", "too large"],
)
def test_what_is_no_review_is_refused(hook: Hook, body: bytes, kind: str, status: int) -> None:
    _, client = hook
    headers = {"Content-Type": kind} if kind else {}
    assert client.post(make.PATH, content=body, headers=headers).status_code == status
    assert client.get(make.PATH).status_code == 405


def test_a_large_pod_is_understood(hook: Hook) -> None:
    _, client = hook
    review = make.managed(annotations={"filler": "x" * 2_900_000})
    assert make.patch_of(post(client, review))


def test_a_pod_that_is_not_understood_is_let_through_with_a_warning(hook: Hook) -> None:
    made, client = hook
    review = make.managed()
    review["request"]["object"]["spec"]["containers"][0]["name"] = 7
    response = post(client, review)["response"]
    assert response["warnings"] == ["kubestow: pod left unchanged: internal error (InputError)"]
    assert "patch" not in response
    assert count(made, "unchanged", "error") == 1.0


def test_any_fault_inside_lets_the_pod_through(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    made, client = hook

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(reviewer.Reviewer, "_identify", fail)
    assert "patch" not in post(client, make.managed())["response"]
    assert count(made, "unchanged", "error") == 1.0


def test_work_that_does_not_end_is_answered_in_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def hang(*_: object) -> None:
        release.wait(20.0)
        raise RuntimeError("too late")

    monkeypatch.setattr(reviewer.Reviewer, "_identify", hang)
    with make.webhook(url, deadline_s=0.2) as (made, client):
        wait_for_table(made)
        # More than there are threads, which all hang: the rest waits in vain, and is answered.
        for _ in range(6):
            response = post(client, make.managed())["response"]
            assert response["warnings"] == [
                "kubestow: pod left unchanged: no decision within 0.2 s"
            ]
        assert count(made, "unchanged", "deadline") == 6.0
        assert client.get("/healthz").status_code == 200
        release.set()


def test_pods_like_others_are_answered_while_all_threads_hang(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    with make.webhook(url, deadline_s=0.2) as (made, client):
        wait_for_table(made)
        assert make.patch_of(post(client, make.managed()))
        monkeypatch.setattr(reviewer.Reviewer, "_identify", lambda *_: release.wait(20.0))
        for number in range(6):
            other = make.managed(annotations={"unlike": str(number)})
            assert make.patch_of(post(client, other)) == []
        assert make.patch_of(post(client, make.managed()))
        assert (count(made, "changed"), count(made, "unchanged", "deadline")) == (2.0, 6.0)
        release.set()


def test_ten_api_servers_at_once_are_answered(hook: Hook) -> None:
    made, client = hook
    review = make.managed()

    def ask() -> None:
        assert make.patch_of(post(client, review))

    with Steady(ask, 10) as steady:
        steady.wait_for(200)
    assert steady.failures == []
    assert count(made, "changed") >= 200.0


def test_old_values_are_not_used(url: str) -> None:
    with make.webhook(url, AdmissionPolicy(max_age_s=0.0)) as (made, client):
        wait_for_table(made)
        assert make.patch_of(post(client, make.managed())) == []
        assert count(made, "unchanged", "stale") == 1.0
        name = "kubestow_admission_skipped_containers_total"
        assert made.metrics.registry.get_sample_value(name, {"reason": "stale"}) == 1.0


def test_its_own_state_is_exported(hook: Hook) -> None:
    _, client = hook
    post(client, make.managed())
    assert client.get("/readyz").status_code == 200
    written = client.get("/metrics").text
    for name in (
        'kubestow_admission_reviews_total{outcome="changed",reason=""} 1.0',
        "kubestow_admission_review_duration_seconds_bucket",
        "kubestow_admission_table_age_seconds",
        "kubestow_admission_table_containers 1.0",
        "kubestow_admission_decisions_waiting",
    ):
        assert name in written


def test_the_deadline_holds_for_bodies_that_drip(url: str) -> None:
    quick = ServerSettings(drain_s=0.0, grace_s=1.0, read_s=0.3)
    with make.webhook(url, settings=quick) as (_, client):

        def drip() -> Iterator[bytes]:
            yield b"{"
            threading.Event().wait(0.6)
            yield b"}"

        headers = {"Content-Type": "application/json"}
        assert client.post(make.PATH, content=drip(), headers=headers).status_code == 408
