//! Every operation of every instruction set, and of every model, against the portable definition.

use std::array::from_fn;

use proptest::prelude::*;

use super::{Isa, Kernel, LANES, Simd};

/// Inputs of all operations.
#[derive(Clone, Debug)]
struct Inputs {
    a: [f32; LANES],
    b: [f32; LANES],
    c: [f32; LANES],
    i: [i32; LANES],
    j: [i32; LANES],
    bytes: [u8; 64],
    x: i32,
}

/// Results of all operations, as bits.
#[derive(Debug, PartialEq)]
struct Outputs {
    floats: Vec<[u32; LANES]>,
    ints: Vec<[i32; LANES]>,
    words: [u32; 4],
    halves: [u16; LANES],
    bytes: Vec<[u8; 64]>,
    scalars: [u32; 2],
}

impl Kernel for &Inputs {
    type Output = Outputs;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Outputs {
        let (a, b, c) = (s.load(&self.a), s.load(&self.b), s.load(&self.c));
        let (i, j) = (s.load_i32(&self.i), s.load_i32(&self.j));
        let float = |v: S::F32| {
            let mut lanes = [0.0; LANES];
            s.store(v, &mut lanes);
            // One bit pattern for all that is not a number.
            lanes.map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() })
        };
        let int = |v: S::I32| {
            let mut lanes = [0; LANES];
            s.store_i32(v, &mut lanes);
            lanes
        };
        let byte = |v: S::U8| {
            let mut bytes = [0; 64];
            s.store_u8(v, &mut bytes);
            bytes
        };
        let mut halves = [0; LANES];
        s.store_f16(a, &mut halves);
        let bytes = s.load_u8(&self.bytes);
        let [low, high] = s.nibbles(bytes);
        // Eight steps are what sums must hold.
        let mut nibbles = i;
        for _ in 0..2 {
            let mut sums = s.begin4(nibbles);
            for _ in 0..4 {
                sums = s.dot4(s.dot4(sums, low, self.x), high, self.x);
            }
            nibbles = s.end4(sums);
        }
        let sum: i32 = self.x.to_le_bytes().iter().map(|&x| i32::from(x as i8)).sum();
        let unbiased = s.add_i32(s.dot8(i, s.split8(bytes), self.x), s.splat_i32(-S::BIAS * sum));
        let pair = s.load_bf16_pair(&self.bytes);
        let (mut copy, mut image) = ([0; 64], [0; 64]);
        s.store_u8(bytes, &mut copy);
        s.store_bytes(s.load(&self.a), &mut image);
        let word = s.load_f16(&from_fn(|k| u16::from_le_bytes([self.bytes[2 * k], self.bytes[2 * k + 1]])));
        Outputs {
            floats: vec![
                float(s.splat(self.a[0])),
                float(s.add(a, b)),
                float(s.sub(a, b)),
                float(s.mul(a, b)),
                float(s.div(a, b)),
                float(s.fma(a, b, c)),
                float(s.max(a, b)),
                float(s.min(a, b)),
                float(s.abs(a)),
                float(s.to_f32(i)),
                float(s.as_f32(i)),
                float(word),
                float(s.load_bytes(&self.bytes)),
                float(pair[0]),
                float(pair[1]),
                float(s.load_f16_pair(&self.bytes)[0]),
                float(s.load_f16_pair(&self.bytes)[1]),
            ],
            ints: vec![
                int(s.splat_i32(self.x)),
                int(s.add_i32(i, j)),
                int(s.shl::<23>(i)),
                int(s.round(s.load(&self.a.map(|x| (x % 4e8) * 2.5)))),
                int(unbiased),
                int(nibbles),
                int(s.field(&self.bytes, 0, 63)),
                int(s.field(&self.bytes, 24, 255)),
                int(s.field(&self.bytes, 30, 3)),
            ],
            words: s.narrow(s.load_i32(&self.i.map(|x| x % 300))),
            halves,
            bytes: vec![
                copy,
                image,
                byte(s.pick(bytes, 0, 15)),
                byte(s.pick(bytes, -4, 15)),
                byte(s.pick(bytes, -6, 3)),
                byte(s.pick(bytes, 3, 0x78)),
                byte(s.or_u8(low, s.pick(bytes, 2, 0x30))),
                byte(s.look_up(high, &from_fn(|k| self.bytes[k]))),
            ],
            scalars: [s.reduce_add(a).to_bits(), s.reduce_max(a).to_bits()],
        }
    }
}

fn floats(finite: bool) -> BoxedStrategy<[f32; LANES]> {
    let special = prop_oneof![
        Just(0.0f32),
        Just(-0.0),
        Just(0.5),
        Just(-1.5),
        Just(f32::MIN_POSITIVE),
        Just(65520.0),
        Just(1e-42)
    ];
    let wild = prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY)];
    let lane = prop_oneof![
        6 => -1e3f32..1e3,
        1 => -1e30f32..1e30,
        2 => special,
        if finite { 0 } else { 1 } => wild
    ];
    prop::array::uniform16(lane).boxed()
}

fn inputs() -> impl Strategy<Value = Inputs> {
    // No activation is -128: the contract of `dot8`.
    let activation = prop::array::uniform4(prop_oneof![4 => -127i8..=127, 1 => Just(127), 1 => Just(-127)]);
    let byte = prop_oneof![4 => any::<u8>(), 1 => Just(0), 1 => Just(255), 1 => Just(128)];
    (
        floats(true),
        floats(false),
        floats(false),
        any::<[i32; LANES]>().boxed(),
        any::<[i32; LANES]>().boxed(),
        prop::collection::vec(byte, 64).boxed(),
        activation,
    )
        .prop_map(|(a, b, c, i, j, bytes, x)| Inputs {
            a,
            b,
            c,
            i,
            j,
            bytes: from_fn(|k| bytes[k]),
            x: i32::from_le_bytes(x.map(|x| x as u8)),
        })
}

proptest! {
    #[test]
    fn every_instruction_set_means_the_same(inputs in inputs()) {
        let expected = Isa::named("portable").unwrap().run(&inputs);
        for isa in Isa::testable() {
            prop_assert_eq!(&isa.run(&inputs), &expected, "{}", isa);
        }
    }
}

#[test]
fn extremes_do_not_saturate() {
    for byte in [0u8, 128, 255] {
        for x in [-127i8, 127] {
            let inputs = Inputs {
                a: [1.0; LANES],
                b: [2.0; LANES],
                c: [3.0; LANES],
                i: [0; LANES],
                j: [0; LANES],
                bytes: [byte; 64],
                x: i32::from_le_bytes([x as u8; 4]),
            };
            let expected = (i32::from(byte) - 128) * i32::from(x) * 4;
            for isa in Isa::testable() {
                assert_eq!(isa.run(&inputs).ints[4], [expected; LANES], "{isa}");
                let nibbles = 8 * 4 * i32::from(byte % 16 + byte / 16) * i32::from(x);
                assert_eq!(isa.run(&inputs).ints[5], [nibbles; LANES], "{isa}");
            }
        }
    }
}

#[test]
fn an_absent_instruction_set_is_refused() {
    let refusal = Isa::named("altivec").unwrap_err();
    assert_eq!(refusal.code(), tilewright_model::Code::DeviceUnavailable);
    assert!(Isa::available().contains(&Isa::detect()));
}
