//! How an index depends on the thread: a number for each thread plus multiples of unknowns.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ir::{OpId, ValueId};

/// An integer nobody knows when the kernel is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A value that is not a sum of simpler ones.
    Value(ValueId),
    /// How many passes of a loop came before this one.
    Counter(OpId),
}

/// `table[thread] + Σ factor · symbol`.
///
/// Everything that depends on the thread alone is evaluated for each thread, so that `thread / 16 % 8` is as exact as
/// `thread`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    table: Table,
    terms: Rc<BTreeMap<Symbol, i64>>,
}

/// A number for each thread of a threadgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// The same for all.
    Same(i64),
    /// One each.
    Each(Rc<[i64]>),
}

impl Table {
    /// The number of a thread.
    pub fn at(&self, thread: usize) -> i64 {
        match self {
            Self::Same(v) => *v,
            Self::Each(values) => values.get(thread).copied().unwrap_or(0),
        }
    }

    /// From a number for each thread.
    pub fn from_threads(threads: usize, of: impl Fn(usize) -> i64) -> Self {
        let values: Vec<i64> = (0..threads).map(of).collect();
        match values.first() {
            Some(&first) if values.iter().all(|&v| v == first) => Self::Same(first),
            _ => Self::Each(values.into()),
        }
    }

    fn map(&self, f: impl Fn(i64) -> i64) -> Self {
        match self {
            Self::Same(v) => Self::Same(f(*v)),
            Self::Each(values) => Self::from_threads(values.len(), |t| f(values[t])),
        }
    }

    /// Thread by thread.
    pub fn zip(&self, other: &Self, f: impl Fn(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Same(a), Self::Same(b)) => Self::Same(f(*a, *b)),
            (Self::Each(a), _) => Self::from_threads(a.len(), |t| f(a[t], other.at(t))),
            (_, Self::Each(b)) => Self::from_threads(b.len(), |t| f(self.at(t), b[t])),
        }
    }

    /// Smallest and largest.
    pub fn bounds(&self) -> (i64, i64) {
        match self {
            Self::Same(v) => (*v, *v),
            Self::Each(values) => {
                let low = values.iter().copied().fold(i64::MAX, i64::min);
                (low, values.iter().copied().fold(i64::MIN, i64::max))
            }
        }
    }

    /// Whether it differs between lanes of a SIMD group, and between SIMD groups at one lane.
    pub fn varies(&self) -> (bool, bool) {
        let Self::Each(values) = self else { return (false, false) };
        let lanes = values.chunks(32).any(|simd| simd.iter().any(|v| *v != simd[0]));
        let simds = values.chunks(32).any(|simd| simd != &values[..simd.len()]);
        (lanes, simds)
    }
}

impl Form {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Self::table(Table::Same(value))
    }

    /// A number for each thread.
    pub fn table(table: Table) -> Self {
        Self { table, terms: Rc::new(BTreeMap::new()) }
    }

    /// One symbol.
    pub fn symbol(symbol: Symbol) -> Self {
        Self { table: Table::Same(0), terms: Rc::new(BTreeMap::from([(symbol, 1)])) }
    }

    /// The part that depends on the thread alone.
    pub fn threads(&self) -> &Table {
        &self.table
    }

    /// The unknowns and their factors.
    pub fn terms(&self) -> impl Iterator<Item = (Symbol, i64)> {
        self.terms.iter().map(|(&s, &f)| (s, f))
    }

    /// The table, when there are no unknowns.
    pub fn known(&self) -> Option<&Table> {
        self.terms.is_empty().then_some(&self.table)
    }

    fn single(&self) -> Option<i64> {
        match self.known()? {
            Table::Same(value) => Some(*value),
            Table::Each(_) => None,
        }
    }

    /// `self + factor · other`.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = (*self.terms).clone();
        for (symbol, f) in other.terms() {
            let sum = terms.entry(symbol).or_insert(0);
            *sum = sum.wrapping_add(f.wrapping_mul(factor));
        }
        terms.retain(|_, f| *f != 0);
        let table = self.table.zip(&other.table, |a, b| a.wrapping_add(b.wrapping_mul(factor)));
        Self { table, terms: Rc::new(terms) }
    }

    /// Product, when one side is a constant.
    pub fn times(&self, other: &Self) -> Option<Self> {
        let (form, factor) = match (self.single(), other.single()) {
            (_, Some(factor)) => (self, factor),
            (Some(factor), None) => (other, factor),
            (None, None) => return None,
        };
        Some(Self::constant(0).plus(form, factor))
    }

    /// Thread by thread, when neither side has unknowns.
    pub fn combine(&self, other: &Self, f: impl Fn(i64, i64) -> i64) -> Option<Self> {
        Some(Self::table(self.known()?.zip(other.known()?, f)))
    }

    /// Quotient and remainder by a positive constant that divides every factor; exact where the whole is not
    /// negative, which the caller has to know.
    pub fn divide(&self, by: i64) -> Option<(Self, Self)> {
        if by <= 0 || self.table.bounds().0 < 0 || self.terms.values().any(|f| f % by != 0) {
            return None;
        }
        let terms = self.terms.iter().map(|(&s, &f)| (s, f / by)).collect();
        let quotient = Self { table: self.table.map(|v| v / by), terms: Rc::new(terms) };
        Some((quotient, Self::table(self.table.map(|v| v % by))))
    }

    /// Thread by thread one or the other, when they differ in the table only.
    pub fn select(&self, other: &Self, of: impl Fn(usize) -> bool, threads: usize) -> Option<Self> {
        let pick = |t| if of(t) { self.table.at(t) } else { other.table.at(t) };
        let table = Table::from_threads(threads, pick);
        (self.terms == other.terms).then(|| Self { table, terms: Rc::clone(&self.terms) })
    }
}
