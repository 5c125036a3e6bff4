"""Stable names of workloads, independent of the generated names of their pods.

What was learned from one pod is used for the next one of the same workload, so both must have one
name. Pods of controllers are easy; those of pipelines are the hard case of Böttcher 2023 (6.1,
8.3.4): each run makes objects with new names, and only labels or annotations show that two runs are
of the same pipeline. ``identify`` tries the most reliable evidence first and returns which it used.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubestow.model import pods

_TEMPLATE_HASH = "pod-template-hash"
# A CronJob appends the scheduled minute to its jobs, an Argo CronWorkflow the second.
_CRON_SUFFIX = re.compile(r"-\d{8,10}$")
# An API server's suffix for generateName: five of these (apimachinery util/rand, alphanums).
_GENERATED = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
# A name with a UUID, or with eight or more hexadecimal digits of which one is a digit.
_RANDOM_PART = re.compile(r"(^|-)(?=[0-9a-f]*\d)[0-9a-f]{8,}(-|$)")
# Objects created for each run, whose own names are often generated.
_RUN_KINDS = ("Job", "TaskRun", "PipelineRun", "Workflow")

# Tekton: docs/labels.md (pipeline, task), pkg/apis/pipeline/register.go (pipelineTask); TaskRuns
# pass their labels on to pods.
_TEKTON_PIPELINE, _TEKTON_STEP = "tekton.dev/pipeline", "tekton.dev/pipelineTask"
_TEKTON_TASK = "tekton.dev/task"
# Argo Workflows: workflow/common/common.go. Pods get the first and the annotation
# (workflow/controller/workflowpod.go); the others are labels of the Workflow, which reach a pod
# only through its podMetadata.
_ARGO_RUN, _ARGO_NODE = "workflows.argoproj.io/workflow", "workflows.argoproj.io/node-name"
_ARGO_TEMPLATES = (
    "workflows.argoproj.io/workflow-template",
    "workflows.argoproj.io/cluster-workflow-template",
    "workflows.argoproj.io/cron-workflow",
)
_ARGO_REPEATS = re.compile(r"\([^()]*\)")  # "(0:item)" of a loop and "(1)" of a retry
# GitLab Runner: docs/executors/kubernetes, "Default labels for job pods" and "Default annotations".
_GITLAB_PROJECT, _GITLAB_JOB = "project.runner.gitlab.com/id", "job.runner.gitlab.com/name"
# Jenkins: its Kubernetes plugin puts the label on agents and annotates them with the build's path
# below the server's address, such as "job/folder/job/name/10/".
_JENKINS_LABEL, _JENKINS_RUN = "jenkins/label", "runUrl"
_JENKINS_PATH = re.compile(r"^(?:job/[^/]+/)+\d+/?$")


IDENTITY_LABELS = (
    pods.ID_LABEL, _TEKTON_PIPELINE, _TEKTON_STEP, _TEKTON_TASK, _ARGO_RUN, _ARGO_NODE,
    *_ARGO_TEMPLATES, _GITLAB_PROJECT, _GITLAB_JOB, _JENKINS_LABEL,
)  # fmt: skip
"""Labels that name the workload of a pod whose own name and owner are generated."""


def exported_name(label: str) -> str:
    """Return the name under which kube-state-metrics exports a label.

    It writes every character that a label of Prometheus cannot have as an underscore.

    >>> exported_name("tekton.dev/pipeline")
    'tekton_dev_pipeline'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", label)


def restore_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels with the names that kube-state-metrics replaces, as far as they matter here.

    >>> restore_labels({"tekton_dev_pipeline": "build"})["tekton.dev/pipeline"]
    'build'
    """
    written = {exported_name(key): key for key in IDENTITY_LABELS}
    return {**labels, **{written[name]: labels[name] for name in written if name in labels}}


class How(enum.Enum):
    """The evidence of an identity, most reliable first."""

    LABEL = "the label kubestow.io/id"
    PIPELINE = "labels of a pipeline"
    OWNER = "its controller"
    GENERATE_NAME = "its generateName"
    NAME_SHAPE = "the shape of a generated name"
    NAME = "its own name"
    IMAGE = "its images"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a workload, common to all its pods.

    Attributes:
        namespace: Namespace of the pods.
        kind: What the name belongs to: a kind of controller, ``id``, ``Tekton``, ``Image``, ...
        name: The stable name.
        how: The evidence.
        image: Fingerprint of the images. Pods of one identity with another fingerprint run other
            code, and what was learned may be wrong for them: margins should be wider.
        pinned: Whether all images are known by digest. If not, the fingerprint uses tags, and two
            pods with different images under one tag are not distinguished.
    """

    namespace: str
    kind: str
    name: str
    how: How
    image: str
    pinned: bool

    @property
    def key(self) -> str:
        """The identity as ``namespace/kind/name``."""
        return f"{self.namespace}/{self.kind}/{self.name}"


_Match = tuple[str, str, How]


def identity(pod: pods.Pod) -> str:
    """Return the stable identity of a pod as ``namespace/kind/name``.

    The label ``kubestow.io/id`` decides if it is set; else the controller, with ReplicaSets traced
    to their Deployment and jobs to their CronJob; a pod without one is its own workload.
    """
    match = _by_label(pod) or _by_owner(pod)
    kind, name = match[:2] if match else ("Pod", pod.name)
    return f"{pod.namespace}/{kind}/{name}"


