//! Metal, called.

use std::ptr::NonNull;

use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSProcessInfo, NSString};
use objc2_metal::{
    MTLBarrierScope, MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue,
    MTLCompileOptions, MTLComputeCommandEncoder, MTLComputePipelineState, MTLCreateSystemDefaultDevice,
    MTLDevice, MTLDispatchType, MTLFunction, MTLGPUFamily, MTLLanguageVersion, MTLLibrary,
    MTLMathFloatingPointFunctions, MTLMathMode, MTLResourceOptions, MTLSize,
};
use tilewright_backend::DeviceKind;
use tilewright_backend::support::{LEAST_APPLE_FAMILY, LEAST_MACOS};

use crate::Facts;

// `MTLCreateSystemDefaultDevice` finds no GPU in a program that does not load this framework.
#[cfg(target_vendor = "apple")]
#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {}

/// A Metal object that may go to another thread.
struct Shared<T: ?Sized>(Retained<ProtocolObject<T>>);

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

// SAFETY: Metal's devices, queues, buffers and pipeline states may be used from any thread; their retain counts are
// atomic. Contents of buffers are reached through `Buffer` alone, whose borrows keep writers apart.
unsafe impl<T: ?Sized> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for Shared<T> {}

/// The GPU and its queue.
pub(super) struct Gpu {
    device: Shared<dyn MTLDevice>,
    queue: Shared<dyn MTLCommandQueue>,
}

/// A compiled text.
pub(super) struct Library(Retained<ProtocolObject<dyn MTLLibrary>>);

/// A function of a text.
pub(super) struct Function(Retained<ProtocolObject<dyn MTLFunction>>);

/// A kernel that can be launched.
#[derive(Clone)]
pub struct Kernel(Shared<dyn MTLComputePipelineState>);

/// Memory that GPU and processor share.
pub struct Buffer {
    buffer: Shared<dyn MTLBuffer>,
    bytes: usize,
}

/// A command buffer and the encoder that fills it.
pub(super) struct Commands {
    buffer: Retained<ProtocolObject<dyn MTLCommandBuffer>>,
    encoder: Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>,
}

/// `MTLGPUFamilyMetal4`.
const METAL_4: MTLGPUFamily = MTLGPUFamily(5002);

fn none(of: &str) -> (String, String) {
    (of.to_owned(), "none".to_owned())
}

fn words(error: &NSError) -> String {
    error.localizedDescription().to_string()
}

impl Gpu {
    /// The default GPU; what was expected and what is there, where it cannot be used.
    pub(super) fn open() -> Result<Self, (String, String)> {
        autoreleasepool(|_| {
            let system = NSProcessInfo::processInfo().operatingSystemVersion();
            if system.majorVersion < LEAST_MACOS as isize {
                let got = format!("macOS {}.{}", system.majorVersion, system.minorVersion);
                return Err((format!("macOS {LEAST_MACOS} or newer"), got));
            }
            let device = MTLCreateSystemDefaultDevice().ok_or_else(|| none("an Apple GPU"))?;
            // Families are numbered from 1,000 on.
            if !device.supportsFamily(MTLGPUFamily(1000 + LEAST_APPLE_FAMILY as isize)) {
                let expected = format!("a GPU of family Apple {LEAST_APPLE_FAMILY} (M1) or newer");
                return Err((expected, device.name().to_string()));
            }
            let queue = device.newCommandQueue().ok_or_else(|| none("a command queue"))?;
            Ok(Self { device: Shared(device), queue: Shared(queue) })
        })
    }

    pub(super) fn facts(&self) -> Facts {
        let device = &self.device.0;
        Facts {
            kind: DeviceKind::Metal,
            name: device.name().to_string(),
            memory: Some(device.recommendedMaxWorkingSetSize()),
            largest_buffer: device.maxBufferLength() as u64,
            threadgroup_memory: device.maxThreadgroupMemoryLength() as u64,
            // Metal 4, and a system whose cooperative tensors have what the text asks of them.
            tensor_operations: device.supportsFamily(METAL_4) && objc2::available!(macos = 26.2),
        }
    }

    /// Compiles a text with strict arithmetic: nothing contracted, reordered or flushed, functions precise. One with tensor
    /// operations is in the language of Metal 4.
    pub(super) fn library(&self, text: &str, tensor_operations: bool) -> Result<Library, String> {
        autoreleasepool(|_| {
            let options = MTLCompileOptions::new();
            options.setLanguageVersion(match tensor_operations {
                true => MTLLanguageVersion::Version4_0,
                false => MTLLanguageVersion::Version3_1,
            });
            if objc2::available!(macos = 15.0) {
                options.setMathMode(MTLMathMode::Safe);
                options.setMathFloatingPointFunctions(MTLMathFloatingPointFunctions::Precise);
            } else {
                // What the two properties above are called before macOS 15.
                #[allow(deprecated, reason = "its successors are newer than the oldest system we serve")]
                options.setFastMathEnabled(false);
            }
            let source = NSString::from_str(text);
            let library = self.device.0.newLibraryWithSource_options_error(&source, Some(&options));
            library.map(Library).map_err(|error| words(&error))
        })
    }

