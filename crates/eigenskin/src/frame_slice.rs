//! Poses chosen as Python slices choose.

use std::fmt;
use std::str::FromStr;

use eigenskin_core::examples::{ExampleSet, ExamplesError};

/// `START:STOP:STEP`, or one index; negative numbers count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameSlice {
    /// one pose
    One(i64),
    /// every `step`-th pose from `start` to before `stop`
    Range {
        /// the first; without it the first of all, or the last when going backward
        start: Option<i64>,
        /// the one after the last
        stop: Option<i64>,
        /// never zero
        step: i64,
    },
}

/// Why poses cannot be chosen so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FrameSliceError {
    /// Something else than numbers and colons.
    #[error("{slice:?} is not a slice: {part:?} is not a whole number; write START:STOP:STEP")]
    NotANumber {
        /// the text given
        slice: String,
        /// the part at fault
        part: String,
    },
    /// Too many colons.
    #[error("{slice:?} is not a slice; write START:STOP:STEP, such as 0:100:2 or ::10")]
    NotASlice {
        /// the text given
        slice: String,
    },
    /// A step that goes nowhere.
    #[error("{slice:?} has a step of zero")]
    NoStep {
        /// the text given
        slice: String,
    },
    /// An index beyond the last pose.
    #[error("there is no pose {index}: there are only {count} poses")]
    OutOfRange {
        /// the index given
        index: i64,
        /// how many there are
        count: usize,
    },
    /// Nothing is left.
    #[error("{slice} chooses none of the {count} poses; widen the range")]
    Nothing {
        /// the slice given
        slice: FrameSlice,
        /// how many there are
        count: usize,
    },
    /// The examples that are left were refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

impl FrameSlice {
    /// The indices of the poses chosen among `count`, at least one.
    pub fn chosen(self, count: usize) -> Result<Vec<usize>, FrameSliceError> {
        let length = count as i64;
        let from_end = |index: i64| if index < 0 { index + length } else { index };
        let (start, stop, step) = match self {
            Self::One(index) if (-length..length).contains(&index) => {
                return Ok(vec![from_end(index) as usize]);
            }
            Self::One(index) => return Err(FrameSliceError::OutOfRange { index, count }),
            Self::Range { start, stop, step } => (start, stop, step),
        };
        let forward = step > 0;
        let (low, high) = if forward { (0, length) } else { (-1, length - 1) };
        let bound = |given: Option<i64>, missing| given.map_or(missing, |i| from_end(i).clamp(low, high));
        let mut at = bound(start, if forward { 0 } else { length - 1 });
        let stop = bound(stop, if forward { length } else { -1 });
        let mut chosen = Vec::new();
        while if forward { at < stop } else { at > stop } {
            chosen.push(at as usize);
            at = at.saturating_add(step);
        }
        if chosen.is_empty() {
            return Err(FrameSliceError::Nothing { slice: self, count });
        }
        Ok(chosen)
    }

    /// The examples chosen.
    pub fn select(self, set: &ExampleSet) -> Result<ExampleSet, FrameSliceError> {
        Ok(set.select(&self.chosen(set.len())?)?)
    }
}

impl FromStr for FrameSlice {
    type Err = FrameSliceError;

    fn from_str(text: &str) -> Result<Self, FrameSliceError> {
        let slice = || text.to_string();
        let parts = text
            .split(':')
            .map(|part| match part.trim() {
                "" => Ok(None),
                number => number
                    .parse::<i64>()
                    .map(Some)
                    .map_err(|_| FrameSliceError::NotANumber { slice: slice(), part: number.to_string() }),
            })
            .collect::<Result<Vec<Option<i64>>, _>>()?;
        match parts[..] {
            [Some(index)] => Ok(Self::One(index)),
            [start, stop] => Ok(Self::Range { start, stop, step: 1 }),
            [_, _, Some(0)] => Err(FrameSliceError::NoStep { slice: slice() }),
            [start, stop, step] => Ok(Self::Range { start, stop, step: step.unwrap_or(1) }),
            _ => Err(FrameSliceError::NotASlice { slice: slice() }),
        }
    }
}

impl fmt::Display for FrameSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: Option<i64>| n.map_or(String::new(), |n| n.to_string());
        match *self {
            Self::One(index) => write!(f, "{index}"),
            Self::Range { start, stop, step: 1 } => write!(f, "{}:{}", number(start), number(stop)),
            Self::Range { start, stop, step } => write!(f, "{}:{}:{step}", number(start), number(stop)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values printed by Python: `list(range(10))[slice]`.
    #[test]
    fn slices_are_pythons() {
        let cases: [(&str, &[usize]); 11] = [
            ("::2", &[0, 2, 4, 6, 8]),
            ("1::3", &[1, 4, 7]),
            (":3", &[0, 1, 2]),
            ("-3:", &[7, 8, 9]),
            ("8:100", &[8, 9]),
            ("::-4", &[9, 5, 1]),
            ("5:1:-2", &[5, 3]),
            ("-100:2", &[0, 1]),
            ("4", &[4]),
            ("-1", &[9]),
            ("100::-5", &[9, 4]),
        ];
        for (text, expected) in cases {
            let slice: FrameSlice = text.parse().unwrap();
            assert_eq!(slice.chosen(10).unwrap(), expected, "{text}");
            assert_eq!(slice.to_string().parse::<FrameSlice>().unwrap(), slice);
        }
        let chosen = |text: &str| text.parse::<FrameSlice>().and_then(|slice| slice.chosen(10));
        for text in ["::0", "a:b", "10", "1:2:3:4", "", "7:3"] {
            assert!(chosen(text).is_err(), "{text}");
        }
        assert!(matches!(chosen("7:3"), Err(FrameSliceError::Nothing { count: 10, .. })));
    }
}
