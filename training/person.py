"""People in front of a camera: meshes put together, placed, drawn to z-buffers. A batch of people shares every launch."""

import torch

import geometry
import model
import noise
import people
import props
import raster
import shells
from light import smoothstep

CLOTH = 7


class Stock:
    """Everything that does not depend on the person: the head, its shells and all triangles."""

    def __init__(self, path=None, device="cpu"):
        self.device = device
        self.head = head = model.Head(path, device)
        self.skull, self.muzzle = shells.skull(head), shells.muzzle(head)
        def ints(t):
            return torch.as_tensor(t, device=device, dtype=torch.int32)
        lash = head.material == model.LASH
        self.face_triangles, self.lash_triangles = head.triangles[~lash], head.triangles[lash]
        self.face_material = head.material[~lash]
        sleeves = props.blob_triangles(props.ARM_BLOBS) + props.TORSO[0] * props.TORSO[1]
        torso = torch.cat([ints(shells.grid_triangles(*props.TORSO, True)), ints(sleeves)]) + len(head.neutral)
        self.opaque = torch.cat([self.face_triangles, torso])
        cloth_id = torch.full((len(torso),), CLOTH, device=device)
        self.opaque_material = torch.cat([self.face_material, cloth_id])
        shell = ints(shells.grid_triangles(shells.LEVELS, shells.AROUND, True))
        n = shells.LEVELS * shells.AROUND
        self.hair = torch.cat([shell, ints(props.blob_triangles(1)) + n])
        self.hat = torch.cat([shell, ints(shells.grid_triangles(*props.BRIM, False)) + n])
        self.cover = ints(shells.grid_triangles(self.muzzle.rows, self.muzzle.columns, False))
        frame, lens = props.glasses_triangles()
        self.frame, self.lens = ints(frame), ints(lens - lens.min())
        self.front = ints(props.blob_triangles(props.FRONT_BLOBS))
        self.neck = smoothstep(8.7, 14.5, head.neutral[:, 1])
        self.iris_level = self._iris_level()

    def _iris_level(self):
        """Depth of the limbus before the middle of the mean eyeball."""
        ball = self.head.neutral[self.head.balls[0]] - self.head.centres[0]
        r = ball[:, :2].norm(dim=1)
        return -ball[(r > 0.52) & (r < 0.68) & (ball[:, 2] < 0), 2].mean().item()


class View:
    """Where people stand and how they are seen: position [B,3] cm, pose [B,3] degrees, focal [B], centre [B,2], one size."""

    def __init__(self, position, pose, focal, centre, height, width):
        self.position, self.pose, self.focal, self.centre = position, pose, focal, centre
        self.height, self.width = height, width
        self.rotation = geometry.head_rotation(*pose.unbind(1))
        self.per_cm = focal / position[:, 2]

    def place(self, points):
        return geometry.turned(points, self.rotation) + self.position[:, None]

    def screen(self, points):
        return geometry.project(points, self.focal, self.centre)

    def at(self, depth, image, y, x):
        """Camera coordinates [M,3] of single pixels of depths [B,H,W]; 0 where nothing is."""
        z = depth[image, y, x]
        z = torch.where(torch.isfinite(z), z, torch.zeros_like(z))
        scale = z / self.focal[image]
        return torch.stack([(x + 0.5 - self.centre[image, 0]) * scale, (y + 0.5 - self.centre[image, 1]) * scale, z], 1)


class Layer:
    """One z-buffer with the normals and attributes of what is seen, a row for each covered pixel; rows tells which."""

    def __init__(self, view, points, triangles, attributes, hidden=None):
        screen = view.screen(points)
        if hidden is not None:
            screen = torch.cat([screen[..., :2], torch.where(hidden, -torch.ones_like(screen[..., 2]), screen[..., 2])[..., None]], -1)
        self.view, self.buffers = view, raster.rasterize(screen, triangles, view.height, view.width)
        normal = geometry.normals(points, triangles)
        values, self.rows = self.buffers.interpolate(triangles, torch.cat([normal, attributes], -1))
        self.normals, self.attributes = values[:, :3], values[:, 3:]
        self.depth, self.covered = self.buffers.depth, self.buffers.covered[:, None]

    def position(self, image, y, x):
        """Camera coordinates [M,3,1,1] of pixels."""
        return self.view.at(self.depth, image, y, x)[..., None, None]


