"""Contact sheets: pictures side by side with the truth drawn in."""

import torch
from PIL import Image, ImageDraw

import geometry

SEEN, HIDDEN = (60, 255, 90), (255, 70, 60)


def picture(image, zoom=1):
    """Bytes [3,H,W] to a picture, zoom times as large."""
    out = Image.fromarray(image.permute(1, 2, 0).cpu().numpy())
    return out.resize((out.width * zoom, out.height * zoom), Image.NEAREST) if zoom > 1 else out


def dot(draw, at, colour, r):
    draw.ellipse([at[0] - r, at[1] - r, at[0] + r, at[1] + r], fill=colour)


def arrow(draw, known, rotation, length, zoom):
    """The way the head faces, from the tip of the nose."""
    tip = known["five"][2]
    direction = rotation @ torch.tensor([0.0, 0, -1], device=rotation.device)
    end = tip + direction[:2] * length
    draw.line([tuple((tip * zoom).tolist()), tuple((end * zoom).tolist())], fill=(80, 160, 255), width=2)


def overlay(image, faces, dense=True, zoom=1):
    """Draws boxes, points and poses of faces, dictionaries without a batch dimension."""
    out = picture(image, zoom)
    draw = ImageDraw.Draw(out)
    for known in faces:
        if known["nobody"]:
            continue
        x, y, w, h = (known["box"] * zoom).tolist()
        draw.rectangle([x, y, x + w, y + h], outline=(255, 220, 0) if known["shown"] > 0.3 else (130, 130, 130))
        small = w / zoom < 60
        for i, (at, seen) in enumerate(zip((known["points"] * zoom).tolist(), known["visible"].tolist())):
            if small or (not dense and i >= 68):
                break
            dot(draw, at, SEEN if seen else HIDDEN, 1)
        for at in (known["five"] * zoom).tolist():
            dot(draw, at, (255, 0, 255), 1 if small else 2)
        arrow(draw, known, geometry.head_rotation(*known["pose"]), w / zoom * 0.5, zoom)
    return out


def tiled(pictures, columns):
    w, h = pictures[0].size
    rows = -(-len(pictures) // columns)
    out = Image.new("RGB", (columns * w, rows * h))
    for i, p in enumerate(pictures):
        out.paste(p, (i % columns * w, i // columns * h))
    return out


def one(known, i):
    return {k: v[i] for k, v in known.items()}
