"""How people look: layers of surfaces, each shaded at the pixels that it covers and nowhere else."""

import torch
import torch.nn.functional as F

import arkit
import cloth
import fields
import geometry
import model
import organs
import people
import props
import shells
import skin
from light import Lights, bumped, dot, smoothstep, spread, towards
from person import CLOTH, Layer


class Gathered:
    """Parameters [B,...] looked up for single pixels, when they are asked for."""

    def __init__(self, p, image):
        self.p, self.image, self.kept = p, image, {}

    def __getitem__(self, key):
        if key not in self.kept:
            self.kept[key] = self.p[key][self.image]
        return self.kept[key]


class Pixels:
    """The pixels of a batch where mask [B,1,H,W] holds, as a batch of pictures [M,C,1,1] of their own."""

    def __init__(self, mask, picture, layer):
        self.image, self.y, self.x = mask[:, 0].nonzero(as_tuple=True)
        self.p = Gathered(picture.p, self.image)
        self.per_cm = spread(picture.view.per_cm[self.image])
        self.lights = picture.lights.at(Gathered(picture.p_light, self.image), self.image)
        self.layer = layer
        rows = layer.rows[self.image, self.y, self.x].long()
        self.position = layer.position(self.image, self.y, self.x)
        self.to_camera = towards(-self.position)
        normal = towards(layer.normals[rows][..., None, None])
        self.normal = torch.where(dot(normal, self.to_camera) < 0, -normal, normal)
        self.attributes = layer.attributes[rows][..., None, None]

    def __len__(self):
        return len(self.image)

    def take(self, image, down=0, right=0):
        """Values [M,C,1,1] of an image, or of the pixels so far below and to the right; the border repeats."""
        h, w = image.shape[2:]
        return image[self.image, :, (self.y + down).clamp(max=h - 1), (self.x + right).clamp(max=w - 1)][..., None, None]

    def put(self, image, values):
        image[self.image, :, self.y, self.x] = values.expand(-1, image.shape[1], 1, 1)[..., 0, 0]

    def raise_by(self, height):
        """Bends the normals as a relief does whose height at each pixel is known."""
        full = torch.zeros_like(self.layer.depth)[:, None]
        self.put(full, height)
        h, w = full.shape[2:]
        beside = ((self.y, (self.x + 1).clamp(max=w - 1)), ((self.y + 1).clamp(max=h - 1), self.x))
        steps = [self.layer.position(self.image, *at) - self.position for at in beside]
        rises = [self.take(full, *by) - height for by in ((0, 1), (1, 0))]
        self.normal = bumped(self.normal, *steps, *rises)

    def shadow(self):
        return self.lights.shadow(self.position, self.normal)

    def matte(self, base, openness, shadow, rough=0.75, shine=0.4):
        lit = self.lights.diffuse(self.normal, openness, shadow, torch.zeros_like(shadow[:1]))
        return base * lit + shine * self.gloss(openness, shadow, rough, 0.03)

    def gloss(self, openness, shadow, rough, base):
        rough = rough if torch.is_tensor(rough) else torch.full_like(shadow, rough)
        return self.lights.gloss(self.normal, self.to_camera, openness, shadow, rough, base)


