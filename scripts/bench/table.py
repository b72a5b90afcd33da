#!/usr/bin/env python3
"""Makes the tables of a README out of a file of `facetrack bench ipc --json`: table.py docs/benchmarks/ipc.json"""
import json
import sys


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def main(path):
    with open(path) as file:
        r = json.load(file)
    gpu, machine = r.get("gpu") or {}, r["machine"]
    where = [gpu.get("name") or "no GPU", machine["cpu"], f"{machine['cores']} cores", f"Linux {machine['kernel']}"]
    if gpu:
        where[1:1] = [f"driver {gpu['driver']}", f"CUDA {gpu['cuda']}", f"PCIe {gpu.get('pcie', 'unknown')}", f"MPS {r['mps']}"]
    print(", ".join(where + [r.get("torch", "no PyTorch"), r["date"][:10], f"commit {r['commit']}"]) + "\n")
    head("transport", "format", "message, µs p50", "kernel may read, µs p50", "p99", "every byte checked, µs p50", "p99", "frames/s", "MB to the GPU a frame", "wrong frames")
    for t in r["transports"]:
        may, whole = t["ready"], t["whole"]
        message = f"{t['message']['p50_us']:.0f}" if "message" in t else "–"
        row(t["name"], t["format"], message, f"{may['p50_us']:.0f}", f"{may['p99_us']:.0f}", f"{whole['p50_us']:.0f}", f"{whole['p99_us']:.0f}",
            f"{t['fps']:.0f}", f"{t['bytes_to_gpu_per_frame'] / 1e6:.2f}", t["mismatches"] + t["failed"])
    if r.get("pcie"):
        print()
        head("readers", "transport", "MB to the GPU a frame", "bytes from it", "fewer than shm", "MB to the GPU by NVML")
    for b in r.get("pcie", []):
        seen = f"{b['nvml']['bytes_to_gpu_per_frame'] / 1e6:.2f}" if "nvml" in b else "–"
        less = f"{100 * b['less_than_shm']:.1f} %" if "less_than_shm" in b else "–"
        row(b["readers"], b["transport"] + ("" if b["measured"] else " (computed)"), f"{b['bytes_to_gpu_per_frame'] / 1e6:.2f}", f"{b['bytes_from_gpu_per_frame']:.0f}", less, seen)
    if r.get("upload"):
        print()
        head("upload from", "format", "µs p50", "p99", "GB/s", "time against page-locked")
    for u in r.get("upload", []):
        row(u["memory"], u["format"], f"{u['time']['p50_us']:.0f}", f"{u['time']['p99_us']:.0f}", f"{u['gb_per_s']:.1f}", f"{u['time_against_pinned']:.2f}")
    if r.get("overlap"):
        print()
        head("format", "upload µs", "kernel µs", "overlapped, frames/s", "one at a time", "ratio", "one stream, no messages", "ratio")
    for o in r.get("overlap", []):
        row(o["format"], f"{o['upload_us']:.0f}", f"{o['kernel_us']:.0f}", f"{o['overlapped_frames_per_second']:.0f}", f"{o['one_at_a_time_frames_per_second']:.0f}",
            f"{o['overlapped_to_one_at_a_time']:.2f}", f"{o['one_stream_frames_per_second']:.0f}", f"{o['overlapped_to_one_stream']:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
