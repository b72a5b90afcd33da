import math
import unittest

import numpy as np
import torch

from tests import drawn, helpers  # noqa: F401

import geometry
import networks
import targets


def region(x, y, size, turn):
    return targets.Regions(torch.tensor([[float(x), y]]), torch.tensor([float(size)]), torch.tensor([float(turn)]))


class RegionsOfFaces(unittest.TestCase):
    def test_unit_and_frame(self):
        """As vision.ROI.Unit: half a side along the region's own axis is its border."""
        r = region(30, 20, 10, 0.3)
        right = torch.tensor([[[30 + 5 * math.cos(0.3), 20 + 5 * math.sin(0.3)]]])
        np.testing.assert_allclose(r.unit(right)[0, 0].numpy(), [1, 0.5], atol=1e-6)

    def test_of_points_turns_with_the_face(self):
        points = torch.rand(1, networks.POINTS, 2, generator=torch.Generator().manual_seed(1)) * 40
        points[0, 36], points[0, 45] = torch.tensor([5.0, 10]), torch.tensor([35.0, 10])
        c, s = math.cos(0.5), math.sin(0.5)
        turned = points @ torch.tensor([[c, s], [-s, c]])
        a, b = targets.Regions.of_points(points), targets.Regions.of_points(turned)
        self.assertAlmostEqual(float(a.turn), 0, places=5)
        self.assertAlmostEqual(float(b.turn), 0.5, places=5)
        self.assertAlmostEqual(float(a.size), float(b.size), places=4)
        np.testing.assert_allclose(a.unit(points).numpy(), b.unit(turned).numpy(), atol=1e-5)
        extent = a.unit(points)[0]
        self.assertAlmostEqual(float((extent.amax(0) - extent.amin(0)).max()), 1 / targets.MARGIN, places=5)

    def test_cut_without_change(self):
        image = (torch.rand(1, 3, 16, 16) * 255).to(torch.uint8)
        np.testing.assert_allclose(region(8, 8, 16, 0).cut(image, 16).numpy() * 255, image.numpy(), atol=1e-3)

    def test_cut_quarter_turn(self):
        """Clockwise on the screen: the region's x axis points down."""
        image = (torch.rand(1, 3, 16, 16) * 255).to(torch.uint8)
        got = region(8, 8, 16, math.pi / 2).cut(image, 16)
        np.testing.assert_allclose(got[0].numpy() * 255, image[0].transpose(1, 2).flip(1).numpy(), atol=1e-2)

    def test_large_regions_are_means(self):
        image = (torch.rand(1, 3, 64, 64) * 255).to(torch.uint8)
        got = region(32, 32, 64, 0).cut(image, 16)
        want = targets.F.avg_pool2d(targets.F.avg_pool2d(image.float() / 255, 2), 2)
        self.assertLess(float((got - want).abs().max()), 1e-4)


class Poses(unittest.TestCase):
    def test_view_brings_the_head_onto_the_axis(self):
        p = torch.tensor([[20.0, -15, 60], [0, 0, 10]])
        v = targets.view(p)
        seen = (v @ p[..., None])[..., 0]
        np.testing.assert_allclose(seen[:, :2].numpy(), 0, atol=1e-5)
        np.testing.assert_allclose((v @ v.transpose(1, 2)).numpy(), np.eye(3)[None].repeat(2, 0), atol=1e-5)

    def test_region_takes_the_roll(self):
        """A head that rolls by 20° is cut upright by a region that turns with it."""
        pose, position = torch.tensor([[0.0, 0, 20]]), torch.tensor([[0.0, 0, 50]])
        eyes = geometry.project(torch.tensor([[[-4.0, 0, 0], [4, 0, 0]]]) @ geometry.head_rotation(*pose.unbind(-1)).transpose(1, 2) + position[:, None],
                                torch.tensor([100.0]), torch.zeros(1, 2))[0]
        across = eyes[1] - eyes[0]
        turn = torch.atan2(across[1], across[0])[None]
        np.testing.assert_allclose(targets.apparent_rotation(pose, position, turn)[0].numpy(), np.eye(3), atol=1e-5)

    def test_focal_length(self):
        space = torch.randn(2, 50, 3) * 5 + torch.tensor([3.0, 1, 60])
        seen = geometry.project(space, torch.tensor([300.0, 500]), torch.tensor([[10.0, 20], [0, 0]]))[..., :2]
        np.testing.assert_allclose(targets.focal_length(seen, space).numpy(), [300, 500], rtol=1e-4)


