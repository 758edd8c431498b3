//! What a device may answer with, and what becomes of it; what a session asks of a device, call by call.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{fixture, prefill, shim, some_ids};
use tilewright_backend::{Cancel, LogitSink, Resident, Stage, Step};
use tilewright_metal::{
    Bound, Device, Facts, GoesOn, Launch, MetalOptions, Outcome, Session, ShimDevice, compare,
};
use tilewright_model::{Code, Refusal};
use tilewright_tile::Verified;

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// Texts are not compiled.
    Text,
    /// Texts compile, but hold no such kernel.
    Name,
    /// There is no more memory after so many buffers.
    Memory(usize),
    /// The GPU reports an error.
    Gpu,
    /// A launch is left out.
    Dropped,
    /// What is read differs: this byte of it in these bits.
    Bits(usize, u8),
}

#[derive(Default)]
struct Seen {
    fault: Mutex<Fault>,
    live: AtomicUsize,
    made: AtomicUsize,
    calls: Mutex<Vec<&'static str>>,
}

impl Seen {
    fn call(&self, what: &'static str) {
        self.calls.lock().unwrap().push(what);
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn is(&self, fault: Fault) -> bool {
        *self.fault.lock().unwrap() == fault
    }
}

/// The shim, watched.
struct Watched {
    inner: ShimDevice,
    seen: Arc<Seen>,
}

struct Memory {
    inner: <ShimDevice as Device>::Buffer,
    seen: Arc<Seen>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.seen.live.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refusal<T>(code: Code, words: &str) -> Result<T, Refusal> {
    Err(Refusal::new(code, "the device", "no error", words))
}

impl Device for Watched {
    type Buffer = Memory;
    type Kernel = <ShimDevice as Device>::Kernel;
    type Commands = (<ShimDevice as Device>::Commands, usize);

    fn facts(&self) -> &Facts {
        self.inner.facts()
    }

    fn compile(
        &self,
        kernels: &[Arc<Verified>],
        goes_on: &mut GoesOn<'_>,
    ) -> Result<Vec<Self::Kernel>, Refusal> {
        if self.seen.is(Fault::Text) {
            return refusal(Code::SessionOpenFailed, "error: expected ';'");
        }
        if self.seen.is(Fault::Name) {
            return refusal(Code::PipelineNotFound, "no function of that name");
        }
        self.inner.compile(kernels, goes_on)
    }

    fn allocate(&self, bytes: u64) -> Result<Memory, Refusal> {
        let made = self.seen.made.fetch_add(1, Ordering::Relaxed);
        if let Fault::Memory(most) = *self.seen.fault.lock().unwrap()
            && made >= most
        {
            return refusal(Code::BufferAllocFailed, "out of memory");
        }
        let inner = self.inner.allocate(bytes)?;
        self.seen.live.fetch_add(1, Ordering::Relaxed);
        Ok(Memory { inner, seen: Arc::clone(&self.seen) })
    }

    fn upload(&self, buffer: &mut Memory, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.inner.upload(&mut buffer.inner, offset, bytes)
    }

    fn download(&self, buffer: &Memory, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.inner.download(&buffer.inner, offset, bytes)?;
        if let Fault::Bits(at, bits) = *self.seen.fault.lock().unwrap() {
            bytes[at] ^= bits;
        }
        Ok(())
    }

    fn begin(&self) -> Result<Self::Commands, Refusal> {
        self.seen.call("begin");
        Ok((self.inner.begin()?, 0))
    }

    fn encode(&self, commands: &mut Self::Commands, launch: &Launch<'_, Self>) -> Result<(), Refusal> {
        commands.1 += 1;
        if self.seen.is(Fault::Dropped) && commands.1 == 3 {
            return Ok(());
        }
        let inner = launch.bound.iter().map(|bound| match *bound {
            Bound::Bytes { buffer, offset, bytes } => Bound::Bytes { buffer: &buffer.inner, offset, bytes },
            Bound::Number(number) => Bound::Number(number),
        });
        let bound: Vec<_> = inner.collect();
        let Launch { kernel, groups, threads, waits, .. } = *launch;
        self.inner.encode(&mut commands.0, &Launch { kernel, groups, threads, bound: &bound, waits })
    }

