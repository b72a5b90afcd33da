"""Checks what `facetrack bench infer` has written: find takes 200 us at most, and every network less than PyTorch.

check_infer.py infer.json
"""

import json
import sys

FIND_US = 200


def failures(result):
    """Yields a line for each figure that is missing or too high."""

    def table(rows):
        return {(r["network"], r["precision"], r["batch"]): r.get("p50_us") for r in rows or []}

    rows = result.get("rows") or []
    ours, torch = table(rows), table((result.get("torch") or {}).get("rows"))
    find = ours.get(("find", "fp16", 1))
    if not find or find > FIND_US:
        yield f"find fp16, batch 1: {find} us, not {FIND_US} or less"
    networks = sorted({(r["network"], r["precision"]) for r in rows if not r.get("chain")})
    if not networks:
        yield "no network was measured"
    for network, precision in networks:
        for batch in 1, 8, 64:
            key = network, precision, batch
            if not ours.get(key) or not torch.get(key) or ours[key] >= torch[key]:
                yield f"{network} {precision}, batch {batch}: {ours.get(key)} us, PyTorch {torch.get(key)}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bad = list(failures(json.load(file)))
    for line in bad:
        print("--- FAIL:", line)
    if not bad:
        print("--- PASS: find, and every network against PyTorch")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
