"""Methods that merge unequal amounts of work, in float64, from the order in which workers were observed to ask."""

import numpy as np

from tests.engine.reference.observed import End, Observed


def adaptive_sgd(run: Observed) -> End:
    """Return weights and center; a worker's last entry in the order is its farewell, with its weights."""
    v, workers = run.values, run.workers
    center = run.start.astype(np.float64).copy()
    earlier = center.copy()
    x = [center.copy() for _ in range(workers)]
    size, count = [float(v["largest"])] * workers, [0] * workers
    done, granted, each = [0] * workers, [0] * workers, [1] * workers
    left, waiting, gone = v["mega_batch"], [], 0
    handed: list[list[int]] = [[0] * workers]  # batches of each worker, up to the present merge
    budget = sum(run.steps)

    def grant(i: int, most: int) -> int:
        batches = [int(np.floor(b + 0.5)) for b in size]
        recent = np.sum(handed[-2:], axis=0)
        to_come = min(left, budget - int(np.sum(handed)))
        share = to_come * recent[i] / (recent.sum() * batches[i]) if recent.any() else 0
        bound = max(v["largest"], v["mega_batch"] // workers)
        several = int(np.ceil(v["at_once"] * share - 1e-9))
        if v["at_once"] and len(handed) > 1 and count[i] == 0:  # the first since the merge
            of_all = handed[-2][i] / (sum(handed[-2]) * batches[i])
            whole = min(v["mega_batch"], budget - int(np.sum(handed))) * of_all
            several = max(several, min(3, int(np.ceil(whole - 1e-9)) - 1))
        several = min(several, min(most, bound) // batches[i], 16)
        granted[i] = min(max(1, several) * batches[i], most, run.steps[i] - done[i])
        each[i] = batches[i]
        count[i] += -(-granted[i] // batches[i])
        handed[-1][i] += granted[i]
        return granted[i]

    for i in run.served:
        while granted[i]:  # what is no whole update comes first
            own = granted[i] % each[i] or each[i]
            x[i] = x[i] - v["lr"] * sum((run.gradient(i, done[i] + k, x[i]) for k in range(own)), 0.0)
            done[i], granted[i] = done[i] + own, granted[i] - own
        if done[i] == run.steps[i]:
            gone += 1
        elif left > 0:
            left -= grant(i, left)
            continue
        else:
            waiting.append(i)
        if len(waiting) + gone < workers:
            continue
        if sum(count):
            center, earlier = _merged(v, x, size, count) + v["center_momentum"] * (center - earlier), center
            mean = np.mean(count)
            moved = [size[j] + v["scaling"] * (count[j] - mean) for j in range(workers)]
            size = [float(np.clip(b, v["smallest"], v["largest"])) for b in moved]
            count = [0] * workers
            handed.append([0] * workers)
        left = v["mega_batch"]
        for n, j in enumerate(waiting):
            x[j] = center
            left -= grant(j, left - (len(waiting) - 1 - n))
        waiting = []
    return x, center


def _merged(v: dict, x: list, size: list, count: list) -> np.ndarray:
    """Return sum_i a_i x_i, by size if all have updated equally often, else by count; perturbed if asked."""
    equal = min(count) == max(count)
    share = np.array(size if equal else count, dtype=np.float64)
    a = share / share.sum()
    small = all(np.linalg.norm(x[i]) / len(x[i]) < v["threshold"] for i in range(len(x)) if count[i])
    if v["perturbation"] and small and not equal:
        a[int(np.argmax(count))] *= 1 + v["perturbation"]
        a[int(np.argmin(count))] *= 1 - v["perturbation"]
    return np.asarray(sum(a[i] * x[i] for i in range(len(x)) if count[i]))