class People:
    """A batch of people, moved and placed."""

    def __init__(self, stock, p, view):
        self.stock, self.p, self.view = stock, p, view
        head = stock.head
        self.shape = head.shape(p["identity"])
        self.face = head.move(self.shape, p["coefficients"], p["gaze"])
        lean = geometry.head_rotation(*(view.pose * torch.tensor([0.1, 0.35, 0.15], device=head.device) + p["lean"]).unbind(1))
        self.body = torch.where((view.pose[:, 1].abs() > 1e3)[:, None, None], view.rotation, lean)
        self.pivot = torch.tensor([0.0, 12.0, 6.5], device=head.device)
        self.points = self._bend(self.face)
        # Of some only clothes or hands are drawn; the truth still knows where the head would be.
        self.headless, self.naked = p["parts"] != people.WHOLE, p["parts"] > people.CLOTHES
        self.drawn = self.without(self.points, self.headless)
        self.eyes = torch.stack([head.eye(self.shape, s)[0] for s in (0, 1)], 1)

    def _bend(self, points):
        """The neck turns less than the head, shoulders hardly."""
        stiff = self.view.place(points)
        weight = self.stock.neck[None, :, None]
        return stiff + weight * (self.on_body(points) - stiff)

    def without(self, points, gone):
        return torch.where(gone[:, None, None], torch.full_like(points, props.ABSENT), points)

    def on_body(self, points):
        anchor = self.view.place(self.pivot.expand(len(points), 1, 3))
        return geometry.turned(points - self.pivot, self.body) + anchor

    def waves(self, across, down):
        """Noise on the shells' grid [B,N], smooth around the head."""
        s = self.stock.skull
        turn = torch.as_tensor(s.turn / 360, device=self.stock.device, dtype=torch.float32)
        rise = torch.as_tensor(s.rise / 180, device=self.stock.device, dtype=torch.float32)
        tile = self.p["hair_tile"]
        u = (turn * across)[None] + tile[:, :1, None]
        v = (rise * down)[None] + tile[:, 1:, None]
        return noise.sample(noise.CLOUD, u, v).flatten(1).clamp(-2.5, 2.5)

    def meshes(self):
        """The parts that cover the head, in camera coordinates, each with what its shading needs."""
        s, p, place = self.stock, self.p, self.view.place
        waves = self.waves(2, 1)
        under = dict(p)
        covered = p["hat"] > 0
        for key, most in (("top", 0.35), ("side", 0.4)):
            under[key] = torch.where(covered, p[key].clamp(max=most), p[key])
        hair, self.hair_inside = shells.hair_points(s.skull, self.shape, under, waves)
        hat, self.hat_inside = shells.hat_points(s.skull, self.shape, p, waves)
        bald = (p["style"] == people.BALD) | (p["hat"] >= people.HEADSCARF) | self.headless
        self.hair_hidden = bald[:, None] | (self.hair_inside < -7)
        self.hat_hidden = ((p["hat"] == 0) | self.headless)[:, None] | (self.hat_inside < -4)
        brim, knot = props.brim(p, s.skull, hat, s.device), props.bun(p, self.shape, s.device)
        cover, self.cover_rest = shells.muzzle_points(s.muzzle, self.face, p)
        ears = torch.stack([self.shape[:, s.head.landmark68[i]] for i in (16, 0)], 1)
        ears = ears + torch.tensor([[[0.55, -0.9, 3.0], [-0.55, -0.9, 3.0]]], device=s.device)
        frame, lens = props.glasses(p, self.eyes, ears, s.device)
        worn = dict(hair=torch.cat([hair, knot], 1), hat=torch.cat([hat, brim], 1), cover=cover, frame=frame, lens=lens)
        worn = {k: self.without(place(v), self.headless) for k, v in worn.items()}
        held = self.without(place(props.front(p, s.device)), p["parts"] == people.NONE)
        return dict(worn, torso=self.without(self.on_body(torch.cat([props.torso(p, s.device), props.arms(p, s.device)], 1)), self.naked), front=held)
