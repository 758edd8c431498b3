//! Which integers a value can be: an interval, and a remainder that never changes.

use std::fmt;

/// All integers `v` with `low <= v <= high` and `v ≡ rest (mod step)`.
///
/// `step` is 1 when nothing is known of remainders and 0 for a single integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Smallest.
    pub low: i64,
    /// Largest.
    pub high: i64,
    step: i64,
    rest: i64,
}

const fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Span {
    /// Every i32.
    pub const I32: Self = Self::between(i32::MIN as i64, i32::MAX as i64);
    /// Every u32.
    pub const U32: Self = Self::between(0, u32::MAX as i64);

    /// One integer.
    pub const fn of(value: i64) -> Self {
        Self { low: value, high: value, step: 0, rest: value }
    }

    /// An interval.
    pub const fn between(low: i64, high: i64) -> Self {
        if low == high { Self::of(low) } else { Self { low, high, step: 1, rest: 0 } }
    }

    /// An interval of multiples of `step` plus `rest`, narrowed to its first and last member.
    pub fn every(step: i64, rest: i64, low: i64, high: i64) -> Self {
        if step == 0 {
            return Self::of(rest);
        }
        let rest = rest.rem_euclid(step);
        let low = low.saturating_add((rest - low).rem_euclid(step));
        let high = high.saturating_sub((high - rest).rem_euclid(step));
        if low == high { Self::of(low) } else { Self { low, high, step, rest } }
    }

    /// Whether no integer is left.
    pub const fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// Whether it is a single integer.
    pub const fn constant(self) -> Option<i64> {
        if self.low == self.high { Some(self.low) } else { None }
    }

    /// The largest number that divides every member; 0 for the single member 0.
    pub const fn divisor(self) -> i64 {
        gcd(self.step, self.rest)
    }

    /// Whether every member is a multiple of `n`.
    pub const fn is_multiple_of(self, n: i64) -> bool {
        self.divisor() % n == 0
    }

    /// Whether every member lies in `low..=high`.
    pub const fn within(self, low: i64, high: i64) -> bool {
        self.is_empty() || (self.low >= low && self.high <= high)
    }

    fn affine(step: i64, rest: i64, low: i64, high: i64) -> Self {
        Self::every(step, rest, low, high)
    }

    /// Sums.
    pub fn plus(self, other: Self) -> Self {
        let step = gcd(self.step, other.step);
        let (low, high) = (self.low.saturating_add(other.low), self.high.saturating_add(other.high));
        Self::affine(step, self.rest.saturating_add(other.rest), low, high)
    }

    /// Negations.
    pub fn negated(self) -> Self {
        Self::affine(self.step, -self.rest, self.high.saturating_neg(), self.low.saturating_neg())
    }

    /// Differences.
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    /// Products.
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let corners = [
            a.low.saturating_mul(b.low),
            a.low.saturating_mul(b.high),
            a.high.saturating_mul(b.low),
            a.high.saturating_mul(b.high),
        ];
        let low = corners.iter().copied().fold(i64::MAX, i64::min);
        let high = corners.iter().copied().fold(i64::MIN, i64::max);
        // (s·p + r)(t·q + u) = st·pq + su·p + rt·q + ru
        let step = [(a.step, b.step), (a.step, b.rest), (a.rest, b.step)]
            .iter()
            .fold(0, |g, &(x, y)| gcd(g, x.saturating_mul(y)));
        Self::affine(step, a.rest.saturating_mul(b.rest), low, high)
    }

    /// Quotients truncated towards zero, for a divisor that cannot be zero.
    pub fn over(self, other: Self) -> Self {
        if other.low <= 0 {
            let most = self.low.saturating_abs().max(self.high.saturating_abs());
            return Self::between(-most, most);
        }
        let (low, high) = if self.low >= 0 {
            (self.low / other.high, self.high / other.low)
        } else {
            ((self.low / other.low).min(0), (self.high / other.low).max(0))
        };
        match other.constant() {
            Some(d) if self.low >= 0 && self.step % d == 0 => {
                Self::affine(self.step / d, self.rest / d, low, high)
            }
            _ => Self::between(low, high),
        }
    }

    /// Remainders of the truncated quotient, for a divisor that cannot be zero.
    pub fn modulo(self, other: Self) -> Self {
        let most = other.low.saturating_abs().max(other.high.saturating_abs()) - 1;
        let low = if self.low >= 0 { 0 } else { (-most).max(self.low) };
        let high = if self.high <= 0 { 0 } else { most.min(self.high) };
        match other.constant() {
            Some(d) if self.low >= 0 && d > 0 && self.high < d => self,
            Some(d) if self.low >= 0 && d > 0 => Self::affine(gcd(self.step, d), self.rest, low, high),
            _ => Self::between(low, high),
        }
    }

    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        if self.high <= other.low {
            return self;
        }
        if other.high <= self.low {
            return other;
        }
        self.join(other).cap(i64::MIN, self.high.min(other.high))
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        if self.low >= other.high {
            return self;
        }
        if other.low >= self.high {
            return other;
        }
        self.join(other).cap(self.low.max(other.low), i64::MAX)
    }

    /// Either of two.
    pub fn join(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let step = gcd(gcd(self.step, other.step), self.rest.saturating_sub(other.rest));
        Self::affine(step, self.rest, self.low.min(other.low), self.high.max(other.high))
    }

    /// Those members within `low..=high`; possibly none.
    pub fn cap(self, low: i64, high: i64) -> Self {
        let (low, high) = (self.low.max(low), self.high.min(high));
        if self.step == 0 || low > high {
            return Self { low, high, ..self };
        }
        Self::affine(self.step, self.rest, low, high)
    }

    /// Both at once.
    pub fn meet(self, other: Self) -> Self {
        let narrowed = if other.step > self.step { other.cap(self.low, self.high) } else { self };
        narrowed.cap(other.low, other.high)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "{}..={}", self.low, self.high),
        }
    }
}
