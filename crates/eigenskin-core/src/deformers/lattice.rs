//! Free-form deformation (Sederberg, Parry 1986): a box of control points whose displacements the
//! points inside follow.
//!
//! A point moves by Σ basis · displacement, so control points that stay where they are change
//! nothing, to the bit. The control points lie where each basis has linear precision: displacements
//! of an affine map give that map. Outside of the box a point moves as the nearest point of the box
//! does, or fades away from that ([`Lattice::fade`]): continuous either way.

use glam::{DAffine3, DVec3};

use super::stack::DeformerError;
use crate::nearest_name;
use crate::pose::Pose;
use crate::rig::Rig;

/// A box of control points, in the space of the rest shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// the joint that carries the box; none is the first root. A lattice that stands before any
    /// deformer that poses the skin acts on the rest shape, where the box is at rest too.
    pub frame: Option<String>,
    /// lowest corner of the box, rest space
    pub lowest: DVec3,
    /// highest corner
    pub highest: DVec3,
    /// control points along x, y and z: at least 2 each
    pub counts: [usize; 3],
    /// how they blend
    pub basis: LatticeBasis,
    /// where the control points go: `x + counts[0]·(y + counts[1]·z)`, rest axes
    pub displacements: Vec<DVec3>,
    /// factor of all displacements
    pub amount: Amount,
    /// distance from the box over which the displacement falls to zero (1 − smoothstep); none:
    /// points outside move as the nearest point of the box
    pub fade: Option<f64>,
}

/// How control points blend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LatticeBasis {
    /// linear between neighbours; creases at the control points
    Trilinear,
    /// Bernstein polynomials, as in the paper: every control point acts in the whole box
    Bernstein,
    /// cubic B-splines with clamped uniform knots: smooth, and local. Fewer than four control
    /// points along an axis make a Bézier curve of them.
    BSpline,
}

/// How strong a deformer is in a pose.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// always the same
    Constant(f64),
    /// factor · value of a control
    Control {
        /// its name
        control: String,
        /// per unit of the control
        factor: f64,
    },
    /// factor · angle by which a joint is turned away from rest, against its reference joint; radians,
    /// never negative
    JointAngle {
        /// its name
        joint: String,
        /// per radian
        factor: f64,
    },
}

impl LatticeBasis {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Trilinear, Self::Bernstein, Self::BSpline];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trilinear => "trilinear",
            Self::Bernstein => "bernstein",
            Self::BSpline => "b-spline",
        }
    }

    /// The basis of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|basis| basis.name() == name)
    }

    /// Where control point `index` of `count` lies along an axis of length 1.
    fn abscissa(self, index: usize, count: usize) -> f64 {
        match self {
            Self::Trilinear | Self::Bernstein => index as f64 / (count - 1) as f64,
            // Greville: the mean of the knots that the B-spline spans.
            Self::BSpline => {
                let degree = spline_degree(count);
                (1..=degree).map(|k| knot(index + k, count)).sum::<f64>() / degree as f64
            }
        }
    }

    /// The first control point that acts at `t` in [0, 1], and how many do, with their shares in
    /// `shares` (`control point from the first`).
    fn shares(self, count: usize, t: f64, shares: &mut [f64]) -> (usize, usize) {
        match self {
            Self::Trilinear => {
                let cell = ((t * (count - 1) as f64) as usize).min(count - 2);
                let within = t * (count - 1) as f64 - cell as f64;
                (shares[0], shares[1]) = (1.0 - within, within);
                (cell, 2)
            }
            Self::Bernstein => {
                shares[0] = 1.0;
                for degree in 1..count {
                    let mut carried = 0.0;
                    for share in &mut shares[..degree] {
                        let old = *share;
                        *share = carried + (1.0 - t) * old;
                        carried = t * old;
                    }
                    shares[degree] = carried;
                }
                (0, count)
            }
            Self::BSpline => {
                let degree = spline_degree(count);
                let spans = count - degree;
                let span = ((t * spans as f64) as usize).min(spans - 1) + degree;
                // de Boor 1972: from the one spline of degree zero up, two neighbours at a time.
                shares[0] = 1.0;
                for order in 1..=degree {
                    let mut carried = 0.0;
                    for k in 0..order {
                        let right = knot(span + 1 + k, count);
                        let left = knot(span + 1 + k - order, count);
                        let part = shares[k] / (right - left);
                        shares[k] = carried + (right - t) * part;
                        carried = (t - left) * part;
                    }
                    shares[order] = carried;
                }
                (span - degree, degree + 1)
            }
        }
    }
}

