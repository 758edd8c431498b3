"""Compiling with NVRTC and launching cooperatively, for the experiments beside it."""

import ctypes
from pathlib import Path

import torch
from cuda.bindings import driver, nvrtc

HERE = Path(__file__).parent
DYNAMIC_SHARED_BYTES = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NON_PORTABLE_CLUSTER = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


def done(result):
    """The values of a call that must have succeeded."""
    if int(result[0]):
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else result[1:]


def compiled(text, defines):
    """A text's machine code for Hopper."""
    program = done(nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], []))
    options = [b"-arch=sm_90a", b"-std=c++17", b"-default-device"] + [f"-D{d}".encode() for d in defines]
    if int(nvrtc.nvrtcCompileProgram(program, len(options), options)[0]):
        log = b" " * done(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode())
    cubin = b" " * done(nvrtc.nvrtcGetCUBINSize(program))
    done(nvrtc.nvrtcGetCUBIN(program, cubin))
    return cubin


def function(cubin, name, shared=0):
    """The kernel `name`, with `shared` bytes of dynamic shared memory."""
    torch.zeros(1, device="cuda")
    kernel = done(driver.cuModuleGetFunction(done(driver.cuModuleLoadData(cubin)), name.encode()))
    done(driver.cuFuncSetAttribute(kernel, DYNAMIC_SHARED_BYTES, shared))
    return kernel


def launch(kernel, blocks, threads, shared, arguments, cluster=1, together=True):
    """Launches once, by default cooperatively; milliseconds, or the error of a launch that does not fit."""
    pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = *(blocks if isinstance(blocks, tuple) else (blocks, 1)), 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared
    config.hStream = torch.cuda.current_stream().cuda_stream
    cooperative = driver.CUlaunchAttribute()
    cooperative.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    cooperative.value.cooperative = int(together)
    attributes = [cooperative]
    if cluster > 1:
        if cluster > 8:
            done(driver.cuFuncSetAttribute(kernel, NON_PORTABLE_CLUSTER, 1))
        shape = driver.CUlaunchAttribute()
        shape.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        shape.value.clusterDim.x = cluster
        shape.value.clusterDim.y = shape.value.clusterDim.z = 1
        attributes.append(shape)
    config.attrs, config.numAttrs = attributes, len(attributes)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    error = driver.cuLaunchKernelEx(config, kernel, ctypes.addressof(pointers), 0)[0]
    if int(error):
        return error
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)
