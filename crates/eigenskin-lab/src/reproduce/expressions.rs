//! What expressions of a mouth do on the way from one to the other (Lewis, Cordner, Fong 2000 §5.2,
//! Figures 7 and 10).

use std::sync::Arc;

use anyhow::Result;
use eigenskin::characters::mouth_expressions;
use eigenskin::deformers::Base;
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::method::PsdInterpolation;
use eigenskin::method::{PsdParams, fit_examples};
use eigenskin::model::Model;
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;

/// The vertex whose path is followed: a corner of the mouth, the last of the third row of 25.
const CORNER: usize = 74;

fn pose(controls: [f64; 2]) -> Pose {
    Pose { world_from_joint: Vec::new(), controls: controls.to_vec() }
}

/// What was seen on the way from neutral over the smirk to the smile.
pub struct Path {
    /// shares of the way that the weights are shown at
    pub at: Vec<f64>,
    /// weights of smirk and smile under pose space deformation
    pub psd_weights: Vec<[f64; 2]>,
    /// the same under shape interpolation, which must go through its targets one after the other
    pub interpolated_weights: Vec<[f64; 2]>,
    /// sharpest turn of the mouth's corner within a hundredth of the way, degrees
    pub psd_turn: f64,
    /// the same under shape interpolation
    pub interpolated_turn: f64,
    /// the largest distance of an expression from its sculpt, in sizes
    pub miss: f64,
}

const STEPS: usize = 100;

/// Follows the corner of the mouth.
pub fn path(set: &ExampleSet) -> Result<Path> {
    let model =
        Arc::new(fit_examples(set, &Base::default(), &PsdParams::default().into(), &Unwatched)?.model);
    let mut miss = 0f64;
    for example in set.examples() {
        let found = shape(&model, &example.pose);
        let distances = found.iter().zip(&example.positions).map(|(a, b)| f64::from(a.distance(*b)));
        miss = distances.fold(miss, f64::max);
    }
    // The targets of shape interpolation are the sculpts themselves.
    let rest = set.rig().mesh().positions()[CORNER].as_dvec3();
    let target = |name: &str| {
        let example = set.examples().iter().find(|example| example.name == name);
        example.map_or(DVec3::ZERO, |example| example.positions[CORNER].as_dvec3() - rest)
    };
    let (smirk, smile) = (target("smirk"), target("smile"));
    let zig_zag = |x: f64| [(1.0 - (2.0 * x - 1.0).abs()).max(0.0), (2.0 * x - 1.0).max(0.0)];
    let psd: Vec<DVec3> = (0..=STEPS)
        .map(|step| shape(&model, &pose([step as f64 / STEPS as f64, 0.0]))[CORNER].as_dvec3())
        .collect();
    let interpolated: Vec<DVec3> = (0..=STEPS)
        .map(|step| {
            let [half, full] = zig_zag(step as f64 / STEPS as f64);
            rest + half * smirk + full * smile
        })
        .collect();
    let at = vec![0.0, 0.25, 0.5, 0.75, 1.0];
    let mut evaluator = Evaluator::new(model.clone());
    // The first layer is the axis of happiness: frown, smirk, smile.
    let mut weights = |x: f64| {
        let driven = evaluator.drive(&pose([x, 0.0]));
        [f64::from(driven[1]), f64::from(driven[2])]
    };
    Ok(Path {
        psd_weights: at.iter().map(|&x| weights(x)).collect(),
        interpolated_weights: at.iter().map(|&x| zig_zag(x)).collect(),
        at,
        psd_turn: sharpest_turn(&psd),
        interpolated_turn: sharpest_turn(&interpolated),
        miss: miss / set.rig().mesh().size(),
    })
}

/// One axis, two sculpts in a line: slopes at the first, and what is left far away, as shares of the
/// second.
pub struct OneAxis {
    /// slope at rest and at the first sculpt, where the line through them has 1
    pub slopes: [f64; 2],
    /// far beyond the second
    pub far: f64,
}

/// Lewis §3.1 and Figure 4: Shepard's interpolant beside another one.
pub fn one_axis(interpolation: PsdInterpolation) -> Result<OneAxis> {
    let set = mouth_expressions()?;
    let rest = set.rig().mesh().positions().to_vec();
    let moved = |name: &str, x: f64| {
        let positions = rest.iter().map(|&p| p + Vec3::Y * x as f32).collect();
        Example { name: name.to_string(), pose: pose([x, 0.0]), positions, normals: None, inverted: None }
    };
    let set = ExampleSet::new(set.rig().clone(), vec![moved("half", 0.5), moved("full", 1.0)])?;
    let model = Arc::new(
        fit_examples(
            &set,
            &Base::default(),
            &PsdParams { interpolation, ..PsdParams::default() }.into(),
            &Unwatched,
        )?
        .model,
    );
    let height = |x: f64| f64::from(shape(&model, &pose([x, 0.0]))[0].y - rest[0].y);
    let slope = |x: f64| (height(x + 1e-2) - height(x - 1e-2)) / 2e-2;
    Ok(OneAxis { slopes: [slope(0.0), slope(0.5)], far: height(1e4) })
}

fn shape(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}

/// Largest angle between steps that follow one another, degrees.
fn sharpest_turn(path: &[DVec3]) -> f64 {
    let steps: Vec<DVec3> = path.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.windows(2).map(|pair| pair[0].angle_between(pair[1]).to_degrees()).fold(0.0, f64::max)
}
