"""What is known of every face: box, key points, 68 and dense points, who sees them, coefficients, pose, gaze."""

import json
import pathlib

import torch

import geometry

# How far behind the drawn surface a point may lie and still be on it, cm; the rims of closed lids tuck under.
SURFACE, IRIS_SURFACE = 0.35, 0.07
AWAY = 100.0  # degrees of yaw beyond which a head shows no face


def definition():
    return json.loads(pathlib.Path(__file__).with_name("points.json").read_text())


class Points:
    """The committed point set on a loaded head."""

    def __init__(self, stock):
        entries = definition()["points"]
        head = stock.head
        ids = [head.index[e["vertex"]] for e in entries if "vertex" in e]
        self.vertices = torch.tensor(ids, device=stock.device)
        self.irises = [(0 if e["iris"] == "left" else 1, e.get("turn")) for e in entries if "iris" in e]
        self.count = len(entries)
        self.face = self._face_region(head)

    def _face_region(self, head):
        """Vertices that the box encloses: hairline to chin, and to the sides as far as the ears begin."""
        skin = head.triangles[head.material == 0].long().unique()
        p = head.neutral[skin]
        keep = (p[:, 1] > -8.6) & (p[:, 1] < 8.7) & (p[:, 2] < 2.0) & (p[:, 0].abs() < 7.5)
        return skin[keep]

    def iris(self, who, side, turn):
        """A place on the limbus, or its middle, in camera coordinates [B,3]."""
        stock, p = who.stock, who.p
        centre, size = stock.head.eye(who.shape, side)
        local = torch.zeros_like(centre)
        local[:, 2] = -stock.iris_level
        if turn is not None:
            a = torch.deg2rad(torch.tensor(float(turn)))
            local[:, 0] = (1 if side == 0 else -1) * torch.cos(a) * p["iris_radius"]
            local[:, 1] = -torch.sin(a) * p["iris_radius"]
        gaze = p["gaze"][:, side]
        turned = geometry.rotation("y", -gaze[:, 1]) @ geometry.rotation("x", -gaze[:, 0])
        place = centre + (turned @ (local * size[:, None])[..., None])[..., 0]
        return who.view.place(place[:, None])[:, 0]

    def all(self, who):
        """[B,N,3] in camera coordinates."""
        rings = [self.iris(who, side, turn) for side, turn in self.irises]
        return torch.cat([who.points[:, self.vertices], torch.stack(rings, 1)], 1)


def look_up(image, pixels, which=None):
    """image [B,H,W] at pixels [B,N,2], or at pixels [M,N,2] of the images which [M]; and whether they lie within it."""
    _, h, w = image.shape
    x, y = pixels[..., 0].floor(), pixels[..., 1].floor()
    inside = (x >= 0) & (x < w) & (y >= 0) & (y < h)
    which = torch.arange(len(pixels), device=image.device) if which is None else which
    return image[which[:, None], y.clamp(0, h - 1).long(), x.clamp(0, w - 1).long()], inside


def visible(points, pixels, picture, irises):
    """Which points [B,N,3] the camera sees, and which it would see if nothing but the head itself were there. The last are irises,
    which lie behind lids by little."""
    skin = torch.nan_to_num(picture.skin_depth, posinf=1e9)
    # A point on an outline belongs to the farther of the surfaces that meet there.
    far = torch.nn.functional.max_pool2d(skin[:, None], 3, 1, 1)[:, 0]
    open_, inside = look_up(far, pixels)
    exact, _ = look_up(skin, pixels)
    cover, _ = look_up(picture.cover_depth, pixels)
    z = points[..., 2]
    seen = z < open_ + SURFACE
    seen[:, -irises:] = z[:, -irises:] < exact[:, -irises:] + IRIS_SURFACE
    return seen & inside & (z < cover + 0.3), seen | ~inside


def five(marks):
    """Eyes, tip of the nose, corners of the mouth, the subject's right before the left, from the 68 points [...,68,2]."""
    return torch.stack([marks[..., 36:42, :].mean(-2), marks[..., 42:48, :].mean(-2), marks[..., 30, :], marks[..., 48, :], marks[..., 54, :]], -2)


def of(who, picture, points):
    """Everything for a batch of people, pixels of their view."""
    space = points.all(who)
    screen = who.view.screen(space)[..., :2]
    region = who.view.screen(who.points[:, points.face])[..., :2]
    seen, bare = visible(space, screen, picture, len(points.irises))
    return dict(
        points=screen, space=space, region=region, visible=seen, open=bare,
        coefficients=who.p["coefficients"], gaze=who.p["gaze"], pose=who.view.pose, position=who.view.position,
        focal=who.view.focal, centre=who.view.centre, nobody=who.headless | (who.view.pose[:, 1].abs() > AWAY),
    )


def box(region):
    """x, y, w, h around [...,N,2]."""
    low, high = region.amin(-2), region.amax(-2)
    return torch.cat([low, high - low], -1)
