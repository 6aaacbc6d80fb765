//! Sides in names: `LeftArm`, `hand_l`, `upper_arm.R`, `J_Bip_L_Hand`, `mixamorig:RightLeg`, `lShldr`.

/// A side of the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// its left
    Left,
    /// its right
    Right,
}

const WORDS: [(&str, &str); 4] = [("left", "right"), ("l", "r"), ("lft", "rgt"), ("lf", "rt")];

/// The side that a name tells, by its first word that is one.
pub fn side_of(name: &str) -> Option<Side> {
    words(name).into_iter().find_map(|(start, end)| swapped(&name[start..end])).map(|(side, _)| side)
}

/// What the same thing on the other side is called; `None` where the name tells no side.
pub fn other_side(name: &str) -> Option<String> {
    words(name).into_iter().find_map(|(start, end)| {
        let (_, word) = swapped(&name[start..end])?;
        Some(format!("{}{word}{}", &name[..start], &name[end..]))
    })
}

/// A name without the number that some programs add at its end (`b_LeftHand_011`).
pub fn without_number(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() < name.len() { digits.trim_end_matches(['_', '.', '-', ' ']) } else { name }
}

/// The side of a word, and the word of the other side in the same case.
fn swapped(word: &str) -> Option<(Side, String)> {
    let lower = word.to_ascii_lowercase();
    let (side, other) = WORDS.iter().find_map(|&(left, right)| {
        if lower == left {
            Some((Side::Left, right))
        } else {
            (lower == right).then_some((Side::Right, left))
        }
    })?;
    let upper = |text: &str| text.to_ascii_uppercase();
    let other = if word == lower {
        other.to_string()
    } else if word == upper(word) {
        upper(other)
    } else {
        format!("{}{}", upper(&other[..1]), &other[1..])
    };
    Some((side, other))
}

/// Where words begin and end: runs of letters, cut where a capital begins a new one.
fn words(name: &str) -> Vec<(usize, usize)> {
    let letters: Vec<(usize, char)> = name.char_indices().collect();
    let mut words = Vec::new();
    let mut start: Option<usize> = None;
    for (index, &(at, letter)) in letters.iter().enumerate() {
        if !letter.is_alphabetic() {
            words.extend(start.take().map(|start| (start, at)));
            continue;
        }
        let before = index.checked_sub(1).map(|before| letters[before].1);
        let after = letters.get(index + 1).map(|next| next.1);
        let is_lower = |c: Option<char>| c.is_some_and(char::is_lowercase);
        // "leftArm" and "LArm" have two words, "LEFT" one.
        let begins = letter.is_uppercase() && (is_lower(before) || is_lower(after));
        if begins {
            words.extend(start.take().filter(|&start| start < at).map(|start| (start, at)));
        }
        start = start.or(Some(at));
    }
    words.extend(start.map(|start| (start, name.len())));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_common_rigs_have_another_side() {
        let pairs = [
            ("LeftArm", "RightArm"),
            ("mixamorig:LeftHandIndex1", "mixamorig:RightHandIndex1"),
            ("J_Bip_L_UpperArm", "J_Bip_R_UpperArm"),
            ("J_Sec_L_Bust1", "J_Sec_R_Bust1"),
            ("leftUpperArm", "rightUpperArm"),
            ("DEF-upper_arm.L.001", "DEF-upper_arm.R.001"),
            ("upperarm_l", "upperarm_r"),
            ("thumb_01_l", "thumb_01_r"),
            ("left-hand", "right-hand"),
            ("L_wrist_JNT", "R_wrist_JNT"),
            ("Bip01 L Thigh", "Bip01 R Thigh"),
            ("lShldr", "rShldr"),
            ("LThigh", "RThigh"),
            ("HAND_LEFT", "HAND_RIGHT"),
            ("browInnerUp_L", "browInnerUp_R"),
            ("eyeBlinkLeft", "eyeBlinkRight"),
            ("lf_arm", "rt_arm"),
        ];
        for (left, right) in pairs {
            assert_eq!(other_side(left).as_deref(), Some(right));
            assert_eq!(other_side(right).as_deref(), Some(left));
            assert_eq!((side_of(left), side_of(right)), (Some(Side::Left), Some(Side::Right)));
        }
    }

    #[test]
    fn words_that_only_begin_like_a_side_are_none() {
        for name in ["leftover", "Spine", "lower_arm", "Root", "b_Tail01", "Rightful", "ArmLR", "", "ÄrmL5é"]
        {
            let expected = name == "ÄrmL5é";
            assert_eq!(other_side(name).is_some(), expected, "{name}");
        }
        assert_eq!(without_number("b_LeftHand_011"), "b_LeftHand");
        assert_eq!(without_number("hand"), "hand");
        assert_eq!(without_number("7"), "");
    }
}
