import unittest

import torch

from tests import drawn, helpers  # noqa: F401

import losses
import metrics
import networks
import targets


def perfect(target, priors):
    """Outputs (logits) that say what is true about the first face, from every cell."""
    box, five = target["box"][:, :1], target["five"][:, :1]
    s = priors.stride[:, None]
    inside = losses.inside(priors.middle, box)[:, 0]
    middle, size = (box[..., :2] + box[..., 2:]) / 2, box[..., 2:] - box[..., :2]
    parts = [torch.full((len(box), len(s), 1), 12.0), torch.where(inside, 12.0, -12.0)[..., None],
             torch.cat([(middle - priors.corner) / s, (size / s).log().expand(-1, len(s), -1)], -1),
             ((five - priors.corner[:, None]) / s[:, None]).flatten(2)]
    counts = [int((priors.stride == v).sum()) for v in losses.networks.STRIDES]
    return [level for part in parts for level in part.split(counts, 1)]


class Detector(unittest.TestCase):
    def setUp(self):
        chunk = drawn.Scenes().chunk(1, 0, 6)
        self.target = targets.detector(chunk["image"], chunk, 64, targets.Dice("cpu", 1), varied=False)
        self.priors = losses.Priors(64, "cpu")

    def test_truth_costs_nothing(self):
        parts = losses.detector(perfect(self.target, self.priors), self.target)
        for name in ("cls", "box", "five"):
            self.assertLess(float(parts[name]), 1e-3, name)

    def test_truth_is_precise(self):
        net = lambda _: [o.sigmoid() if o.shape[-1] == 1 else o for o in perfect(self.target, self.priors)]  # noqa: E731
        self.assertAlmostEqual(metrics.detector(net, [self.target])["ap50"], 1, places=5)

    def test_every_face_has_cells_of_its_own(self):
        cls, obj, boxes, _ = self.priors.decode(perfect(self.target, self.priors))
        owner, counts = losses.assign(self.priors, cls, obj, boxes, self.target)
        self.assertTrue(bool((owner >= 0).any(1).all()))
        self.assertTrue(bool(counts.all()))

    def test_ignored_faces_are_neither(self):
        self.target["state"] = -self.target["state"]
        cls, obj, boxes, _ = self.priors.decode(perfect(self.target, self.priors))
        owner, counts = losses.assign(self.priors, cls, obj, boxes, self.target)
        self.assertTrue(bool((owner < 0).all()))
        self.assertTrue(torch.equal(~counts, losses.inside(self.priors.middle, self.target["box"])[:, 0]))


class Precision(unittest.TestCase):
    def test_area(self):
        p = metrics.Precision()
        truth, state = torch.tensor([[0.0, 0, 30, 30], [50, 0, 80, 30]]), torch.tensor([1, 1])
        boxes = torch.tensor([[0.0, 0, 30, 30], [100, 100, 130, 130], [50, 0, 80, 30]])
        p.add(boxes, torch.tensor([0.9, 0.8, 0.7]), truth, state)
        self.assertAlmostEqual(p.value(), 0.5 * 1 + 0.5 * 2 / 3, places=5)

    def test_small_faces_may_be_found(self):
        p = metrics.Precision()
        p.add(torch.tensor([[0.0, 0, 16, 16]]), torch.tensor([0.9]), torch.tensor([[0.0, 0, 16, 16]]), torch.tensor([1]))
        self.assertEqual((p.faces, p.results), (0, []))


class Face(unittest.TestCase):
    def test_rotation_of_its_own_columns(self):
        q, _ = torch.linalg.qr(torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(1)))
        q = q * torch.linalg.det(q)[:, None, None].sign()
        six = q[:, :, :2].transpose(1, 2).flatten(1)
        self.assertLess(float((losses.rotation(six * 1.7) - q).abs().max()), 1e-5)

    def test_distance_is_smooth_at_nothing_and_a_length_beyond(self):
        along = torch.linspace(0, 0.1, 2001)
        error = torch.stack([0.6 * along, -0.8 * along], -1)
        d = losses.distance(error)
        self.assertEqual(float(d[0]), 0)
        self.assertTrue(bool((d.diff() > 0).all()))
        self.assertLess(float((d - along).abs().max()), losses.NEAR)
        still = torch.zeros(3, 2, requires_grad=True)
        losses.distance(still).sum().backward()
        self.assertEqual(float(still.grad.abs().max()), 0)

    def test_the_68_count_three_times_as_much(self):
        target = dict(
            points=torch.zeros(1, networks.POINTS, 3), visible=torch.ones(1, networks.POINTS, dtype=torch.bool), located=torch.ones(1, dtype=torch.bool),
            presence=torch.ones(1), asked=torch.ones(1, dtype=torch.bool), coefficients=torch.zeros(1, 52), described=torch.ones(1, dtype=torch.bool), rotation=torch.eye(3)[None])

        def loss(point):
            points = torch.zeros(1, networks.POINTS, 3)
            points[0, point, 0] = 0.1
            outputs = [points.reshape(1, 1, -1), torch.zeros(1, 1, networks.POINTS), torch.zeros(1, 1, 1), torch.zeros(1, 1, 52), torch.tensor([[[1.0, 0, 0, 0, 1, 0]]])]
            return float(losses.face(outputs, target)["points"])

        self.assertAlmostEqual(loss(67) / loss(68), 3, places=4)

    def test_negatives_have_no_points(self):
        chunk = drawn.Crops().chunk(1, 0, 64)
        target = targets.face(chunk["image"], chunk, 32, targets.Dice("cpu", 1))
        self.assertTrue(0 < int((target["presence"] == 0).sum()) < 32)
        target["located"][:], target["described"][:], target["asked"][:] = False, False, False
        outputs = [torch.zeros(64, 1, n) for n in (3 * networks.POINTS, networks.POINTS, 1, 52, 6)]
        self.assertEqual(float(sum(losses.face(outputs, target).values())), 0)