class Picture:
    """What a batch of people looks like: colour and alpha [B,.,H,W], depths of the skin and of what hides it."""

    def __init__(self, who, p_light):
        self.who, self.stock, self.p, self.view, self.p_light = who, who.stock, who.p, who.view, p_light
        self.parts = who.meshes()
        self.lights = Lights(p_light)
        self._cast()
        self._opaque()
        self._lashes()
        for needed, draw in (
            ((self.p["mask"] > 0) | (self.p["beard_length"] > 0), self._cover), (~who.hair_hidden.all(1), self._hair), (self.p["hat"] > 0, self._hat),
            (self.p["glasses"] > 0, self._lenses), (self.p["glasses"] > 0, self._frames), (self.p["front"] > 0, self._front),
        ):
            if bool(needed.any()):
                draw()

    def _pad(self, hidden, points):
        """Hidden flags of a shell's points, extended to what is appended to it."""
        extra = hidden.all(1, keepdim=True).expand(-1, points.shape[1] - hidden.shape[1])
        return torch.cat([hidden, extra], 1)

    def _cast(self):
        """Shadows of everything but lashes, lenses and thin edges of hair."""
        q, s = self.parts, self.stock

        def without(points, hidden):
            return torch.where(self._pad(hidden, points)[..., None], torch.full_like(points, props.ABSENT), points)

        hair, hat = without(q["hair"], self.who.hair_hidden | (self.who.hair_inside < 2)), without(q["hat"], self.who.hat_hidden)
        pieces = [self.who.drawn, q["torso"], hair, hat, q["frame"], q["front"]]
        triangles, at = [s.opaque], len(s.head.neutral) + q["torso"].shape[1]
        for t, points in ((s.hair, hair), (s.hat, hat), (s.frame, q["frame"]), (s.front, q["front"])):
            triangles.append(t + at)
            at += points.shape[1]
        self.lights.cast(torch.cat(pieces, 1), torch.cat(triangles), self.view.position)

    def _still(self):
        """What the vertices of head and clothes carry: place at rest and fields; for clothes, their grid."""
        s = self.stock
        rows, columns = (torch.linspace(0, 1, n, device=s.device) for n in props.TORSO)
        wear = torch.zeros(props.TORSO[0] * props.TORSO[1], 3 + s.head.fields.shape[1], device=s.device)
        wear[:, :2] = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
        sleeves = props.arms_still(s.device)
        sleeves = torch.cat([sleeves, torch.zeros(len(sleeves), wear.shape[1] - 3, device=s.device)], 1)
        return torch.cat([torch.cat([s.head.neutral, s.head.fields], -1), wear, sleeves])

    def _opaque(self):
        s, who = self.stock, self.who
        attributes = self._still().expand(len(who.points), -1, -1)
        layer = Layer(self.view, torch.cat([who.drawn, self.parts["torso"]], 1), s.opaque, attributes)
        ids = layer.buffers.ids
        self.kind = torch.where(ids >= 0, s.opaque_material[ids.clamp(min=0).long()], torch.full_like(ids, -1, dtype=torch.int64))[:, None]
        self.alpha = layer.covered.float()
        self.colour = torch.zeros_like(self.alpha).repeat(1, 3, 1, 1)
        self.depth = layer.depth.clone()
        self.skin_depth, self.cover_depth = layer.depth, torch.full_like(layer.depth, float("inf"))
        rim = self._rim()
        for kinds, shade in (
            ((model.SKIN, model.SCALP), self._skin), ((model.MOUTH, model.TEETH), self._mouth), ((model.EYE_LEFT,), self._left_eye),
            ((model.EYE_RIGHT,), self._right_eye), ((CLOTH,), self._clothes),
        ):
            px = Pixels(sum(self.kind == k for k in kinds) > 0, self, layer)
            if len(px):
                px.put(self.colour, shade(px, px.take(rim)))

    def _rim(self):
        """In eyes and mouth: 0 at the upper edge, where lids and lips keep light out, to 1 inside."""
        hole = ((self.kind >= model.MOUTH) & (self.kind <= model.EYE_RIGHT)).float()
        near = sum(self._shifted(hole, *at) for at in ((0, -0.16), (0, -0.3), (0.2, -0.1), (-0.2, -0.1), (0.12, 0.08), (-0.12, 0.08), (0, 0.12)))
        return smoothstep(0.1, 1.0, near / 7)

    def _shifted(self, image, dx, dy):
        """image looked up dx, dy cm away along the axes of each face."""
        b, _, h, w = image.shape
        step = self.view.per_cm
        roll = torch.deg2rad(self.view.pose[:, 2])
        x, y = dx * torch.cos(roll) + dy * torch.sin(roll), dy * torch.cos(roll) - dx * torch.sin(roll)
        theta = torch.zeros(b, 2, 3, device=image.device)
        theta[:, 0, 0] = theta[:, 1, 1] = 1
        theta[:, 0, 2], theta[:, 1, 2] = 2 * x * step / w, 2 * y * step / h
        return F.grid_sample(image, F.affine_grid(theta, image.shape, align_corners=False), align_corners=False, padding_mode="border")

    def _strength(self, px, *names):
        chosen = [arkit.INDEX[n] for n in names]
        return self.p["coefficients"][:, chosen].mean(1)[px.image]

    def _skin(self, px, _):
        rest, field = px.attributes[:, :3], px.attributes[:, 3:]
        surface = skin.Surface(rest, field, px.p, px.per_cm)
        openness = field[:, fields.AO : fields.AO + 1].clamp(0.03, 1) ** 0.8
        base, lips, hair = skin.paint(surface)
        up = self._strength(px, "browInnerUp", "browOuterUpLeft", "browOuterUpRight")
        smile = self._strength(px, "mouthSmileLeft", "mouthSmileRight", "cheekSquintLeft", "cheekSquintRight")
        smooth = px.normal
        px.raise_by(skin.relief(surface, up, smile, hair))
        shadow = px.shadow()
        light = skin.scattered(px.lights, px.normal, smooth, base, openness, shadow)
        rough, strength = skin.gloss_of(surface, lips, hair)
        return base * light + px.gloss(openness, shadow, rough, 0.028) * strength

    def _mouth(self, px, rim):
        rest = px.attributes[:, :3]
        teeth = px.take(self.kind) == model.TEETH
        openness = (0.12 + 0.88 * rim) * organs.depth_in_mouth(rest) * 0.8
        base = torch.where(teeth, organs.paint_teeth(rest, px.p), organs.paint_mouth(rest, px.p))
        lit = torch.minimum(px.shadow(), 0.15 + openness)
        body = base * px.lights.diffuse(px.normal, openness, lit * openness.clamp(max=1) ** 0.5, skin.colour(base, (0.4, 0.3, 0.3)))
        return body + px.gloss(openness, lit, 0.28, 0.04) * openness * 0.6

    def _left_eye(self, px, rim):
        return self._eye(px, rim, 0)

    def _right_eye(self, px, rim):
        return self._eye(px, rim, 1)

    def _eye(self, px, rim, side):
        gaze = self.p["gaze"][:, side]
        turn = (self.view.rotation @ geometry.rotation("y", -gaze[:, 1]) @ geometry.rotation("x", -gaze[:, 0]))[px.image]
        view = torch.einsum("bji,bjhw->bihw", turn, px.to_camera)
        local = px.attributes[:, :3] - self.stock.head.centres[side][None, :, None, None]
        base = organs.paint_eye(local, view, px.p, self.stock.iris_level, px.per_cm)
        openness = 0.16 + 0.66 * rim
        lit = torch.minimum(px.shadow(), 0.25 + openness)
        body = base * px.lights.diffuse(px.normal, openness, lit, skin.colour(base, (0.3, 0.2, 0.2)))
        return body + px.gloss(openness, lit, 0.12, 0.03).clamp(max=4) * (0.35 + 0.65 * openness)

    def _clothes(self, px, _):
        worn = cloth.shirt(px.attributes[:, 1:2], px.attributes[:, :1], px.p, px.per_cm)
        part = px.attributes[:, 2:3]
        bare = (part > 0.75) | ((part > 0.25) & (spread(px.p["bare"]) > 0))
        worn = torch.where(bare, skin.tone(spread(px.p["melanin"]), spread(px.p["blood"])), worn)
        shadow = px.shadow()
        return px.matte(worn, torch.full_like(shadow, 0.85), shadow)

    def _over(self, px, colour, alpha, hides=True):
        """Lays a layer over what is there, where it is nearer; hides is a flag for each pixel or for all."""
        depth, there, cover = px.take(px.layer.depth[:, None]), px.take(self.depth[:, None]), px.take(self.cover_depth[:, None])
        alpha = alpha.clamp(0, 1) * (depth < there + 0.02)
        px.put(self.colour, px.take(self.colour) * (1 - alpha) + colour * alpha)
        px.put(self.alpha, px.take(self.alpha) * (1 - alpha) + alpha)
        solid = alpha > 0.5
        px.put(self.depth[:, None], torch.where(solid, depth, there))
        px.put(self.cover_depth[:, None], torch.where(solid & hides, torch.minimum(depth, cover), cover))

    def _layer(self, part, triangles, attributes=None, hidden=None):
        points = self.parts[part]
        attributes = points[..., :0] if attributes is None else attributes
        layer = Layer(self.view, points, triangles, attributes, hidden)
        return Pixels(layer.covered, self, layer)

    def _lashes(self):
        s = self.stock
        still = torch.cat([s.head.uv, s.head.neutral], -1).expand(len(self.who.points), -1, -1)
        layer = Layer(self.view, self.who.drawn, s.lash_triangles, still)
        px = Pixels(layer.covered, self, layer)
        self._over(px, skin.colour(self.colour, (0.012, 0.009, 0.008)), cloth.lash_alpha(px.attributes, px.p, px.per_cm), hides=False)

    def _cover(self):
        p, shell, rest = self.p, self.stock.muzzle, self.who.cover_rest
        grid = torch.as_tensor(shell.grid, device=rest.device, dtype=torch.float32).expand(len(rest), -1, -1)
        absent = ((p["mask"] == 0) & (p["beard_length"] == 0))[:, None].expand(-1, rest.shape[1])
        px = self._layer("cover", self.stock.cover, torch.cat([rest, grid], -1), absent)
        on = spread(px.p["mask"]) > 0
        fabric, fabric_alpha, height = cloth.mask(px.attributes, px.p, px.per_cm)
        grown, beard_alpha, tint = cloth.full_beard(px.attributes[:, :3], dot(px.normal, px.to_camera), px.p, px.per_cm)
        px.raise_by(height * on)
        shadow = px.shadow()
        open_ = torch.full_like(shadow, 0.8)
        hair = px.matte(tint, open_ * (0.45 + 0.55 * grown), shadow, 0.5, 0.5)
        self._over(px, torch.where(on, px.matte(fabric, open_, shadow), hair), torch.where(on, fabric_alpha, beard_alpha))

    def _shell_attributes(self, inside, points):
        shell = self.stock.skull
        b, n = inside.shape
        level = torch.arange(shells.LEVELS, device=inside.device).repeat_interleave(shells.AROUND)[:, None] / shells.LEVELS
        turn = torch.as_tensor(shell.grid[:, :1], device=inside.device, dtype=torch.float32) / 360
        values = torch.cat([torch.cat([shell.rays, turn, level], -1).expand(b, -1, -1), inside[..., None]], -1)
        # What is appended to a shell lies well inside it.
        extra = torch.zeros(b, points.shape[1] - n, values.shape[2], device=inside.device)
        extra[..., 2], extra[..., 5] = 1, 60
        return torch.cat([values, extra], 1)

    def _hair(self):
        who, q = self.who, self.parts["hair"]
        px = self._layer("hair", self.stock.hair, self._shell_attributes(who.hair_inside, q), self._pad(who.hair_hidden, q))
        colour, alpha, openness, height, strands = cloth.hair(px.attributes, dot(px.normal, px.to_camera), px.p, px.per_cm)
        px.raise_by(height)
        tangent = cloth.combed(px.normal, self.view.rotation[:, :, 1][px.image][..., None, None], strands)
        self._over(px, cloth.hair_light(px.lights, px.normal, px.to_camera, colour, openness, px.shadow(), tangent, spread(px.p["softness"])), alpha)

    def _hat(self):
        who, q = self.who, self.parts["hat"]
        px = self._layer("hat", self.stock.hat, self._shell_attributes(who.hat_inside, q), self._pad(who.hat_hidden, q))
        colour, alpha, height = cloth.hat(px.attributes, px.p, px.per_cm)
        px.raise_by(height)
        shadow = px.shadow()
        self._over(px, px.matte(colour, torch.full_like(shadow, 0.85), shadow), alpha)

    def _lenses(self):
        px = self._layer("lens", self.stock.lens)
        clear = torch.ones_like(px.per_cm)
        mirror = px.gloss(clear, clear, 0.08, 0.05).clamp(max=3)
        tint, reflection = spread(px.p["tint"]), spread(px.p["reflection"])
        glass = spread(px.p["lens_colour"]) * 0.2 + mirror * reflection * 0.8
        strength = (tint + 0.35 * mirror.mean(1, keepdim=True) * reflection).clamp(0, 0.97)
        # Eyes are still made out behind a reflection and behind a tint that is not dark.
        self._over(px, glass / strength.clamp_min(0.05) * strength, strength, tint > 0.7)

    def _frames(self):
        px = self._layer("frame", self.stock.frame)
        shadow, metal, base = px.shadow(), spread(px.p["rim_metal"]), spread(px.p["rim_colour"])
        colour = px.matte(base * (1 - 0.5 * metal), torch.full_like(shadow, 0.9), shadow, 0.3, 1.0)
        colour = colour + metal * base * px.gloss(torch.ones_like(shadow), shadow, 0.3, 0.6)
        self._over(px, colour, torch.ones_like(shadow), hides=False)

    def _front(self):
        px = self._layer("front", self.stock.front)
        shadow = px.shadow()
        hand = spread(px.p["front"]) == people.HAND
        base = torch.where(hand, skin.tone(spread(px.p["melanin"]), spread(px.p["blood"])), spread(px.p["front_colour"]))
        self._over(px, px.matte(base, torch.full_like(shadow, 0.75), shadow, 0.5, 0.7), torch.ones_like(shadow))
