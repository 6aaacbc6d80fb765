//! The rows of Kim's Table I that are about Figure 4 and style transfers.

use std::time::Instant;

use anyhow::Result;
use eigenskin::characters::{Character, cylinder, square_bar};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::method::{ParameterizationParams, fit_examples};
use eigenskin::metrics::vertex_errors;
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::skinning::BaseSkinning;
use eigenskin::style::{Space, StyleMap, StyleParams};
use serde_json::{Value, json};

use super::bars::{self, BarErrors, Motion};
use crate::output::figure;

/// What the paper's table says.
pub struct Paper {
    /// its name there
    pub model: &'static str,
    /// k
    pub signals: usize,
    /// RMSE, MAXE, seconds, frames per second
    pub figures: [f64; 4],
}

/// A row as measured here.
pub struct TransferRow {
    paper: Paper,
    vertices: usize,
    frames: usize,
    signals: usize,
    /// what displacements were measured from; none for what is no transfer
    space: Option<Space>,
    radius: f64,
    /// of the diameter as 100
    rmse: f64,
    largest: f64,
    /// of the result before the style, likewise; none for what is no transfer
    untransferred: Option<f64>,
    seconds: f64,
}

const CUBE: Paper = Paper { model: "cube (4b)", signals: 7, figures: [0.04671, 0.32829, 0.015, 64448.49] };
const CYLINDERS: [Paper; 2] = [
    Paper { model: "cylinder (4d)", signals: 7, figures: [0.40031, 2.59442, 0.034, 65530.20] },
    Paper { model: "cylinder (4d)", signals: 7, figures: [0.40086, 2.59489, 0.038, 62844.75] },
];
const MALE: [Paper; 2] = [
    Paper { model: "male (5b)", signals: 512, figures: [0.03673, 1.01821, 19.364, 1244.93] },
    Paper { model: "male (5b)", signals: 71, figures: [0.01811, 0.48350, 32.938, 2034.79] },
];
const FEMALE: Paper =
    Paper { model: "female (5c)", signals: 512, figures: [0.00369, 0.12671, 9.852, 1232.16] };
/// Signals here for the paper's 71 of 512, as many of 55.
const FEW_SIGNALS: usize = 8;

/// Figure 4, twisted to 170°: the bar as seven signals, and the style carried to the cylinders.
pub fn of_figure_4() -> Result<Vec<TransferRow>> {
    let motion = Motion::SHOWN[0];
    let [x1, x2] = motion.frames(&square_bar()?)?;
    let params = ParameterizationParams {
        signals_per_vertex: Some(CUBE.signals),
        parts: Some(1),
        normals: false,
        ..ParameterizationParams::default()
    };
    let start = Instant::now();
    let fit = fit_examples(&x2, &BaseSkinning::Rigid.into(), &params.into(), &Unwatched)?;
    let seconds = start.elapsed().as_secs_f64();
    let signals = fit.model.component_count();
    let model = std::sync::Arc::new(fit.model);
    let errors = BarErrors::of_shapes(&x2, |pose| {
        let mut positions = vec![Vec3::ZERO; x2.rig().vertex_count()];
        Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
        positions
    });
    let radius = 0.5 * bars::LENGTH;
    let mut rows = vec![TransferRow {
        paper: CUBE,
        vertices: x2.rig().vertex_count(),
        frames: x2.len(),
        signals,
        space: None,
        radius,
        rmse: errors.rmse,
        largest: errors.largest,
        untransferred: None,
        seconds,
    }];
    for (paper, ring) in CYLINDERS.into_iter().zip(bars::RINGS) {
        let [y1, truth] = motion.frames(&cylinder(ring)?)?;
        // The paper's space; ours would be dual quaternions, as seen from which nothing is left to do.
        let (signals, space) = (Some(paper.signals), Some(Space::NearestBones));
        let params = StyleParams { signals, space, ..StyleParams::default() };
        let mut row = TransferRow::of([&x1, &x2], [&y1, &truth], &params, paper)?;
        // The paper's size of a bar is its length.
        let scale = 2.0 * row.radius / bars::LENGTH;
        row.radius = radius;
        row.rmse *= scale;
        row.largest *= scale;
        row.untransferred = row.untransferred.map(|error| error * scale);
        rows.push(row);
    }
    Ok(rows)
}

