"""How good a network is on pictures that no training sees."""

import torch

import losses

RIGHT_CORNER, LEFT_CORNER = 36, 45
MOST = 300  # cells of a picture that are looked at, the best ones


def suppressed(boxes, scores, limit=0.3):
    """Indices that stay, best first."""
    order, kept = scores.argsort(descending=True).tolist(), []
    for i in order:
        if not kept or float(losses.overlaps(boxes[i], boxes[kept])[0].max()) <= limit:
            kept.append(i)
    return kept


class Precision:
    """Average precision at an overlap of one half, of faces from a size on. Smaller ones may be found or not."""

    def __init__(self, smallest=24.0, threshold=0.02):
        self.smallest, self.threshold = smallest, threshold
        self.results, self.faces = [], 0

    def add(self, boxes, scores, truth, state):
        """Of one picture: boxes [N,4], scores [N]; truth [G,4], state [G] as in targets.detector."""
        sides = (truth[:, 2:] - truth[:, :2]).prod(-1).clamp_min(0).sqrt()
        wanted = (state == 1) & (sides >= self.smallest)
        self.faces += int(wanted.sum())
        scores, order = scores.topk(min(MOST, len(scores)))
        keep = scores > self.threshold
        boxes, scores, taken = boxes[order[keep]], scores[keep], set()
        for i in suppressed(boxes, scores):
            iou = losses.overlaps(boxes[i], truth)[0] * (state != 0)
            free = [g for g in range(len(truth)) if wanted[g] and g not in taken and iou[g] >= 0.5]
            if free:
                taken.add(max(free, key=lambda g: float(iou[g])))
                self.results.append((float(scores[i]), 1))
            elif not any(iou[g] >= 0.3 and not wanted[g] for g in range(len(truth))):
                self.results.append((float(scores[i]), 0))

    def value(self):
        hits, area, best, points = 0, 0.0, 0.0, []
        for n, (_, hit) in enumerate(sorted(self.results, reverse=True), 1):
            hits += hit
            points.append((hits / max(self.faces, 1), hits / n))
        last = points[-1][0] if points else 0.0
        for recall, precision in reversed(points):
            area += (last - recall) * best
            best, last = max(best, precision), recall
        return area + last * best


def detector(net, batches):
    result = Precision()
    for target in batches:
        priors = losses.priors_of(target["image"].shape[-1], target["image"].device)
        cls, obj, boxes, _ = (v.cpu() for v in priors.decode(net(target["image"])))
        for i, (box, state) in enumerate(zip(target["box"].cpu(), target["state"].cpu())):
            result.add(boxes[i], (cls[i] * obj[i]).sqrt(), box, state)
    return dict(ap50=result.value(), faces=result.faces)


def face(net, batches):
    """points68: mean error of the 68 points in distances between the outer corners of the eyes; coefficients: mean absolute error;
    presence: share that is right; pose: degrees."""
    sums = {k: [0.0, 0] for k in ("points68", "coefficients", "presence", "pose")}

    def note(name, values):
        sums[name][0] += float(values.sum())
        sums[name][1] += values.numel()

    for target in batches:
        points, _, presence, coefficients, pose = (o.float()[:, 0] for o in net(target["image"]))
        seen, want = target["described"], target["points"][:, :68, :2]
        error = (points.reshape(len(points), -1, 3)[:, :68, :2] - want).norm(dim=-1).mean(1)
        between = target["points"][:, LEFT_CORNER] - target["points"][:, RIGHT_CORNER]
        note("points68", (error / between.norm(dim=-1).clamp_min(1e-3))[seen])
        note("coefficients", (coefficients - target["coefficients"]).abs()[seen])
        note("presence", ((presence[:, 0] > 0) == (target["presence"] > 0.5))[target["asked"]].float())
        trace = (losses.rotation(pose) * target["rotation"]).sum((1, 2))
        note("pose", torch.rad2deg(torch.acos(((trace - 1) / 2).clamp(-1, 1)))[seen])
    return {k: total / max(count, 1) for k, (total, count) in sums.items()}
