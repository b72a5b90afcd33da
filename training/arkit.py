"""The project's 52 expression coefficients and how those of ICT-FaceKit stand to them."""

import numpy as np

# The order of vision/blendshapes.go; a test compares.
NAMES = """_neutral
browDownLeft browDownRight browInnerUp browOuterUpLeft browOuterUpRight
cheekPuff cheekSquintLeft cheekSquintRight
eyeBlinkLeft eyeBlinkRight eyeLookDownLeft eyeLookDownRight eyeLookInLeft eyeLookInRight
eyeLookOutLeft eyeLookOutRight eyeLookUpLeft eyeLookUpRight
eyeSquintLeft eyeSquintRight eyeWideLeft eyeWideRight
jawForward jawLeft jawOpen jawRight
mouthClose mouthDimpleLeft mouthDimpleRight mouthFrownLeft mouthFrownRight mouthFunnel
mouthLeft mouthLowerDownLeft mouthLowerDownRight mouthPressLeft mouthPressRight
mouthPucker mouthRight mouthRollLower mouthRollUpper mouthShrugLower mouthShrugUpper
mouthSmileLeft mouthSmileRight mouthStretchLeft mouthStretchRight
mouthUpperUpLeft mouthUpperUpRight
noseSneerLeft noseSneerRight""".split()

INDEX = {name: i for i, name in enumerate(NAMES)}

# Shapes of the kit without a coefficient of ours. cheekRaiser goes with cheekSquint, which ARKit does not tell from it;
# pupils are drawn, not moved.
WITHOUT_COUNTERPART = ("PupilDilate_L", "PupilDilate_R", "cheekRaiser_L", "cheekRaiser_R")


def project_name(kit):
    """ICT's name in our list, or None."""
    if kit in WITHOUT_COUNTERPART:
        return None
    base, _, side = kit.partition("_")
    name = base + {"L": "Left", "R": "Right", "": ""}[side]
    return name if name in INDEX else base


def matrix(kit_names):
    """[52, shapes]: coefficients of ours times this are coefficients of the kit."""
    out = np.zeros((len(NAMES), len(kit_names)), np.float32)
    for j, kit in enumerate(kit_names):
        name = project_name(kit)
        if name is not None:
            out[INDEX[name], j] = 1
        elif kit.startswith("cheekRaiser"):
            out[INDEX["cheekSquintLeft" if kit.endswith("L") else "cheekSquintRight"], j] = 0.5
    return out


def with_neutral(coefficients):
    """Fills _neutral, entry 0: what the strongest other leaves of 1."""
    out = coefficients.copy()
    rest = [i for i in range(1, len(NAMES)) if not NAMES[i].startswith("eyeLook")]
    out[..., 0] = 1 - np.clip(out[..., rest].max(-1), 0, 1)
    return out
