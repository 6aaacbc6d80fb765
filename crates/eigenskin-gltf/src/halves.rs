//! The ± split: which morph targets a component has, and how coordinates become their weights.
//!
//! Weights below 0 or above 1 are legal, but Blender and gltfpack clamp them. So a component û becomes
//! the target a⁺·û with weight max(α, 0)/a⁺ and the target −a⁻·û with weight max(−α, 0)/a⁻; normals are
//! scaled alike. What is needed follows from the model alone, so that runtimes which evaluate drivers
//! live lose nothing in any pose:
//!
//! - Where α is bounded (by the driver's clamp, or since it is a weighted mean), a half that α never
//!   reaches is left out, and a± is the bound.
//! - Where it is not, there are both halves, with one scale: [`HEADROOM`] times the largest |α| at the
//!   driver's centres, at rest, and in the poses whose weights stand in the file. Beyond it, weights
//!   that are computed live exceed 1.
//!
//! In the profile `web` there is one target for both signs, and numbers have a range of their own, so that its
//! scale is not more than keeps it within: weights may be below 0 and above 1 in the file too.
//!
//! Scales are rounded **up to a power of two**: scaling by it is exact in `f32`, so reading a file gives
//! back the basis bit for bit (but for numbers below 1e-38, which are nothing).

use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{Layer, Model, Stage};

use super::table::{ComponentEntry, HalfEntry};

/// Room above the largest coordinate seen, where nothing bounds it.
const HEADROOM: f64 = 1.25;
/// A half with less than this share of the other's range is never used.
const UNUSED: f64 = 1e-6;

/// What the numbers of a target can hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberRange {
    /// largest coordinate of a displacement
    pub position: f32,
    /// largest coordinate of a change of a normal
    pub normal: f32,
}

/// The targets of every component, numbered in order; none for layers after skinning. `written` are
/// coordinates of all layers (`component`) whose weights stand in the file.
pub(crate) fn halves_of(
    model: &Model,
    written: &[&[f32]],
    range: Option<NumberRange>,
) -> Vec<ComponentEntry> {
    let mut next = 0;
    let mut all = Vec::with_capacity(model.component_count());
    for layer in model.layers() {
        let first = all.len();
        if layer.stage != Stage::BeforeSkinning {
            all.resize(first + layer.component_count(), ComponentEntry { plus: None, minus: None });
            continue;
        }
        let mut half = |index: usize, reach: Option<f64>| {
            reach.map(|reach| {
                next += 1;
                HalfEntry { target: next - 1, scale: scale_for(reach, layer, index, range) }
            })
        };
        for (index, [mut plus, mut minus]) in reaches(layer, first, written).into_iter().enumerate() {
            if range.is_some() {
                plus = Some(plus.unwrap_or(0.0).max(minus.take().unwrap_or(0.0)));
            }
            all.push(ComponentEntry { plus: half(index, plus), minus: half(index, minus) });
        }
    }
    all
}

/// How far each coordinate of a layer goes above and below zero (`component`); none for a side that it
/// never reaches. Its coordinates stand at `first` in what is `written`.
fn reaches(layer: &Layer, first: usize, written: &[&[f32]]) -> Vec<[Option<f64>; 2]> {
    let bounds: Vec<(f64, f64)> = (0..layer.component_count()).map(|k| layer.driver.bounds(k)).collect();
    let is_bounded = |(low, high): (f64, f64)| low.is_finite() && high.is_finite();
    let at_centres = if bounds.iter().all(|&bound| is_bounded(bound)) {
        bounds.clone()
    } else {
        layer.driver.range_at_centres(bounds.len())
    };
    let components = bounds.into_iter().zip(at_centres).enumerate();
    components
        .map(|(index, (bound, (low, high)))| {
            if is_bounded(bound) {
                return bounded_reach(bound);
            }
            let in_file = written.iter().map(|coordinates| f64::from(coordinates[first + index]).abs());
            let seen = in_file.filter(|alpha| alpha.is_finite()).fold(high.max(-low), f64::max);
            [Some(HEADROOM * seen); 2]
        })
        .collect()
}

fn bounded_reach((low, high): (f64, f64)) -> [Option<f64>; 2] {
    let (plus, minus) = (high.max(0.0), (-low).max(0.0));
    let largest = plus.max(minus);
    // A component that never moves still needs a target to be read back from.
    let used = [plus > UNUSED * largest || largest == 0.0, minus > UNUSED * largest];
    [used[0].then_some(plus), used[1].then_some(minus)]
}

