"""Times exchange.cu: one exchange between 128 workers, alone and beside a stream with so many bytes in flight."""

import ctypes
import statistics

import torch

from gpu import HERE, compiled, function, launch

EDGES, THREADS = 1000, 544
METHODS = ["in the data, all lanes", "in the data, one lane a warp", "counter", "own boxes", "flags", "volatile", "cluster"]
STREAM = torch.randint(0, 255, (WORKERS := 128, 9 << 20), dtype=torch.uint8, device="cuda")


def measure(method, words, cluster=1, flight=(4, 8192), load=True):
    copies, piece = flight
    shared = max(copies * piece, 120_000)
    defines = [f"METHOD={method}", f"WORDS={words}", f"CL={cluster}", f"FLY={copies}", f"PIECE={piece}"]
    kernel = function(compiled((HERE / "exchange.cu").read_text(), defines), "edge", shared)
    boxes = WORKERS if method == 3 else 1
    link = torch.zeros(2 * WORKERS * words * boxes, dtype=torch.int64, device="cuda")
    counters = torch.zeros(512, dtype=torch.int32, device="cuda")
    sink, moved = torch.zeros(WORKERS, device="cuda"), torch.zeros(WORKERS, dtype=torch.int64, device="cuda")
    times = []
    for _ in range(5):
        link.zero_()
        counters.zero_()
        pointer = lambda t: ctypes.c_void_p(t.data_ptr())
        arguments = [pointer(link), pointer(counters), ctypes.c_uint32(EDGES), ctypes.c_uint32(1),
                     pointer(STREAM) if load else ctypes.c_void_p(), ctypes.c_uint64(STREAM.numel()),
                     pointer(sink), pointer(moved)]
        time = launch(kernel, WORKERS, THREADS, shared, arguments, cluster)
        if not isinstance(time, float):
            return str(time)
        times.append(time * 1e6 / EDGES)
    rate = f" beside {moved.sum().item() / (times[-1] * EDGES):.0f} GB/s" if load else ""
    return f"{statistics.median(times[1:]):.0f} ns{rate}"


for words in (4, 12):
    for method, name in enumerate(METHODS):
        for cluster in (2, 4, 8, 16) if method == 6 else (1,):
            alone, loaded = measure(method, words, cluster, load=False), measure(method, words, cluster)
            print(f"{words} words, {name}, cluster {cluster}: alone {alone}; 32 KB in flight {loaded}", flush=True)
for flight in ((6, 4096), (8, 4096), (2, 16384), (4, 8192), (3, 16384), (4, 16384), (8, 16384)):
    print(f"{flight[0]} x {flight[1]} bytes in flight: {measure(0, 4, flight=flight)}", flush=True)
