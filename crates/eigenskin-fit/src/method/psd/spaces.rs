//! Pose spaces: which examples share one, in which order they stand, how they are measured.

use eigenskin_core::driver::{FeatureGroup, FeatureScale, Representation};
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

use super::examples::UsedExamples;
use super::{PoseFeature, PsdParams, SpaceOrder};
use crate::drivers::Samples;
use crate::method::FitError;
use crate::method::joint_driver::feature_groups;

/// The examples that move the same joints and controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoseSpace {
    /// rising
    pub movers: Vec<Mover>,
    /// rising
    pub examples: Vec<usize>,
}

/// A pose space, measured.
#[derive(Debug, Clone)]
pub struct MeasuredSpace {
    /// the space
    pub space: PoseSpace,
    /// its joints and controls in one line
    pub name: String,
    /// rest, then all examples of all spaces, as this space sees them
    pub all: Samples,
    /// samples to interpolate: rest, own examples, then anchors
    pub samples: Vec<usize>,
    /// earlier examples held at zero
    pub anchors: Vec<usize>,
}

/// Nearer poses (radians, sizes, control values; after scaling) are one: joint transforms are `f32`.
const NOISE: f64 = 1e-5;

/// Spaces of examples that move the given joints and controls (`example` → rising), in order.
pub fn pose_spaces(rig: &Rig, moved: &[Vec<Mover>], order: &SpaceOrder) -> Result<Vec<PoseSpace>, FitError> {
    let mut spaces: Vec<PoseSpace> = Vec::new();
    for (example, movers) in moved.iter().enumerate() {
        match spaces.iter_mut().find(|space| space.movers == *movers) {
            Some(space) => space.examples.push(example),
            None => spaces.push(PoseSpace { movers: movers.clone(), examples: vec![example] }),
        }
    }
    let narrow = |a: &PoseSpace, b: &PoseSpace| (a.movers.len(), &a.movers).cmp(&(b.movers.len(), &b.movers));
    match order {
        SpaceOrder::AsGiven => {}
        SpaceOrder::NarrowFirst => spaces.sort_by(narrow),
        SpaceOrder::Listed(lists) => {
            let mut listed: Vec<Vec<Mover>> = Vec::new();
            for names in lists {
                let movers = names.iter().map(|name| mover_named(rig, name, "the order of pose spaces"));
                let mut movers: Vec<Mover> = movers.collect::<Result<_, _>>()?;
                movers.sort();
                listed.push(movers);
            }
            let place = |space: &PoseSpace| {
                listed.iter().position(|movers| *movers == space.movers).unwrap_or(listed.len())
            };
            spaces.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| narrow(a, b)));
        }
    }
    Ok(spaces)
}

/// Measures spaces in their order: each gets anchors where it sees the examples of the ones before.
/// Where smoothing allows it, equal poses may be two samples.
pub fn measure_spaces(
    rig: &Rig,
    UsedExamples { names, poses, .. }: &UsedExamples<'_>,
    spaces: Vec<PoseSpace>,
    params: &PsdParams,
) -> Result<Vec<MeasuredSpace>, FitError> {
    let (features, compromise) = (&params.features, params.allows_compromise());
    let mut earlier: Vec<usize> = Vec::new();
    let mut measured = Vec::with_capacity(spaces.len());
    for space in spaces {
        let own = space.examples.clone();
        measured.push(measure(rig, names, poses, space, &earlier, features, compromise)?);
        earlier.extend(own);
    }
    Ok(measured)
}

