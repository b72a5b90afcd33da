import argparse
import pathlib
import threading
import time
import unittest

import torch

from tests import drawn, helpers  # noqa: F401

import sources
import targets
import workers


class Pools(unittest.TestCase):
    def pool(self, first=0, slow=None):
        made = []

        def make(c):
            if slow:
                slow.acquire()
            made.append(c)
            return dict(image=torch.full((4,), c))

        pool = sources.Pool(make, "cpu", window=3, every=2, first=first)
        pool.made_so_far = made
        self.addCleanup(pool.close)
        return pool

    def seen(self, pool, step):
        got = pool.at(step).draw(400, targets.Dice("cpu", 1))["image"]
        return sorted(set(got.tolist()))

    def test_windows_depend_on_the_step_alone(self):
        pool = self.pool()
        self.assertEqual([self.seen(pool, s) for s in range(5)], [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2], [1, 2, 3]])
        self.assertEqual(self.seen(self.pool(first=4), 4), [1, 2, 3])
        self.assertEqual(self.seen(pool, 11), [4, 5, 6])

    def test_waits_for_what_is_not_made(self):
        gate = threading.Semaphore(0)
        pool, seen = self.pool(slow=gate), []
        thread = threading.Thread(target=lambda: seen.append(self.seen(pool, 0)))
        thread.start()
        gate.release()
        thread.join(0.05)
        self.assertEqual(seen, [])
        gate.release(20)
        thread.join()
        self.assertEqual(seen, [[0, 1]])

    def test_no_more_than_two_ahead(self):
        pool = self.pool()
        pool.at(0)
        time.sleep(0.1)
        self.assertEqual(pool.made_so_far, [0, 1, 2, 3])

    def test_each_picture_as_likely(self):
        pool = self.pool()
        pool.at(2)
        got = pool.draw(3000, targets.Dice("cpu", 2))["image"]
        for c in range(3):
            self.assertAlmostEqual(float((got == c).float().mean()), 1 / 3, delta=0.03)


class FromProcesses(unittest.TestCase):
    """Chunks of processes are those that this one would have made."""

    def workers(self, open_source, first=0):
        args = argparse.Namespace(seed=3, chunk=2)
        made = workers.Workers(open_source, args, 2, first)
        self.addCleanup(made.close)
        return made

    def test_same_chunks(self):
        made = self.workers(drawn.open_crops, first=3)
        for c in range(3, 9):
            want = drawn.Crops().chunk(3, c, 2)
            got = made(c)
            self.assertEqual(set(got), set(want))
            for name in want:
                self.assertTrue(torch.equal(got[name], want[name]), name)

    def test_failures_are_told(self):
        with self.assertRaisesRegex(RuntimeError, "no such head"):
            self.workers(drawn.open_nothing)(0)

    def test_nothing_is_left(self):
        made = self.workers(drawn.open_crops)
        made(0)
        place = made.place.name
        made.close()
        self.assertFalse(pathlib.Path(place).exists())
        self.assertFalse(any(p.is_alive() for p in made.processes))


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
