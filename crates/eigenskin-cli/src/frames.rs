//! `--frames A:B:C`: poses chosen as Python slices choose.

use anyhow::{Context, Result, bail};
use eigenskin::examples::ExampleSet;

/// The poses of `set` that `slice` chooses, or all without one.
pub fn select(set: ExampleSet, slice: Option<&str>) -> Result<ExampleSet> {
    let Some(slice) = slice else { return Ok(set) };
    Ok(set.select(&chosen(slice, set.len())?)?)
}

/// The poses of so many that `slice` chooses, at least one.
pub fn chosen(slice: &str, count: usize) -> Result<Vec<usize>> {
    let indices = indices(slice, count)?;
    if indices.is_empty() {
        bail!("--frames {slice} chooses none of the {count} poses; widen the range");
    }
    Ok(indices)
}

fn indices(slice: &str, count: usize) -> Result<Vec<usize>> {
    let parts: Vec<Option<i64>> = slice
        .split(':')
        .map(|part| match part.trim() {
            "" => Ok(None),
            number => number.parse::<i64>().map(Some).with_context(|| {
                format!("--frames {slice}: {number:?} is not a whole number; write START:STOP:STEP")
            }),
        })
        .collect::<Result<_>>()?;
    let count = count as i64;
    let from_end = |index: i64| if index < 0 { index + count } else { index };
    let (start, stop, step) = match parts[..] {
        [Some(index)] if (-count..count).contains(&index) => return Ok(vec![from_end(index) as usize]),
        [Some(index)] => bail!("--frames {index}: there are only {count} poses"),
        [start, stop] => (start, stop, 1),
        [start, stop, step] => (start, stop, step.unwrap_or(1)),
        _ => bail!("--frames {slice} is not a slice; write START:STOP:STEP, such as 0:100:2 or ::10"),
    };
    if step == 0 {
        bail!("--frames {slice} has a step of zero");
    }
    let forward = step > 0;
    let (low, high) = if forward { (0, count) } else { (-1, count - 1) };
    let bound = |given: Option<i64>, missing: i64| given.map_or(missing, |i| from_end(i).clamp(low, high));
    let mut at = bound(start, if forward { 0 } else { count - 1 });
    let stop = bound(stop, if forward { count } else { -1 });
    let mut chosen = Vec::new();
    while if forward { at < stop } else { at > stop } {
        chosen.push(at as usize);
        at = at.saturating_add(step);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values printed by Python: `list(range(10))[slice]`.
    #[test]
    fn slices_are_pythons() {
        let cases: [(&str, &[usize]); 12] = [
            ("::2", &[0, 2, 4, 6, 8]),
            ("1::3", &[1, 4, 7]),
            (":3", &[0, 1, 2]),
            ("-3:", &[7, 8, 9]),
            ("8:100", &[8, 9]),
            ("::-4", &[9, 5, 1]),
            ("5:1:-2", &[5, 3]),
            ("-100:2", &[0, 1]),
            ("7:3", &[]),
            ("4", &[4]),
            ("-1", &[9]),
            ("100::-5", &[9, 4]),
        ];
        for (slice, expected) in cases {
            assert_eq!(indices(slice, 10).unwrap(), expected, "{slice}");
        }
        assert!(indices("::0", 10).is_err());
        assert!(indices("a:b", 10).is_err());
        assert!(indices("10", 10).is_err());
        assert!(indices("1:2:3:4", 10).is_err());
    }
}
