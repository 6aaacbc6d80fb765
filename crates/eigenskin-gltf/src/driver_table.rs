//! Drivers and stages in the eigenskin table: one mirror type per type of the core, joints and
//! controls by name.

use eigenskin_core::driver::{
    Clamp, Combine, Driver, FeatureGroup, FeatureScale, FeatureSource, Interpolant, Kernel, Representation,
    Tail,
};
use eigenskin_core::glam::{DAffine3, DMat3, DVec3};
use eigenskin_core::model::{Frame, Stage};
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};

use super::error::GltfError;

/// A driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriverEntry {
    groups: Vec<GroupEntry>,
    combine: CombineEntry,
    interpolant: InterpolantEntry,
    clamp: ClampEntry,
}

/// Where a layer acts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum StageEntry {
    /// added to the rest shape
    BeforeSkinning,
    /// added to the skinned shape
    AfterSkinning {
        /// in these axes
        frame: FrameEntry,
    },
}

/// The axes of a displacement after skinning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FrameEntry {
    /// the first root's
    Root,
    /// one joint's
    Joint {
        /// its name
        joint: String,
    },
    /// each vertex's heaviest joint's
    HeaviestJoint,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct GroupEntry {
    source: SourceEntry,
    representation: RepresentationEntry,
    weight: f64,
    scale: ScaleEntry,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum SourceEntry {
    Joint {
        joint: String,
        reference: String,
        /// rows of a 3 × 4 matrix on column vectors
        reference_from_joint_at_rest: [[f64; 4]; 3],
    },
    Control {
        control: String,
        rest: f64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum RepresentationEntry {
    HingeAngle { axis: [f64; 3] },
    Rotation,
    Swing { axis: [f64; 3] },
    Twist { axis: [f64; 3] },
    RotationVector,
    Translation,
    Scalar,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum ScaleEntry {
    One {
        factor: f64,
    },
    PerAxis {
        factors: [f64; 3],
    },
    /// rows of a 3 × 3 matrix
    Matrix {
        rows: [[f64; 3]; 3],
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CombineEntry {
    Distance,
    Product,
    Subsets,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum InterpolantEntry {
    Rbf { kernel: String, centres: Vec<f64>, widths: Vec<f64>, coefficients: Vec<f64>, tail: TailEntry },
    Shepard { centres: Vec<f64>, values: Vec<f64>, power: f64, epsilon: f64 },
    Linear { coefficients: Vec<f64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum TailEntry {
    None,
    Constant { coefficients: Vec<f64> },
    Linear { coefficients: Vec<f64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum ClampEntry {
    None,
    Range { lowest: Vec<f64>, highest: Vec<f64> },
}

impl DriverEntry {
    /// The entry of a driver of `rig`.
    pub fn new(driver: &Driver, rig: &Rig) -> Self {
        Self {
            groups: driver.groups.iter().map(|group| GroupEntry::new(group, rig)).collect(),
            combine: match driver.combine {
                Combine::Distance => CombineEntry::Distance,
                Combine::Product => CombineEntry::Product,
                Combine::Subsets => CombineEntry::Subsets,
            },
            interpolant: InterpolantEntry::new(&driver.interpolant),
            clamp: match driver.clamp.clone() {
                Clamp::None => ClampEntry::None,
                Clamp::Range { lowest, highest } => ClampEntry::Range { lowest, highest },
            },
        }
    }

    /// Rounds the long lists of numbers to nine digits.
    pub fn shorten(&mut self) {
        let lists: Vec<&mut Vec<f64>> = match &mut self.interpolant {
            InterpolantEntry::Rbf { centres, widths, coefficients, tail, .. } => {
                let tail = match tail {
                    TailEntry::None => None,
                    TailEntry::Constant { coefficients } | TailEntry::Linear { coefficients } => {
                        Some(coefficients)
                    }
                };
                [centres, widths, coefficients].into_iter().chain(tail).collect()
            }
            InterpolantEntry::Shepard { centres, values, .. } => vec![centres, values],
            InterpolantEntry::Linear { coefficients } => vec![coefficients],
        };
        for value in lists.into_iter().flatten() {
            *value = format!("{value:.8e}").parse().unwrap_or(*value);
        }
    }

    /// The driver, for `rig`.
    pub fn to_driver(&self, rig: &Rig) -> Result<Driver, GltfError> {
        Ok(Driver {
            groups: self.groups.iter().map(|group| group.to_group(rig)).collect::<Result<_, _>>()?,
            combine: match self.combine {
                CombineEntry::Distance => Combine::Distance,
                CombineEntry::Product => Combine::Product,
                CombineEntry::Subsets => Combine::Subsets,
            },
            interpolant: self.interpolant.to_interpolant()?,
            clamp: match self.clamp.clone() {
                ClampEntry::None => Clamp::None,
                ClampEntry::Range { lowest, highest } => Clamp::Range { lowest, highest },
            },
        })
    }
}

impl StageEntry {
    /// The entry of a stage of a layer of `rig`.
    pub fn new(stage: Stage, rig: &Rig) -> Self {
        match stage {
            Stage::BeforeSkinning => Self::BeforeSkinning,
            Stage::AfterSkinning { frame } => Self::AfterSkinning {
                frame: match frame {
                    Frame::Root => FrameEntry::Root,
                    Frame::Joint(joint) => FrameEntry::Joint { joint: joint_name(rig, joint) },
                    Frame::HeaviestJoint => FrameEntry::HeaviestJoint,
                },
            },
        }
    }

    /// The stage, for `rig`.
    pub fn to_stage(&self, rig: &Rig) -> Result<Stage, GltfError> {
        Ok(match self {
            Self::BeforeSkinning => Stage::BeforeSkinning,
            Self::AfterSkinning { frame } => Stage::AfterSkinning {
                frame: match frame {
                    FrameEntry::Root => Frame::Root,
                    FrameEntry::Joint { joint } => Frame::Joint(joint_index(rig, joint)?),
                    FrameEntry::HeaviestJoint => Frame::HeaviestJoint,
                },
            },
        })
    }
}

impl GroupEntry {
    fn new(group: &FeatureGroup, rig: &Rig) -> Self {
        let source = match &group.source {
            FeatureSource::Joint { joint, reference, reference_from_joint_at_rest } => SourceEntry::Joint {
                joint: joint_name(rig, *joint),
                reference: joint_name(rig, *reference),
                reference_from_joint_at_rest: rows_of(*reference_from_joint_at_rest),
            },
            FeatureSource::Control { control, rest } => {
                SourceEntry::Control { control: rig.controls()[*control].name.clone(), rest: *rest }
            }
        };
        let representation = match group.representation {
            Representation::HingeAngle { axis } => RepresentationEntry::HingeAngle { axis: axis.to_array() },
            Representation::Rotation => RepresentationEntry::Rotation,
            Representation::Swing { axis } => RepresentationEntry::Swing { axis: axis.to_array() },
            Representation::Twist { axis } => RepresentationEntry::Twist { axis: axis.to_array() },
            Representation::RotationVector => RepresentationEntry::RotationVector,
            Representation::Translation => RepresentationEntry::Translation,
            Representation::Scalar => RepresentationEntry::Scalar,
        };
        let scale = match group.scale {
            FeatureScale::One(factor) => ScaleEntry::One { factor },
            FeatureScale::PerAxis(factors) => ScaleEntry::PerAxis { factors: factors.to_array() },
            FeatureScale::Matrix(m) => ScaleEntry::Matrix { rows: m.transpose().to_cols_array_2d() },
        };
        Self { source, representation, weight: group.weight, scale }
    }

    fn to_group(&self, rig: &Rig) -> Result<FeatureGroup, GltfError> {
        let source = match &self.source {
            SourceEntry::Joint { joint, reference, reference_from_joint_at_rest } => FeatureSource::Joint {
                joint: joint_index(rig, joint)?,
                reference: joint_index(rig, reference)?,
                reference_from_joint_at_rest: affine_of_rows(reference_from_joint_at_rest),
            },
            SourceEntry::Control { control, rest } => {
                let found = rig.controls().iter().position(|c| &c.name == control);
                let control = found.ok_or_else(|| {
                    GltfError::table(format!(
                        "a driver needs control {control:?}, which the file does not have"
                    ))
                })?;
                FeatureSource::Control { control, rest: *rest }
            }
        };
        let axis = |axis: &[f64; 3]| DVec3::from_array(*axis);
        let representation = match &self.representation {
            RepresentationEntry::HingeAngle { axis: a } => Representation::HingeAngle { axis: axis(a) },
            RepresentationEntry::Rotation => Representation::Rotation,
            RepresentationEntry::Swing { axis: a } => Representation::Swing { axis: axis(a) },
            RepresentationEntry::Twist { axis: a } => Representation::Twist { axis: axis(a) },
            RepresentationEntry::RotationVector => Representation::RotationVector,
            RepresentationEntry::Translation => Representation::Translation,
            RepresentationEntry::Scalar => Representation::Scalar,
        };
        let scale = match &self.scale {
            ScaleEntry::One { factor } => FeatureScale::One(*factor),
            ScaleEntry::PerAxis { factors } => FeatureScale::PerAxis(DVec3::from_array(*factors)),
            ScaleEntry::Matrix { rows } => FeatureScale::Matrix(DMat3::from_cols_array_2d(rows).transpose()),
        };
        Ok(FeatureGroup { source, representation, weight: self.weight, scale })
    }
}

impl InterpolantEntry {
    fn new(interpolant: &Interpolant) -> Self {
        match interpolant.clone() {
            Interpolant::Rbf { kernel, centres, widths, coefficients, tail } => Self::Rbf {
                kernel: kernel.name().into(),
                centres,
                widths,
                coefficients,
                tail: match tail {
                    Tail::None => TailEntry::None,
                    Tail::Constant(coefficients) => TailEntry::Constant { coefficients },
                    Tail::Linear(coefficients) => TailEntry::Linear { coefficients },
                },
            },
            Interpolant::Shepard { centres, values, power, epsilon } => {
                Self::Shepard { centres, values, power, epsilon }
            }
            Interpolant::Linear { coefficients } => Self::Linear { coefficients },
        }
    }

    fn to_interpolant(&self) -> Result<Interpolant, GltfError> {
        Ok(match self.clone() {
            Self::Rbf { kernel, centres, widths, coefficients, tail } => Interpolant::Rbf {
                kernel: Kernel::named(&kernel).ok_or_else(|| {
                    GltfError::table(format!("unknown kernel {kernel:?}; update eigenskin"))
                })?,
                centres,
                widths,
                coefficients,
                tail: match tail {
                    TailEntry::None => Tail::None,
                    TailEntry::Constant { coefficients } => Tail::Constant(coefficients),
                    TailEntry::Linear { coefficients } => Tail::Linear(coefficients),
                },
            },
            Self::Shepard { centres, values, power, epsilon } => {
                Interpolant::Shepard { centres, values, power, epsilon }
            }
            Self::Linear { coefficients } => Interpolant::Linear { coefficients },
        })
    }
}

fn joint_name(rig: &Rig, joint: usize) -> String {
    rig.skeleton().joints()[joint].name.clone()
}

fn joint_index(rig: &Rig, name: &str) -> Result<usize, GltfError> {
    rig.skeleton()
        .joint_named(name)
        .ok_or_else(|| GltfError::table(format!("it names joint {name:?}, which the skin does not have")))
}

fn rows_of(transform: DAffine3) -> [[f64; 4]; 3] {
    let rows = transform.matrix3.transpose();
    let t = transform.translation;
    [rows.x_axis.extend(t.x), rows.y_axis.extend(t.y), rows.z_axis.extend(t.z)].map(|row| row.to_array())
}

fn affine_of_rows(rows: &[[f64; 4]; 3]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_program_wrote_is_named() {
        let unknown = serde_json::json!({"type": "spline", "coefficients": []});
        let error = serde_json::from_value::<InterpolantEntry>(unknown).unwrap_err().to_string();
        assert!(error.contains("spline"), "{error}");
        let entry = InterpolantEntry::Rbf {
            kernel: "gauss".into(),
            centres: vec![],
            widths: vec![],
            coefficients: vec![],
            tail: TailEntry::None,
        };
        assert!(entry.to_interpolant().unwrap_err().to_string().contains("\"gauss\""));
    }

    #[test]
    fn rows_are_rows() {
        let m = DAffine3::from_cols(
            DVec3::new(1.0, 2.0, 3.0),
            DVec3::new(4.0, 5.0, 6.0),
            DVec3::new(7.0, 8.0, 10.0),
            DVec3::new(11.0, 12.0, 13.0),
        );
        assert_eq!(rows_of(m)[0], [1.0, 4.0, 7.0, 11.0]);
        assert_eq!(affine_of_rows(&rows_of(m)), m);
    }
}
