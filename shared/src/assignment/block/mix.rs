//! Which encodings the blocks of an assignment took.

use std::fmt;
use std::ops::AddAssign;

use super::{Layout, ONES, WIDE, WIDTHS};

/// Number of blocks by encoding, for spans and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncodingMix {
    /// Nothing but zeros.
    pub zero: u64,
    /// Zeros and ones.
    pub bits: u64,
    /// Values of one small width for every scalar.
    pub small: u64,
    /// 32 bytes for every scalar.
    pub full: u64,
    /// Several groups of values.
    pub mixed: u64,
}

impl EncodingMix {
    /// Of no block.
    pub(in super::super) const NONE: Self = Self {
        zero: 0,
        bits: 0,
        small: 0,
        full: 0,
        mixed: 0,
    };

    /// The mix of one block.
    pub(in super::super) fn of(flags: u16) -> Self {
        let mut mix = Self::NONE;
        let is_filled = |group| Layout::of(flags, group) == Layout::All;
        let ones_only = flags & !Layout::All.flag(ONES) == 0;
        let counter = if flags == 0 {
            &mut mix.zero
        } else if ones_only {
            &mut mix.bits
        } else if is_filled(WIDE) {
            &mut mix.full
        } else if (0..WIDTHS.len()).any(is_filled) {
            &mut mix.small
        } else {
            &mut mix.mixed
        };
        *counter = 1;
        mix
    }
}

impl AddAssign for EncodingMix {
    fn add_assign(&mut self, other: Self) {
        self.zero += other.zero;
        self.bits += other.bits;
        self.small += other.small;
        self.full += other.full;
        self.mixed += other.mixed;
    }
}

impl fmt::Display for EncodingMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            zero,
            bits,
            small,
            full,
            mixed,
        } = self;
        write!(
            f,
            "zero:{zero} bits:{bits} small:{small} full:{full} mixed:{mixed}"
        )
    }
}
