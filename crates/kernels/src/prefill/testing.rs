//! Running one kernel on named inputs.

use std::collections::BTreeMap;

use tilewright_tile::interp::{self, Bound, Dispatch, Memory, Program};
use tilewright_tile::ir::Param;
pub(crate) use tilewright_tile::testing::trial::noise;
use tilewright_tile::{Kernel, Scalar, verify};

/// Contents of a buffer.
pub(crate) enum Data {
    /// Floats, rounded to what the buffer holds.
    Floats(Vec<f32>),
    /// Words.
    Words(Vec<i32>),
    /// Bytes.
    Codes(Vec<i8>),
}

/// What a run left in the buffers it may write, by name; NaN where nothing was written.
pub(crate) type Outputs = BTreeMap<String, Vec<f32>>;

/// Runs all of `kernel`; buffers without an input are poison.
pub(crate) fn run(kernel: &Kernel, inputs: &[(&str, Data)]) -> Result<Outputs, String> {
    let mut memory = Memory::new();
    let mut written: Vec<(String, interp::BufferId, Scalar)> = Vec::new();
    let bound: Vec<Bound> = kernel
        .params()
        .iter()
        .map(|&param| {
            let Param::Buffer(id) = param else { panic!("{} has a scalar", kernel.name()) };
            let buffer = &kernel.buffers()[id];
            let given = inputs.iter().find(|(name, _)| *name == buffer.name).map(|(_, data)| data);
            let bytes = buffer.elements as usize * buffer.element.bytes() as usize;
            let at = match given {
                Some(Data::Floats(data)) => memory.floats(data, buffer.element),
                Some(Data::Words(data)) => memory.i32(data),
                Some(Data::Codes(data)) => memory.bytes(data.iter().map(|&c| c as u8).collect()),
                None => memory.poison(bytes),
            };
            if buffer.access.writes() {
                written.push((buffer.name.clone(), at, buffer.element));
            }
            Bound::Buffer(memory.whole(at))
        })
        .collect();
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    interp::run(&Program::new(kernel), &mut memory, &dispatch).map_err(|fault| fault.to_string())?;
    Ok(written.into_iter().map(|(name, at, scalar)| (name, memory.read_f32(at, scalar))).collect())
}

/// Verifies and runs.
pub(crate) fn outputs(kernel: Kernel, inputs: &[(&str, Data)]) -> Outputs {
    let kernel = verify(kernel).unwrap_or_else(|rejection| panic!("{rejection}"));
    run(&kernel, inputs).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The numbers as memory of type `storage` keeps them.
pub(crate) fn kept(numbers: &[f32], storage: Scalar) -> Vec<f64> {
    let mut memory = Memory::new();
    let id = memory.floats(numbers, storage);
    memory.read_f32(id, storage).into_iter().map(f64::from).collect()
}

/// Fails unless every pair is within `tolerance` of each other, relative to the larger of the wanted one and one.
pub(crate) fn assert_close(what: &str, got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let (g, scale) = (f64::from(g), e.abs().max(1.0));
        assert!((g - e).abs() <= tolerance * scale, "{what}, element {i}: {g} is not {e}");
    }
}
