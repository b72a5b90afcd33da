import time
import unittest

import torch

from tests import drawn, helpers  # noqa: F401

import sources
import targets


class Pools(unittest.TestCase):
    def pool(self, first=0, slow=0.0):
        made = []

        def make(c):
            time.sleep(slow)
            made.append(c)
            return dict(image=torch.full((4,), c))

        pool = sources.Pool(make, "cpu", window=3, every=2, first=first)
        pool.made = made
        self.addCleanup(pool.close)
        return pool

    def seen(self, pool, step):
        return [int(c["image"][0]) for c in pool.at(step)]

    def test_windows_depend_on_the_step_alone(self):
        for slow in (0, 0.01):
            pool = self.pool(slow=slow)
            self.assertEqual([self.seen(pool, s) for s in range(5)], [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2], [1, 2, 3]])
            self.assertEqual(pool.made, sorted(set(pool.made)))
        self.assertEqual(self.seen(self.pool(first=4), 4), [1, 2, 3])

    def test_no_more_than_two_ahead(self):
        pool = self.pool()
        pool.at(0)
        time.sleep(0.1)
        self.assertEqual(pool.made, [0, 1, 2, 3])

    def test_drawn_from_all_chunks(self):
        chunks = [dict(image=torch.full((n,), float(c))) for c, n in enumerate((10, 30))]
        got = sources.draw(chunks, 400, targets.Dice("cpu", 1))["image"]
        self.assertAlmostEqual(float(got.mean()), 0.75, delta=0.07)


class Places(unittest.TestCase):
    def test_scenes_with_and_without_faces(self):
        face = dict(box=torch.ones(1, 4), five=torch.ones(1, 5, 2), shown=torch.ones(1))
        known = sources.places([[], [face] * 14], "cpu")
        self.assertEqual(known["there"].sum(1).tolist(), [0, sources.PLACES])
        self.assertEqual(tuple(known["five"].shape), (2, sources.PLACES, 5, 2))


@helpers.needs_pack
class Rendered(unittest.TestCase):
    """Real heads give batches that fit the networks; drawn squares stand in for them elsewhere."""

    def test_crops(self):
        import compose

        renderer = compose.Renderer(helpers.PACK, "cpu", 1)
        with torch.no_grad():
            source = sources.Crops(renderer, 96)
            chunk = source.chunk(1, 0, 2)
            target = source.batch(chunk, 64, targets.Dice("cpu", 1))
        self.assertEqual(tuple(target["image"].shape), (2, 3, 64, 64))
        region = targets.Regions.of_points(chunk["points"])
        spread = region.unit(chunk["points"])
        self.assertTrue(bool(((spread > 0.1) & (spread < 0.9)).all()))
        eyes = spread[:, targets.LEFT_CORNER] - spread[:, targets.RIGHT_CORNER]
        self.assertLess(float((eyes[:, 1] / eyes[:, 0]).abs().max()), 1e-4)
