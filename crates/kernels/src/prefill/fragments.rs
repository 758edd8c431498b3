//! A SIMD group's part of a product, in matrix fragments.

use tilewright_tile::{Builder, Factor, Matrix, Value};

/// Fragments by row and column.
pub(super) type Part<'k> = Vec<Vec<Value<'k, Matrix>>>;

/// `rows × columns` fragments of zeros.
pub(super) fn zeros(k: &Builder, rows: u32, columns: u32) -> Part<'_> {
    vec![vec![k.fragment(0.0); columns as usize]; rows as usize]
}

/// `sums + left · right` for one step of the inner index: a column of left factors and a row of right ones.
pub(super) fn multiply<'k>(
    sums: Part<'k>,
    left: impl Fn(u32) -> Factor<'k>,
    right: impl Fn(u32) -> Factor<'k>,
) -> Part<'k> {
    let columns = sums.first().map_or(0, Vec::len) as u32;
    let right: Vec<Factor<'k>> = (0..columns).map(right).collect();
    let row = |(r, row): (u32, Vec<Value<'k, Matrix>>)| {
        let left = left(r);
        row.into_iter().zip(&right).map(|(sum, &right)| sum.multiply_add(left, right)).collect()
    };
    (0..).zip(sums).map(row).collect()
}

/// Does something with each fragment and its row and column in elements.
pub(super) fn each<'k>(sums: Part<'k>, mut visit: impl FnMut(u32, u32, Value<'k, Matrix>)) {
    for (row, sums) in (0..).zip(sums) {
        for (column, sum) in (0..).zip(sums) {
            visit(row * 8, column * 8, sum);
        }
    }
}
