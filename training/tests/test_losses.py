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

    def test_wing_is_continuous_and_rises(self):
        v = losses.wing(torch.linspace(0, 0.1, 2001))
        self.assertTrue(bool((v[1:] > v[:-1]).all()))
        self.assertLess(float((v[1:] - v[:-1]).max()), 0.02 * 0.00005 / 0.004 * 1.1)
        self.assertEqual(float(v[0]), 0)

    def test_negatives_have_no_points(self):
        chunk = drawn.Crops().chunk(1, 0, 64)
        target = targets.face(chunk["image"], chunk, 32, targets.Dice("cpu", 1))
        self.assertTrue(0 < int((target["presence"] == 0).sum()) < 32)
        target["located"][:], target["described"][:], target["asked"][:] = False, False, False
        outputs = [torch.zeros(64, 1, n) for n in (3 * networks.POINTS, networks.POINTS, 1, 52, 6)]
        self.assertEqual(float(sum(losses.face(outputs, target).values())), 0)
