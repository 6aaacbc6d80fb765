//! EigenSkin (Kry, James, Pai 2002 §2): displacements pulled back to rest, local joint supports,
//! principal components per support, coordinates interpolated over each joint's own rotation.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::allocation::{Budget, allocate};
use super::coordinates::{KeptBasis, example_coordinates};
use crate::basis::{PrincipalComponents, principal_components};
use crate::displacements::{RestDisplacements, rest_displacements};
use crate::driver::{
    Clamp, Driver, FeatureGroup, FeatureScale, RbfError, RbfFit, RbfParams, Representation, Ridge, Samples,
    fit_rbf,
};
use crate::examples::{ExampleSet, ExamplesError, MergedExample, SAME_POSE};
use crate::model::{DisplacementBasis, Layer, Model, ModelError, Stage};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use crate::rig::Rig;
use crate::skinning::BaseSkinning;
use crate::supports::{JointSupport, Mover, SupportParams, joint_supports, moved_by_examples};

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct EigenSkinParams {
    /// what the corrections sit on; default linear blending
    pub base: BaseSkinning,
    /// how supports are cut
    pub support: SupportParams,
    /// limits on the number of components
    pub budget: Budget,
    /// how coordinates are interpolated
    pub interpolation: RbfParams,
    /// whether normals are corrected along with positions; default yes
    pub normals: bool,
    /// how far coordinates may leave the range they have over the examples, as a share of that
    /// range; default 0.5. `None` lets the kernels run free outside the examples
    pub clamp_margin: Option<f64>,
}

impl Default for EigenSkinParams {
    fn default() -> Self {
        Self {
            base: BaseSkinning::LinearBlend,
            support: SupportParams::default(),
            budget: Budget::default(),
            interpolation: RbfParams::default(),
            normals: true,
            clamp_margin: Some(0.5),
        }
    }
}

/// A fitted model and what was seen on the way.
#[derive(Debug, Clone)]
pub struct EigenSkinFit {
    /// the model
    pub model: Model,
    /// one per joint or control that some example moves
    pub joints: Vec<JointReport>,
    /// examples that said nothing new
    pub merged: Vec<MergedExample>,
    /// examples used
    pub example_count: usize,
    /// ‖u − model's displacement‖ / ‖u‖ over all examples, in rest space; zero when there was
    /// nothing to correct
    pub rest_space_error: f64,
}

/// What was learnt about one joint or control.
#[derive(Debug, Clone, PartialEq)]
pub struct JointReport {
    /// its name
    pub name: String,
    /// examples it was observed in
    pub example_count: usize,
    /// points of the skin in its support
    pub support_count: usize,
    /// all singular values, falling
    pub singular_values: Vec<f64>,
    /// components kept
    pub component_count: usize,
    /// width of the kernels (of the first centre where they differ)
    pub width: f64,
    /// what examples may give way by; 0 is exact
    pub ridge: f64,
    /// condition number of the interpolation
    pub condition: f64,
    /// leave-one-out error of the coordinates (a displacement norm over the support)
    pub leave_one_out: f64,
}

/// Why a fit failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// No example moves anything.
    #[error("no example moves a joint other than the root, or a control; pose the character in the examples")]
    NothingMoves,
    /// A joint's coordinates could not be interpolated.
    #[error("joint {joint:?}, example {first:?} and example {second:?}: {error}")]
    TooClose {
        /// the joint or control
        joint: String,
        /// one of the closest pair
        first: String,
        /// the other
        second: String,
        /// what is wrong
        error: RbfError,
    },
    /// A parameter that makes no sense.
    #[error(transparent)]
    Parameter(RbfError),
    /// A threshold that makes no sense.
    #[error("the support threshold must be in 0 ≤ threshold < 1, not {0}")]
    Threshold(f64),
    /// A clamp that makes no sense.
    #[error("the clamp margin must be a finite number that is not negative, not {0}")]
    ClampMargin(f64),
    /// The layers do not fit the rig; a bug.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Fits an EigenSkin model.
