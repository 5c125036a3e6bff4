"""Requests, nodes and autoscalers out of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubestow.model import errors, quantities
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.sources.usage import inventory
from tests.sources.usage_folders import REQUESTS, write

WEB = ContainerKey("shop", "Deployment", "web", "app")


def test_an_empty_folder_knows_nothing(tmp_path: Path) -> None:
    result = inventory.read_inventory(tmp_path)
    assert not any(
        (result.containers, result.replicas, result.labels, result.nodes, result.autoscaled)
    )


def test_everything_is_read_as_it_is_written(tmp_path: Path) -> None:
    header = f"{REQUESTS},replicas,image,command,labels"
    rows = [
        'shop,Deployment,web,app,500m,1Gi,,2Gi,3,java:17,"java -Xmx1g -jar a.jar","app=web,tier=x"',
        "shop,Deployment,web,side,1,,2,,,,,",
    ]
    write(tmp_path, rows, header, "requests.csv")
    write(tmp_path, ["n1,16,64Gi,110", "n2,8,32Gi,"], "name,cpu,memory,pods", "nodes.csv")
    write(
        tmp_path,
        ["shop,Deployment,web,cpu,70"],
        "namespace,kind,workload,resource,target",
        "hpas.csv",
    )
    result = inventory.read_inventory(tmp_path)
    app = result.containers[WEB]
    assert app.requests == {
        "cpu": quantities.parse("500m"), "memory": quantities.parse("1Gi")
    }  # fmt: skip
    assert app.limits == {"memory": quantities.parse("2Gi")}
    assert (app.image, app.command) == ("java:17", ("java", "-Xmx1g", "-jar", "a.jar"))
    side = result.containers[WEB._replace(container="side")]
    assert (str(side.requests["cpu"]), str(side.limits["cpu"])) == ("1", "2")
    workload = WorkloadKey("shop", "Deployment", "web")
    assert result.replicas == {workload: 3}
    assert result.labels == {workload: {"app": "web", "tier": "x"}}
    assert {name: sorted(given) for name, given in result.nodes.items()} == {
        "n1": ["cpu", "memory", "pods"], "n2": ["cpu", "memory"],
    }  # fmt: skip
    assert result.autoscaled == {workload: {"cpu": 70}}


GOOD = "shop,Deployment,web,app,1,1Gi,,"
NODES, HPAS = "name,cpu,memory", "namespace,kind,workload,resource,target"


@pytest.mark.parametrize(
    ("name", "header", "rows", "problem"),
    [
        ("requests.csv", REQUESTS, [GOOD, "shop,Deployment,db,app,fast,1Gi,,"],
         "requests.csv:3: cpu_request: 'fast': expected a quantity such as 500m or 1Gi"),
        ("requests.csv", REQUESTS, ["shop,Deployment,db,app,1,-1Gi,,"],
         "requests.csv:2: memory_request: -1Gi: must not be negative"),
        ("requests.csv", REQUESTS, [GOOD, GOOD],
         "requests.csv:3: shop/Deployment/web/app: duplicate row"),
        ("requests.csv", f"{REQUESTS},replicas", [f"{GOOD},2.5"],
         "requests.csv:2: replicas: '2.5': expected a whole number"),
        ("requests.csv", f"{REQUESTS},replicas", [f"{GOOD},inf"],
         "requests.csv:2: replicas: 'inf': expected a whole number"),
        ("requests.csv", f"{REQUESTS},labels", [f"{GOOD},app"],
         "requests.csv:2: labels: 'app': expected key=value"),
        ("requests.csv", f"{REQUESTS},command", [f"{GOOD},it's"],
         "requests.csv:2: command: \"it's\": No closing quotation"),
        ("requests.csv", "namespace,kind", ["a,b"], "requests.csv: has no column workload"),
        ("nodes.csv", NODES, ["n1,16,"], "nodes.csv:2: memory: is empty; expected a quantity"),
        ("nodes.csv", NODES, ["n1,many,64Gi"], "nodes.csv:2: cpu: 'many': expected a quantity"),
        ("hpas.csv", HPAS, ["a,Deployment,b,cpu,80%"],
         "hpas.csv:2: target: '80%': expected a whole number"),
        ("hpas.csv", HPAS, ["a,Deployment,b,cpu,nan"],
         "hpas.csv:2: target: 'nan': expected a whole number"),
    ],
    ids=["quantity", "negative", "twice", "half a pod", "endless pods", "label", "quotes",
         "columns", "no memory", "node", "percent", "no target"],
)  # fmt: skip
def test_a_bad_row_is_named_with_its_line(
    name: str, header: str, rows: list[str], problem: str, tmp_path: Path
) -> None:
    write(tmp_path, rows, header, name)
    with pytest.raises(errors.InputError) as refused:
        inventory.read_inventory(tmp_path)
    assert problem in str(refused.value)
