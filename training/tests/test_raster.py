import unittest

import numpy as np
import torch

from tests import helpers

import raster


def square(z, left=2.0, right=14.0):
    return [[left, 2, z], [right, 2, z], [right, 14, z], [left, 14, z]]


QUAD = [[0, 1, 2], [0, 2, 3]]


class Raster(unittest.TestCase):
    def compare(self, points, triangles, perspective=True):
        points, triangles = np.float32(points), np.int32(triangles)
        fast = raster.rasterize(helpers.tensor(points)[None], torch.as_tensor(triangles), 16, 16, perspective)
        ids, weights, depth = helpers.slow_raster(points, triangles, 16, 16, perspective)
        np.testing.assert_array_equal(fast.ids[0].numpy(), ids)
        np.testing.assert_allclose(fast.depth[0].numpy(), depth, rtol=1e-5)
        np.testing.assert_allclose(fast.weights[0].numpy(), weights, atol=2e-5)

    def test_random_triangles_equal_the_slow_reference(self):
        rng = np.random.default_rng(1)
        for perspective in (True, False):
            points = np.c_[rng.uniform(-4, 20, (30, 2)), rng.uniform(5, 50, 30)]
            self.compare(points, rng.integers(0, 30, (12, 3)), perspective)

    def test_corners_on_pixel_centres(self):
        self.compare([[2.5, 2.5, 9], [9.5, 2.5, 9], [9.5, 9.5, 9], [2.5, 9.5, 9]], QUAD)

    def test_neighbours_leave_no_gap_and_share_nothing(self):
        rng = np.random.default_rng(2)
        middle = rng.uniform(5, 11, 2)
        points = np.float32(square(10) + [[*middle, 10]])
        fan = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
        counts = np.zeros((16, 16), int)
        for t in fan:
            one = raster.rasterize(helpers.tensor(points)[None], torch.tensor([t]), 16, 16)
            counts += one.covered[0].numpy()
        self.assertEqual(counts.sum(), 144)
        self.assertEqual(counts.max(), 1)

    def test_nearer_wins_whatever_the_order(self):
        points = helpers.tensor(square(10) + square(5))[None]
        for order in ([*QUAD, [4, 5, 6], [4, 6, 7]], [[4, 5, 6], [4, 6, 7], *QUAD]):
            depth = raster.rasterize(points, torch.tensor(order), 16, 16).depth[0, 3:13, 3:13]
            self.assertLess(float((depth - 5).abs().max()), 1e-4)

    def test_behind_the_camera_and_not_a_number_are_left_out(self):
        for z in (-1.0, 0.0, float("nan")):
            self.assertFalse(raster.rasterize(helpers.tensor(square(z))[None], torch.tensor(QUAD), 16, 16).covered.any())

    def test_several_images_in_one_call(self):
        points = helpers.tensor([square(10), square(7, 4, 9), square(-1)])
        many = raster.rasterize(points, torch.tensor(QUAD), 16, 16)
        for i in range(3):
            one = raster.rasterize(points[i : i + 1], torch.tensor(QUAD), 16, 16)
            self.assertTrue(torch.equal(many.ids[i], one.ids[0]) and torch.equal(many.depth[i], one.depth[0]))

    def test_interpolation_is_straight_in_space(self):
        # A plane that recedes: its inverse depth, not its depth, is even on the screen.
        points = helpers.tensor([[2, 2, 5], [14, 2, 20], [14, 14, 20], [2, 14, 5]])[None]
        seen = raster.rasterize(points, torch.tensor(QUAD), 16, 16)
        value, rows = seen.interpolate(torch.tensor(QUAD, dtype=torch.int32), points[..., 2:])
        inside = seen.covered
        self.assertTrue(torch.equal(rows >= 0, inside))
        torch.testing.assert_close(value[:, 0][rows[inside].long()], seen.depth[inside], rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
