//! What every example adds to the base: before skinning, as it was observed, or after it.

use std::borrow::Cow;

use eigenskin_core::model::{Frame, Stage};
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::PosedSkinning;
use eigenskin_core::vertex_groups::VertexGroups;
use glam::{DQuat, Vec3};
use rayon::prelude::*;

use super::prototypes::Prototypes;
use super::{DeltaSpace, PsdParams};
use crate::displacements::fields::Tile;
use crate::displacements::pulled_back::root_turn;
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{Fields, Observations, TileError};
use crate::method::FitError;
use crate::numeric::Matrix;

/// The deltas of all examples.
pub(super) struct Deltas<'a> {
    /// `example × point`
    pub positions: Cow<'a, Fields>,
    /// vertices that are one point of the skin
    pub points: &'a VertexGroups,
    /// `example × vertex`: differences to the unit rest normal; none where normals are left alone
    pub normals: Option<&'a Fields>,
    /// `example` → vertices, rising, with what deltas at rest cannot reach there; none after skinning,
    /// where everything is reached
    pub residuals: Option<&'a [Vec<(u32, Vec3)>]>,
    /// where deltas are added
    pub stage: Stage,
}

impl<'a> Deltas<'a> {
    pub fn of(seen: &'a Observations, params: &PsdParams, progress: &dyn Progress) -> Result<Self, FitError> {
        let observed = &seen.displacements;
        let DeltaSpace::Forward { frame } = params.deltas else {
            return Ok(Self {
                positions: Cow::Borrowed(&observed.positions),
                points: &observed.points,
                normals: (params.normals && !observed.normals.is_empty()).then_some(&observed.normals),
                residuals: Some(&observed.residuals),
                stage: Stage::BeforeSkinning,
            });
        };
        if seen.base.skinning().is_none() {
            return Err(FitError::ForwardOnDeformers);
        }
        if !observed.positions.are_held() {
            return Err(FitError::ForwardOnDisk);
        }
        Ok(Self {
            positions: Cow::Owned(forward_deltas(seen, frame, progress)?),
            points: &observed.points,
            normals: None,
            residuals: None,
            stage: Stage::AfterSkinning { frame },
        })
    }

    /// The largest delta of every example, and the vertex that has it.
    pub fn largest(&self, progress: &dyn Progress) -> Result<Vec<(f64, usize)>, TileError> {
        let all: Vec<usize> = (0..self.positions.example_count()).collect();
        let of_tile = |tile: &Tile<'_>| -> Vec<(f64, usize)> {
            let largest = |&example: &usize| {
                let lengths = tile.row(example).iter().map(|u| f64::from(u.length()));
                let placed = lengths.zip(tile.places.clone());
                placed.fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
            };
            all.iter().map(largest).collect()
        };
        let mut found = vec![(0.0, 0); all.len()];
        let merge = |part: Vec<(f64, usize)>| {
            for (found, next) in found.iter_mut().zip(part) {
                if next.0 > found.0 {
                    *found = next;
                }
            }
        };
        self.positions.fold_tiles(&all, 16 * all.len(), |_| true, of_tile, merge, progress)?;
        let vertex = |point: usize| self.points.first_vertex(point);
        Ok(found.into_iter().map(|(length, point)| (length, vertex(point))).collect())
    }

    /// Inner products of some examples over all vertices, times the squared membership of each prototype:
    /// `prototype` → `example × example`.
    pub fn grams(
        &self,
        examples: &[usize],
        prototypes: &Prototypes,
        progress: &dyn Progress,
    ) -> Result<Vec<Matrix>, TileError> {
        let places: Vec<u32> = (0..self.points.group_count() as u32).collect();
        let fields = &*self.positions;
        let gram = |membership: &Vec<f32>| {
            let mut squares = vec![0.0; places.len()];
            for (vertex, &share) in membership.iter().enumerate() {
                squares[self.points.group_of(vertex)] += f64::from(share).powi(2);
            }
            let roots: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
            let factor = |_: usize, place: usize| roots[place];
            let matrix = TallMatrix { fields, examples, points: &places, factor: &factor, axis: None };
            matrix.gram(progress)
        };
        prototypes.membership.iter().map(gram).collect()
    }

    /// The largest part of an example that no delta reaches.
    pub fn unreachable(&self, example: usize) -> f64 {
        let residuals = self.residuals.map_or(&[][..], |residuals| &residuals[example]);
        residuals.iter().map(|(_, residual)| f64::from(residual.length())).fold(0.0, f64::max)
    }
}

/// What every example adds after skinning, seen from `frame`: `example × point`.
///
/// What was observed is SKIN(rest + d) + w; skinned without the displacement d and the residual w, the
/// rest is what a forward delta has to add.
fn forward_deltas(seen: &Observations, frame: Frame, progress: &dyn Progress) -> Result<Fields, Cancelled> {
    let (rig, observed) = (&seen.rig, &seen.displacements);
    let counted = Counted::new(progress, "taking deltas", seen.len());
    let of_example = |example: usize| {
        let pose = &seen.poses[example];
        let skinning = PosedSkinning::new(seen.base.closed_form(), rig, pose);
        let (axes, world_from_root) = (Axes::new(rig, pose, frame), root_turn(rig, pose));
        let residuals = &observed.residuals[example];
        let places = observed.positions.held_of(example).iter().enumerate();
        let deltas: Vec<Vec3> = places
            .map(|(point, &displacement)| {
                let vertex = observed.points.first_vertex(point);
                let rest = rig.mesh().positions()[vertex].as_dvec3();
                let left = residuals.binary_search_by_key(&(vertex as u32), |&(vertex, _)| vertex);
                let left = left.map_or(Vec3::ZERO, |place| residuals[place].1).as_dvec3();
                let moved = skinning.position(vertex, rest + displacement.as_dvec3())
                    - skinning.position(vertex, rest);
                (axes.of(rig, vertex).inverse() * (moved + world_from_root * left)).as_vec3()
            })
            .collect();
        counted.next()?;
        Ok(deltas)
    };
    let deltas: Vec<Vec<Vec3>> =
        (0..seen.len()).into_par_iter().map(of_example).collect::<Result<_, Cancelled>>()?;
    Ok(Fields::held(deltas.concat(), observed.points.group_count()))
}

/// The axes that forward deltas are given in.
enum Axes {
    /// the same for all vertices
    One(DQuat),
    /// `joint`: those of the vertex's heaviest joint
    Heaviest(Vec<DQuat>),
}

impl Axes {
    fn new(rig: &Rig, pose: &Pose, frame: Frame) -> Self {
        let turns = || pose.posed_from_rest(rig.skeleton()).map(|joint| rotation_of(joint.matrix3));
        let of_joint = |joint: Option<usize>| {
            Self::One(joint.and_then(|joint| turns().nth(joint)).unwrap_or(DQuat::IDENTITY))
        };
        match frame {
            Frame::Root => of_joint(rig.skeleton().first_root()),
            Frame::Joint(joint) => of_joint(Some(joint)),
            Frame::HeaviestJoint => Self::Heaviest(turns().collect()),
        }
    }

    fn of(&self, rig: &Rig, vertex: usize) -> DQuat {
        match self {
            Self::One(turn) => *turn,
            Self::Heaviest(turns) => {
                rig.weights().of(vertex).first().map_or(DQuat::IDENTITY, |i| turns[i.joint as usize])
            }
        }
    }
}
