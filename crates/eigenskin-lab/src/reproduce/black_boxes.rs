//! §5 of Xian, Lewis 2006: sculpts pulled back through deformers of which nothing is known, on an arm
//! with a bent elbow.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use eigenskin::characters::arm;
use eigenskin::deformers::{
    BlackBox, BoundStack, Cage, Deformer, DeformerStack, Lattice, LatticeBasis, Smoothing, Wrap,
};
use eigenskin::displacements::black_box::{Inversion, InversionParams, invert, invert_vertex_by_vertex};
use eigenskin::glam::{DAffine3, DQuat, DVec3};
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::rig::Rig;
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use crate::output::Output;

/// Triangles of the arm: 4,000 vertices, as many as Blender's own figure is for.
const TRIANGLES: usize = 7996;
/// Of the cage that a wrap follows.
const CAGE_TRIANGLES: usize = 600;
/// Vertices that are solved one by one, to know what that costs.
const SAMPLE: usize = 20;

/// One box.
struct Row {
    name: &'static str,
    vertices: usize,
    calls: usize,
    seconds: f64,
    /// largest distance from the target, share of the size, without and with the residual
    missed: [f64; 2],
}

/// What Powell's method alone costs.
struct Powell {
    lock_step: usize,
    /// from a sample
    vertex_by_vertex: usize,
}

/// All figures.
pub struct BlackBoxes {
    rows: Vec<Row>,
    powell: Powell,
}

/// An arm in a pose, with what is sculpted on it.
struct Sculpted {
    rig: Arc<Rig>,
    pose: Pose,
    rest: Vec<DVec3>,
    /// `vertex`: what a sculptor adds at rest
    swelling: Vec<DVec3>,
    twisted: bool,
}

impl BlackBoxes {
    /// Runs all of it: a few seconds.
    pub fn run() -> Result<Self> {
        let bent = Sculpted::new(-1.6)?;
        let cage = Cage::of_rig(&arm(CAGE_TRIANGLES)?.rig);
        let linear = || Deformer::Skinning(BaseSkinning::LinearBlend);
        let cases = [
            ("linear blending", vec![linear()]),
            ("dual quaternions", vec![Deformer::Skinning(BaseSkinning::DualQuaternion)]),
            ("a lattice over linear blending", vec![linear(), Deformer::Lattice(bent.lattice())]),
            ("delta mush over linear blending", vec![linear(), Deformer::Smoothing(Smoothing::delta_mush())]),
            (
                "corrective smoothing over linear blending",
                vec![linear(), Deformer::Smoothing(Smoothing::corrective())],
            ),
            ("a wrap to a cage", vec![Deformer::Wrap(Wrap { cage, nearest: 8 })]),
            (
                "lattice and smoothing over linear blending",
                vec![
                    linear(),
                    Deformer::Lattice(bent.lattice()),
                    Deformer::Smoothing(Smoothing::corrective()),
                ],
            ),
        ];
        let mut rows = Vec::new();
        for (name, steps) in cases {
            rows.push(bent.row(name, steps)?);
        }
        let twisted = Sculpted::twisted()?;
        rows.push(twisted.row("linear blending, elbow twisted by 180°", vec![linear()])?);
        Ok(Self { rows, powell: bent.powell()? })
    }

    /// For people.
    pub fn print(&self, output: &Output) {
        output.line("");
        output.line("§5: sculpts pulled back through black boxes, missed by shares of the size (largest)");
        output.line("");
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                vec![
                    row.name.to_string(),
                    row.vertices.to_string(),
                    row.calls.to_string(),
                    format!("{:.2} s", row.seconds),
                    format!("{:.1e}", row.missed[0]),
                    format!("{:.1e}", row.missed[1]),
                ]
            })
            .collect();
        let head = ["box", "vertices", "calls", "time", "without w", "with w"];
        output.table(&head, &rows);
        output.line("");
        output.line(format!(
            "Powell's method alone on the lattice: {} calls in lock step, {} vertex by vertex (from {SAMPLE} vertices)",
            self.powell.lock_step, self.powell.vertex_by_vertex
        ));
        output.line("the paper gives no figures; Blender's own inverse of any modifier takes about three minutes for 4,000 vertices");
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "box": row.name,
                    "vertices": row.vertices,
                    "calls": row.calls,
                    "seconds": row.seconds,
                    "missed": row.missed[0],
                    "missed_with_residual": row.missed[1],
                })
            })
            .collect();
        json!({
            "boxes": rows,
            "powell_calls": {
                "lock_step": self.powell.lock_step,
                "vertex_by_vertex": self.powell.vertex_by_vertex,
            },
        })
    }
}

impl Sculpted {
    fn new(elbow: f64) -> Result<Self> {
        let character = arm(TRIANGLES)?;
        let pose = character.pose(&[0.3, -0.2, elbow, 0.5, 0.6]);
        Ok(Self::of(character.rig, pose, false))
    }