fn spline_degree(count: usize) -> usize {
    3.min(count - 1)
}

/// Clamped uniform knots on [0, 1].
fn knot(index: usize, count: usize) -> f64 {
    let degree = spline_degree(count);
    ((index as f64 - degree as f64) / (count - degree) as f64).clamp(0.0, 1.0)
}

/// More control points than this are refused: a lattice is there to be coarse.
const MOST_CONTROL_POINTS: usize = 1_000_000;
/// More along one axis are refused: Bernstein polynomials cost their square per point.
const MOST_PER_AXIS: usize = 256;

impl Lattice {
    /// A lattice that moves nothing yet.
    pub fn at_rest(lowest: DVec3, highest: DVec3, counts: [usize; 3], basis: LatticeBasis) -> Self {
        let points = counts.iter().fold(1usize, |product, &count| product.saturating_mul(count));
        Self {
            frame: None,
            lowest,
            highest,
            counts,
            basis,
            displacements: vec![DVec3::ZERO; points.min(MOST_CONTROL_POINTS)],
            amount: Amount::Constant(1.0),
            fade: None,
        }
    }

    /// Where the control points are at rest, in the order of the displacements.
    pub fn rest_points(&self) -> Vec<DVec3> {
        let [nx, ny, nz] = self.counts;
        let place = |axis: usize, index: usize| {
            let share =
                if self.counts[axis] < 2 { 0.0 } else { self.basis.abscissa(index, self.counts[axis]) };
            self.lowest[axis] + share * (self.highest[axis] - self.lowest[axis])
        };
        let mut points = Vec::new();
        for z in 0..nz {
            for y in 0..ny {
                points.extend((0..nx).map(|x| DVec3::new(place(0, x), place(1, y), place(2, z))));
            }
        }
        points
    }

    /// Checks it against `rig`, as step number `step` of a stack. `posed`: a step before it carries
    /// the skin into the pose.
    pub(super) fn bind(&self, rig: &Rig, step: usize, posed: bool) -> Result<BoundLattice, DeformerError> {
        self.check(step)?;
        let frame = match &self.frame {
            Some(name) => Some(joint_named(rig, name, step)?),
            None => rig.skeleton().first_root(),
        };
        Ok(BoundLattice {
            lattice: self.clone(),
            frame: frame.filter(|_| posed),
            amount: self.amount.bind(rig, step)?,
            shares: self.counts.map(|count| vec![0.0; count.max(4)]),
        })
    }

    fn check(&self, step: usize) -> Result<(), DeformerError> {
        let wrong = |what: String| DeformerError::Lattice { step, what };
        if let Some(count) = self.counts.into_iter().find(|count| !(2..=MOST_PER_AXIS).contains(count)) {
            return Err(wrong(format!(
                "has {count} control points along an axis; give 2 to {MOST_PER_AXIS}"
            )));
        }
        let points: usize = self.counts.iter().product();
        if points > MOST_CONTROL_POINTS {
            return Err(wrong(format!("has {points} control points; give at most {MOST_CONTROL_POINTS}")));
        }
        if points != self.displacements.len() {
            let [x, y, z] = self.counts;
            return Err(wrong(format!(
                "has {} displacements for {x} × {y} × {z} = {points} control points; give one for each",
                self.displacements.len()
            )));
        }
        if let Some(point) = self.displacements.iter().position(|d| !d.is_finite()) {
            return Err(wrong(format!(
                "moves control point {point} by something that is not a finite number"
            )));
        }
        let size = self.highest - self.lowest;
        if !(size.is_finite() && size.min_element() > 0.0) {
            return Err(wrong("has a box without volume; give a lowest corner below the highest".into()));
        }
        if self.fade.is_some_and(|fade| !(fade.is_finite() && fade > 0.0)) {
            return Err(wrong("has a fade that is no positive distance".into()));
        }
        Ok(())
    }
}

