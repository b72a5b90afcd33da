"""Crops and scenes: people before backgrounds, photographed, with the truth in the picture's own pixels."""

import torch
import torch.nn.functional as F

import backdrop
import camera
import describe
import person
import picture
import truth
from light import luminance, spread

# Windows in which the people of a scene are drawn: up to this size of a face, this many pixels on a side.
WINDOWS = [(26, 160), (39, 240), (52, 320), (78, 480), (1e9, 640)]
TOGETHER = {"cpu": 4, "cuda": 24}  # windows of the largest size that are drawn together; more of the smaller ones


class Renderer:
    """Everything that is loaded once. over: pixels are drawn that many times finer along each side, then averaged."""

    def __init__(self, path=None, device="cpu", over=2):
        self.device, self.over = device, over
        torch.backends.cuda.matmul.allow_tf32 = True  # a thousandth of what modes add to a shape, of which the truth is made as well
        self.stock = person.Stock(path, device)
        self.points = truth.Points(self.stock)

    def _people(self, members, lights, focal, centre, size):
        """Draws a batch in windows of size; focal and centre in the window's pixels."""
        p = describe.stack(members, self.device)
        o = self.over
        view = person.View(p["position"], p["pose"], focal * o, centre * o, size * o, size * o)
        who = person.People(self.stock, p, view)
        seen = picture.Picture(who, lights)
        known = truth.of(who, seen, self.points)
        for name in ("points", "region", "focal", "centre"):
            known[name] = known[name] / o
        known["visible"] &= ~known["nobody"][:, None]
        return seen, known

    def _averaged(self, image):
        return F.avg_pool2d(image, self.over) if self.over > 1 else image

    def crops(self, seed, indices, size=256):
        """Bytes [B,3,size,size] and the truth of one face each."""
        members, wheres = zip(*(describe.crop(seed, i) for i in indices))
        w = describe.stack(wheres, self.device)
        seen, known = self._people(members, w, w["focal"] * size, w["centre"] * size, size)
        alpha, colour = self._averaged(seen.alpha), self._averaged(seen.colour)
        back = self._background(w, size, size)
        # The face counts for exposure, the background a little.
        face = self._averaged((torch.isfinite(seen.skin_depth)[:, None]).float())
        target = self._metered(colour, face, colour + back * (1 - alpha))
        image = camera.photograph(colour + back * (1 - alpha), w, target)
        return image, self._finish(known, w, size, size)

    def _background(self, w, height, width):
        back = backdrop.make(w, height, width)
        mean = (w["sky"].mean(1) + w["lamp_colour"].sum((1, 2)) / 9)
        return camera.spread_points(back, w["back_blur"] * height / 256) * spread(mean)

    def _metered(self, colour, face, whole):
        all_ = luminance(whole).mean((1, 2, 3))
        lit = (luminance(colour) * face).sum((1, 2, 3)) / face.sum((1, 2, 3)).clamp_min(1)
        lit = torch.where(face.flatten(1).any(1), lit, all_)
        share = (face.mean((1, 2, 3)) * 4).clamp(0.1, 0.5)
        # Dark skin stays darker than light skin in a picture, though the camera opens for it.
        return torch.exp(share * torch.log(lit.clamp_min(0.01)) + (1 - share) * torch.log(all_.clamp_min(0.01)))

    def _finish(self, known, w, height, width):
        k = w["distortion"]
        for name in ("points", "region"):
            known[name] = camera.distort(known[name], k, height, width)
        known["box"] = truth.box(known["region"])
        known["five"] = truth.five(known["points"][:, :68])
        x, y = known["points"].unbind(-1)
        known["visible"] &= (x >= 0) & (x < width) & (y >= 0) & (y < height)
        known["shown"] = known["visible"].sum(1) / known["open"].sum(1).clamp_min(1)
        return known

    def scenes(self, seed, indices, width=640, height=480):
        """Bytes [B,3,H,W] and for each scene a list of truths, one for each person whose face may be seen."""
        return self.arranged([describe.scene(seed, i, width, height) for i in indices], width, height)[:2]

    def arranged(self, described, width, height, exposure=None):
        """The same of descriptions as describe.scene gives them, and the luminance [B] to which each was exposed, unless it is given."""
        w = describe.stack([d[1] for d in described], self.device)
        board = Board(self._background(w, height, width))
        jobs = [(s, m) for s, (members, _) in enumerate(described) for m in members]
        drawn = self._draw_all(jobs, w, width, height)
        for job in sorted(range(len(jobs)), key=lambda j: -jobs[j][1]["position"][2]):
            board.paste(job, jobs[job][0], *drawn[job][:3])
        if exposure is None:
            exposure = self._metered(board.image, (board.owner >= 0)[:, None].float(), board.image)
        image = camera.photograph(board.image, w, exposure.expand(len(described)))
        return image, self._faces(jobs, drawn, board, w, width, height), exposure

    def _draw_all(self, jobs, w, width, height):
        """For each job colour, alpha, corner of the window, truth; windows of one size are drawn together."""
        focal, drawn = w["focal"] * height, [None] * len(jobs)
        sizes = self._sizes(jobs, focal)
        low, most = 0, TOGETHER[torch.device(self.device).type]
        for limit, size in WINDOWS:
            chosen = [j for j, size_ in enumerate(sizes) if low < size_ <= limit]
            low = limit
            step = most * (WINDOWS[-1][1] // size) ** 2
            for start in range(0, len(chosen), step):
                self._draw(jobs, chosen[start : start + step], w, focal, size, width, height, drawn)
        return drawn

    def _sizes(self, jobs, focal):
        """Pixels from chin to hairline, about."""
        each = focal.tolist()
        return [each[s] * describe.FACE_HEIGHT / float(m["position"][2]) for s, m in jobs]

    def _draw(self, jobs, chosen, w, focal, size, width, height, drawn):
        scenes = torch.tensor([jobs[j][0] for j in chosen], device=self.device)
        members = [jobs[j][1] for j in chosen]
        at = torch.tensor([[m["position"][0] / m["position"][2], m["position"][1] / m["position"][2]] for m in members], device=self.device)
        middle = at * focal[scenes, None] + torch.tensor([width / 2, height / 2], device=self.device)
        # Shoulders reach farther than the top of the head.
        corner = (middle - torch.tensor([size * 0.5, size * 0.22], device=self.device)).round()
        if size >= width:
            corner = torch.zeros_like(corner)
        centre = torch.tensor([width / 2, height / 2], device=self.device) - corner
        seen, known = self._people(members, {k: v[scenes] for k, v in w.items()}, focal[scenes], centre, size)
        colour, alpha = self._averaged(seen.colour), self._averaged(seen.alpha)
        for name in ("points", "region"):
            known[name] = known[name] + corner[:, None]
        known["centre"] = known["centre"] + corner
        corners = corner.long().tolist()
        for i, j in enumerate(chosen):
            drawn[j] = (colour[i], alpha[i], corners[i], {k: v[i] for k, v in known.items()})

    def _faces(self, jobs, drawn, board, w, width, height):
        out = [[] for _ in range(len(board.image))]
        kept = [j for j, (_, m) in enumerate(jobs) if abs(m["pose"][1]) <= truth.AWAY]
        if not kept:
            return out
        known = {k: torch.stack([drawn[j][3][k] for j in kept]) for k in drawn[kept[0]][3]}
        scenes, ids = (torch.tensor(v, device=self.device) for v in ([jobs[j][0] for j in kept], kept))
        owner, inside = truth.look_up(board.owner, known["points"], scenes)
        known["visible"] &= inside & ((owner == ids[:, None]) | (owner < 0))
        known = self._finish(known, dict(distortion=w["distortion"][scenes]), height, width)
        for i, j in enumerate(kept):
            out[jobs[j][0]].append({k: v[i : i + 1] for k, v in known.items()})
        return out


class Board:
    """A batch of pictures that people are pasted on, far ones first, and whose pixel each is."""

    def __init__(self, image):
        self.image = image
        self.owner = torch.full(image.shape[:1] + image.shape[2:], -1, device=image.device, dtype=torch.int64)

    def paste(self, job, scene, colour, alpha, corner):
        h, w = self.image.shape[2:]
        size = colour.shape[-1]
        left, top = max(corner[0], 0), max(corner[1], 0)
        right, bottom = min(corner[0] + size, w), min(corner[1] + size, h)
        if right <= left or bottom <= top:
            return
        cut = (slice(None), slice(top - corner[1], bottom - corner[1]), slice(left - corner[0], right - corner[0]))
        place = self.image[scene, :, top:bottom, left:right]
        place.copy_(place * (1 - alpha[cut]) + colour[cut])
        owner = self.owner[scene, top:bottom, left:right]
        owner[alpha[cut][0] > 0.5] = job
