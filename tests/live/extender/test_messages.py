"""What a real kube-scheduler 1.37 sends, and what it takes for an answer."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kubestow.live.extender import messages

RECORDED = Path(__file__).parents[2] / "data" / "extender_1_37"


def _read(name: str) -> bytes:
    return (RECORDED / f"{name}.json").read_bytes()


@pytest.mark.parametrize("mode", ["nodenames", "nodes"])
@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_recorded_questions_are_read(verb: str, mode: str) -> None:
    args = messages.read_args(_read(f"{verb}-{mode}-request"))
    sent = json.loads(_read(f"{verb}-{mode}-request"))
    names = sent["NodeNames"] or [node["metadata"]["name"] for node in sent["Nodes"]["items"]]
    assert messages.node_names(args) == names
    assert messages.read_pod(args.pod).metadata.uid == sent["Pod"]["metadata"]["uid"]


def test_names_are_answered_by_names() -> None:
    args = messages.read_args(_read("filter-nodenames-request"))
    names = messages.node_names(args)
    result = messages.keep_some(args, [1, 3], {names[0]: "full"})
    assert json.loads(messages.write(result)) == {
        "nodenames": [names[1], names[3]],
        "failedNodes": {names[0]: "full"},
    }


def test_whole_nodes_are_handed_back_as_they_came() -> None:
    args = messages.read_args(_read("filter-nodes-request"))
    sent = json.loads(_read("filter-nodes-request"))["Nodes"]["items"]
    result = json.loads(messages.write(messages.keep_some(args, [2], {})))
    assert result == {"nodes": {"items": [sent[2]]}}


def test_keys_are_those_of_a_recorded_answer() -> None:
    args = messages.read_args(_read("filter-nodenames-request"))
    result = json.loads(messages.write(messages.keep_some(args, [0], {"x": "y"})))
    assert result.keys() <= json.loads(_read("filter-nodenames-response")).keys()
    scores = json.loads(messages.write([messages.HostPriority("n", 7)]))
    assert scores[0].keys() == json.loads(_read("prioritize-nodenames-response"))[0].keys()


def test_bindings_are_spelled_as_in_go() -> None:
    text = b'{"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "n"}'
    result = messages.read_binding(text)
    assert (result.name, result.namespace, result.uid, result.node) == ("p", "ns", "u", "n")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"NodeNames": ["a"]}', b'{"Pod": {}, "NodeNames": 1}']
)
def test_what_is_no_question_is_refused(text: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        messages.read_args(text)