impl Amount {
    fn bind(&self, rig: &Rig, step: usize) -> Result<BoundAmount, DeformerError> {
        let (bound, factor) = match self {
            Self::Constant(value) => (BoundAmount::Constant(*value), *value),
            Self::Control { control, factor } => {
                let index = rig.controls().iter().position(|c| &c.name == control).ok_or_else(|| {
                    DeformerError::NoSuchControl {
                        step,
                        name: control.clone(),
                        hint: nearest_name::hint(control, rig.controls().iter().map(|c| c.name.as_str())),
                    }
                })?;
                (BoundAmount::Control { index, factor: *factor }, *factor)
            }
            Self::JointAngle { joint, factor } => {
                (BoundAmount::JointAngle { joint: joint_named(rig, joint, step)?, factor: *factor }, *factor)
            }
        };
        if factor.is_finite() {
            Ok(bound)
        } else {
            Err(DeformerError::Lattice { step, what: "has an amount that is not a finite number".into() })
        }
    }
}

fn joint_named(rig: &Rig, name: &str, step: usize) -> Result<usize, DeformerError> {
    rig.skeleton().joint_named(name).ok_or_else(|| DeformerError::NoSuchJoint {
        step,
        name: name.into(),
        hint: nearest_name::hint(name, rig.skeleton().joints().iter().map(|joint| joint.name.as_str())),
    })
}

/// A lattice of a rig.
#[derive(Debug, Clone)]
pub(super) struct BoundLattice {
    lattice: Lattice,
    /// the joint that carries the box; none on the rest shape
    frame: Option<usize>,
    amount: BoundAmount,
    /// scratch, per axis: `control point`
    shares: [Vec<f64>; 3],
}

#[derive(Debug, Clone, Copy)]
enum BoundAmount {
    Constant(f64),
    Control { index: usize, factor: f64 },
    JointAngle { joint: usize, factor: f64 },
}

impl BoundLattice {
    /// Moves points (`vertex`), given where the joints carry the rest shape (`joint`). A frame that a
    /// pose flattens has no inside: then nothing moves.
    pub fn deform(&mut self, rig: &Rig, pose: &Pose, joints: &[DAffine3], points: &mut [DVec3]) {
        let amount = match self.amount {
            BoundAmount::Constant(value) => value,
            BoundAmount::Control { index, factor } => factor * pose.controls[index],
            BoundAmount::JointAngle { joint, factor } => {
                factor * pose.motion_of(rig.skeleton(), joint).shortest_turn().length()
            }
        };
        let posed_from_rest = self.frame.map_or(DAffine3::IDENTITY, |joint| joints[joint]);
        let rest_from_posed = posed_from_rest.inverse();
        if !rest_from_posed.is_finite() {
            return;
        }
        for point in points {
            let displacement = self.displacement(rest_from_posed.transform_point3(*point));
            *point += posed_from_rest.transform_vector3(displacement * amount);
        }
    }

    /// By how much a point of rest space moves.
    fn displacement(&mut self, point: DVec3) -> DVec3 {
        let lattice = &self.lattice;
        let nearest = point.clamp(lattice.lowest, lattice.highest);
        let share = match lattice.fade {
            Some(fade) => {
                let x = (point.distance(nearest) / fade).min(1.0);
                1.0 - x * x * (3.0 - 2.0 * x)
            }
            None => 1.0,
        };
        if share == 0.0 {
            return DVec3::ZERO;
        }
        let within = (nearest - lattice.lowest) / (lattice.highest - lattice.lowest);
        let [x, y, z] = &mut self.shares;
        let [nx, ny, nz] = lattice.counts;
        let (first_x, count_x) = lattice.basis.shares(nx, within.x, x);
        let (first_y, count_y) = lattice.basis.shares(ny, within.y, y);
        let (first_z, count_z) = lattice.basis.shares(nz, within.z, z);
        let mut sum = DVec3::ZERO;
        for (k, share_z) in z[..count_z].iter().enumerate() {
            for (j, share_y) in y[..count_y].iter().enumerate() {
                let row = first_x + nx * (first_y + j + ny * (first_z + k));
                let along: DVec3 =
                    x[..count_x].iter().zip(&lattice.displacements[row..]).map(|(s, d)| *s * *d).sum();
                sum += *share_y * *share_z * along;
            }
        }
        sum * share
    }
}
