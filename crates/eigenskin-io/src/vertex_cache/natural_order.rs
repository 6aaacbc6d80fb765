//! File names in the order people count: `pose 2` before `pose 10`.

use std::cmp::Ordering;

/// Compares texts; runs of digits by their value.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(l), Some(r)) = (left.chars().next(), right.chars().next()) {
        let (order, l_length, r_length) = if l.is_ascii_digit() && r.is_ascii_digit() {
            let (l, r) = (digits(left), digits(right));
            (by_value(l, r), l.len(), r.len())
        } else {
            (l.to_lowercase().cmp(r.to_lowercase()), l.len_utf8(), r.len_utf8())
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[l_length..], &right[r_length..]);
    }
    // Equal but for case or leading zeros: any fixed order.
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

fn digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}

/// Without arithmetic: a number of any length.
fn by_value(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count() {
        let mut names =
            ["pose 10", "pose 2", "rest", "pose 002b", "Pose 3", "pose 2a", "99999999999999999999999", "ä1"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(
            names,
            ["99999999999999999999999", "pose 2", "pose 2a", "pose 002b", "Pose 3", "pose 10", "rest", "ä1"]
        );
    }
}
