//! Types of the core in settings, by the names that people type. The core itself does not know serde.

use eigenskin_core::driver::{FeatureScale, Representation};
use eigenskin_core::model::Frame;
use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

/// `"root"`, `"heaviest-joint"` or `{ "joint": 3 }`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Frame", rename_all = "kebab-case")]
pub(crate) enum FrameName {
    Root,
    Joint(usize),
    HeaviestJoint,
}

/// `"rotation"`, `"scalar"`, `{ "twist": { "axis": [0, 0, 1] } }` …
#[derive(Serialize, Deserialize)]
#[serde(remote = "Representation", rename_all = "kebab-case")]
pub(crate) enum RepresentationName {
    HingeAngle {
        #[serde(with = "vector")]
        axis: DVec3,
    },
    Rotation,
    Swing {
        #[serde(with = "vector")]
        axis: DVec3,
    },
    Twist {
        #[serde(with = "vector")]
        axis: DVec3,
    },
    RotationVector,
    Translation,
    Scalar,
    /// of contacts, which no setting names
    #[serde(skip)]
    Overlap,
}

/// A number, three for the axes, or nine: the columns of a matrix.
#[derive(Serialize, Deserialize)]
#[serde(remote = "FeatureScale", untagged)]
pub(crate) enum ScaleNumbers {
    One(f64),
    PerAxis(#[serde(with = "vector")] DVec3),
    Matrix(#[serde(with = "matrix")] DMat3),
}

mod vector {
    use super::DVec3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(vector: &DVec3, serializer: S) -> Result<S::Ok, S::Error> {
        vector.to_array().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DVec3, D::Error> {
        Ok(DVec3::from_array(<[f64; 3]>::deserialize(deserializer)?))
    }
}

mod matrix {
    use super::DMat3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(matrix: &DMat3, serializer: S) -> Result<S::Ok, S::Error> {
        matrix.to_cols_array().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DMat3, D::Error> {
        Ok(DMat3::from_cols_array(&<[f64; 9]>::deserialize(deserializer)?))
    }
}

/// `"auto"`, where otherwise a number stands.
pub(crate) mod auto {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    enum Auto {
        #[serde(rename = "auto")]
        Auto,
    }

    pub fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        Auto::Auto.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        Auto::deserialize(deserializer).map(|Auto::Auto| ())
    }
}
