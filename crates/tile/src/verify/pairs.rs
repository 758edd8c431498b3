//! Differences between what two threads compute, over all pairs of threads.

use super::overlap::Pair;

/// One number for each axis of a view; unused axes are zero.
pub(super) type Row = [i64; 6];

/// A row for each thread, and the threads that count.
pub(super) struct Rows {
    active: Vec<bool>,
    rows: Vec<Row>,
}

fn zip(x: &Row, y: &Row, f: impl Fn(i64, i64) -> i64) -> Row {
    std::array::from_fn(|n| f(x[n], y[n]))
}

fn minus(x: &Row, y: &Row) -> Row {
    zip(x, y, |x, y| x - y)
}

fn plus(x: &Row, y: &Row) -> Row {
    zip(x, y, |x, y| x + y)
}

/// A row is the sum of a part of its SIMD group and a part of its lane; so is whether it counts.
struct Separate {
    simds: Vec<(usize, Row)>,
    lanes: Vec<(usize, Row)>,
}

impl Rows {
    pub(super) fn new(active: Vec<bool>, row: impl Fn(usize) -> Row) -> Self {
        let rows = (0..active.len()).map(row).collect();
        Self { active, rows }
    }

    fn separate(&self) -> Option<Separate> {
        let simd_groups = self.active.len() / 32;
        let simd_active = |s: usize| (0..32).any(|l| self.active[s * 32 + l]);
        let lane_active = |l: usize| (0..simd_groups).any(|s| self.active[s * 32 + l]);
        let lane = |l: usize| minus(&self.rows[l], &self.rows[0]);
        for (t, row) in self.rows.iter().enumerate() {
            let (s, l) = (t / 32, t % 32);
            let active = simd_active(s) && lane_active(l);
            if active != self.active[t] || *row != plus(&self.rows[s * 32], &lane(l)) {
                return None;
            }
        }
        let simds = (0..simd_groups).filter(|&s| simd_active(s)).map(|s| (s, self.rows[s * 32])).collect();
        let lanes = (0..32).filter(|&l| lane_active(l)).map(|l| (l, lane(l))).collect();
        Some(Separate { simds, lanes })
    }
}

fn distinct(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// `a`'s row less `b`'s for every pair of threads of the kind `pair`, without repetition; `with_itself` pairs a
/// thread with itself too.
pub(super) fn differences(a: &Rows, b: &Rows, pair: Pair, with_itself: bool) -> Vec<Row> {
    let same_simd = pair == Pair::SameSimd;
    let wanted = |sa: usize, sb: usize| match pair {
        Pair::SameSimd => sa == sb,
        Pair::OtherSimd => sa != sb,
        Pair::OtherGroup { .. } => true,
    };
    let apart = |la: usize, lb: usize| !same_simd || with_itself || la != lb;
    if let (Some(a), Some(b)) = (a.separate(), b.separate()) {
        let of = |a: &[(usize, Row)], b: &[(usize, Row)], wanted: &dyn Fn(usize, usize) -> bool| {
            let each = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            distinct(each.filter(|(x, y)| wanted(x.0, y.0)).map(|(x, y)| minus(&x.1, &y.1)).collect())
        };
        let (simds, lanes) = (of(&a.simds, &b.simds, &wanted), of(&a.lanes, &b.lanes, &apart));
        return distinct(simds.iter().flat_map(|s| lanes.iter().map(move |l| plus(s, l))).collect());
    }
    let threads = |rows: &Rows| (0..rows.rows.len()).filter(|&t| rows.active[t]).collect::<Vec<usize>>();
    let (ta, tb) = (threads(a), threads(b));
    let pairs = ta.iter().flat_map(|x| tb.iter().map(move |y| (*x, *y)));
    let counts = |(x, y): &(usize, usize)| wanted(x / 32, y / 32) && apart(x % 32, y % 32);
    distinct(pairs.filter(counts).map(|(x, y)| minus(&a.rows[x], &b.rows[y])).collect())
}
