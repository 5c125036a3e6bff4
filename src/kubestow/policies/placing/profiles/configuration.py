"""Reading and writing profiles as KubeSchedulerConfiguration v1.

What kube-scheduler would refuse is refused here, with the path. Plugins that are not modelled
(binding, queueing) are accepted and ignored. Merging and ordering follow
``apis/config/v1/default_plugins.go`` and ``framework/runtime/framework.go`` (1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubestow.model import decoding, pods, resources
from kubestow.policies.placing.profiles import plugin_arguments
from kubestow.policies.placing.profiles import profile as profiles_profile

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"

# Plugins of 1.37 that are not modelled here, in default order with weights.
_OTHERS = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "DefaultPreemption": 0,
    "DefaultBinder": 0,
    "NodeDeclaredFeatures": 0,
    "GangScheduling": 0,
    "DeferredPodScheduling": 0,
    "TopologyPlacementGenerator": 0,
    "PodGroupPodsCount": 1,
}
# Named in configurations of old releases, refused by v1.
_REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_POINTS = (
    "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score",
    "reserve", "permit", "preBind", "bind", "postBind", "multiPoint",
    "placementGenerate", "placementScore", "podGroupPostFilter",
)  # fmt: skip
_TOP_LEVEL = (
    "apiVersion", "kind", "parallelism", "leaderElection", "clientConnection", "healthzBindAddress",
    "metricsBindAddress", "enableProfiling", "enableContentionProfiling",
    "percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds", "profiles",
    "extenders", "delayCacheUntilActive",
)  # fmt: skip
_MODELLED = {name for name, _ in profiles_profile.DEFAULT_PLUGINS}
_KNOWN = {*(name for name, _ in profiles_profile.DEFAULT_PLUGINS), *_OTHERS}

Enabled = Sequence[tuple[str, int]]


def read_configuration(document: decoding.Field) -> tuple[profiles_profile.Profile, ...]:
    """Read a decoded KubeSchedulerConfiguration.

    Raises:
        InputError: If kube-scheduler would refuse it.
    """
    document["apiVersion"].choice((API_VERSION,))
    document["kind"].choice((KIND,))
    plugin_arguments.refuse_unknown(document, _TOP_LEVEL)
    document["percentageOfNodesToScore"].integer(0, least=0, most=100)
    document["parallelism"].integer(16, least=1)
    initial = document["podInitialBackoffSeconds"].integer(1, least=1)
    document["podMaxBackoffSeconds"].integer(max(10, initial), least=initial)
    ignored = extender_resources(document["extenders"])
    return tuple(
        replace(
            profile,
            fit=replace(profile.fit, ignored_resources=profile.fit.ignored_resources | ignored),
        )
        for profile in _profiles(document["profiles"])
    )


def extender_resources(extenders: decoding.Field) -> frozenset[str]:
    """Return the resources that extenders manage and kube-scheduler ignores.

    The extenders themselves are remote services; their filters and scores are not modelled here.
    """
    managed: set[str] = set()
    ignored: set[str] = set()
    binders = 0
    for extender in extenders.items():
        if extender["prioritizeVerb"].text("") and extender["weight"].integer(0) <= 0:
            raise extender["weight"].refuse("must have a positive weight applied to it")
        binders += bool(extender["bindVerb"].text(""))
        for item in extender["managedResources"].items():
            name = item["name"].text()
            if not resources.is_extended(name):
                raise item["name"].refuse("is an invalid extended resource name")
            if name in managed:
                raise item["name"].refuse("duplicate extender managed resource name")
            managed.add(name)
            if item["ignoredByScheduler"].truth():
                ignored.add(name)
    if binders > 1:
        raise extenders.refuse("only one extender can implement bind")
    return frozenset(ignored)


def _profiles(section: decoding.Field) -> list[profiles_profile.Profile]:
    entries = list(section.items())
    if not entries:
        return [profiles_profile.Profile()]
    profiles: list[profiles_profile.Profile] = []
    for entry in entries:
        default = pods.DEFAULT_SCHEDULER if len(entries) == 1 else None
        name = entry["schedulerName"].text(default)
        if any(profile.name == name for profile in profiles):
            raise entry["schedulerName"].refuse("duplicate scheduler name")
        profiles.append(_profile(entry, name))
    return profiles


def _profile(entry: decoding.Field, name: str) -> profiles_profile.Profile:
    plugin_arguments.refuse_unknown(
        entry, ("schedulerName", "plugins", "pluginConfig", "percentageOfNodesToScore")
    )
    entry["percentageOfNodesToScore"].integer(0, least=0, most=100)
    plugins = entry["plugins"]
    plugin_arguments.refuse_unknown(plugins, _POINTS)
    everywhere = _merged(profiles_profile.DEFAULT_PLUGINS, plugins["multiPoint"])
    for point in _POINTS:
        _enabled(plugins[point])  # also refuses unknown names at points that are not modelled
    prefilters = _expanded(everywhere, plugins["preFilter"], profiles_profile.PREFILTERS)
    filters = _expanded(everywhere, plugins["filter"], profiles_profile.FILTERS)
    scores = _expanded(everywhere, plugins["score"], profiles_profile.SCORES)
    profile = profiles_profile.Profile(
        name=name,
        prefilters=tuple(plugin for plugin, _ in prefilters),
        filters=tuple(plugin for plugin, _ in filters),
        # framework.go: a score plugin without a weight has weight 1.
        scores=tuple((plugin, weight or 1) for plugin, weight in scores),
        preempts=_preempts(plugins),
    )
    return _with_arguments(profile, entry["pluginConfig"])


def _preempts(plugins: decoding.Field) -> bool:
    """Return whether DefaultPreemption is enabled, at multiPoint or at its own point."""
    name = profiles_profile.PREEMPTION
    enabled = name in dict(_merged([(name, 0)], plugins["multiPoint"]))
    point = plugins["postFilter"]
    off = bool({name, "*"} & _disabled(point))
    return (enabled and not off) or name in dict(_enabled(point))


def _enabled(point: decoding.Field) -> list[tuple[str, int]]:
    plugin_arguments.refuse_unknown(point, ("enabled", "disabled"))
    enabled: list[tuple[str, int]] = []
    for item in point["enabled"].items():
        plugin_arguments.refuse_unknown(item, ("name", "weight"))
        name = item["name"].text()
        if name in _REMOVED:
            raise item["name"].refuse(f"was removed before {API_VERSION}")
        if name not in _KNOWN:
            raise item["name"].refuse("unknown plugin")
        if any(name == known for known, _ in enabled):
            raise item["name"].refuse("plugin enabled twice")
        enabled.append((name, item["weight"].integer(0, least=0)))
    return enabled


def _disabled(point: decoding.Field) -> set[str]:
    return {item["name"].text() for item in point["disabled"].items()}


def _merged(defaults: Enabled, custom: decoding.Field) -> list[tuple[str, int]]:
    """Merge a plugin set into the defaults: reconfigured plugins keep their position."""
    enabled, disabled = _enabled(custom), _disabled(custom)
    weights = dict(enabled)
    kept = [] if "*" in disabled else [d for d in defaults if d[0] not in disabled]
    merged = [(name, weights.pop(name, weight)) for name, weight in kept]
    return merged + [(name, weight) for name, weight in enabled if name in weights]


def _expanded(
    everywhere: Enabled, point: decoding.Field, able: tuple[str, ...]
) -> list[tuple[str, int]]:
    """Combine plugins enabled at multiPoint with those of one extension point.

    First the explicitly reconfigured ones in the order of the point, then the rest of multiPoint,
    then those that only the point enables.
    """
    explicit, disabled = _enabled(point), _disabled(point)
    for name, _ in explicit:
        if able != profiles_profile.PREFILTERS and name in _MODELLED and name not in able:
            raise point["enabled"].refuse(f"plugin {name} does not implement this extension point")
    explicit = [(name, weight) for name, weight in explicit if name in able]
    names = {name for name, _ in explicit}
    common = []
    if "*" not in disabled:
        common = [p for p in everywhere if p[0] in able and p[0] not in disabled]
    overriding = {name for name, _ in common} & names
    first = [p for p in explicit if p[0] in overriding]
    last = [p for p in explicit if p[0] not in overriding]
    return [*first, *(p for p in common if p[0] not in names), *last]


def _with_arguments(
    profile: profiles_profile.Profile, configs: decoding.Field
) -> profiles_profile.Profile:
    configured: set[str] = set()
    for config in configs.items():
        plugin_arguments.refuse_unknown(config, ("name", "args"))
        name = config["name"].text()
        if name in configured:
            raise config["name"].refuse("duplicate plugin configuration")
        configured.add(name)
        if name in plugin_arguments.READERS:
            attribute, reader = plugin_arguments.READERS[name]
            profile = replace(profile, **{attribute: reader(config["args"])})
        elif name not in _KNOWN:
            raise config["name"].refuse("unknown plugin")
    return profile


def write_configuration(profiles: Sequence[profiles_profile.Profile]) -> dict[str, Any]:
    """Return profiles as a KubeSchedulerConfiguration with only the differences from defaults."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [_written(profile) for profile in profiles],
    }