/// The male and its muscular style: the style on itself, with all signals and with few.
pub fn of_male(character: &Character, motion: &ExampleSet) -> Result<Vec<TransferRow>> {
    let muscular = muscular(character, motion)?;
    MALE.into_iter()
        .zip([None, Some(FEW_SIGNALS)])
        .map(|(paper, signals)| {
            let params = StyleParams { signals, ..StyleParams::default() };
            TransferRow::of([motion, &muscular], [motion, &muscular], &params, paper)
        })
        .collect()
}

/// The male's style on the female, against the female's own muscular motion.
pub fn of_female(male: (&Character, &ExampleSet), female: (&Character, &ExampleSet)) -> Result<TransferRow> {
    let (x2, truth) = (muscular(male.0, male.1)?, muscular(female.0, female.1)?);
    TransferRow::of([male.1, &x2], [female.1, &truth], &StyleParams::default(), FEMALE)
}

/// How much larger a muscular body's deviations from linear blending are.
const MUSCULAR: f32 = 0.5;

/// A motion whose every deviation from linear blending is half as large again.
fn muscular(character: &Character, motion: &ExampleSet) -> Result<ExampleSet> {
    let poses: Vec<Pose> = motion.examples().iter().map(|example| example.pose.clone()).collect();
    let plain = bars::skinned(character, &poses, BaseSkinning::LinearBlend)?;
    let stronger = |(example, plain): (&Example, &Example)| {
        let pairs = example.positions.iter().zip(&plain.positions);
        let positions = pairs.map(|(p, plain)| *p + MUSCULAR * (*p - *plain)).collect();
        Example { positions, ..example.clone() }
    };
    let examples = motion.examples().iter().zip(plain.examples()).map(stronger).collect();
    Ok(ExampleSet::new(character.rig.clone(), examples)?)
}

impl TransferRow {
    fn of(
        [x1, x2]: [&ExampleSet; 2],
        [y1, truth]: [&ExampleSet; 2],
        params: &StyleParams,
        paper: Paper,
    ) -> Result<Self> {
        let start = Instant::now();
        let map = StyleMap::capture(x1, x2, y1, params, &Unwatched)?;
        let done = map.transfer(y1, 1.0, &Unwatched)?;
        let seconds = start.elapsed().as_secs_f64();
        let size = truth.rig().mesh().size();
        let (rmse, largest) = errors(&done.set, truth, size);
        Ok(Self {
            paper,
            vertices: truth.rig().vertex_count(),
            frames: truth.len(),
            signals: map.report.signals,
            space: Some(map.report.space.space),
            radius: 0.5 * size,
            rmse,
            largest,
            untransferred: Some(errors(y1, truth, size).0),
            seconds,
        })
    }

    /// Cells of the table.
    pub fn cells(&self) -> Vec<String> {
        let [rmse, largest, seconds, frames_per_second] = self.paper.figures;
        vec![
            self.paper.model.to_string(),
            self.vertices.to_string(),
            self.frames.to_string(),
            format!("{} ({})", self.signals, self.paper.signals),
            figure(self.radius),
            figure(self.rmse),
            figure(2.0 * self.rmse),
            figure(rmse),
            figure(self.largest),
            figure(2.0 * self.largest),
            figure(largest),
            format!("{:.3} ({:.3})", self.seconds, seconds),
            format!("– ({frames_per_second:.0})"),
            self.untransferred.map_or("–".to_string(), figure),
        ]
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let [rmse, max, seconds, frames_per_second] = self.paper.figures;
        json!({
            "model": self.paper.model,
            "vertices": self.vertices,
            "frames": self.frames,
            "signals": self.signals,
            "space": self.space.map(Space::name),
            "radius": self.radius,
            "rmse_of_diameter_100": self.rmse,
            "rmse_of_radius_100": 2.0 * self.rmse,
            "max_of_diameter_100": self.largest,
            "max_of_radius_100": 2.0 * self.largest,
            "untransferred_rmse_of_diameter_100": self.untransferred,
            "seconds": self.seconds,
            "paper": {
                "signals": self.paper.signals,
                "rmse": rmse,
                "max": max,
                "seconds": seconds,
                "frames_per_second": frames_per_second,
            },
        })
    }
}

/// RMSE and the largest error of 100 sizes.
fn errors(shapes: &ExampleSet, truth: &ExampleSet, size: f64) -> (f64, f64) {
    let pairs = shapes.examples().iter().zip(truth.examples());
    let (mut squares, mut largest, mut count) = (0.0, 0.0f64, 0usize);
    for error in pairs.flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions)) {
        let error = f64::from(error);
        squares += error * error;
        largest = largest.max(error);
        count += 1;
    }
    (100.0 * (squares / count.max(1) as f64).sqrt() / size, 100.0 * largest / size)
}
