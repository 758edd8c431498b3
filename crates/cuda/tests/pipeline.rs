//! The step of overlapping launches on the GPU, recorded once: against float64, and against its own single steps.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use common::{FIXTURES, argmax, fixture, present};
use tilewright_cuda::{LanguageGpu, ResidentPipeline};
use tilewright_kernels::decode::Options;
use tilewright_kernels::decode::overlap::{Step, overlapped};
use tilewright_kernels::{Shape, host};
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config};

const TOKENS: usize = 24;

fn resident<'g>(
    gpu: &'g LanguageGpu,
    checkpoint: &Checkpoint,
    shape: &Shape,
    step: Step,
) -> ResidentPipeline<'g> {
    let options = Options::F32;
    let pipeline = overlapped("overlap", shape, &options, step).unwrap().verify().unwrap();
    let mut resident = gpu.pipeline(&pipeline).unwrap();
    let weights = host::weights(&checkpoint.parameters(), shape, options.weights, |t| t.to_f32()).unwrap();
    for (name, bytes) in weights {
        resident.write(name, 0, &bytes).unwrap();
    }
    let rotary = host::rotary(&checkpoint.config().rope, shape);
    resident.write("rotary", 0, bytemuck::cast_slice(&rotary)).unwrap();
    resident
}

fn control(resident: &mut ResidentPipeline<'_>, token: u32, position: usize) {
    resident.write("control", 0, bytemuck::cast_slice(&[token, position as u32])).unwrap();
}

fn logits(resident: &ResidentPipeline<'_>, config: &Config) -> Vec<f32> {
    let mut logits = vec![0f32; config.vocab];
    resident.read("logits", 0, bytemuck::cast_slice_mut(&mut logits)).unwrap();
    logits
}

#[test]
fn overlapping_launches_agree_with_float64_on_every_fixture() {
    if !present() {
        return;
    }
    let gpu = LanguageGpu::open(0).unwrap();
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let config = checkpoint.config();
        let shape = Shape::new(config, TOKENS as u32);
        let ids: Vec<u32> = (0..TOKENS as u32).map(|i| (i * 37 + 11) % config.vocab as u32).collect();
        let truth = Reference::new(&checkpoint).unwrap().forward(&ids);
        let mut step = resident(&gpu, &checkpoint, &shape, Step::Logits);
        let mut got = Vec::new();
        for (position, &id) in ids.iter().enumerate() {
            control(&mut step, id, position);
            step.start(1).unwrap();
            got.extend(logits(&step, config));
        }
        let seen =
            compare(&got, &truth.logits, Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{name}: {m}"));
        eprintln!("{name}: largest error of logits {:e}", seen.max_abs);
    }
}

#[test]
fn many_steps_at_once_choose_what_single_steps_choose() {
    if !present() {
        return;
    }
    let gpu = LanguageGpu::open(0).unwrap();
    let checkpoint = Checkpoint::open(&fixture("qwen3-tiny")).unwrap();
    let config = checkpoint.config();
    let shape = Shape::new(config, 256);
    let mut single = resident(&gpu, &checkpoint, &shape, Step::Logits);
    let mut many = resident(&gpu, &checkpoint, &shape, Step::Token);
    let (mut token, mut expected) = (5, Vec::new());
    for position in 0..200 {
        control(&mut single, token, position);
        single.start(1).unwrap();
        token = argmax(&logits(&single, config));
        expected.push(token);
    }
    // Whatever a launch of one step might see of the step before or after it, it would see here.
    for _ in 0..20 {
        control(&mut many, 5, 0);
        many.start(200).unwrap();
        let mut ids = vec![0u32; 200];
        many.read("ids", 0, bytemuck::cast_slice_mut(&mut ids)).unwrap();
        assert_eq!(ids, expected);
    }
}
