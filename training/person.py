"""People in front of a camera: meshes put together, drawn in layers, shaded. A batch of people shares every launch."""

import torch

import arkit
import cloth
import fields
import geometry
import model
import noise
import organs
import people
import props
import raster
import shells
import skin
from light import Lights, bumped, dot, smoothstep, spread, towards

NEAR = 0.25


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
        torso = ints(shells.grid_triangles(*props.TORSO, True)) + len(head.neutral)
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


CLOTH = 7


class View:
    """Where people stand and how they are seen: position [B,3] cm, pose [B,3] degrees, focal [B], centre [B,2], one size."""

    def __init__(self, position, pose, focal, centre, height, width):
        self.position, self.pose, self.focal, self.centre = position, pose, focal, centre
        self.height, self.width = height, width
        self.rotation = geometry.head_rotation(*pose.unbind(1))
        self.per_cm = focal / position[:, 2]

    def place(self, points):
        return points @ self.rotation.transpose(1, 2) + self.position[:, None]

    def screen(self, points):
        return geometry.project(points, self.focal, self.centre)

    def positions(self, depth):
        """Camera coordinates of every pixel [B,3,H,W] at depth [B,H,W]."""
        y, x = torch.meshgrid(torch.arange(self.height, device=depth.device), torch.arange(self.width, device=depth.device), indexing="ij")
        z = torch.where(torch.isfinite(depth), depth, torch.zeros_like(depth))
        f = self.focal[:, None, None]
        return torch.stack([(x + 0.5 - self.centre[:, 0, None, None]) / f * z, (y + 0.5 - self.centre[:, 1, None, None]) / f * z, z], 1)


class Layer:
    """One z-buffer with the attributes that were asked for."""

    def __init__(self, view, points, triangles, attributes, hidden=None):
        screen = view.screen(points)
        if hidden is not None:
            screen = torch.cat([screen[..., :2], torch.where(hidden, -torch.ones_like(screen[..., 2]), screen[..., 2])[..., None]], -1)
        self.buffers = raster.rasterize(screen, triangles, view.height, view.width)
        normal = geometry.normals(points, triangles)
        values = self.buffers.interpolate(triangles, torch.cat([normal, attributes], -1))
        self.depth, self.covered = self.buffers.depth, self.buffers.covered[:, None]
        self.position = view.positions(self.depth)
        self.to_camera = towards(-self.position)
        normal = towards(values[:, :3])
        self.normal = torch.where(dot(normal, self.to_camera) < 0, -normal, normal)
        self.attributes = values[:, 3:]


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
        self.eyes = torch.stack([head.eye(self.shape, s)[0] for s in (0, 1)], 1)

    def _bend(self, points):
        """The neck turns less than the head, shoulders hardly."""
        stiff = self.view.place(points)
        weight = self.stock.neck[None, :, None]
        return stiff + weight * (self.on_body(points) - stiff)

    def on_body(self, points):
        anchor = self.view.place(self.pivot.expand(len(points), 1, 3))
        return (points - self.pivot) @ self.body.transpose(1, 2) + anchor

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
        bald = (p["style"] == people.BALD) | (p["hat"] >= people.HEADSCARF)
        self.hair_hidden = bald[:, None] | (self.hair_inside < -7)
        self.hat_hidden = (p["hat"] == 0)[:, None] | (self.hat_inside < -4)
        brim, knot = props.brim(p, s.skull, hat, s.device), props.bun(p, self.shape, s.device)
        cover, self.cover_rest = shells.muzzle_points(s.muzzle, self.face, p)
        ears = torch.stack([self.shape[:, s.head.landmark68[i]] for i in (16, 0)], 1)
        ears = ears + torch.tensor([[[0.55, -0.9, 3.0], [-0.55, -0.9, 3.0]]], device=s.device)
        frame, lens = props.glasses(p, self.eyes, ears, s.device)
        return dict(
            torso=self.on_body(props.torso(p, s.device)), hair=place(torch.cat([hair, knot], 1)), hat=place(torch.cat([hat, brim], 1)),
            cover=place(cover), frame=place(frame), lens=place(lens), front=place(props.front(p, s.device)),
        )


