//! The rotary table: cosine and sine of every position and pair (D54).

use tilewright_tile::{Builder, Kernel, Launch, Value, kernel};

use crate::shape::Shape;

/// How sine and cosine are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigonometry {
    /// The device's precise functions.
    Precise,
    /// The device's fast functions.
    Fast,
}

/// The table of a plain rotary embedding, in the order of operations that long positions are checked against: the
/// fraction `pair / pairs` in f32, its power of `1 / theta` by `exp2`, times the position, fast cosine and sine.
///
/// `log2_theta` is an argument, so that one kernel serves every base.
pub fn table(shape: &Shape, trigonometry: Trigonometry) -> Kernel {
    let name = match trigonometry {
        Trigonometry::Fast => "rotary_table_fast",
        Trigonometry::Precise => "rotary_table_precise",
    };
    kernel(name, Launch::items(shape.capacity * shape.pairs()), |k| {
        let log2_theta = k.argument_f32("log2_theta");
        let entries = Entries::new(k, shape);

        let fraction = entries.pair.f32() / shape.pairs() as f32;
        let frequency = (-(fraction * log2_theta)).exp2();
        entries.write(k, shape, entries.position.f32() * frequency, trigonometry, None);
    })
}

/// The table of a scaled rotary embedding (linear, Llama 3, YaRN) from the frequencies of its pairs; `factor` is
/// applied to cosine and sine.
pub fn table_of_frequencies(shape: &Shape) -> Kernel {
    kernel("rotary_table_of_frequencies", Launch::items(shape.capacity * shape.pairs()), |k| {
        let frequencies = k.read::<f32>("frequencies", [shape.pairs()]);
        let factor = k.argument_f32("factor");
        let entries = Entries::new(k, shape);

        let angle = entries.position.f32() * frequencies.at([entries.pair]);
        entries.write(k, shape, angle, Trigonometry::Precise, Some(factor));
    })
}

/// The entry of a thread.
struct Entries<'k> {
    position: Value<'k, i32>,
    pair: Value<'k, i32>,
}

impl<'k> Entries<'k> {
    fn new(k: &'k Builder, shape: &Shape) -> Self {
        let item = k.item();
        Self { position: item / shape.pairs(), pair: item % shape.pairs() }
    }

    fn write(
        &self,
        k: &'k Builder,
        shape: &Shape,
        angle: Value<'k, f32>,
        trigonometry: Trigonometry,
        factor: Option<Value<'k, f32>>,
    ) {
        let rotary = k.write::<f32>("rotary", [shape.capacity, shape.pairs(), 2]).guarded_axes(&[0]);
        let (cos, sin) = match trigonometry {
            Trigonometry::Precise => (angle.cos(), angle.sin()),
            Trigonometry::Fast => (angle.fast_cos(), angle.fast_sin()),
        };
        for (n, value) in [cos, sin].into_iter().enumerate() {
            let value = factor.map_or(value, |factor| value * factor);
            rotary.set((self.position, self.pair, n), value);
        }
    }
}