pub fn fit_eigenskin(examples: &ExampleSet, params: &EigenSkinParams) -> Result<EigenSkinFit, FitError> {
    if !(0.0..1.0).contains(&params.support.threshold) {
        return Err(FitError::Threshold(params.support.threshold));
    }
    if let Some(margin) = params.clamp_margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
        return Err(FitError::ClampMargin(margin));
    }
    let (set, merged) =
        examples.for_training(matches!(params.interpolation.ridge, Ridge::Fixed(ridge) if ridge > 0.0))?;
    let movers = Mover::all(set.rig());
    let moved = moved_by_examples(&set, &movers);

    // §2.2: displacements and where each joint acts.
    let displacements = rest_displacements(&set, params.base);
    let supports = joint_supports(&set, &displacements, &movers, &moved, &params.support);
    if supports.is_empty() {
        return Err(FitError::NothingMoves);
    }

    // §2.3: principal components of each support, and how many of them to keep.
    let components: Vec<PrincipalComponents> =
        supports.par_iter().map(|s| principal_components(&s.displacements, s.examples.len())).collect();
    let counts = component_counts(&components, &supports, &displacements, &params.budget);
    let bases: Vec<KeptBasis> = supports
        .par_iter()
        .zip(&components)
        .zip(&counts)
        .map(|((support, components), &count)| kept_basis(support, components, count))
        .collect();

    // §2.4: coordinates of the examples, interpolated over each joint's motion.
    let support_of: Vec<Option<usize>> =
        movers.iter().map(|mover| supports.iter().position(|support| support.mover == *mover)).collect();
    let acting: Vec<Vec<usize>> =
        moved.iter().map(|movers| movers.iter().filter_map(|&mover| support_of[mover]).collect()).collect();
    let coordinates = example_coordinates(&displacements, &bases, &acting);
    let per_support: Vec<(Layer, JointReport)> = (0..supports.len())
        .into_par_iter()
        .map(|index| {
            let observed = Observed::new(index, &acting, &coordinates, bases[index].component_count());
            let fit = drive(&set, &supports[index], &observed, params)?;
            let normals = if params.normals {
                normal_fields(&displacements, &supports[index], &observed)
            } else {
                Vec::new()
            };
            let report = report(set.rig(), &supports[index], &components[index], counts[index], &fit);
            Ok((layer(&displacements, &bases[index], normals, report.name.clone(), fit), report))
        })
        .collect::<Result<_, FitError>>()?;

    let rest_space_error = rest_space_error(&displacements, &bases, &acting, &coordinates);
    let (layers, joints) = per_support.into_iter().unzip();
    let model = Model::new(set.rig().clone(), params.base, layers)?;
    Ok(EigenSkinFit { model, joints, merged, example_count: set.len(), rest_space_error })
}

fn component_counts(
    components: &[PrincipalComponents],
    supports: &[JointSupport],
    displacements: &RestDisplacements,
    budget: &Budget,
) -> Vec<usize> {
    let energies: Vec<Vec<f64>> =
        components.iter().map(|c| c.singular_values.iter().map(|s| s * s).collect()).collect();
    let points: Vec<&[u32]> = supports.iter().map(|s| s.points.as_slice()).collect();
    allocate(&energies, &points, displacements.points.group_count(), budget)
}

fn kept_basis(support: &JointSupport, components: &PrincipalComponents, count: usize) -> KeptBasis {
    let fields = (0..count)
        .flat_map(|component| components.field(&support.displacements, component))
        .map(DVec3::as_vec3)
        .collect();
    KeptBasis { points: support.points.clone(), fields }
}

/// The coordinates of one support's basis in the examples that move its joint.
struct Observed {
    /// the examples
    examples: Vec<usize>,
    /// `example × component`
    coordinates: Vec<f64>,
    component_count: usize,
}

impl Observed {
    fn new(
        support: usize,
        acting: &[Vec<usize>],
        coordinates: &[Vec<Vec<f64>>],
        component_count: usize,
    ) -> Self {
        let mut observed = Self { examples: Vec::new(), coordinates: Vec::new(), component_count };
        for (example, acting) in acting.iter().enumerate() {
            if let Some(place) = acting.iter().position(|&s| s == support) {
                observed.examples.push(example);
                observed.coordinates.extend(&coordinates[example][place]);
            }
        }
        observed
    }

    fn of(&self, index: usize) -> &[f64] {
        &self.coordinates[index * self.component_count..(index + 1) * self.component_count]
    }
}

