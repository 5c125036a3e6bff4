"""Stable names of workloads despite generated names of pods, and their evidence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import identities, pods
from kubestow.model.identities import How

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # of the suffixes an API server generates
DIGESTS = ("sha256:" + "1" * 64, "sha256:" + "2" * 64)


def made(
    name: str = "p",
    *,
    owner: tuple[str, str] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    image: str = "registry:5000/team/build:1.2",
) -> pods.Pod:
    spec = pods.PodSpec((pods.Container("main", image=image),))
    controller = pods.OwnerReference("v1", *owner) if owner else None
    return pods.Pod(name, spec, "ci", labels or {}, annotations or {}, controller)


def argo(run: str, node: str, **labels: str) -> pods.Pod:
    """Return a pod of a workflow; underscores in labels stand for dashes."""
    prefix = "workflows.argoproj.io/"
    given_labels = {prefix + name.replace("_", "-"): value for name, value in labels.items()}
    return made(
        f"{run}-x-1234567890",
        owner=("Workflow", run),
        labels={prefix + "workflow": run, **given_labels},
        annotations={prefix + "node-name": node},
    )


def tekton(**labels: str) -> pods.Pod:
    given_labels = {f"tekton.dev/{name}": value for name, value in labels.items()}
    return made("shop-x2b4c-test-pod", owner=("TaskRun", "shop-x2b4c-test"), labels=given_labels)


def gitlab(job: str, project: str = "42") -> pods.Pod:
    return made(
        "runner-t1x-project-42-concurrent-0-bc2d4",
        labels={"project.runner.gitlab.com/id": project},
        annotations={"job.runner.gitlab.com/name": job},
    )


def jenkins(run: str) -> pods.Pod:
    return made(
        "team-shop-10-c7120-cvj8t-wltkp",
        labels={"jenkins/label": "team_shop_10-c7120"},
        annotations={"runUrl": run},
    )


@pytest.mark.parametrize(
    ("pod", "key", "how"),
    [
        pytest.param(
            made(owner=("Job", "a-28473120"), labels={"kubestow.io/id": "ledger"}),
            "ci/id/ledger",
            How.LABEL,
            id="label beats owner",
        ),
        pytest.param(
            made(labels={"kubestow.io/id": "x", "tekton.dev/task": "y"}),
            "ci/id/x",
            How.LABEL,
            id="label beats pipeline",
        ),
        pytest.param(
            tekton(pipeline="shop", pipelineTask="test", task="go-test"),
            "ci/Tekton/shop.test",
            How.PIPELINE,
            id="Tekton step",
        ),
        pytest.param(
            tekton(pipeline="shop-x2b4c", pipelineTask="test"),
            "ci/Tekton/shop.test",
            How.PIPELINE,
            id="Tekton pipeline defined in its run",
        ),
        pytest.param(tekton(task="go"), "ci/Tekton/go", How.PIPELINE, id="Tekton task alone"),
        pytest.param(
            argo("etl-p7jzr", "etl-p7jzr[0].load(3:de)(1)"),
            "ci/Argo/etl[0].load",
            How.PIPELINE,
            id="Argo loop and retry",
        ),
        pytest.param(
            argo("etl-1700000000", "etl-1700000000.load"),
            "ci/Argo/etl.load",
            How.PIPELINE,
            id="Argo CronWorkflow",
        ),
        pytest.param(
            argo("any-name", "any-name.load", workflow_template="etl"),
            "ci/Argo/etl.load",
            How.PIPELINE,
            id="Argo template in podMetadata",
        ),
        pytest.param(gitlab("unit test"), "ci/GitLab/42.unit test", How.PIPELINE, id="GitLab"),
        pytest.param(
            jenkins("job/team/job/shop/10/"), "ci/Jenkins/team/shop", How.PIPELINE, id="Jenkins"
        ),
        pytest.param(
            made(owner=("Job", "load-x2b4c")), "ci/Job/load", How.NAME_SHAPE, id="generated Job"
        ),
        pytest.param(
            made(owner=("Job", "load-28473120")), "ci/CronJob/load", How.OWNER, id="CronJob"
        ),
        pytest.param(
            made(owner=("ReplicaSet", "web-b5c"), labels={"pod-template-hash": "b5c"}),
            "ci/Deployment/web",
            How.OWNER,
            id="Deployment",
        ),
        pytest.param(
            made(owner=("StatefulSet", "db-x2b4c")), "ci/StatefulSet/db-x2b4c", How.OWNER, id="set"
        ),
        pytest.param(made("solo"), "ci/Pod/solo", How.NAME, id="fixed name"),
        pytest.param(made("load-x2b4c"), "ci/Pod/load", How.NAME_SHAPE, id="shape of name"),
        pytest.param(made("my-nginx"), "ci/Pod/my-nginx", How.NAME, id="a word is no suffix"),
        pytest.param(
            made("b-6f1c2a34-9d11-4c2e-8e51-0123456789ab"),
            "ci/Image/registry:5000/team/build",
            How.IMAGE,
            id="UUID",
        ),
        pytest.param(made(""), "ci/Image/registry:5000/team/build", How.IMAGE, id="no name"),
    ],
)
def test_a_pod_is_known_by_the_surest_sign_it_has(pod: pods.Pod, key: str, how: How) -> None:
    result = identities.identify(pod)
    assert (result.key, result.how) == (key, how)


def test_a_jenkins_agent_that_no_build_asked_for_is_not_taken_for_one() -> None:
    assert identities.identify(jenkins("computer/agent-1/")).how is not How.PIPELINE


@pytest.mark.parametrize("name", ["", "load-x2b4c", "load-plain"], ids=["new", "made", "odd"])
def test_a_known_generate_name_decides_for_bare_pods(name: str) -> None:
    result = identities.identify(made(name), generate_name="load-")
    assert (result.key, result.how) == ("ci/Pod/load", How.GENERATE_NAME)


@given(st.text(ALPHABET, min_size=5, max_size=5), st.text(ALPHABET, min_size=5, max_size=5))
def test_two_runs_of_one_kind_have_one_identity(one: str, other: str) -> None:
    makes: tuple[Callable[[str], pods.Pod], ...] = (
        lambda suffix: made(f"load-{suffix}"),
        lambda suffix: made(owner=("Job", f"load-{suffix}")),
        lambda suffix: argo(f"load-{suffix}", f"load-{suffix}.a"),
    )
    for make in makes:
        assert identities.identify(make(one)).key == identities.identify(make(other)).key


def test_steps_jobs_and_projects_are_told_apart() -> None:
    keys = [
        identities.identify(pod).key
        for pod in (
            argo("etl-p7jzr", "etl-p7jzr.load"),
            argo("etl-p7jzr", "etl-p7jzr.store"),
            gitlab("test"),
            gitlab("test", project="43"),
            jenkins("job/a/1/"),
            jenkins("job/b/1/"),
        )
    ]
    assert len(set(keys)) == len(keys)


def test_another_digest_is_another_image_of_the_same_identity() -> None:
    pod = made("solo")
    first, second = (
        identities.identify(pod, image_ids={"main": f"docker-pullable://team/build@{digest}"})
        for digest in DIGESTS
    )
    assert first.key == second.key
    assert first.image != second.image
    assert first.pinned
    assert second.pinned


def test_a_tag_is_all_there_is_before_a_pod_runs() -> None:
    old, new = (identities.identify(made("solo", image=f"build:{tag}")) for tag in ("1", "2"))
    assert (old.key, old.pinned) == (new.key, False)
    assert old.image != new.image


def test_a_digest_in_the_specification_counts_and_its_tag_does_not() -> None:
    tagged = identities.identify(made("solo", image=f"build:1@{DIGESTS[0]}"))
    bare = identities.identify(made("solo", image=f"build@{DIGESTS[0]}"))
    assert (tagged.image, tagged.pinned) == (bare.image, True)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx", "nginx"),
        ("nginx:1.27", "nginx"),
        ("registry:5000/a/b", "registry:5000/a/b"),
        (f"registry:5000/a/b:1@{DIGESTS[0]}", "registry:5000/a/b"),
    ],
)
def test_a_repository_has_neither_tag_nor_digest(image: str, expected: str) -> None:
    assert identities.repository(image) == expected
