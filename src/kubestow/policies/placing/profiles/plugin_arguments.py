"""Reading and writing of plugin arguments with upstream's validation; defaults are omitted.

The rules are those of ``apis/config/validation/validation_pluginargs.go`` (1.37).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubestow.model import affinities, decoding, pods, resources, selectors
from kubestow.policies.placing.profiles import profile as profiles_profile

_TYPE_FIELDS = ("apiVersion", "kind")
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"


def refuse_unknown(entry: decoding.Field, known: tuple[str, ...]) -> None:
    """Refuse fields that kube-scheduler's strict decoding does not know."""
    for name in entry.mapping():
        if name not in known:
            raise entry[name].refuse("unknown field")


def _check_kind(args: decoding.Field, plugin: str) -> None:
    if not args["kind"].missing:
        args["kind"].choice((f"{plugin}Args",))


def _weights(field: decoding.Field, *, most: int) -> tuple[profiles_profile.ResourceWeight, ...]:
    weights = []
    for item in field.items():
        refuse_unknown(item, ("name", "weight"))
        # A missing or zero weight defaults to 1.
        weight = item["weight"].integer(1, least=0, most=most) or 1
        weights.append(profiles_profile.ResourceWeight(item["name"].text(), weight))
    return tuple(weights) or profiles_profile.FitArgs().resources


def _shape(field: decoding.Field) -> tuple[profiles_profile.ShapePoint, ...]:
    points: list[profiles_profile.ShapePoint] = []
    for item in field.items():
        refuse_unknown(item, ("utilization", "score"))
        point = profiles_profile.ShapePoint(
            item["utilization"].integer(0, least=0, most=100),
            item["score"].integer(0, least=0, most=10),
        )
        if points and points[-1].utilization >= point.utilization:
            raise item["utilization"].refuse("values must be sorted in increasing order")
        points.append(point)
    if not points:
        raise field.refuse("at least one point must be specified")
    return tuple(points)


def fit(args: decoding.Field) -> profiles_profile.FitArgs:
    """Read NodeResourcesFitArgs."""
    _check_kind(args, profiles_profile.FIT)
    refuse_unknown(
        args, (*_TYPE_FIELDS, "ignoredResources", "ignoredResourceGroups", "scoringStrategy")
    )
    for name in args["ignoredResources"].items():
        if not resources.is_qualified_name(name.text()):
            raise name.refuse("expected a resource name such as example.com/device")
    for group in args["ignoredResourceGroups"].items():
        if "/" in group.text() or not resources.is_qualified_name(group.text()):
            raise group.refuse("expected a resource group without '/', such as example.com")
    strategy = args["scoringStrategy"]
    refuse_unknown(strategy, ("type", "resources", "requestedToCapacityRatio"))
    kind = profiles_profile.LEAST
    if not strategy.missing:
        kind = strategy["type"].choice(
            (profiles_profile.LEAST, profiles_profile.MOST, profiles_profile.RATIO)
        )
    ratio = strategy["requestedToCapacityRatio"]
    refuse_unknown(ratio, ("shape",))
    if kind == profiles_profile.RATIO and ratio.missing:
        raise ratio.refuse(f"must be specified when type is {profiles_profile.RATIO}")
    if kind != profiles_profile.RATIO and not ratio.missing:
        raise ratio.refuse(f"must be omitted when type is not {profiles_profile.RATIO}")
    return profiles_profile.FitArgs(
        strategy=kind,
        resources=_weights(strategy["resources"], most=100),
        shape=_shape(ratio["shape"]) if kind == profiles_profile.RATIO else (),
        ignored_resources=frozenset(args["ignoredResources"].texts()),
        ignored_groups=frozenset(args["ignoredResourceGroups"].texts()),
    )


def balanced(args: decoding.Field) -> profiles_profile.BalancedArgs:
    """Read NodeResourcesBalancedAllocationArgs."""
    _check_kind(args, profiles_profile.BALANCED)
    refuse_unknown(args, (*_TYPE_FIELDS, "resources"))
    weights = _weights(args["resources"], most=1)
    names = [weighted.name for weighted in weights]
    if len(set(names)) < len(names):
        raise args["resources"].refuse("duplicate resource")
    return profiles_profile.BalancedArgs(weights)


def node_affinity(args: decoding.Field) -> profiles_profile.NodeAffinityArgs:
    """Read NodeAffinityArgs."""
    _check_kind(args, profiles_profile.NODE_AFFINITY)
    refuse_unknown(args, (*_TYPE_FIELDS, "addedAffinity"))
    added = args["addedAffinity"]
    required = affinities.required_nodes(added)
    preferred = affinities.preferred_nodes(added)
    for term in (*(required or ()), *(p.term for p in preferred)):
        if not term.valid:
            raise added.refuse("cannot be parsed")
    return profiles_profile.NodeAffinityArgs(required, preferred)


def spread(args: decoding.Field) -> profiles_profile.SpreadArgs:
    """Read PodTopologySpreadArgs."""
    _check_kind(args, profiles_profile.SPREAD)
    refuse_unknown(args, (*_TYPE_FIELDS, "defaultConstraints", "defaultingType"))
    system = args["defaultingType"].choice(("System", "List"), "System") == "System"
    constraints: list[pods.SpreadConstraint] = []
    for item in args["defaultConstraints"].items():
        if system:
            raise args["defaultingType"].refuse("must be List when defaultConstraints are given")
        if not item["labelSelector"].missing:
            raise item["labelSelector"].refuse("must be omitted, it is derived for each pod")
        constraint = affinities.spread_constraint(item, {})
        if any((c.topology_key, c.hard) == (constraint.topology_key, constraint.hard)
               for c in constraints):  # fmt: skip
            raise item["topologyKey"].refuse("duplicate constraint")
        constraints.append(constraint)
    return profiles_profile.SpreadArgs(
        system, profiles_profile.SYSTEM_SPREAD if system else tuple(constraints)
    )


