//! What is known of the EigenSkin experiment from elsewhere, to be printed beside our figures.

use serde_json::{Value, json};

/// Eigendisplacements per joint, as in the paper's Figure 7.
pub const COMPONENTS: std::ops::RangeInclusive<usize> = 0..=5;

/// Relative errors of the same experiment on a WebXR hand, bent by 10-node tetrahedra; one per
/// number of eigendisplacements, `None` where it was not measured.
pub struct OtherHand {
    /// what was measured
    pub what: &'static str,
    /// its name for machines
    pub key: &'static str,
    /// `eigendisplacements`
    pub errors: [Option<f64>; 6],
}

/// Another hand, other elements: to compare the course, not the digits.
pub const OTHER_HAND: [OtherHand; 3] = [
    OtherHand {
        what: "training, about 120 poses",
        key: "training",
        errors: [Some(1.0), Some(0.427), Some(0.169), Some(0.105), None, Some(0.080)],
    },
    OtherHand {
        what: "validation, 25 poses",
        key: "validation",
        errors: [Some(1.0), Some(0.435), Some(0.377), Some(0.369), None, Some(0.369)],
    },
    OtherHand {
        what: "thumb base, training",
        key: "thumb_base",
        errors: [Some(1.0), Some(0.635), Some(0.178), Some(0.110), None, Some(0.048)],
    },
];

/// What the paper says of its own hand: the set-up and the result in words. The relative errors of
/// its Figure 7 are printed in the pictures only, not in the text.
pub const PAPER: [&str; 4] = [
    "about 6 poses per degree of freedom (about 120) to learn from, 25 to validate (§2.4, §3)",
    "11,171 ten-node tetrahedra, CalculiX, several hundred CPU hours (§3)",
    "Figure 7, thumb base, 0–5 eigendisplacements: 1 is already a substantial improvement;",
    "with 5 hardly any difference to the finite elements is seen (§3; the text has no numbers)",
];

/// All of it for machines.
pub fn json() -> Value {
    let other: serde_json::Map<String, Value> =
        OTHER_HAND.iter().map(|row| (row.key.to_string(), json!(row.errors))).collect();
    json!({
        "paper": { "title": "EigenSkin (Kry, James, Pai 2002)", "says": PAPER, "relative_error": null },
        "other_data": {
            "what": "WebXR hand, 10-node tetrahedra; not the data of this run",
            "relative_error": other,
        },
    })
}