class Picture:
    """What a batch of people looks like: colour and alpha [B,.,H,W], depths of the skin and of what hides it."""

    def __init__(self, who, p_light):
        self.who, self.stock, self.p, self.view = who, who.stock, who.p, who.view
        self.parts = who.meshes()
        self.lights = Lights(p_light)
        self._shadows()
        self._opaque()
        self._lashes()
        if bool(((self.p["mask"] > 0) | (self.p["beard_length"] > 0)).any()):
            self._cover()
        self._hair()
        if bool((self.p["hat"] > 0).any()):
            self._hat()
        if bool((self.p["glasses"] > 0).any()):
            self._glasses()
        if bool((self.p["front"] > 0).any()):
            self._front()

    def _pad(self, hidden, points):
        """Hidden flags of a shell's points, extended to what is appended to it."""
        extra = hidden.all(1, keepdim=True).expand(-1, points.shape[1] - hidden.shape[1])
        return torch.cat([hidden, extra], 1)

    def _shadows(self):
        q, s = self.parts, self.stock
        far = torch.full_like
        hair = torch.where(self._pad(self.who.hair_hidden | (self.who.hair_inside < 2), q["hair"])[..., None], far(q["hair"], props.ABSENT), q["hair"])
        hat = torch.where(self._pad(self.who.hat_hidden, q["hat"])[..., None], far(q["hat"], props.ABSENT), q["hat"])
        pieces = [self.who.points, q["torso"], hair, hat, q["frame"], q["front"]]
        triangles, at = [s.opaque], len(s.head.neutral) + q["torso"].shape[1]
        for t, points in ((s.hair, hair), (s.hat, hat), (s.frame, q["frame"]), (s.front, q["front"])):
            triangles.append(t + at)
            at += points.shape[1]
        self.lights.cast(torch.cat(pieces, 1), torch.cat(triangles), self.who.view.position)

    def _opaque(self):
        s, who = self.stock, self.who
        n = self.parts["torso"].shape[1]
        b = len(who.points)
        still = torch.cat([s.head.neutral, s.head.fields], -1)
        grid = torch.stack(torch.meshgrid(torch.linspace(0, 1, props.TORSO[0]), torch.linspace(0, 1, props.TORSO[1]), indexing="ij"), -1).reshape(-1, 2)
        wear = torch.zeros(n, still.shape[1], device=s.device)
        wear[:, :2] = grid.to(s.device)
        attributes = torch.cat([still, wear]).expand(b, -1, -1)
        layer = Layer(self.view, torch.cat([who.points, self.parts["torso"]], 1), s.opaque, attributes)
        kind = torch.where(layer.covered[:, 0], s.opaque_material[layer.buffers.ids.clamp(min=0).long()], torch.full_like(layer.buffers.ids, -1, dtype=torch.int64))[:, None]
        self.layer, self.kind = layer, kind
        rest, field = layer.attributes[:, :3], layer.attributes[:, 3:]
        openness = self._openness(kind, rest, field[:, fields.AO : fields.AO + 1])
        shadow = self.lights.shadow(layer.position, layer.normal)
        colour = self._skin(layer, rest, field, openness, shadow)
        colour = torch.where((kind == model.MOUTH) | (kind == model.TEETH), self._mouth(layer, rest, kind, openness, shadow), colour)
        for side, material in enumerate((model.EYE_LEFT, model.EYE_RIGHT)):
            colour = torch.where(kind == material, self._eye(layer, side, rest, openness, shadow), colour)
        worn = cloth.shirt(rest[:, 1:2] * 1.0, rest[:, :1], self.p, spread(self.view.per_cm))
        colour = torch.where(kind == CLOTH, self._matte(layer, worn, torch.full_like(openness, 0.85), shadow), colour)
        self.colour, self.alpha = colour * layer.covered, layer.covered.float()
        self.depth = layer.depth.clone()
        self.skin_depth, self.cover_alpha = layer.depth, torch.zeros_like(self.alpha)
        self.cover_depth = torch.full_like(layer.depth, float("inf"))

    def _openness(self, kind, rest, ao):
        """Light that reaches a pixel past its neighbourhood; eyes and mouth are darker near their rims."""
        hole = ((kind >= model.MOUTH) & (kind <= model.EYE_RIGHT)).float()
        near = 0
        for dx, dy in ((0, -0.16), (0, -0.3), (0.2, -0.1), (-0.2, -0.1), (0.12, 0.08), (-0.12, 0.08), (0, 0.12)):
            near = near + self._shifted(hole, dx, dy)
        rim = smoothstep(0.1, 1.0, near / 7)
        eye = (kind == model.EYE_LEFT) | (kind == model.EYE_RIGHT)
        mouth = hole.bool() & ~eye
        out = torch.where(eye, 0.16 + 0.66 * rim, ao.clamp(0.03, 1) ** 0.8)
        return torch.where(mouth, (0.12 + 0.88 * rim) * organs.depth_in_mouth(rest) * 0.8, out)

    def _shifted(self, image, dx, dy):
        """image looked up dx, dy cm away on each person's screen."""
        b, _, h, w = image.shape
        step = self.view.per_cm
        roll = torch.deg2rad(self.view.pose[:, 2])
        x, y = dx * torch.cos(roll) + dy * torch.sin(roll), dy * torch.cos(roll) - dx * torch.sin(roll)
        theta = torch.zeros(b, 2, 3, device=image.device)
        theta[:, 0, 0] = theta[:, 1, 1] = 1
        theta[:, 0, 2], theta[:, 1, 2] = 2 * x * step / w, 2 * y * step / h
        grid = torch.nn.functional.affine_grid(theta, image.shape, align_corners=False)
        return torch.nn.functional.grid_sample(image, grid, align_corners=False, padding_mode="border")

    def _strength(self, *names):
        return torch.stack([self.p["coefficients"][:, arkit.INDEX[n]] for n in names]).mean(0)

    def _skin(self, layer, rest, field, openness, shadow):
        surface = skin.Surface(rest, field, self.p, self.view.per_cm)
        base, lips, hair = skin.paint(surface)
        up = self._strength("browInnerUp", "browOuterUpLeft", "browOuterUpRight")
        smile = self._strength("mouthSmileLeft", "mouthSmileRight", "cheekSquintLeft", "cheekSquintRight")
        height = skin.relief(surface, up, smile) + 0.02 * hair * surface.noise(noise.STRAND, 2, 0.1)
        normal = bumped(layer.normal, layer.position, height, 1.0)
        wrap = skin.colour(base, (0.32, 0.16, 0.11))
        soft = towards(normal + 0.9 * layer.normal)
        light = torch.cat([self.lights.diffuse(soft if i == 0 else normal, openness, shadow, wrap[:, i : i + 1])[:, i : i + 1] for i in range(3)], 1)
        # Light that bounces between folds of skin takes its colour.
        light = light * torch.lerp(base.clamp(0, 1) ** 0.35, torch.ones_like(base), openness.clamp(0, 1))
        rough, strength = skin.gloss_of(surface, lips, hair)
        shine = self.lights.gloss(normal, layer.to_camera, openness, shadow, rough, 0.028) * strength
        return base * light + shine

    def _mouth(self, layer, rest, kind, openness, shadow):
        base = torch.where(kind == model.TEETH, organs.paint_teeth(rest, self.p), organs.paint_mouth(rest, self.p))
        lit = torch.minimum(shadow, 0.15 + openness)
        wrap = skin.colour(base, (0.4, 0.3, 0.3))
        shine = self.lights.gloss(layer.normal, layer.to_camera, openness, lit, torch.full_like(openness, 0.28), 0.04)
        return base * self.lights.diffuse(layer.normal, openness, lit * openness.clamp(max=1) ** 0.5, wrap) + shine * openness * 0.6

    def _eye(self, layer, side, rest, openness, shadow):
        gaze = self.p["gaze"][:, side]
        turn = self.view.rotation @ geometry.rotation("y", -gaze[:, 1]) @ geometry.rotation("x", -gaze[:, 0])
        view = torch.einsum("bji,bjhw->bihw", turn, layer.to_camera)
        local = rest - self.stock.head.centres[side][None, :, None, None]
        base, _ = organs.paint_eye(local, view, self.p, self.stock.iris_level, self.view.per_cm)
        wrap = skin.colour(base, (0.3, 0.2, 0.2))
        lit = torch.minimum(shadow, 0.25 + openness)
        body = base * self.lights.diffuse(layer.normal, openness, lit, wrap)
        wet = self.lights.gloss(layer.normal, layer.to_camera, openness, lit, torch.full_like(openness, 0.12), 0.03)
        return body + wet.clamp(max=4) * (0.35 + 0.65 * openness)

    def _matte(self, layer, base, openness, shadow, rough=0.75, shine=0.4):
        wrap = torch.zeros(1, 1, 1, 1, device=base.device)
        lit = self.lights.diffuse(layer.normal, openness, shadow, wrap)
        return base * lit + shine * self.lights.gloss(layer.normal, layer.to_camera, openness, shadow, torch.full_like(openness, rough), 0.03)

    def _over(self, layer, colour, alpha, hides=True):
        """Lays a layer over what is there, where it is nearer."""
        nearer = (layer.depth < self.depth + 0.02)[:, None] & layer.covered
        alpha = alpha.clamp(0, 1) * nearer
        self.colour = self.colour * (1 - alpha) + colour * alpha
        self.alpha = self.alpha + (1 - self.alpha) * alpha
        solid = (alpha > 0.5)[:, 0]
        self.depth = torch.where(solid, layer.depth, self.depth)
        if hides:
            self.cover_depth = torch.where(solid & (layer.depth < self.cover_depth), layer.depth, self.cover_depth)

    def _lashes(self):
        s, p = self.stock, self.p
        uv = s.head.uv.expand(len(self.who.points), -1, -1)
        layer = Layer(self.view, self.who.points, s.lash_triangles, torch.cat([uv, s.head.neutral.expand(len(uv), -1, -1)], -1))
        alpha = cloth.lash_alpha(layer.attributes, p, spread(self.view.per_cm))
        self._over(layer, skin.colour(self.colour, (0.012, 0.009, 0.008)).expand_as(self.colour), alpha, hides=False)

    def _cover(self):
        p, s = self.p, self.stock
        rest = self.who.cover_rest
        turn = torch.as_tensor(s.muzzle.turn.reshape(1, -1, 1), device=s.device, dtype=torch.float32).expand(len(rest), -1, -1)
        rise = torch.as_tensor(s.muzzle.rise.reshape(1, -1, 1), device=s.device, dtype=torch.float32).expand(len(rest), -1, -1)
        absent = ((p["mask"] == 0) & (p["beard_length"] == 0))[:, None].expand(-1, rest.shape[1])
        layer = Layer(self.view, self.parts["cover"], s.cover, torch.cat([rest, turn, rise], -1), absent)
        shadow = self.lights.shadow(layer.position, layer.normal)
        mask, mask_alpha, normal = cloth.mask(layer, p, spread(self.view.per_cm))
        layer.normal = normal
        grown, beard_alpha, tint = cloth.full_beard(layer, p, spread(self.view.per_cm))
        open_ = torch.full_like(shadow, 0.8)
        worn = self._matte(layer, mask, open_, shadow)
        hair = self._matte(layer, tint, open_ * (0.45 + 0.55 * grown), shadow, 0.5, 0.5)
        on = spread(p["mask"]) > 0
        self._over(layer, torch.where(on, worn, hair), torch.where(on, mask_alpha, beard_alpha))

    def _shell_attributes(self, inside, points):
        s = self.stock
        b, n = inside.shape
        still = torch.cat([s.skull.rays, torch.as_tensor(s.skull.turn.reshape(-1, 1), device=s.device, dtype=torch.float32) / 360,
                           torch.arange(shells.LEVELS, device=s.device).repeat_interleave(shells.AROUND)[:, None] / shells.LEVELS], -1)
        values = torch.cat([still.expand(b, -1, -1), inside[..., None]], -1)
        extra = torch.zeros(b, points.shape[1] - n, values.shape[2], device=s.device)
        extra[..., 2], extra[..., 5] = 1, 60
        return torch.cat([values, extra], 1)

    def _hair(self):
        who, q, p = self.who, self.parts["hair"], self.p
        layer = Layer(self.view, q, self.stock.hair, self._shell_attributes(who.hair_inside, q), self._pad(who.hair_hidden, q))
        colour, alpha, openness, normal, tangent = cloth.hair(layer, p, spread(self.view.per_cm), self.view)
        layer.normal = normal
        shadow = self.lights.shadow(layer.position, layer.normal)
        lit = cloth.hair_light(self.lights, layer, colour, openness, shadow, tangent)
        self._over(layer, lit, alpha)

    def _hat(self):
        who, q, p = self.who, self.parts["hat"], self.p
        layer = Layer(self.view, q, self.stock.hat, self._shell_attributes(who.hat_inside, q), self._pad(who.hat_hidden, q))
        colour, alpha, normal = cloth.hat(layer, p, spread(self.view.per_cm))
        layer.normal = normal
        shadow = self.lights.shadow(layer.position, layer.normal)
        self._over(layer, self._matte(layer, colour, torch.full_like(shadow, 0.85), shadow), alpha)

    def _glasses(self):
        q, s, p = self.parts, self.stock, self.p
        none = torch.zeros(len(q["lens"]), q["lens"].shape[1], 1, device=s.device)
        lens = Layer(self.view, q["lens"], s.lens, none)
        shadow = torch.ones_like(lens.depth)[:, None]
        mirror = self.lights.gloss(lens.normal, lens.to_camera, shadow, shadow, torch.full_like(shadow, 0.08), 0.05).clamp(max=3)
        glass = spread(p["lens_colour"]) * 0.2 + mirror * spread(p["reflection"]) * 0.8
        strength = (spread(p["tint"]) + 0.35 * mirror.mean(1, keepdim=True) * spread(p["reflection"])).clamp(0, 0.97)
        self._over(lens, glass / strength.clamp_min(0.05) * strength.clamp_max(1), strength, hides=True)
        none = torch.zeros(len(q["frame"]), q["frame"].shape[1], 1, device=s.device)
        frame = Layer(self.view, q["frame"], s.frame, none)
        shadow = self.lights.shadow(frame.position, frame.normal)
        metal = spread(p["rim_metal"])
        base = spread(p["rim_colour"]).expand_as(frame.normal)
        colour = self._matte(frame, base * (1 - 0.5 * metal), torch.full_like(shadow, 0.9), shadow, 0.3, 1.0)
        colour = colour + metal * base * self.lights.gloss(frame.normal, frame.to_camera, torch.ones_like(shadow), shadow, torch.full_like(shadow, 0.3), 0.6)
        self._over(frame, colour, frame.covered.float(), hides=False)

    def _front(self):
        q, s, p = self.parts["front"], self.stock, self.p
        layer = Layer(self.view, q, s.front, q * 0 + q.mean(1, keepdim=True) * 0)
        shadow = self.lights.shadow(layer.position, layer.normal)
        hand = spread(p["front"]) == people.HAND
        tone = skin.colour(self.colour, skin.DERMIS) * torch.exp(-spread(p["melanin"]) * skin.colour(self.colour, skin.MELANIN) - spread(p["blood"]) * skin.colour(self.colour, skin.BLOOD))
        base = torch.where(hand, tone, spread(p["front_colour"])).expand_as(self.colour)
        self._over(layer, self._matte(layer, base, torch.full_like(shadow, 0.75), shadow, 0.5, 0.7), layer.covered.float())
