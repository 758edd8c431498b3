"""Kernels of one text, started as crates/cuda starts them: with tensor maps, in clusters, early, recorded."""

import ctypes

import torch

from gpu import done
from cuda.bindings import nvrtc

CUDA = ctypes.CDLL("libcuda.so.1")
BF16, SWIZZLE_128, PROMOTE_256 = 9, 3, 3
CLUSTER, EARLY = 4, 6  # CUlaunchAttributeID
MAX_DYNAMIC_SHARED = 8  # CUfunction_attribute


def called(status):
    if status:
        raise RuntimeError(f"CUDA error {status}")


def array(kind, values):
    return (kind * len(values))(*values)


def tensor_map(address, dims, strides, box):
    """A map of bf16, dimensions innermost first; strides in bytes of all but that."""
    room = (ctypes.c_uint8 * 192)()
    at = (ctypes.addressof(room) + 63) & ~63
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    shape = (array(u64, dims), array(u64, strides), array(u32, box), array(u32, [1] * len(dims)))
    place = (ctypes.c_void_p(at), BF16, len(dims), ctypes.c_void_p(address))
    called(CUDA.cuTensorMapEncodeTiled(*place, *shape, 0, SWIZZLE_128, PROMOTE_256, 0))
    return (ctypes.c_uint64 * 16).from_buffer_copy((ctypes.c_uint64 * 16).from_address(at))


def matrix(m, rows):
    """A map of a row-major matrix whose boxes have 64 columns and `rows` rows."""
    return tensor_map(m.data_ptr(), [m.shape[1], m.shape[0]], [m.shape[1] * 2], [64, rows])


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("shared", ctypes.c_uint32)]
    _fields_ += [("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint32)]


class Module:
    def __init__(self, text):
        program = done(nvrtc.nvrtcCreateProgram(text.encode(), b"rows.cu", 0, [], []))
        options = [b"-arch=sm_90a", b"-std=c++17", b"-default-device"]
        compiled = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(compiled[0]):
            log = b" " * done(nvrtc.nvrtcGetProgramLogSize(program))
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.decode())
        cubin = b" " * done(nvrtc.nvrtcGetCUBINSize(program))
        done(nvrtc.nvrtcGetCUBIN(program, cubin))
        torch.zeros(1, device="cuda")
        self.module, self.functions, self.shared = ctypes.c_void_p(), {}, {}
        called(CUDA.cuModuleLoadData(ctypes.byref(self.module), cubin))

    def start(self, name, blocks, threads, shared, *args, early=True, cluster=(1, 1)):
        """Starts a kernel on torch's stream; tensors are addresses, integers 32 bits wide, None no address."""
        if name not in self.functions:
            function = ctypes.c_void_p()
            called(CUDA.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()))
            self.functions[name] = function
        function = self.functions[name]
        if shared > self.shared.get(name, 0):
            called(CUDA.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, shared))
            self.shared[name] = shared
        plain = {torch.Tensor: lambda t: ctypes.c_uint64(t.data_ptr()), int: ctypes.c_uint32}
        values = [plain.get(type(a), lambda a: a)(a) for a in args]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        word = ctypes.c_uint32 * 16
        attributes = array(Attribute, [Attribute(CLUSTER, 0, word(*cluster, 1)), Attribute(EARLY, 0, word(1))])
        grid, stream = (*blocks, 1, 1)[:3], torch.cuda.current_stream().cuda_stream
        config = Config(array(ctypes.c_uint32, grid), array(ctypes.c_uint32, (threads, 1, 1)), shared, stream)
        config.attributes, config.count = ctypes.addressof(attributes), 2 if early else 1
        called(CUDA.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None))


def graph(body):
    """What `body` starts, recorded."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
        stream.synchronize()
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded, stream=stream):
            body()
    torch.cuda.synchronize()
    return recorded


def time_graph(recorded, trials=11):
    """Median, least and most milliseconds of a replay."""
    times = []
    for trial in range(trials + 2):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        recorded.replay()
        end.record()
        torch.cuda.synchronize()
        if trial > 1:
            times.append(start.elapsed_time(end))
    times.sort()
    return times[len(times) // 2], times[0], times[-1]