def pod_affinity(args: decoding.Field) -> profiles_profile.PodAffinityArgs:
    """Read InterPodAffinityArgs."""
    _check_kind(args, profiles_profile.POD_AFFINITY)
    refuse_unknown(
        args, (*_TYPE_FIELDS, "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
    )
    return profiles_profile.PodAffinityArgs(
        hard_weight=args["hardPodAffinityWeight"].integer(1, least=0, most=100),
        ignore_preferred_of_existing=args["ignorePreferredTermsOfExistingPods"].truth(),
    )


def volumes(args: decoding.Field) -> profiles_profile.VolumeArgs:
    """Read VolumeBindingArgs."""
    _check_kind(args, profiles_profile.VOLUMES)
    refuse_unknown(args, (*_TYPE_FIELDS, "bindTimeoutSeconds", "shape"))
    args["bindTimeoutSeconds"].integer(600, least=0)
    if not args["shape"].value:  # upstream takes an empty shape for none
        return profiles_profile.VolumeArgs()
    return profiles_profile.VolumeArgs(_shape(args["shape"]))


# Plugin name -> attribute of the profile and reader of its arguments.
READERS: Mapping[str, tuple[str, Callable[[decoding.Field], Any]]] = {
    profiles_profile.FIT: ("fit", fit),
    profiles_profile.BALANCED: ("balanced", balanced),
    profiles_profile.NODE_AFFINITY: ("node_affinity", node_affinity),
    profiles_profile.SPREAD: ("spread", spread),
    profiles_profile.POD_AFFINITY: ("pod_affinity", pod_affinity),
    profiles_profile.VOLUMES: ("volumes", volumes),
}


def write(profile: profiles_profile.Profile) -> list[dict[str, Any]]:
    """Return the ``pluginConfig`` of a profile, without arguments that equal the defaults."""
    default = profiles_profile.Profile()
    writers: list[tuple[str, Any, Any, Callable[[Any], dict[str, Any]]]] = [
        (profiles_profile.FIT, profile.fit, default.fit, _write_fit),
        (profiles_profile.BALANCED, profile.balanced, default.balanced, _write_balanced),
        (
            profiles_profile.NODE_AFFINITY,
            profile.node_affinity,
            default.node_affinity,
            _write_nodes,
        ),
        (profiles_profile.SPREAD, profile.spread, default.spread, _write_spread),
        (profiles_profile.POD_AFFINITY, profile.pod_affinity, default.pod_affinity, _write_pods),
        (profiles_profile.VOLUMES, profile.volumes, default.volumes, _write_volumes),
    ]
    return [
        {"name": name, "args": writer(args)}
        for name, args, usual, writer in writers
        if args != usual
    ]


def _write_weights(weights: tuple[profiles_profile.ResourceWeight, ...]) -> list[dict[str, Any]]:
    return [{"name": weighted.name, "weight": weighted.weight} for weighted in weights]


def _write_shape(shape: tuple[profiles_profile.ShapePoint, ...]) -> list[dict[str, int]]:
    return [{"utilization": p.utilization, "score": p.score} for p in shape]


def _write_fit(args: profiles_profile.FitArgs) -> dict[str, Any]:
    strategy: dict[str, Any] = {
        "type": args.strategy,
        "resources": _write_weights(args.resources),
    }
    if args.strategy == profiles_profile.RATIO:
        strategy["requestedToCapacityRatio"] = {"shape": _write_shape(args.shape)}
    written: dict[str, Any] = {"scoringStrategy": strategy}
    if args.ignored_resources:
        written["ignoredResources"] = sorted(args.ignored_resources)
    if args.ignored_groups:
        written["ignoredResourceGroups"] = sorted(args.ignored_groups)
    return written


def _write_balanced(args: profiles_profile.BalancedArgs) -> dict[str, Any]:
    return {"resources": _write_weights(args.resources)}


def _write_requirements(requirements: tuple[selectors.Requirement, ...]) -> list[dict[str, Any]]:
    return [
        {"key": r.key, "operator": r.operator, **({"values": list(r.values)} if r.values else {})}
        for r in requirements
    ]


def _write_term(term: selectors.NodeSelectorTerm) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if term.expressions:
        written["matchExpressions"] = _write_requirements(term.expressions)
    if term.fields:
        written["matchFields"] = _write_requirements(term.fields)
    return written


def _write_nodes(args: profiles_profile.NodeAffinityArgs) -> dict[str, Any]:
    added: dict[str, Any] = {}
    if args.required is not None:
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [_write_term(term) for term in args.required]
        }
    if args.preferred:
        added["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": p.weight, "preference": _write_term(p.term)} for p in args.preferred
        ]
    return {"addedAffinity": added}


def _write_spread(args: profiles_profile.SpreadArgs) -> dict[str, Any]:
    return {
        "defaultingType": "List",
        "defaultConstraints": [
            {
                "maxSkew": c.max_skew,
                "topologyKey": c.topology_key,
                "whenUnsatisfiable": _HARD if c.hard else _SOFT,
            }
            for c in args.constraints
        ],
    }


def _write_pods(args: profiles_profile.PodAffinityArgs) -> dict[str, Any]:
    return {
        "hardPodAffinityWeight": args.hard_weight,
        "ignorePreferredTermsOfExistingPods": args.ignore_preferred_of_existing,
    }


def _write_volumes(args: profiles_profile.VolumeArgs) -> dict[str, Any]:
    return {"shape": _write_shape(args.shape)}
