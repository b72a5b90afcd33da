"""AVI files with Motion-JPEG: every frame is a JPEG picture, and every player knows them."""

import io
import struct

from PIL import Image


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def listed(name, *parts):
    return chunk(b"LIST", name + b"".join(parts))


def jpeg(pixels, quality):
    """Bytes of one picture [H,W,3], colour at half the resolution."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality, subsampling=2, optimize=True)
    return out.getvalue()


def header(width, height, fps, frames, largest):
    has_index = 0x10
    main = struct.pack("<14I", round(1e6 / fps), round(largest * fps), 0, has_index, frames, 0, 1, largest, width, height, 0, 0, 0, 0)
    scale = 1000 if fps != int(fps) else 1
    stream = b"vidsMJPG" + struct.pack("<IHHIIIIIIiI4H", 0, 0, 0, 0, scale, round(fps * scale), 0, frames, largest, -1, 0, 0, 0, width, height)
    bitmap = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 24, b"MJPG", width * height * 3, 0, 0, 0, 0)
    return listed(b"hdrl", chunk(b"avih", main), listed(b"strl", chunk(b"strh", stream), chunk(b"strf", bitmap)))


def file(pictures, width, height, fps):
    """The whole file of JPEG pictures."""
    key_frame, at, index = 0x10, 4, []
    for p in pictures:
        index.append(struct.pack("<4sIII", b"00dc", key_frame, at, len(p)))
        at += 8 + len(p) + len(p) % 2
    frames = [chunk(b"00dc", p) for p in pictures]
    body = header(width, height, fps, len(pictures), max(map(len, pictures))) + listed(b"movi", *frames) + chunk(b"idx1", b"".join(index))
    return chunk(b"RIFF", b"AVI " + body)
