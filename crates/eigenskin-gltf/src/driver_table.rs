//! Drivers and stages in the eigenskin table: one mirror type per type of the core, joints and
//! controls by name. What drivers look at, and its values at their centres, stand in one list of the model: many
//! drivers compare the same poses.

use eigenskin_core::contact::{Capsule, CapsulePair};
use eigenskin_core::driver::{
    Clamp, Combine, Driver, FeatureGroup, FeatureScale, FeatureSource, Interpolant, Kernel, Representation,
    Tail,
};
use eigenskin_core::glam::{DAffine3, DMat3, DVec3};
use eigenskin_core::model::{Frame, Stage};
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};

use super::error::GltfError;

/// Numbers of a feature group at a centre, at most.
const MOST_NUMBERS: usize = 4;

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

/// A feature group of a driver and how much it counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct GroupEntry {
    /// index into the model's features
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feature: Option<usize>,
    weight: f64,
    /// what is looked at, in files of versions 1 and 2; centres stand in the interpolant there
    #[serde(flatten)]
    own: OwnGroupEntry,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct OwnGroupEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<SourceEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    representation: Option<RepresentationEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<ScaleEntry>,
}

/// Something that drivers look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureEntry {
    source: SourceEntry,
    representation: RepresentationEntry,
    scale: ScaleEntry,
    /// number of centres
    centres: usize,
    /// centres whose values are listed, where most are zero; else all are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Vec<usize>>,
    /// `listed centre × number`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<f64>,
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
    Contact {
        own: CapsuleEntry,
        other: CapsuleEntry,
        softness: f64,
    },
}