def _written(profile: profiles_profile.Profile) -> dict[str, Any]:
    default = profiles_profile.Profile()
    entry: dict[str, Any] = {"schedulerName": profile.name}
    sections = {
        "preFilter": _changes(_unweighted(profile.prefilters), _unweighted(default.prefilters)),
        "filter": _changes(_unweighted(profile.filters), _unweighted(default.filters)),
        "score": _changes(profile.scores, default.scores),
    }
    plugins = {point: section for point, section in sections.items() if section}
    if not profile.preempts:
        plugins["postFilter"] = {"disabled": [{"name": profiles_profile.PREEMPTION}]}
    if plugins:
        entry["plugins"] = plugins
    configs = plugin_arguments.write(profile)
    if configs:
        entry["pluginConfig"] = configs
    return entry


def _unweighted(names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, 0) for name in names]


def _changes(plugins: Enabled, defaults: Enabled) -> dict[str, Any]:
    configured, usual = dict(plugins), dict(defaults)
    section: dict[str, Any] = {}
    disabled = [{"name": name} for name in usual if name not in configured]
    enabled = [
        {"name": name, "weight": weight} if weight else {"name": name}
        for name, weight in plugins
        if usual.get(name) != weight
    ]
    if disabled:
        section["disabled"] = disabled
    if enabled:
        section["enabled"] = enabled
    return section
