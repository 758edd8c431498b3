//! Every kernel of the catalogue on a GPU, compared with the interpreter, which defines what they mean.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tilewright_kernels::{Shape, catalogue};
use tilewright_model::Refusal;
use tilewright_tile::ir::{Math, OpKind};
use tilewright_tile::testing::conformance;
use tilewright_tile::{Kernel, Scalar};

use crate::gpu::{Gpu, find};
use crate::language::{LanguageGpu, LanguageKernel};

/// Threads that compile, which takes most of the time.
const THREADS: usize = 16;

/// What came of one kernel.
pub type Outcome = conformance::Outcome<Refusal>;

/// A GPU that every kernel can be run on.
pub struct Suite(Gpu);

impl Suite {
    /// Takes GPU `ordinal`.
    ///
    /// # Errors
    /// Those of [`LanguageGpu::open`].
    pub fn open(ordinal: usize) -> Result<Self, Refusal> {
        LanguageGpu::open(ordinal)?;
        Ok(Self(find(ordinal)?))
    }

    /// What is known of the GPU.
    pub const fn gpu(&self) -> &Gpu {
        &self.0
    }

    /// Tells the outcome of every kernel at `shape` whose name contains `only`, in any order.
    pub fn each(&self, shape: &Shape, only: &str, tell: &mut dyn FnMut(&str, Outcome)) {
        let kernels = catalogue::kernels(shape).into_iter().filter(|(name, _)| name.contains(only));
        let work = Mutex::new(kernels.collect::<Vec<_>>().into_iter());
        let next = || work.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (send, outcomes) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, |n| n.get().min(THREADS)) {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || {
                    let gpu = LanguageGpu::open(self.0.ordinal);
                    while let Some((name, kernel)) = next() {
                        let outcome = match &gpu {
                            Ok(gpu) => compare(gpu, kernel),
                            Err(refusal) => Outcome::Refused(refusal.clone()),
                        };
                        if send.send((name, outcome)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            outcomes.iter().for_each(|(name, outcome)| tell(&name, outcome));
        });
    }
}

/// Whether a kernel uses one of some functions.
fn uses(kernel: &Kernel, which: impl Fn(Math) -> bool) -> bool {
    let mut found = false;
    kernel.walk(|op, _| found |= matches!(kernel.ops()[op].kind, OpKind::Math(math, _) if which(math)));
    found
}

/// Whether two machines may round a function differently. Roots, quotients and sums are exact.
fn is_inexact(math: Math) -> bool {
    let precise = matches!(math, Math::Exp | Math::Exp2 | Math::Log | Math::Sin | Math::Cos | Math::Tanh);
    precise || math.is_fast()
}

/// What such functions may move an element by: an angle that is off by a unit in the last place, at the last position of
/// these shapes, in f32; one unit in the last place of a narrower type.
fn tolerance(scalar: Scalar, expected: f64, angles: bool) -> f64 {
    match scalar {
        Scalar::F16 => 2f64.powi(-10) * expected.abs().max(0.1),
        Scalar::Bf16 => 2f64.powi(-7) * expected.abs().max(0.1),
        // The fast sine's error grows with the angle, as its maker says.
        _ if angles => 5e-5,
        _ => 1e-5 * expected.abs().max(1.0),
    }
}

/// Runs one kernel on two kinds of noise, here and in the interpreter. Bits must be the same where nothing may round otherwise.
pub(crate) fn compare(gpu: &LanguageGpu, kernel: Kernel) -> Outcome {
    let angles = uses(&kernel, |math| matches!(math, Math::FastSin | Math::FastCos));
    let exact = !uses(&kernel, is_inexact);
    let near = |scalar, expected| if exact { 0.0 } else { tolerance(scalar, expected, angles) };
    let mut known: Option<LanguageKernel> = None;
    conformance::compare(kernel, 1..=2, near, |kernel, trial| {
        let (mut memory, dispatch) = trial.dispatch(kernel);
        let compiled = match known.take() {
            Some(compiled) => known.insert(compiled),
            None => known.insert(gpu.compile(kernel)?),
        };
        gpu.run(compiled, &mut memory, &dispatch)?;
        Ok(memory)
    })
}