    fn commit(&self, commands: &mut Self::Commands) -> Result<(), Refusal> {
        self.seen.call("commit");
        self.inner.commit(&mut commands.0)
    }

    fn wait(&self, commands: Self::Commands) -> Result<usize, Refusal> {
        self.seen.call("wait");
        if self.seen.is(Fault::Gpu) {
            return refusal(Code::DispatchFailed, "Caused GPU Address Fault Error");
        }
        self.inner.wait(commands.0)
    }
}

/// A watched device that fails from the start.
fn watched(fault: Fault) -> Option<(Watched, Arc<Seen>)> {
    let seen = Arc::new(Seen { fault: Mutex::new(fault), ..Seen::default() });
    Some((Watched { inner: shim()?, seen: Arc::clone(&seen) }, seen))
}

fn open(device: Watched) -> Result<Session<Watched>, Refusal> {
    let options = MetalOptions { context: Some(600), prefill_chunk: Some(8), ..MetalOptions::default() };
    Session::open(device, &fixture("qwen3-tiny"), &options, &mut |_| Ok(()))
}

#[test]
fn a_text_that_is_not_compiled_a_name_that_is_not_there_and_memory_that_ends_are_refused_at_open() {
    let cases = [
        (Fault::Text, Code::SessionOpenFailed, "expected ';'"),
        (Fault::Name, Code::PipelineNotFound, "no function"),
        (Fault::Memory(0), Code::BufferAllocFailed, "out of memory"),
        (Fault::Memory(2), Code::BufferAllocFailed, "out of memory"),
    ];
    for (fault, code, words) in cases {
        let Some((device, seen)) = watched(fault) else { return };
        let refusal = open(device).err().unwrap();
        assert_eq!(refusal.code(), code, "{fault:?}");
        assert!(refusal.to_string().contains(words), "{refusal}");
        assert_eq!(seen.live.load(Ordering::Relaxed), 0, "{fault:?}: buffers are released");
    }
}

#[test]
fn loading_that_nobody_waits_for_ends_within_a_tensor_or_a_text_and_frees_what_it_held() {
    let options = MetalOptions { context: Some(600), ..MetalOptions::default() };
    let mut stages = Vec::new();
    for heard in 1.. {
        let Some((device, seen)) = watched(Fault::None) else { return };
        let mut told = 0;
        let opened = Session::open(device, &fixture("qwen3-tiny"), &options, &mut |at| {
            told += 1;
            if told < heard {
                return Ok(());
            }
            stages.push(at.stage);
            refusal(Code::Cancelled, "nobody waits")
        });
        assert_eq!((opened.err().unwrap().code(), told), (Code::Cancelled, heard));
        assert_eq!(seen.live.load(Ordering::Relaxed), 0, "buffers are released");
        if stages.last() == Some(&Stage::Compile) {
            break;
        }
    }
    // Every tensor as it is read, every buffer as it is filled, and the first text.
    let packing = stages.iter().filter(|stage| **stage == Stage::Pack).count();
    assert!(packing > 2 * 11, "{packing} times in two layers");
}

#[test]
fn an_error_of_the_gpu_is_told_in_its_words_and_leaves_the_sequence_as_it_was() {
    let Some((device, seen)) = watched(Fault::None) else { return };
    let mut model = open(device).unwrap();
    let ids = some_ids(512, 12);
    let (sequence, mut logits) = prefill(&mut model, &ids[..5]);
    for (fault, code, words) in [
        (Fault::Gpu, Code::DispatchFailed, "GPU Address Fault"),
        (Fault::Dropped, Code::DispatchCountMismatch, "19 dispatches of step_to_logits"),
    ] {
        seen.set(fault);
        let step = Step { sequence, token: 1 };
        let refusal = model.decode(&[step], &mut logits).unwrap_err();
        assert_eq!(refusal.code(), code);
        assert!(refusal.to_string().contains(words), "{refusal}");
        let prefill = model.prefill(sequence, &ids[5..], LogitSink::None, &Cancel::default());
        assert_eq!((prefill.unwrap_err().code(), model.len(sequence)), (code, 5));
        assert_eq!(model.greedy(sequence, 1, 1, &[]).unwrap_err().code(), code);
    }
    seen.set(Fault::None);
    model.decode(&[Step { sequence, token: ids[5] }], &mut logits).unwrap();
    let (_, expected) = prefill(&mut model, &ids[..6]);
    assert!(logits.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3), "it goes on as if nothing were");
}

#[test]
fn a_tile_and_a_step_are_one_command_buffer_with_one_wait_at_its_end() {
    let Some((device, seen)) = watched(Fault::None) else { return };
    let mut model = open(device).unwrap();
    let (sequence, mut logits) = prefill(&mut model, &some_ids(512, 17));
    let run = ["begin", "commit", "wait"];
    assert_eq!(std::mem::take(&mut *seen.calls.lock().unwrap()), run.repeat(3), "three tiles");
    model.decode(&[Step { sequence, token: 1 }], &mut logits).unwrap();
    model.greedy(sequence, 2, 2, &[]).unwrap();
    assert_eq!(*seen.calls.lock().unwrap(), run.repeat(3), "three tokens");
}

#[test]
fn weights_are_uploaded_once_and_every_buffer_is_released() {
    let Some((device, seen)) = watched(Fault::None) else { return };
    let mut model = open(device).unwrap();
    let (first, mut logits) = prefill(&mut model, &some_ids(512, 17));
    model.decode(&[Step { sequence: first, token: 1 }], &mut logits).unwrap();
    let made = seen.made.load(Ordering::Relaxed);
    let live = seen.live.load(Ordering::Relaxed);
    for _ in 0..3 {
        model.release(first);
        let (sequence, mut logits) = prefill(&mut model, &some_ids(512, 17));
        model.decode(&[Step { sequence, token: 1 }], &mut logits).unwrap();
        model.release(sequence);
    }
    assert_eq!(seen.made.load(Ordering::Relaxed), made + 3 * 2, "keys and values of each sequence alone");
    assert_eq!(seen.live.load(Ordering::Relaxed), live - 2);
    drop(model.close());
    assert_eq!(seen.live.load(Ordering::Relaxed), 0);
}

#[test]
fn the_conformance_suite_tells_exact_from_near_from_different_from_refused() {
    let shape = tilewright_kernels::Shape::QWEN3_TINY;
    let of = |name: &str| tilewright_kernels::catalogue::find(name, &shape).unwrap();
    let Some((device, seen)) = watched(Fault::None) else { return };
    for name in [
        "decode_norm_f32",
        "decode_argmax",
        "prefill_residual_f32",
        "int8_matmul_msl_qkv",
        "rotary_table_precise",
    ] {
        assert_eq!(compare(&device, of(name)), Outcome::Exact, "{name}");
    }
    seen.set(Fault::Bits(4, 1));
    assert!(matches!(compare(&device, of("decode_norm_f32")), Outcome::Near(_)));
    assert!(
        matches!(compare(&device, of("decode_argmax_batch8")), Outcome::Different(_)),
        "ids are whole numbers"
    );
    seen.set(Fault::Bits(7, 0x40));
    assert!(matches!(compare(&device, of("decode_norm_f32")), Outcome::Different(_)));
    for fault in [Fault::Gpu, Fault::Text, Fault::Name] {
        seen.set(fault);
        assert!(matches!(compare(&device, of("decode_norm_f32")), Outcome::Refused(_)), "{fault:?}");
    }
    let names: Vec<String> =
        tilewright_kernels::catalogue::kernels(&shape).into_iter().map(|(name, _)| name).collect();
    assert!(names.len() > 100 && names.contains(&"grouped_attention_f16".to_owned()));
}

#[test]
fn bytes_beyond_a_buffer_are_refused() {
    let Some(device) = shim() else { return };
    let mut buffer = device.allocate(64).unwrap();
    device.upload(&mut buffer, 0, &[1; 64]).unwrap();
    let refusal = device.upload(&mut buffer, 60, &[0; 5]).unwrap_err();
    assert_eq!(refusal.code(), Code::UploadLength);
    let mut bytes = [0; 65];
    assert_eq!(device.download(&buffer, 0, &mut bytes).unwrap_err().code(), Code::UploadLength);
    device.download(&buffer, 60, &mut bytes[..4]).unwrap();
    assert_eq!(bytes[..4], [1; 4]);
    assert_eq!(device.allocate(u64::MAX).err().unwrap().code(), Code::BufferAllocFailed);
}