/// A power of two that is at least `reach`; 1 where scaling would push values out of the range of normal
/// `f32` numbers and so lose bits. Numbers that are not normal themselves may lose them.
fn scale_for(reach: f64, layer: &Layer, component: usize, range: Option<NumberRange>) -> f64 {
    let count = layer.support.len();
    let fields: [&[Vec3]; 2] = [
        layer.basis.component_positions(component, count),
        layer.basis.component_normals(component, count).unwrap_or(&[]),
    ];
    let mut wanted = if reach > 0.0 { reach.log2().ceil().exp2() } else { 1.0 };
    if let Some(range) = range {
        let largest =
            |field: &[Vec3]| field.iter().map(|v| v.abs().max_element()).fold(f32::MIN_POSITIVE, f32::max);
        let fits = (range.position / largest(fields[0])).min(range.normal / largest(fields[1]));
        wanted = wanted.min(f64::from(fits).log2().floor().exp2());
    }
    let scale = wanted as f32;
    let exact = |v: f32| ((v * scale) / scale - v).abs() < f32::MIN_POSITIVE;
    let all_exact = fields.iter().flat_map(|field| field.iter()).all(|v| v.to_array().into_iter().all(exact));
    if scale.is_normal() && all_exact { f64::from(scale) } else { 1.0 }
}

