//! The conformance models: every variant of a driver, stage and base at least once.

use std::sync::Arc;

use eigenskin_core::contact::{Capsule, CapsulePair};
use eigenskin_core::driver::{Combine, FeatureGroup, FeatureScale, Kernel, Representation};
use eigenskin_core::glam::DVec3;
use eigenskin_core::model::{Frame, Layer, Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;

use super::ConformanceError;
use super::random::{self, InterpolantKind, LayerParams, Random, RigParams};

/// A model and the poses it is looked at in.
#[derive(Debug, Clone)]
pub struct Case {
    /// name of its files
    pub name: String,
    /// what it is about, one sentence
    pub about: String,
    /// the model
    pub model: Arc<Model>,
    /// rest first, then poses among the centres of the drivers, then two far beyond all of them
    pub poses: Vec<Pose>,
}

const CHAIN: RigParams = RigParams { joints: 4, influences: 4, controls: 2, flat: false, rings: 6 };
/// Poses among the centres.
const POSES: usize = 4;

/// All cases, always the same.
pub fn all() -> Result<Vec<Case>, ConformanceError> {
    Ok(vec![
        kernels()?,
        representations()?,
        products()?,
        interpolants()?,
        after_skinning()?,
        other_base("dual-quaternion", 6, BaseSkinning::DualQuaternion)?,
        other_base("rigid", 7, BaseSkinning::Rigid)?,
        small(8, "no-joints", "A shape that only controls move.", &RigParams { joints: 0, ..CHAIN })?,
        small(
            9,
            "many-influences",
            "Seven influences per vertex.",
            &RigParams { joints: 7, influences: 7, ..CHAIN },
        )?,
        small(
            10,
            "flat",
            "All joints are roots; the table says what each is measured against.",
            &RigParams { flat: true, ..CHAIN },
        )?,
        subsets()?,
        contact()?,
    ])
}

/// A model with random layers of all kinds, for property tests.
pub fn random_case(seed: u64) -> Result<Case, ConformanceError> {
    let mut random = Random::new(seed);
    let joints = random.below(6);
    let params = RigParams {
        joints,
        influences: 1 + random.below(6),
        controls: random.below(3) + usize::from(joints < 2),
        flat: random.below(2) == 0,
        rings: 2 + random.below(4),
    };
    let rig = random::rig(&mut random, &params)?;
    let bases = [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid];
    let base = bases[random.below(3)];
    let layers = (0..random.below(4)).map(|index| random_layer(&mut random, &rig, index)).collect();
    finish(&mut random, &format!("random-{seed}"), "Random.", rig, base, layers)
}

fn random_layer(random: &mut Random, rig: &Rig, index: usize) -> Layer {
    let interpolant = match random.below(5) {
        0 => InterpolantKind::Shepard,
        1 => InterpolantKind::Linear,
        _ => InterpolantKind::Rbf(Kernel::ALL[random.below(9)], random.below(3) as i32 - 1),
    };
    let frames = [Frame::Root, Frame::HeaviestJoint, Frame::Joint(0)];
    let frame = frames[random.below(if rig.skeleton().joint_count() > 0 { 3 } else { 2 })];
    let params = LayerParams {
        groups: some_groups(random, rig),
        combine: [Combine::Distance, Combine::Product, Combine::Subsets][random.below(3)],
        interpolant,
        clamp: random.below(3) == 0,
        stage: if random.below(3) == 0 { Stage::AfterSkinning { frame } } else { Stage::BeforeSkinning },
        components: 1 + random.below(3),
        normals: random.below(3) > 0,
    };
    random::layer(random, rig, format!("layer {index}"), &params)
}

fn kernels() -> Result<Case, ConformanceError> {
    let mut random = Random::new(1);
    let rig = random::rig(&mut random, &CHAIN)?;
    let layers = Kernel::ALL
        .into_iter()
        .enumerate()
        .map(|(index, kernel)| {
            let joint = 1 + index % 3;
            let params = LayerParams {
                groups: joint_group(&rig, joint, Representation::Rotation).into_iter().collect(),
                interpolant: InterpolantKind::Rbf(kernel, index as i32 % 3 - 1),
                ..plain()
            };
            random::layer(&mut random, &rig, kernel.name().into(), &params)
        })
        .collect();
    let about = "Every kernel, with and without constant and linear tails.";
    finish(&mut random, "kernels", about, rig, BaseSkinning::LinearBlend, layers)
}

fn representations() -> Result<Case, ConformanceError> {
    let mut random = Random::new(2);
    let rig = random::rig(&mut random, &CHAIN)?;
    let mut groups = Vec::new();
    for (index, representation) in random::representations(&mut random).into_iter().enumerate() {
        for scale in random::scales(&mut random) {
            let group = joint_group(&rig, 1 + index % 3, representation);
            groups.extend(group.map(|group| group.scaled(scale)));
        }
    }
    groups.push(FeatureGroup::control(1, rig.controls()[1].default).scaled(FeatureScale::One(2.0)));
    let layers = groups
        .chunks(2)
        .enumerate()
        .map(|(index, pair)| {
            let mut groups = pair.to_vec();
            groups[0].weight = 0.4;
            let params =
                LayerParams { groups, interpolant: InterpolantKind::Rbf(Kernel::Gaussian, 1), ..plain() };
            random::layer(&mut random, &rig, format!("representations {index}"), &params)
        })
        .collect();
    let about = "Every representation of a joint's motion with every scale, weighted groups, a control.";
    finish(&mut random, "representations", about, rig, BaseSkinning::LinearBlend, layers)
}

fn products() -> Result<Case, ConformanceError> {
    let mut random = Random::new(3);
    let rig = random::rig(&mut random, &CHAIN)?;
    let layers = [Kernel::Gaussian, Kernel::Exponential, Kernel::ThinPlate, Kernel::WendlandC2]
        .into_iter()
        .map(|kernel| {
            let groups = some_groups(&mut random, &rig);
            let interpolant = InterpolantKind::Rbf(kernel, -1);
            let params = LayerParams { groups, combine: Combine::Product, interpolant, ..plain() };
            random::layer(&mut random, &rig, kernel.name().into(), &params)
        })
        .collect();
    let about = "Products of kernels over several joints and controls.";
    finish(&mut random, "products", about, rig, BaseSkinning::LinearBlend, layers)
}

fn subsets() -> Result<Case, ConformanceError> {
    let mut random = Random::new(11);
    let rig = random::rig(&mut random, &CHAIN)?;
    let layers = [Kernel::Gaussian, Kernel::InverseMultiquadric]
        .into_iter()
        .map(|kernel| {
            let mut groups = some_groups(&mut random, &rig);
            for group in &mut groups {
                group.weight = random.between(0.2, 1.5);
            }
            let interpolant = InterpolantKind::Rbf(kernel, -1);
            let params = LayerParams { groups, combine: Combine::Subsets, interpolant, ..plain() };
            random::layer(&mut random, &rig, kernel.name().into(), &params)
        })
        .collect();
    let about = "What joints and controls do alone, in pairs and all together, in one kernel.";
    finish(&mut random, "subsets", about, rig, BaseSkinning::LinearBlend, layers)
}

fn contact() -> Result<Case, ConformanceError> {
    let mut random = Random::new(12);
    let rig = random::rig(&mut random, &CHAIN)?;
    let last = rig.skeleton().joint_count() - 1;
    let layers = [Combine::Subsets, Combine::Distance]
        .into_iter()
        .map(|combine| {
            let pairs = [(0, last), (last, 0), (1, last)].map(|(own, other)| touching(&rig, own, other));
            let mut groups: Vec<FeatureGroup> = pairs.into_iter().map(FeatureGroup::contact).collect();
            groups.extend(joint_group(&rig, 2, Representation::RotationVector));
            for group in &mut groups {
                group.weight = random.between(0.4, 1.5);
                group.scale = FeatureScale::One(random.between(2.0, 6.0));
            }
            let params = LayerParams { groups, combine, ..plain() };
            random::layer(&mut random, &rig, format!("{combine:?}"), &params)
        })
        .collect();
    let about = "Bones that press against each other.";
    finish(&mut random, "contact", about, rig, BaseSkinning::LinearBlend, layers)
}

/// Bones as thick as they are far from each other, so that any motion brings them nearer or takes them away.
fn touching(rig: &Rig, own: usize, other: usize) -> CapsulePair {
    let at = |joint: usize| rig.skeleton().rest_position(joint);
    let far = at(own).distance(at(other));
    let capsule = |joint: usize| {
        let from = at(joint);
        Capsule { joint, from, to: from + DVec3::new(0.0, 0.3 * far, 0.1 * far), radius: 0.45 * far }
    };
    CapsulePair { own: capsule(own), other: capsule(other), softness: 0.1 * far }
}

fn interpolants() -> Result<Case, ConformanceError> {
    let mut random = Random::new(4);
    let rig = random::rig(&mut random, &CHAIN)?;
    let kinds = [InterpolantKind::Shepard, InterpolantKind::Linear, InterpolantKind::Rbf(Kernel::Cubic, 1)];
    let layers = kinds
        .into_iter()
        .flat_map(|kind| [(kind, false), (kind, true)])
        .map(|(interpolant, clamp)| {
            let groups = some_groups(&mut random, &rig);
            let params = LayerParams { groups, interpolant, clamp, normals: !clamp, ..plain() };
            random::layer(&mut random, &rig, format!("{interpolant:?} {clamp}"), &params)
        })
        .collect();
    let about = "Shepard's method, delta-sum and radial functions, with and without a clamp and normals.";
    finish(&mut random, "interpolants", about, rig, BaseSkinning::LinearBlend, layers)
}

fn after_skinning() -> Result<Case, ConformanceError> {
    let mut random = Random::new(5);
    let rig = random::rig(&mut random, &CHAIN)?;
    let mut layers = vec![random_before(&mut random, &rig)];
    for frame in [Frame::Root, Frame::Joint(2), Frame::HeaviestJoint] {
        let params = LayerParams {
            groups: joint_group(&rig, 2, Representation::Rotation).into_iter().collect(),
            stage: Stage::AfterSkinning { frame },
            normals: false,
            ..plain()
        };
        layers.push(random::layer(&mut random, &rig, format!("{frame:?}"), &params));
    }
    let about = "Layers that act after skinning, in each kind of frame.";
    finish(&mut random, "after-skinning", about, rig, BaseSkinning::LinearBlend, layers)
}

fn other_base(name: &str, seed: u64, base: BaseSkinning) -> Result<Case, ConformanceError> {
    let mut random = Random::new(seed);
    let rig = random::rig(&mut random, &CHAIN)?;
    let layers = vec![random_before(&mut random, &rig)];
    finish(&mut random, name, &format!("Corrections on {name} skinning."), rig, base, layers)
}

fn small(seed: u64, name: &str, about: &str, params: &RigParams) -> Result<Case, ConformanceError> {
    let mut random = Random::new(seed);
    let rig = random::rig(&mut random, params)?;
    let layers = vec![random_before(&mut random, &rig), random_before(&mut random, &rig)];
    finish(&mut random, name, about, rig, BaseSkinning::LinearBlend, layers)
}

fn random_before(random: &mut Random, rig: &Rig) -> Layer {
    let params = LayerParams { groups: some_groups(random, rig), ..plain() };
    random::layer(random, rig, "correction".into(), &params)
}

fn plain() -> LayerParams {
    LayerParams {
        groups: Vec::new(),
        combine: Combine::Distance,
        interpolant: InterpolantKind::Rbf(Kernel::Gaussian, -1),
        clamp: false,
        stage: Stage::BeforeSkinning,
        components: 2,
        normals: true,
    }
}

/// A joint that is not the first root, and a control if there is one.
fn some_groups(random: &mut Random, rig: &Rig) -> Vec<FeatureGroup> {
    let mut groups = Vec::new();
    for joint in 1..rig.skeleton().joint_count().min(3) {
        let representation = random::representations(random)[random.below(6)];
        groups.extend(joint_group(rig, joint, representation));
    }
    if let Some(control) = rig.controls().first() {
        groups.push(FeatureGroup::control(0, control.default));
    }
    groups
}

fn joint_group(rig: &Rig, joint: usize, representation: Representation) -> Option<FeatureGroup> {
    FeatureGroup::joint(rig.skeleton(), joint, representation)
}

fn finish(
    random: &mut Random,
    name: &str,
    about: &str,
    rig: Arc<Rig>,
    base: BaseSkinning,
    layers: Vec<Layer>,
) -> Result<Case, ConformanceError> {
    let mut poses = vec![rig.rest_pose()];
    poses.extend((0..POSES).map(|_| random::pose(random, &rig)));
    // Last, so that the numbers of the others stay as they are.
    poses.extend([1.0, -1.0].map(|direction| random::far_pose(random, &rig, direction)));
    let model = Model::new(rig, base, layers).map_err(ConformanceError::of)?;
    Ok(Case { name: name.into(), about: about.into(), model: Arc::new(model), poses })
}

#[cfg(test)]
mod tests {
    use eigenskin_core::driver::{Clamp, Driver, Interpolant};

    use super::*;
    use crate::model::coordinates;

    /// How far each group is from rest in a pose, or at a centre: `group`.
    fn distances(driver: &Driver, features: &[f64]) -> Vec<f64> {
        let mut first = 0;
        let of_group = |group: &FeatureGroup| {
            let range = first..first + group.feature_count();
            first = range.end;
            group.distance_to_rest(&features[range])
        };
        driver.groups.iter().map(of_group).collect()
    }

    fn features(driver: &Driver, case: &Case, pose: &Pose) -> Vec<f64> {
        let mut all = Vec::new();
        for group in &driver.groups {
            let mut own = vec![0.0; group.feature_count()];
            group.write_features(&group.measure(case.model.rig().skeleton(), pose), &mut own);
            all.extend(own);
        }
        all
    }

    #[test]
    fn every_driver_is_looked_at_beyond_its_centres() {
        for case in all().unwrap() {
            for layer in case.model.layers() {
                let driver = &layer.driver;
                let (Interpolant::Rbf { centres, .. } | Interpolant::Shepard { centres, .. }) =
                    &driver.interpolant
                else {
                    continue;
                };
                let largest = |all: &mut dyn Iterator<Item = Vec<f64>>| {
                    let none = vec![0.0; driver.groups.len()];
                    all.fold(none, |m, d| m.iter().zip(d).map(|(a, b)| b.max(*a)).collect())
                };
                let of_centres = centres.chunks_exact(driver.feature_count());
                let at_centres = largest(&mut of_centres.map(|centre| distances(driver, centre)));
                let far = case.poses[1 + POSES..].iter();
                let beyond = largest(&mut far.map(|pose| distances(driver, &features(driver, &case, pose))));
                assert!(
                    at_centres.iter().zip(&beyond).all(|(centre, pose)| pose > centre),
                    "{}, {}: {beyond:?} of {at_centres:?}",
                    case.name,
                    layer.name
                );
            }
        }
    }

    /// A runtime, or a writer, that knows only the signs of the near poses fails at the far ones.
    #[test]
    fn far_poses_change_signs() {
        let mut changed = Vec::new();
        for case in all().unwrap() {
            let [near, far] = [&case.poses[..=POSES], &case.poses[1 + POSES..]].map(|poses| {
                poses.iter().map(|pose| coordinates(&case.model, pose)).collect::<Vec<Vec<f32>>>()
            });
            let has = |all: &[Vec<f32>], component: usize, sign: f32| {
                all.iter().any(|coordinates| sign * coordinates[component] > 1e-3)
            };
            let is_new = |&component: &usize| {
                [1.0, -1.0].iter().any(|&sign| has(&far, component, sign) && !has(&near, component, sign))
            };
            let count = (0..case.model.component_count()).filter(is_new).count();
            if count > 0 {
                changed.push((case.name.clone(), count));
            }
            // And clamps are reached.
            let mut first = 0;
            for layer in case.model.layers() {
                let components = first..first + layer.component_count();
                first = components.end;
                let reaches = |component: usize| {
                    let (low, high) = layer.driver.bounds(component - components.start);
                    let at = |bound: f64| far.iter().any(|c| c[component] == bound as f32);
                    at(low) || at(high)
                };
                assert!(
                    layer.driver.clamp == Clamp::None || components.clone().any(reaches),
                    "{}, {}",
                    case.name,
                    layer.name
                );
            }
        }
        assert!(changed.len() >= 5, "{changed:?}");
    }
}