    pub(super) fn kernel(&self, function: &Function) -> Result<Kernel, String> {
        autoreleasepool(|_| {
            let state = self.device.0.newComputePipelineStateWithFunction_error(&function.0);
            state.map(|state| Kernel(Shared(state))).map_err(|error| words(&error))
        })
    }

    pub(super) fn buffer(&self, bytes: usize) -> Option<Buffer> {
        autoreleasepool(|_| {
            let options = MTLResourceOptions::StorageModeShared;
            let buffer = self.device.0.newBufferWithLength_options(bytes, options)?;
            Some(Buffer { buffer: Shared(buffer), bytes })
        })
    }

    /// An empty command buffer whose launches overlap unless they are told to wait.
    pub(super) fn commands(&self) -> Option<Commands> {
        autoreleasepool(|_| {
            let buffer = self.queue.0.commandBuffer()?;
            let encoder = buffer.computeCommandEncoderWithDispatchType(MTLDispatchType::Concurrent)?;
            Some(Commands { buffer, encoder })
        })
    }
}

impl Library {
    pub(super) fn function(&self, name: &str) -> Option<Function> {
        autoreleasepool(|_| self.0.newFunctionWithName(&NSString::from_str(name)).map(Function))
    }
}

impl Kernel {
    /// Threads that a threadgroup of it may have.
    pub(super) fn most_threads(&self) -> usize {
        self.0.0.maxTotalThreadsPerThreadgroup()
    }
}

impl Buffer {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    fn start(&self) -> NonNull<u8> {
        self.buffer.0.contents().cast()
    }

    /// Writes bytes that lie within.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes, "within the buffer");
        // SAFETY: the range lies within the shared memory of the buffer, which lives as long as `self`; the two do not
        // overlap, for `bytes` is memory of Rust's; every run is waited for, so the GPU is not at it.
        unsafe {
            self.start().add(offset).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
    }

    /// Reads bytes that lie within.
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(offset + bytes.len() <= self.bytes, "within the buffer");
        // SAFETY: as in `write`.
        unsafe {
            self.start().add(offset).copy_to_nonoverlapping(NonNull::from(&mut *bytes).cast(), bytes.len())
        };
    }
}

/// What a parameter is bound to.
pub(super) enum Argument<'a> {
    /// A buffer from this byte on.
    Buffer(&'a Buffer, usize),
    /// The bytes of a number.
    Number([u8; 4]),
}

impl Commands {
    /// Adds a launch; `bound` is in the order of parameters.
    pub(super) fn launch(
        &self,
        kernel: &Kernel,
        groups: [u32; 3],
        threads: u32,
        bound: &[Argument<'_>],
        waits: bool,
    ) {
        autoreleasepool(|_| {
            if waits {
                self.encoder.memoryBarrierWithScope(MTLBarrierScope::Buffers);
            }
            self.encoder.setComputePipelineState(&kernel.0.0);
            for (index, argument) in bound.iter().enumerate() {
                match argument {
                    Argument::Buffer(buffer, offset) => {
                        // SAFETY: the offset lies within the buffer, which the command buffer retains; the verifier has
                        // proven that the kernel stays within what is bound, and the session that nothing written overlaps.
                        unsafe {
                            self.encoder.setBuffer_offset_atIndex(Some(&buffer.buffer.0), *offset, index)
                        };
                    }
                    Argument::Number(bytes) => {
                        // SAFETY: the bytes are valid for as long as the call, which copies them.
                        unsafe {
                            self.encoder.setBytes_length_atIndex(
                                NonNull::from(bytes).cast(),
                                bytes.len(),
                                index,
                            );
                        };
                    }
                }
            }
            let [width, height, depth] = groups.map(|n| n as usize);
            let grid = MTLSize { width, height, depth };
            let threads = MTLSize { width: threads as usize, height: 1, depth: 1 };
            self.encoder.dispatchThreadgroups_threadsPerThreadgroup(grid, threads);
        });
    }

    /// Sends everything to the GPU.
    pub(super) fn commit(&self) {
        self.encoder.endEncoding();
        self.buffer.commit();
    }

    /// Waits for the GPU; its message if it failed.
    pub(super) fn wait(&self) -> Result<(), String> {
        autoreleasepool(|_| {
            self.buffer.waitUntilCompleted();
            match (self.buffer.error(), self.buffer.status()) {
                (None, MTLCommandBufferStatus::Completed) => Ok(()),
                (Some(error), _) => Err(words(&error)),
                (None, status) => Err(format!("status {}", status.0)),
            }
        })
    }
}