    /// The forearm turned about itself by half a turn.
    fn twisted() -> Result<Self> {
        let character = arm(TRIANGLES)?;
        let skeleton = character.rig.skeleton();
        let mut pose = character.rig.rest_pose();
        let (elbow, wrist) = (skeleton.rest_position(2), skeleton.rest_position(3));
        let turn = DQuat::from_axis_angle((wrist - elbow).normalize(), std::f64::consts::PI);
        let twist = DAffine3::from_translation(elbow)
            * DAffine3::from_quat(turn)
            * DAffine3::from_translation(-elbow);
        for joint in &mut pose.world_from_joint[2..] {
            *joint = twist * *joint;
        }
        Ok(Self::of(character.rig, pose, true))
    }

    fn of(rig: Arc<Rig>, pose: Pose, twisted: bool) -> Self {
        let rest: Vec<DVec3> = rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
        let (elbow, size) = (rig.skeleton().rest_position(2), rig.mesh().size());
        let swelling = rest
            .iter()
            .map(|&at| {
                let near = (-(at - elbow).length_squared() / (0.01 * size * size)).exp();
                0.03 * size * near * DVec3::new(0.2, 1.0, 0.4)
            })
            .collect();
        Self { rig, pose, rest, swelling, twisted }
    }

    fn lattice(&self) -> Lattice {
        let (elbow, size) = (self.rig.skeleton().rest_position(2), self.rig.mesh().size());
        let around = DVec3::splat(0.25 * size);
        let mut lattice = Lattice::at_rest(elbow - around, elbow + around, [4, 4, 4], LatticeBasis::BSpline);
        for (index, displacement) in lattice.displacements.iter_mut().enumerate() {
            let phase = index as f64;
            *displacement = 0.02 * size * DVec3::new(phase.sin(), (2.3 * phase).cos(), (1.7 * phase).sin());
        }
        lattice.fade = Some(0.1 * size);
        lattice
    }

    fn bind(&self, steps: Vec<Deformer>) -> Result<BoundStack> {
        Ok(DeformerStack { name: "box".to_string(), steps }.bind(&self.rig)?)
    }

    fn deformed(&self, stack: &mut BoundStack, deltas: &[DVec3]) -> Result<Vec<DVec3>> {
        let points: Vec<DVec3> = self.rest.iter().zip(deltas).map(|(rest, delta)| *rest + *delta).collect();
        let mut posed = vec![DVec3::ZERO; points.len()];
        stack.deform(&self.pose, &points, &mut posed)?;
        Ok(posed)
    }

    /// What the swelling at rest gives; of the twisted arm, which collapses it, the swelling added after
    /// the box.
    fn target(&self, stack: &mut BoundStack) -> Result<Vec<DVec3>> {
        if !self.twisted {
            return self.deformed(stack, &self.swelling);
        }
        let plain = self.deformed(stack, &vec![DVec3::ZERO; self.rest.len()])?;
        Ok(plain.iter().zip(&self.swelling).map(|(p, s)| *p + *s).collect())
    }

    fn row(&self, name: &'static str, steps: Vec<Deformer>) -> Result<Row> {
        let mut stack = self.bind(steps)?;
        let target = self.target(&mut stack)?;
        let size = self.rig.mesh().size();
        let start = Instant::now();
        let Inversion { deltas, residuals, report, .. } = invert(
            &mut stack,
            &self.pose,
            &self.rest,
            &target,
            size,
            &InversionParams::default(),
            &Unwatched,
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let reached = self.deformed(&mut stack, &deltas)?;
        let furthest = |shape: &mut dyn Iterator<Item = DVec3>| {
            shape.zip(&target).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max) / size
        };
        let without = furthest(&mut reached.iter().copied());
        let with = furthest(&mut reached.iter().zip(&residuals).map(|(p, w)| *p + *w));
        Ok(Row { name, vertices: self.rest.len(), calls: report.calls, seconds, missed: [without, with] })
    }

    fn powell(&self) -> Result<Powell> {
        let mut stack = self
            .bind(vec![Deformer::Skinning(BaseSkinning::LinearBlend), Deformer::Lattice(self.lattice())])?;
        let target = self.target(&mut stack)?;
        let (size, params) = (self.rig.mesh().size(), InversionParams::powell_only());
        let together = invert(&mut stack, &self.pose, &self.rest, &target, size, &params, &Unwatched)?;
        let step = self.rest.len() / SAMPLE;
        let some: Vec<usize> = (0..SAMPLE).map(|place| place * step).collect();
        let alone = invert_vertex_by_vertex(
            &mut stack, &self.pose, &self.rest, &target, size, &params, &some, &Unwatched,
        )?;
        // The probe's calls serve all vertices.
        let per_vertex = alone.calls as f64 / SAMPLE as f64;
        Ok(Powell {
            lock_step: together.report.calls,
            vertex_by_vertex: (per_vertex * self.rest.len() as f64) as usize,
        })
    }
}