/// Interpolates a support's coordinates over the motion of its joint. Examples that hold the joint
/// alike but differ elsewhere agree on the mean.
fn drive(
    set: &ExampleSet,
    support: &JointSupport,
    observed: &Observed,
    params: &EigenSkinParams,
) -> Result<RbfFit, FitError> {
    let rig = set.rig();
    let pose = |example: usize| &set.examples()[example].pose;
    let translates = observed.examples.iter().any(|&example| match support.mover {
        Mover::Joint(joint) => {
            let motion = pose(example).motion_of(rig.skeleton(), joint);
            motion.translation.length() > SAME_POSE * rig.mesh().size() * 100.0
        }
        Mover::Control(_) => false,
    });
    let groups = feature_groups(rig, support.mover, translates);
    let all = Samples::measure(groups, rig.skeleton(), observed.examples.iter().map(|&e| pose(e)));

    // Sample 0 is rest; a sample that repeats an earlier setting joins it.
    let mut kept: Vec<usize> = vec![0];
    let mut sums: Vec<Vec<f64>> = vec![vec![0.0; observed.component_count]];
    let mut repeats = vec![1.0];
    for sample in 1..all.count() {
        let twin = (0..kept.len()).skip(1).find(|&k| all.distance(kept[k], sample) <= SAME_POSE);
        let place = twin.unwrap_or_else(|| {
            kept.push(sample);
            sums.push(vec![0.0; observed.component_count]);
            repeats.push(0.0);
            kept.len() - 1
        });
        repeats[place] += 1.0;
        for (sum, value) in sums[place].iter_mut().zip(observed.of(sample - 1)) {
            *sum += value;
        }
    }
    let values: Vec<f64> =
        sums.iter().zip(&repeats).flat_map(|(sum, &count)| sum.iter().map(move |s| s / count)).collect();
    let fit = fit_rbf(&all.select(&kept), &values, &params.interpolation).map_err(|error| {
        let name = |place: usize| match kept[place] {
            0 => "rest".to_string(),
            sample => set.examples()[observed.examples[sample - 1]].name.clone(),
        };
        match error {
            RbfError::Singular { first, second, .. } => FitError::TooClose {
                joint: support.mover.name(rig).to_string(),
                first: name(first),
                second: name(second),
                error,
            },
            RbfError::BadParameter { .. } => FitError::Parameter(error),
        }
    })?;
    let clamp = params
        .clamp_margin
        .map_or(Clamp::None, |margin| example_range(&values, observed.component_count, margin));
    Ok(RbfFit { driver: Driver { clamp, ..fit.driver }, ..fit })
}

/// The range of every coordinate over rest and examples (`sample × component`), widened by
/// `margin` of its extent on both sides.
fn example_range(values: &[f64], component_count: usize, margin: f64) -> Clamp {
    let mut lowest = vec![0f64; component_count];
    let mut highest = vec![0f64; component_count];
    for sample in values.chunks_exact(component_count.max(1)) {
        for (component, &value) in sample.iter().enumerate() {
            lowest[component] = lowest[component].min(value);
            highest[component] = highest[component].max(value);
        }
    }
    for (low, high) in lowest.iter_mut().zip(&mut highest) {
        let room = margin * (*high - *low);
        *low -= room;
        *high += room;
    }
    Clamp::Range { lowest, highest }
}

/// The joint's rotation by geodesic angle (§2.4), its translation where it has any.
fn feature_groups(rig: &Rig, mover: Mover, translates: bool) -> Vec<FeatureGroup> {
    match mover {
        Mover::Control(control) => vec![FeatureGroup::control(control, rig.controls()[control].default)],
        Mover::Joint(joint) => {
            let rotation = FeatureGroup::joint(rig.skeleton(), joint, Representation::Rotation);
            let translation = FeatureGroup::joint(rig.skeleton(), joint, Representation::Translation)
                .filter(|_| translates)
                .map(|group| group.scaled(FeatureScale::One(1.0 / rig.mesh().size())));
            rotation.into_iter().chain(translation).collect()
        }
    }
}