/// A bone as a capsule, rest shape's space and unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CapsuleEntry {
    joint: String,
    from: [f64; 3],
    to: [f64; 3],
    radius: f64,
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
    Overlap,
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
    Rbf {
        kernel: String,
        /// of files of versions 1 and 2
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        centres: Vec<f64>,
        widths: Vec<f64>,
        coefficients: Vec<f64>,
        tail: TailEntry,
    },
    Shepard {
        /// of files of versions 1 and 2
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        centres: Vec<f64>,
        values: Vec<f64>,
        power: f64,
        epsilon: f64,
    },
    Linear {
        coefficients: Vec<f64>,
    },
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
    /// The entry of a driver of `rig`; what it looks at joins `features`.
    pub fn new(driver: &Driver, rig: &Rig, features: &mut Vec<FeatureEntry>) -> Self {
        let centres = match &driver.interpolant {
            Interpolant::Rbf { centres, .. } | Interpolant::Shepard { centres, .. } => centres.as_slice(),
            Interpolant::Linear { .. } => &[],
        };
        let mut first = 0;
        let groups = driver.groups.iter().map(|group| {
            let own = first..first + group.feature_count();
            first = own.end;
            let of_centres =
                centres.chunks_exact(driver.feature_count()).map(|centre| &centre[own.clone()]).collect();
            let entry = FeatureEntry::new(group, of_centres, rig);
            let feature = features.iter().position(|known| *known == entry).unwrap_or_else(|| {
                features.push(entry);
                features.len() - 1
            });
            GroupEntry { feature: Some(feature), weight: group.weight, own: OwnGroupEntry::default() }
        });
        Self {
            groups: groups.collect(),
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

    /// Memory that the centres from shared features take at most; a damaged file may name any number.
    pub fn centre_bytes(&self, features: &[FeatureEntry]) -> usize {
        let named = self.groups.iter().filter_map(|group| features.get(group.feature?));
        let of = |feature: &FeatureEntry| feature.centres.saturating_mul(2 * MOST_NUMBERS * size_of::<f64>());
        named.map(of).fold(0, usize::saturating_add)
    }

    /// Rounds the long lists of numbers to nine digits.
    pub fn shorten(&mut self) {
        let lists: Vec<&mut Vec<f64>> = match &mut self.interpolant {
            InterpolantEntry::Rbf { widths, coefficients, tail, .. } => {
                let tail = match tail {
                    TailEntry::None => None,
                    TailEntry::Constant { coefficients } | TailEntry::Linear { coefficients } => {
                        Some(coefficients)
                    }
                };
                [widths, coefficients].into_iter().chain(tail).collect()
            }
            InterpolantEntry::Shepard { values, .. } => vec![values],
            InterpolantEntry::Linear { coefficients } => vec![coefficients],
        };
        for value in lists.into_iter().flatten() {
            shorten(value);
        }
    }

    /// The driver, for `rig`, of a model that looks at `features`.
    pub fn to_driver(&self, rig: &Rig, features: &[FeatureEntry]) -> Result<Driver, GltfError> {
        let shared = self.groups.iter().map(|group| group.shared(features)).collect::<Result<Vec<_>, _>>()?;
        let groups = self.groups.iter().zip(&shared).map(|(group, shared)| group.to_group(*shared, rig));
        let groups: Vec<FeatureGroup> = groups.collect::<Result<_, _>>()?;
        let mut interpolant = self.interpolant.to_interpolant()?;
        if let (Some(shared), Interpolant::Rbf { centres, .. } | Interpolant::Shepard { centres, .. }) =
            (shared.into_iter().collect::<Option<Vec<_>>>(), &mut interpolant)
        {
            *centres = centres_of(&shared, &groups)?;
        }
        Ok(Driver {
            groups,
            combine: match self.combine {
                CombineEntry::Distance => Combine::Distance,
                CombineEntry::Product => Combine::Product,
                CombineEntry::Subsets => Combine::Subsets,
            },
            interpolant,
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

impl FeatureEntry {
    /// The entry of a group with these values at the centres.
    fn new(group: &FeatureGroup, of_centres: Vec<&[f64]>, rig: &Rig) -> Self {
        let source = match &group.source {
            FeatureSource::Joint { joint, reference, reference_from_joint_at_rest } => SourceEntry::Joint {
                joint: joint_name(rig, *joint),
                reference: joint_name(rig, *reference),
                reference_from_joint_at_rest: rows_of(*reference_from_joint_at_rest),
            },
            FeatureSource::Control { control, rest } => {
                SourceEntry::Control { control: rig.controls()[*control].name.clone(), rest: *rest }
            }
            FeatureSource::Contact(CapsulePair { own, other, softness }) => SourceEntry::Contact {
                own: CapsuleEntry::new(own, rig),
                other: CapsuleEntry::new(other, rig),
                softness: *softness,
            },
        };
        let representation = match group.representation {
            Representation::HingeAngle { axis } => RepresentationEntry::HingeAngle { axis: axis.to_array() },
            Representation::Rotation => RepresentationEntry::Rotation,
            Representation::Swing { axis } => RepresentationEntry::Swing { axis: axis.to_array() },
            Representation::Twist { axis } => RepresentationEntry::Twist { axis: axis.to_array() },
            Representation::RotationVector => RepresentationEntry::RotationVector,
            Representation::Translation => RepresentationEntry::Translation,
            Representation::Scalar => RepresentationEntry::Scalar,
            Representation::Overlap => RepresentationEntry::Overlap,
        };
        let scale = match group.scale {
            FeatureScale::One(factor) => ScaleEntry::One { factor },
            FeatureScale::PerAxis(factors) => ScaleEntry::PerAxis { factors: factors.to_array() },
            FeatureScale::Matrix(m) => ScaleEntry::Matrix { rows: m.transpose().to_cols_array_2d() },
        };
        let centres = of_centres.len();
        let is_moved = |values: &[f64]| values.iter().any(|value| *value != 0.0);
        let moved: Vec<usize> = (0..centres).filter(|&centre| is_moved(of_centres[centre])).collect();
        let (at, listed) = if moved.len() * 2 < centres {
            let listed = moved.iter().map(|&centre| of_centres[centre]).collect();
            (Some(moved), listed)
        } else {
            (None, of_centres)
        };
        Self { source, representation, scale, centres, at, values: listed.concat() }
    }

    /// Rounds the list of numbers to nine digits.
    pub fn shorten(&mut self) {
        self.values.iter_mut().for_each(shorten);
    }

    /// `centre × number`, `count` numbers each.
    fn at_centres(&self, count: usize) -> Result<Vec<f64>, GltfError> {
        let listed = self.at.as_ref().map_or(self.centres, Vec::len);
        if self.values.len() != listed.saturating_mul(count) {
            return Err(GltfError::table(format!(
                "a feature has {} values for {listed} centres of {count} numbers",
                self.values.len()
            )));
        }
        let Some(at) = &self.at else { return Ok(self.values.clone()) };
        let mut values = vec![0.0; self.centres * count];
        for (&centre, own) in at.iter().zip(self.values.chunks_exact(count)) {
            let place = values.chunks_exact_mut(count).nth(centre).ok_or_else(|| {
                GltfError::table(format!("a feature names centre {centre} of {}", self.centres))
            })?;
            place.copy_from_slice(own);
        }
        Ok(values)
    }
}

impl CapsuleEntry {
    fn new(capsule: &Capsule, rig: &Rig) -> Self {
        Self {
            joint: joint_name(rig, capsule.joint),
            from: capsule.from.to_array(),
            to: capsule.to.to_array(),
            radius: capsule.radius,
        }
    }

    fn to_capsule(&self, rig: &Rig) -> Result<Capsule, GltfError> {
        Ok(Capsule {
            joint: joint_index(rig, &self.joint)?,
            from: DVec3::from_array(self.from),
            to: DVec3::from_array(self.to),
            radius: self.radius,
        })
    }
}

impl GroupEntry {
    /// The feature that the group names; none in files of versions 1 and 2.
    fn shared<'a>(&self, features: &'a [FeatureEntry]) -> Result<Option<&'a FeatureEntry>, GltfError> {
        let Some(index) = self.feature else { return Ok(None) };
        let found = features.get(index).ok_or_else(|| {
            GltfError::table(format!("a driver names feature {index}, but there are only {}", features.len()))
        });
        found.map(Some)
    }

    fn to_group(&self, shared: Option<&FeatureEntry>, rig: &Rig) -> Result<FeatureGroup, GltfError> {
        let (source, representation, scale) = match (shared, &self.own) {
            (Some(shared), _) => (&shared.source, &shared.representation, &shared.scale),
            (
                None,
                OwnGroupEntry {
                    source: Some(source),
                    representation: Some(representation),
                    scale: Some(scale),
                },
            ) => (source, representation, scale),
            (None, _) => return Err(GltfError::table("a driver does not say what it looks at".to_string())),
        };
        let source = match source {
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
            SourceEntry::Contact { own, other, softness } => FeatureSource::Contact(CapsulePair {
                own: own.to_capsule(rig)?,
                other: other.to_capsule(rig)?,
                softness: *softness,
            }),
        };
        let axis = |axis: &[f64; 3]| DVec3::from_array(*axis);
        let representation = match representation {
            RepresentationEntry::HingeAngle { axis: a } => Representation::HingeAngle { axis: axis(a) },
            RepresentationEntry::Rotation => Representation::Rotation,
            RepresentationEntry::Swing { axis: a } => Representation::Swing { axis: axis(a) },
            RepresentationEntry::Twist { axis: a } => Representation::Twist { axis: axis(a) },
            RepresentationEntry::RotationVector => Representation::RotationVector,
            RepresentationEntry::Translation => Representation::Translation,
            RepresentationEntry::Scalar => Representation::Scalar,
            RepresentationEntry::Overlap => Representation::Overlap,
        };
        let scale = match scale {
            ScaleEntry::One { factor } => FeatureScale::One(*factor),
            ScaleEntry::PerAxis { factors } => FeatureScale::PerAxis(DVec3::from_array(*factors)),
            ScaleEntry::Matrix { rows } => FeatureScale::Matrix(DMat3::from_cols_array_2d(rows).transpose()),
        };
        Ok(FeatureGroup { source, representation, weight: self.weight, scale })
    }
}

/// The centres of a driver's groups, `centre × feature`, from the features that they share with others.
fn centres_of(shared: &[&FeatureEntry], groups: &[FeatureGroup]) -> Result<Vec<f64>, GltfError> {
    let counts: Vec<usize> = groups.iter().map(FeatureGroup::feature_count).collect();
    let columns = shared.iter().zip(&counts).map(|(feature, &count)| feature.at_centres(count));
    let columns: Vec<Vec<f64>> = columns.collect::<Result<_, _>>()?;
    let centres = shared.first().map_or(0, |feature| feature.centres);
    if let Some(other) = shared.iter().find(|feature| feature.centres != centres) {
        return Err(GltfError::table(format!(
            "features of one driver have {centres} and {} centres",
            other.centres
        )));
    }
    let of_centre = |centre: usize| {
        let own = move |(column, &count): (&Vec<f64>, &usize)| column[centre * count..][..count].to_vec();
        columns.iter().zip(&counts).flat_map(own).collect::<Vec<f64>>()
    };
    Ok((0..centres).flat_map(of_centre).collect())
}

/// Rounds to nine digits.
fn shorten(value: &mut f64) {
    *value = format!("{value:.8e}").parse().unwrap_or(*value);
}

impl InterpolantEntry {
    fn new(interpolant: &Interpolant) -> Self {
        match interpolant.clone() {
            Interpolant::Rbf { kernel, widths, coefficients, tail, .. } => Self::Rbf {
                kernel: kernel.name().into(),
                centres: Vec::new(),
                widths,
                coefficients,
                tail: match tail {
                    Tail::None => TailEntry::None,
                    Tail::Constant(coefficients) => TailEntry::Constant { coefficients },
                    Tail::Linear(coefficients) => TailEntry::Linear { coefficients },
                },
            },
            Interpolant::Shepard { values, power, epsilon, .. } => {
                Self::Shepard { centres: Vec::new(), values, power, epsilon }
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
