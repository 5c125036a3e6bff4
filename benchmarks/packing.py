"""Speed of the compiled packing loop relative to the same loop in plain NumPy.

Figures are ratios, which hold on slow and fast machines. They use the minimum CPU time of several
runs, so that other work on the machine matters little.
"""

import functools
import time
from collections.abc import Callable

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import heuristics
from kubestow.studies.schubert.packing import demands

REPEATS = 3
COMPILED_LISTS = 20
PLAIN_LISTS = 1
SETTING = demands.DemandSetting("split", 4, 10.0)


def measure() -> dict[str, float]:
    """Return compiled placements per second / those of plain NumPy, by heuristic."""
    lists = demands.draw(SETTING, COMPILED_LISTS, seed=1, chunk=0)
    heuristics.compile_heuristics()
    ratios = {}
    for name, score in (("k8s-most", most), ("vector-dot", dot)):
        chosen = heuristics.HEURISTICS.get(name)
        compiled = heuristics.count_nodes(lists[:PLAIN_LISTS], chosen)
        plain = [count_plainly(one, score) for one in lists[:PLAIN_LISTS]]
        assert compiled.tolist() == plain, "both must do the same work"
        fast = best_time(functools.partial(heuristics.count_nodes, lists, chosen))
        slow = best_time(functools.partial(count_plainly, lists[0], score))
        ratios[f"compiled_over_numpy_{name}"] = slow / (fast / COMPILED_LISTS)
    ratios["adaptive_over_vector_dot"] = best_time(
        lambda: heuristics.count_nodes(lists, heuristics.HEURISTICS.get("vector-dot"))
    ) / best_time(lambda: heuristics.count_nodes(lists, heuristics.HEURISTICS.get("adaptive")))
    return ratios


def best_time(work: Callable[[], object]) -> float:
    """Return the minimum CPU time of several runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


Score = Callable[[arrays.Floats, arrays.Floats], arrays.Floats]


def count_plainly(pods: arrays.Floats, score: Score) -> int:
    """Count nodes by best fit, one array operation over all nodes at a time."""
    used = np.zeros_like(pods)
    count = 0
    for pod in pods:
        fitting = np.flatnonzero(np.all(used[:count] + pod <= 1.0 + 1e-9, axis=1))
        if len(fitting):
            node = fitting[np.argmax(score(used[fitting], pod))]
        else:
            node = count
            count += 1
        used[node] += pod
    return count


def most(used: arrays.Floats, pod: arrays.Floats) -> arrays.Floats:
    """Score as k8s-most."""
    after = used + pod
    return np.asarray(after.mean(axis=1) - after.std(axis=1))


def dot(used: arrays.Floats, pod: arrays.Floats) -> arrays.Floats:
    """Score as vector-dot."""
    free = 1.0 - used
    return np.asarray(free @ pod / np.linalg.norm(free, axis=1))


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.1f}")