/// Normal corrections on the positions' own coordinates, `component × vertex of the support`:
/// the least-squares fit of the pulled-back normals. One morph weight then drives both.
fn normal_fields(
    displacements: &RestDisplacements,
    support: &JointSupport,
    observed: &Observed,
) -> Vec<Vec3> {
    let count = observed.component_count;
    let places: Vec<usize> =
        support.examples.iter().filter_map(|e| observed.examples.iter().position(|o| o == e)).collect();
    let gram = Matrix::from_fn(count, count, |a, b| {
        places.iter().map(|&p| observed.of(p)[a] * observed.of(p)[b]).sum()
    });
    let inverse = symmetric_pseudo_inverse(&gram, 1e-12);
    // `example × component`: how much of each example's normals goes into each field.
    let weights: Vec<Vec<f64>> = places
        .iter()
        .map(|&p| (0..count).map(|k| (0..count).map(|l| inverse[(k, l)] * observed.of(p)[l]).sum()).collect())
        .collect();
    let vertices = support_vertices(displacements, &support.points);
    let mut fields = vec![DVec3::ZERO; count * vertices.len()];
    for (place, (&example, weights)) in support.examples.iter().zip(&weights).enumerate() {
        let normals = displacements.normals_of(example);
        for (entry, &(vertex, point)) in vertices.iter().enumerate() {
            let share = support.shares.get(place * support.points.len() + point).copied().unwrap_or(1.0);
            let change = normals[vertex as usize].as_dvec3() * f64::from(support.mask[point] * share);
            for (component, weight) in weights.iter().enumerate() {
                fields[component * vertices.len() + entry] += *weight * change;
            }
        }
    }
    fields.into_iter().map(DVec3::as_vec3).collect()
}

/// The vertices of a support, rising, each with its place among the support's points.
fn support_vertices(displacements: &RestDisplacements, points: &[u32]) -> Vec<(u32, usize)> {
    let mut place_of = vec![usize::MAX; displacements.points.group_count()];
    for (place, &point) in points.iter().enumerate() {
        place_of[point as usize] = place;
    }
    (0..displacements.points.vertex_count())
        .map(|vertex| (vertex as u32, place_of[displacements.points.group_of(vertex)]))
        .filter(|&(_, place)| place != usize::MAX)
        .collect()
}

fn layer(
    displacements: &RestDisplacements,
    basis: &KeptBasis,
    normals: Vec<Vec3>,
    name: String,
    fit: RbfFit,
) -> Layer {
    let vertices = support_vertices(displacements, &basis.points);
    let positions = (0..basis.component_count())
        .flat_map(|component| {
            let field = &basis.fields[component * basis.points.len()..(component + 1) * basis.points.len()];
            vertices.iter().map(move |&(_, point)| field[point])
        })
        .collect();
    Layer {
        name,
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver: fit.driver,
        stage: Stage::BeforeSkinning,
    }
}

fn report(
    rig: &Rig,
    support: &JointSupport,
    components: &PrincipalComponents,
    component_count: usize,
    fit: &RbfFit,
) -> JointReport {
    let width = match &fit.driver.interpolant {
        crate::driver::Interpolant::Rbf { widths, .. } => widths[0],
        _ => 0.0,
    };
    JointReport {
        name: support.mover.name(rig).to_string(),
        example_count: support.examples.len(),
        support_count: support.points.len(),
        singular_values: components.singular_values.clone(),
        component_count,
        width,
        ridge: fit.ridge,
        condition: fit.condition,
        leave_one_out: fit.leave_one_out,
    }
}

fn rest_space_error(
    displacements: &RestDisplacements,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
    coordinates: &[Vec<Vec<f64>>],
) -> f64 {
    let sums: Vec<(f64, f64)> = acting
        .par_iter()
        .zip(coordinates)
        .enumerate()
        .map(|(example, (acting, coordinates))| {
            let observed = displacements.positions_of(example);
            let mut left: Vec<DVec3> = observed.iter().map(|u| u.as_dvec3()).collect();
            for (&basis, alphas) in acting.iter().zip(coordinates) {
                let basis = &bases[basis];
                for (alpha, field) in alphas.iter().zip(basis.fields.chunks_exact(basis.points.len().max(1)))
                {
                    for (&point, u) in basis.points.iter().zip(field) {
                        left[point as usize] -= *alpha * u.as_dvec3();
                    }
                }
            }
            let all: f64 = observed.iter().map(|u| u.as_dvec3().length_squared()).sum();
            (left.iter().map(|u| u.length_squared()).sum(), all)
        })
        .collect();
    let (left, all) = sums.iter().fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    if all > 0.0 { (left / all).sqrt() } else { 0.0 }
}
