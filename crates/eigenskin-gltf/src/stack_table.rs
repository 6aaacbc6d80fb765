//! Chains of deformers in the eigenskin table: one mirror type per type of the core. Programs are
//! stored by name only: no file says what is to be started.

use eigenskin_core::deformers::{
    Amount, Cage, Deformer, DeformerStack, Lattice, LatticeBasis, Smoothing, SmoothingWeighting, Wrap,
};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::Influence;
use serde::{Deserialize, Serialize};

use super::error::GltfError;

/// A chain of deformers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StackEntry {
    name: String,
    steps: Vec<StepEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum StepEntry {
    Skinning {
        base: String,
    },
    Lattice {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<String>,
        lowest: [f64; 3],
        highest: [f64; 3],
        counts: [usize; 3],
        basis: String,
        displacements: Vec<[f64; 3]>,
        amount: AmountEntry,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fade: Option<f64>,
    },
    Smoothing {
        iterations: usize,
        factor: f64,
        weighting: String,
        pin_borders: bool,
        detail: f64,
    },
    Wrap {
        nearest: usize,
        positions: Vec<[f32; 3]>,
        triangles: Vec<[u32; 3]>,
        joints: Vec<String>,
        /// per vertex: index into `joints`, weight
        weights: Vec<Vec<(u32, f32)>>,
    },
    External {
        name: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum AmountEntry {
    Constant { value: f64 },
    Control { control: String, factor: f64 },
    JointAngle { joint: String, factor: f64 },
}

impl StackEntry {
    /// The entry of a chain.
    pub fn new(stack: &DeformerStack) -> Self {
        Self { name: stack.name.clone(), steps: stack.steps.iter().map(StepEntry::new).collect() }
    }

    /// The chain. Whether it fits a rig shows when it is bound.
    pub fn to_stack(&self) -> Result<DeformerStack, GltfError> {
        let steps = self.steps.iter().map(StepEntry::to_step).collect::<Result<_, _>>()?;
        Ok(DeformerStack { name: self.name.clone(), steps })
    }
}

impl StepEntry {
    fn new(step: &Deformer) -> Self {
        match step {
            Deformer::Skinning(base) => Self::Skinning { base: base.name().into() },
            Deformer::Lattice(lattice) => Self::Lattice {
                frame: lattice.frame.clone(),
                lowest: lattice.lowest.to_array(),
                highest: lattice.highest.to_array(),
                counts: lattice.counts,
                basis: lattice.basis.name().into(),
                displacements: lattice.displacements.iter().map(DVec3::to_array).collect(),
                amount: AmountEntry::new(&lattice.amount),
                fade: lattice.fade,
            },
            Deformer::Smoothing(smoothing) => Self::Smoothing {
                iterations: smoothing.iterations,
                factor: smoothing.factor,
                weighting: smoothing.weighting.name().into(),
                pin_borders: smoothing.pin_borders,
                detail: smoothing.detail,
            },
            Deformer::Wrap(Wrap { cage, nearest }) => Self::Wrap {
                nearest: *nearest,
                positions: cage.positions.iter().map(Vec3::to_array).collect(),
                triangles: cage.triangles.clone(),
                joints: cage.joints.clone(),
                weights: cage
                    .weights
                    .iter()
                    .map(|list| list.iter().map(|i| (i.joint, i.weight)).collect())
                    .collect(),
            },
            Deformer::External { name } => Self::External { name: name.clone() },
        }
    }

    fn to_step(&self) -> Result<Deformer, GltfError> {
        let unknown =
            |what: &str, name: &str| GltfError::table(format!("unknown {what} {name:?}; update eigenskin"));
        Ok(match self.clone() {
            Self::Skinning { base } => {
                Deformer::Skinning(BaseSkinning::named(&base).ok_or_else(|| unknown("base skinning", &base))?)
            }
            Self::Lattice { frame, lowest, highest, counts, basis, displacements, amount, fade } => {
                Deformer::Lattice(Lattice {
                    frame,
                    lowest: lowest.into(),
                    highest: highest.into(),
                    counts,
                    basis: LatticeBasis::named(&basis).ok_or_else(|| unknown("lattice basis", &basis))?,
                    displacements: displacements.into_iter().map(DVec3::from_array).collect(),
                    amount: amount.to_amount(),
                    fade,
                })
            }
            Self::Smoothing { iterations, factor, weighting, pin_borders, detail } => {
                Deformer::Smoothing(Smoothing {
                    iterations,
                    factor,
                    weighting: SmoothingWeighting::named(&weighting)
                        .ok_or_else(|| unknown("weighting of a smoothing", &weighting))?,
                    pin_borders,
                    detail,
                })
            }
            Self::Wrap { nearest, positions, triangles, joints, weights } => Deformer::Wrap(Wrap {
                nearest,
                cage: Cage {
                    positions: positions.into_iter().map(Vec3::from_array).collect(),
                    triangles,
                    joints,
                    weights: weights
                        .into_iter()
                        .map(|list| {
                            list.into_iter().map(|(joint, weight)| Influence { joint, weight }).collect()
                        })
                        .collect(),
                },
            }),
            Self::External { name } => Deformer::External { name },
        })
    }
}

impl AmountEntry {
    fn new(amount: &Amount) -> Self {
        match amount.clone() {
            Amount::Constant(value) => Self::Constant { value },
            Amount::Control { control, factor } => Self::Control { control, factor },
            Amount::JointAngle { joint, factor } => Self::JointAngle { joint, factor },
        }
    }

    fn to_amount(&self) -> Amount {
        match self.clone() {
            Self::Constant { value } => Amount::Constant(value),
            Self::Control { control, factor } => Amount::Control { control, factor },
            Self::JointAngle { joint, factor } => Amount::JointAngle { joint, factor },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All variants, with numbers that have no short decimal form.
    fn everything() -> DeformerStack {
        let mut lattice = Lattice::at_rest(
            DVec3::new(-0.1, 1.0 / 3.0, -0.0),
            DVec3::new(0.1 + 0.2, 1.0, f64::MIN_POSITIVE),
            [2, 2, 2],
            LatticeBasis::BSpline,
        );
        for (index, displacement) in lattice.displacements.iter_mut().enumerate() {
            *displacement = DVec3::new((index as f64).sin(), (index as f64 + 0.1).exp(), 1e-300);
        }
        let driven = Lattice {
            frame: Some("upper arm".into()),
            basis: LatticeBasis::Trilinear,
            amount: Amount::JointAngle { joint: "elbow".into(), factor: std::f64::consts::PI },
            fade: Some(0.7),
            ..lattice.clone()
        };
        let by_control = Lattice {
            basis: LatticeBasis::Bernstein,
            amount: Amount::Control { control: "smile".into(), factor: -0.1 },
            ..lattice.clone()
        };
        let weights = (0..3).map(|v| {
            let share = 1.0 / (v as f32 + 1.7);
            vec![Influence { joint: 1, weight: share }, Influence { joint: 0, weight: 1.0 - share }]
        });
        let cage = Cage {
            positions: vec![Vec3::new(0.1, -0.2, 1.0 / 3.0), Vec3::X, Vec3::splat(1e-30)],
            triangles: vec![[0, 1, 2]],
            joints: vec!["a".into(), "b\"".into()],
            weights: weights.collect(),
        };
        DeformerStack {
            name: "all".into(),
            steps: vec![
                Deformer::Lattice(lattice),
                Deformer::Skinning(BaseSkinning::DualQuaternion),
                Deformer::Lattice(driven),
                Deformer::Lattice(by_control),
                Deformer::Smoothing(Smoothing::delta_mush()),
                Deformer::Smoothing(Smoothing {
                    factor: 0.1,
                    weighting: SmoothingWeighting::EdgeLength,
                    ..Smoothing::corrective()
                }),
                Deformer::Wrap(Wrap { cage, nearest: 5 }),
                Deformer::External { name: "blender".into() },
            ],
        }
    }

    #[test]
    fn chains_survive_to_the_bit() {
        let stack = everything();
        let text = serde_json::to_string(&StackEntry::new(&stack)).unwrap();
        let read: StackEntry = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{:?}", read.to_stack().unwrap()), format!("{stack:?}"), "also the sign of zero");
        // By way of a JSON value, as tables are stored.
        let value = serde_json::to_value(StackEntry::new(&stack)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
        let read: StackEntry = serde_json::from_value(value).unwrap();
        assert_eq!(read.to_stack().unwrap(), stack);
        assert!(!text.contains("command"), "{text}");
    }

    #[test]
    fn what_a_newer_program_wrote_is_named() {
        let step = serde_json::json!({"type": "muscle", "name": "biceps"});
        let error = serde_json::from_value::<StepEntry>(step).unwrap_err().to_string();
        assert!(error.contains("muscle"), "{error}");
        let named =
            |json| serde_json::from_value::<StepEntry>(json).unwrap().to_step().unwrap_err().to_string();
        let error = named(serde_json::json!({"type": "skinning", "base": "spline"}));
        assert!(error.contains("\"spline\""), "{error}");
    }
}