class Letterbox(unittest.TestCase):
    def test_whole_picture(self):
        image = (torch.rand(2, 3, 48, 64) * 255).to(torch.uint8)
        got, scale, offset = targets.letterboxed(image, 32, targets.Dice("cpu", 1), varied=False)
        want = targets.F.avg_pool2d(image.float() / 255, 2).flip(1)
        self.assertLess(float((got[:, :, 4:28] - want).abs().max()), 1e-5)
        self.assertLess(float(got[:, :, :4].abs().max() + got[:, :, 28:].abs().max()), 1e-5)
        self.assertEqual((float(scale[0]), offset[0].tolist()), (0.5, [0, 4]))

    def test_boxes_go_along(self):
        chunk = drawn.Scenes().chunk(3, 0, 16)
        made = targets.detector(chunk["image"], chunk, 64, targets.Dice("cpu", 2))  # recoloured too
        for image, box, state in zip(made["image"], made["box"][:, 0], made["state"][:, 0]):
            if state == 1:
                x0, y0, x1, y1 = (max(0, min(63, int(v))) for v in box)
                self.assertGreater(float(image[:, y0 + 2 : y1 - 1, x0 + 2 : x1 - 1].mean()), 1.05 * float(image.mean()))
        self.assertIn(1, made["state"].tolist()[0] + made["state"].tolist()[1])

    def test_dice_are_the_same_again(self):
        a, b, c = (targets.Dice("cpu", 5, i).uniform((4,)).tolist() for i in (1, 1, 2))
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)


class Mirrored(unittest.TestCase):
    def made(self):
        chunk = drawn.Crops().chunk(4, 0, 8)
        return targets.face(chunk["image"], chunk, 64, targets.Dice("cpu", 3), varied=False)

    def test_twice_is_the_same(self):
        made, all_ = self.made(), torch.ones(8, dtype=torch.bool)
        again = targets.mirrored(targets.mirrored(made, all_), all_)
        for name, value in made.items():
            self.assertTrue(torch.allclose(value.float(), again[name].float(), atol=1e-6), name)

    def test_sides_change(self):
        made = self.made()
        chosen = torch.arange(8) % 2 == 0
        got = targets.mirrored(made, chosen)
        np.testing.assert_allclose(got["points"][0, 36, 0], 1 - made["points"][0, 45, 0], atol=1e-6)
        np.testing.assert_allclose(got["points"][0, 36, 1], made["points"][0, 45, 1], atol=1e-6)
        self.assertTrue(torch.equal(got["points"][1], made["points"][1]))
        smile = [targets.arkit.INDEX["mouthSmile" + s] for s in ("Left", "Right")]
        self.assertTrue(torch.equal(got["coefficients"][0, smile], made["coefficients"][0, smile[::-1]]))

    def test_yaw_and_roll_change_their_sign(self):
        turn = geometry.head_rotation(*(torch.tensor([v]) for v in (10.0, 20.0, 5.0)))
        other = geometry.head_rotation(*(torch.tensor([v]) for v in (10.0, -20.0, -5.0)))
        made = dict(self.made(), rotation=turn.expand(8, 3, 3))
        np.testing.assert_allclose(targets.mirrored(made, torch.ones(8, dtype=torch.bool))["rotation"][0].numpy(), other[0].numpy(), atol=1e-5)


class Varied(unittest.TestCase):
    def test_boxes_follow_mirrored_pictures(self):
        """Squares stay bright inside their boxes and the letterbox stays black."""
        chunk = drawn.Scenes().chunk(3, 0, 32)
        made = targets.detector(chunk["image"], chunk, 64, targets.Dice("cpu", 5))
        for image, box, state in zip(made["image"], made["box"][:, 0], made["state"][:, 0]):
            if state == 1:
                x0, y0, x1, y1 = (max(0, min(63, int(v))) for v in box)
                self.assertGreater(float(image[:, y0 + 2 : y1 - 1, x0 + 2 : x1 - 1].mean()), float(image.mean()))

    def test_patches_hide_what_they_cover(self):
        chunk = drawn.Crops().chunk(5, 0, 32)
        made = targets.face(chunk["image"], chunk, 64, targets.Dice("cpu", 3), varied=False)
        got = targets.patched(made, targets.Dice("cpu", 9))
        changed = (got["image"] != made["image"]).any(1)
        near = torch.nn.functional.max_pool2d(changed[:, None].float(), 3, 1, 1)[:, 0] > 0  # a pixel's middle may lie beyond the patch's edge
        self.assertTrue(0 < int(changed.flatten(1).any(1).sum()) < 32)
        lost = made["visible"] & ~got["visible"]
        at = (got["points"][..., :2] * 64).long().clamp(0, 63)
        for i, n in torch.nonzero(lost).tolist():
            self.assertTrue(bool(near[i, at[i, n, 1], at[i, n, 0]]))
        self.assertTrue(bool(lost.any()))

    def test_disturbed_stays_a_picture(self):
        image = torch.rand(16, 3, 32, 32)
        got = targets.disturbed(image, targets.Dice("cpu", 2))
        self.assertTrue(bool(((got >= 0) & (got <= 1)).all()))
        self.assertFalse(torch.equal(got, image))
