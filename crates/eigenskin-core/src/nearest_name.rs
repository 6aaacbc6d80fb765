//! The name that someone may have meant.

/// ", did you mean …?" with the known name nearest to `wanted`, or nothing when none is near.
pub fn hint<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(wanted, known).map_or(String::new(), |name| format!("; did you mean {name:?}?"))
}

/// The known name with the fewest letters changed, at most a third of them; the first of equal ones.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(LONGEST).collect();
    let limit = (wanted.len() / 3).max(1);
    known
        .map(|name| (name, changes(&wanted, &name.to_lowercase().chars().take(LONGEST).collect::<Vec<_>>())))
        .filter(|&(_, changes)| changes <= limit)
        .min_by_key(|&(_, changes)| changes)
        .map(|(name, _)| name)
}

/// Letters that are looked at.
const LONGEST: usize = 200;

/// Letters to insert, delete or replace (Levenshtein 1966).
fn changes(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_names_are_not() {
        let known = ["fist", "elbow-90", "elbow-45"];
        assert_eq!(nearest("Fits", known.into_iter()), None);
        assert_eq!(nearest("fst", known.into_iter()), Some("fist"));
        assert_eq!(nearest("Elbow_90", known.into_iter()), Some("elbow-90"));
        assert_eq!(nearest("knee", known.into_iter()), None);
        assert_eq!(changes(&['a', 'b', 'c'], &['b', 'c', 'd']), 2);
        assert_eq!(hint("fist!", known.into_iter()), "; did you mean \"fist\"?");
    }
}