/// Weights of all targets for given coordinates. With `one_for_both` signs the first half serves both; else a
/// coordinate of the sign whose half was left out is below a millionth of the range: nothing.
pub(crate) fn split_weights(coordinates: &[f32], halves: &[ComponentEntry], one_for_both: bool) -> Vec<f32> {
    let lowest = if one_for_both { f32::NEG_INFINITY } else { 0.0 };
    let mut weights = Vec::new();
    for (&alpha, component) in coordinates.iter().zip(halves) {
        for (half, sign) in [(component.plus, 1.0), (component.minus, -1.0)] {
            weights.extend(half.map(|half| (sign * alpha).max(lowest) / half.scale as f32));
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use eigenskin_core::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant};
    use eigenskin_core::evaluate::Evaluator;
    use eigenskin_core::model::DisplacementBasis;
    use eigenskin_core::pose::Pose;
    use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

    use super::*;
    use crate::conformance::cases;
    use crate::conformance::random::{self, Random, RigParams};
    use crate::document::Document;
    use crate::table::Table;
    use crate::{ModelFile, ModelWriteOptions, RigFile, model_glb, targets};

    /// A model on one control, with components of this driver.
    fn model(interpolant: Interpolant, clamp: Clamp, components: usize) -> Model {
        let params = RigParams { joints: 0, influences: 1, controls: 1, flat: false, rings: 2 };
        let rig = random::rig(&mut Random::new(1), &params).unwrap();
        let groups = vec![FeatureGroup::control(0, 0.0)];
        let layer = Layer {
            name: "smile".into(),
            support: vec![0],
            basis: DisplacementBasis { positions: vec![Vec3::X; components], normals: Vec::new() },
            driver: Driver { groups, combine: Combine::Distance, interpolant, clamp },
            stage: Stage::BeforeSkinning,
        };
        Model::new(rig, BaseSkinning::LinearBlend, vec![layer]).unwrap()
    }

    fn scales(model: &Model, written: &[&[f32]]) -> Vec<[Option<f64>; 2]> {
        let halves = halves_of(model, written, None);
        halves.iter().map(|entry| [entry.plus, entry.minus].map(|half| half.map(|h| h.scale))).collect()
    }

    #[test]
    fn halves_and_scales_follow_the_clamp() {
        let linear = Interpolant::Linear { coefficients: vec![1.0; 5] };
        let clamp = Clamp::Range {
            lowest: vec![0.0, -3.0, -0.3, 0.0, -1e-9],
            highest: vec![2.0, 0.0, 5.0, 0.0, 1.0],
        };
        let expected = [
            [Some(2.0), None],
            [None, Some(4.0)],
            [Some(8.0), Some(0.5)],
            // Nothing moves here, but the basis must be read back from somewhere.
            [Some(1.0), None],
            [Some(1.0), None],
        ];
        assert_eq!(scales(&model(linear, clamp, 5), &[]), expected);
    }

    #[test]
    fn what_nothing_bounds_has_both_halves() {
        let shepard =
            |values| Interpolant::Shepard { centres: vec![0.0, 1.0], values, power: 2.0, epsilon: 0.0 };
        // A weighted mean of 0 and 1 needs no negative half, an extrapolation does.
        assert_eq!(scales(&model(shepard(vec![0.0, 1.0]), Clamp::None, 1), &[]), [[Some(1.0), None]]);
        assert_eq!(scales(&model(shepard(vec![0.5, -3.0]), Clamp::None, 1), &[]), [[Some(0.5), Some(4.0)]]);
        let linear = model(Interpolant::Linear { coefficients: vec![3.0] }, Clamp::None, 1);
        assert_eq!(scales(&linear, &[]), [[Some(4.0); 2]]);
        // Weights that stand in the file stay below 1, since importers clamp them.
        assert_eq!(scales(&linear, &[&[-20.0], &[f32::NAN]]), [[Some(32.0); 2]]);
    }

    /// One number that is next to nothing does not make a target huge and its weights tiny.
    #[test]
    fn traces_do_not_decide_the_scale() {
        let linear = Interpolant::Linear { coefficients: vec![0.003] };
        let mut layer = model(linear, Clamp::None, 1).layers()[0].clone();
        for trace in [0.0, f32::from_bits(1), 1e30] {
            layer.basis.positions = vec![Vec3::new(0.5, trace, 0.0)];
            assert_eq!(scale_for(0.003, &layer, 0, None), 1.0 / 256.0, "{trace:e}");
        }
        // Bits of ordinary numbers are kept.
        layer.basis.positions = vec![Vec3::new(3e-38, 0.0, 0.0)];
        assert_eq!(scale_for(1e-30, &layer, 0, None), 1.0);
    }

    /// The file's morph targets, with the weights that a runtime computes live, are the model: for poses
    /// among the examples and far beyond.
    #[test]
    fn played_live_a_model_is_the_reference_everywhere() {
        let random = (0..40).map(|seed| cases::random_case(seed).unwrap());
        let mut compared = 0;
        for case in cases::all().unwrap().into_iter().chain(random) {
            // The writer must not have to know the poses.
            let file = RigFile::from_rig(case.model.rig().clone(), &case.name).unwrap();
            let glb = model_glb(&file, &case.model, &ModelWriteOptions::default()).unwrap().0;
            let weights = play(&case.name, &glb, |_| case.poses.clone());
            assert!(weights.iter().flatten().all(|&weight| weight >= 0.0), "{}", case.name);
            compared += weights.len();
        }
        assert!(compared > 50, "{compared}");
    }

    /// Their writer left out halves, so that some weights are negative.
    #[test]
    fn files_of_version_0_1_play_live_too() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/versions/0.1/models");
        let mut compared = 0;
        let mut negative = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "glb") {
                continue;
            }
            let far = |model: &Model| {
                let mut random = Random::new(7);
                [1.0, -1.0].map(|direction| random::far_pose(&mut random, model.rig(), direction)).to_vec()
            };
            let weights = play(&path.display().to_string(), &std::fs::read(&path).unwrap(), far);
            compared += weights.len();
            negative += weights.iter().flatten().filter(|&&weight| weight < 0.0).count();
        }
        assert!(compared > 4 && negative > 0, "{compared} {negative}");
    }

    /// Compares a file with the reference in these poses of its model; returns the weights of each. Nothing
    /// where an engine cannot show the model exactly.
    fn play(name: &str, glb: &[u8], poses: impl Fn(&Model) -> Vec<Pose>) -> Vec<Vec<f32>> {
        let document = Document::from_bytes(glb, None).unwrap();
        let ModelFile { rig_file, model, morph_weights, .. } = ModelFile::from_bytes(glb).unwrap();
        let before = |layer: &Layer| layer.stage == Stage::BeforeSkinning;
        let is_linear = model.base().skinning() == Some(BaseSkinning::LinearBlend);
        if !is_linear || !model.layers().iter().all(before) {
            return Vec::new();
        }
        let rig = model.rig().clone();
        let vertices = rig.vertex_count();
        let own = Table::find(&document).unwrap().unwrap().own_targets;
        let read = |target| {
            targets::read_target(&document, rig_file.layout(), &own, target, "POSITION", vertices).unwrap()
        };
        let fields: Vec<Vec<Vec3>> = (0..morph_weights.count()).map(read).collect();
        let poses = poses(&model);
        let mut evaluator = Evaluator::new(Arc::new(model));
        let mut expected = vec![Vec3::ZERO; vertices];
        let compare = |pose: &Pose| {
            let mut weights = vec![0.0; morph_weights.count()];
            evaluator.evaluate(pose, &mut expected, None);
            morph_weights.write(evaluator.coordinates(), &mut weights);
            let mut morphed = rig.mesh().positions().to_vec();
            for (field, &weight) in fields.iter().zip(&weights) {
                morphed.iter_mut().zip(field).for_each(|(p, d)| *p += weight * *d);
            }
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, pose);
            let largest = expected.iter().map(|p| p.length()).fold(rig.mesh().size() as f32, f32::max);
            for (vertex, (morphed, expected)) in morphed.iter().zip(&expected).enumerate() {
                let found = skinning.position(vertex, morphed.as_dvec3()).as_vec3();
                let off = found.distance(*expected);
                assert!(off < 1e-5 * largest, "{name}: vertex {vertex} is {off} away");
            }
            weights
        };
        poses.iter().map(compare).collect()
    }
}