def identify(
    pod: pods.Pod, generate_name: str = "", image_ids: Mapping[str, str] | None = None
) -> Identity:
    """Return the identity of a pod, with its evidence.

    Args:
        pod: The pod. At admission its name may still be empty.
        generate_name: Its ``metadata.generateName``.
        image_ids: ``imageID`` by container from its status, once it runs; these contain digests.
    """
    methods: tuple[Callable[[pods.Pod], _Match | None], ...] = (
        _by_label,
        _by_tekton,
        _by_argo,
        _by_gitlab,
        _by_jenkins,
        _by_run,
        _by_owner,
    )
    match = next(filter(None, (method(pod) for method in methods)), None)
    kind, name, how = match or _of_bare(pod, generate_name)
    named = [_exact(c.name, c.image, image_ids or {}) for c in pod.spec.containers]
    text = "\n".join(sorted(f"{container}={image}" for container, image in named))
    return Identity(
        namespace=pod.namespace,
        kind=kind,
        name=name,
        how=how,
        image=hashlib.sha256(text.encode()).hexdigest()[:16],
        pinned=all("@" in image for _, image in named),
    )


def repository(image: str) -> str:
    """Return an image's name without its tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"  # a colon before the slash is a port


def _by_label(pod: pods.Pod) -> _Match | None:
    given = pod.labels.get(pods.ID_LABEL)
    return ("id", given, How.LABEL) if given else None


def _by_tekton(pod: pods.Pod) -> _Match | None:
    """Identify a step of a pipeline, or a task that runs alone."""
    pipeline, step = pod.labels.get(_TEKTON_PIPELINE), pod.labels.get(_TEKTON_STEP)
    if pipeline and step:
        # Pipelines without their own definition have the name of their run.
        return "Tekton", f"{_cut(pipeline)}.{step}", How.PIPELINE
    task = pod.labels.get(_TEKTON_TASK)
    return ("Tekton", task, How.PIPELINE) if task else None


def _by_argo(pod: pods.Pod) -> _Match | None:
    """Identify a node of a workflow; repetitions of one node count as one."""
    run = pod.labels.get(_ARGO_RUN)
    if not run:
        return None
    given = next(filter(None, (pod.labels.get(label) for label in _ARGO_TEMPLATES)), "")
    node = _ARGO_REPEATS.sub("", pod.annotations.get(_ARGO_NODE, "").removeprefix(run))
    return "Argo", f"{given or _cut(run)}{node}", How.PIPELINE


def _by_gitlab(pod: pods.Pod) -> _Match | None:
    """Identify a job of a project; the project's number survives a rename."""
    project = pod.labels.get(_GITLAB_PROJECT) or pod.annotations.get(_GITLAB_PROJECT)
    job = pod.annotations.get(_GITLAB_JOB)
    return ("GitLab", f"{project}.{job}", How.PIPELINE) if project and job else None


def _by_jenkins(pod: pods.Pod) -> _Match | None:
    """Identify a job, without its build number."""
    run = pod.annotations.get(_JENKINS_RUN, "")
    if _JENKINS_LABEL not in pod.labels or not _JENKINS_PATH.match(run):
        return None
    return "Jenkins", "/".join(run.strip("/").split("/")[1:-1:2]), How.PIPELINE


def _by_run(pod: pods.Pod) -> _Match | None:
    """Identify a controller that has a generated name itself."""
    if pod.owner is None or pod.owner.kind not in _RUN_KINDS:
        return None
    name = _GENERATED.sub("", pod.owner.name)
    return (pod.owner.kind, name, How.NAME_SHAPE) if name not in ("", pod.owner.name) else None


def _by_owner(pod: pods.Pod) -> _Match | None:
    if pod.owner is None:
        return None
    kind, name = pod.owner.kind, pod.owner.name
    digest = pod.labels.get(_TEMPLATE_HASH)
    if kind == "ReplicaSet" and digest and name.endswith(f"-{digest}"):
        kind, name = "Deployment", name.removesuffix(f"-{digest}")
    elif kind == "Job" and _CRON_SUFFIX.search(name):
        kind, name = "CronJob", _CRON_SUFFIX.sub("", name)
    return kind, name, How.OWNER


def _of_bare(pod: pods.Pod, generate_name: str) -> _Match:
    """Identify a pod without controller."""
    if generate_name and (not pod.name or pod.name.startswith(generate_name)):
        return "Pod", generate_name.rstrip("-."), How.GENERATE_NAME
    if _RANDOM_PART.search(pod.name) or not pod.name:
        images = sorted({repository(container.image) for container in pod.spec.containers})
        return "Image", "+".join(images), How.IMAGE
    name = _GENERATED.sub("", pod.name)
    return ("Pod", name or pod.name, How.NAME if name in ("", pod.name) else How.NAME_SHAPE)


def _cut(run: str) -> str:
    """Return the name of a run without its unique suffix."""
    return _CRON_SUFFIX.sub("", _GENERATED.sub("", run)) or run


def _exact(container: str, image: str, image_ids: Mapping[str, str]) -> tuple[str, str]:
    """Return a container's image by its digest if that is known, else by its tag."""
    known = image_ids.get(container, "")
    digest = (known if "@" in known else image).partition("@")[2]
    return container, f"{repository(image)}@{digest}" if digest else image