fn measure(
    rig: &Rig,
    names: &[&str],
    poses: &[&Pose],
    space: PoseSpace,
    earlier: &[usize],
    features: &[PoseFeature],
    compromise: bool,
) -> Result<MeasuredSpace, FitError> {
    let seen = || space.examples.iter().chain(earlier).map(|&example| poses[example]);
    let groups = space.movers.iter().flat_map(|&mover| mover_groups(rig, mover, features, seen())).collect();
    let all = Samples::measure(groups, rig.skeleton(), poses.iter().copied());
    let movers: Vec<&str> = space.movers.iter().map(|mover| mover.name(rig)).collect();
    let name = movers.join(" + ");

    let same = |a: usize, b: usize| all.distance(a, b) <= NOISE;
    let mut samples = vec![0];
    for &example in &space.examples {
        let sample = example + 1;
        if let Some(&twin) = samples.iter().find(|&&twin| same(twin, sample) && (twin == 0 || !compromise)) {
            let first = if twin == 0 { "rest" } else { names[twin - 1] };
            let second = names[example].to_string();
            return Err(FitError::Indistinct { space: name, first: first.to_string(), second });
        }
        samples.push(sample);
    }
    let mut anchors = Vec::new();
    for &example in earlier {
        let sample = example + 1;
        let looks_like_rest = !space.movers.iter().any(|mover| mover.is_moved(rig, poses[example]));
        if looks_like_rest {
            continue;
        }
        match samples.iter().find(|&&twin| same(twin, sample)) {
            None => {
                samples.push(sample);
                anchors.push(example);
            }
            Some(&twin) if twin > 0 && space.examples.contains(&(twin - 1)) => {
                let (earlier, later) = (names[example].to_string(), names[twin - 1].to_string());
                return Err(FitError::LayerConflict { space: name, earlier, later });
            }
            Some(_) => {}
        }
    }
    Ok(MeasuredSpace { space, name, all, samples, anchors })
}

fn mover_groups<'a>(
    rig: &Rig,
    mover: Mover,
    features: &[PoseFeature],
    poses: impl Iterator<Item = &'a Pose>,
) -> Vec<FeatureGroup> {
    let name = mover.name(rig);
    let described: Vec<FeatureGroup> = features
        .iter()
        .filter(|feature| feature.name == name)
        .filter_map(|feature| {
            let group = match mover {
                Mover::Joint(joint) => FeatureGroup::joint(rig.skeleton(), joint, feature.representation)?,
                Mover::Control(control) => FeatureGroup::control(control, rig.controls()[control].default),
            };
            Some(group.scaled(feature.scale))
        })
        .collect();
    if described.is_empty() { feature_groups(rig, mover, poses) } else { described }
}

/// Checks that features describe what there is, in a way that suits it.
pub fn check_features(rig: &Rig, features: &[PoseFeature]) -> Result<(), FitError> {
    for feature in features {
        let mover = mover_named(rig, &feature.name, "a feature")?;
        let wrong = |problem| Err(FitError::Feature { name: feature.name.clone(), problem });
        let scalar = matches!(feature.representation, Representation::Scalar);
        let overlap = matches!(feature.representation, Representation::Overlap);
        if overlap || scalar != matches!(mover, Mover::Control(_)) {
            return wrong("does not suit it: controls are scalars, joints have rotations and translations");
        }
        let vector =
            matches!(feature.representation, Representation::RotationVector | Representation::Translation);
        let good = match feature.scale {
            FeatureScale::One(factor) => factor.is_finite() && factor > 0.0,
            FeatureScale::PerAxis(_) | FeatureScale::Matrix(_) if !vector => {
                return wrong(
                    "has a scale per axis or a matrix, which only rotation vectors and translations can have",
                );
            }
            FeatureScale::PerAxis(factors) => factors.is_finite() && factors.min_element() >= 0.0,
            FeatureScale::Matrix(matrix) => matrix.is_finite(),
        };
        if !good {
            return wrong("has a bad radius or scale: it must be a finite number above zero");
        }
    }
    Ok(())
}

fn mover_named(rig: &Rig, name: &str, asked_by: &'static str) -> Result<Mover, FitError> {
    let movers = Mover::all(rig);
    movers.iter().copied().find(|mover| mover.name(rig) == name).ok_or_else(|| {
        let known: Vec<&str> = movers.iter().map(|mover| mover.name(rig)).collect();
        FitError::UnknownMover { asked_by, name: name.to_string(), known: known.join(", ") }
    })
}
