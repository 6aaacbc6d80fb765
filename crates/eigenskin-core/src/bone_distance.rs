//! Skin weights from the distance to the bones, for rigs that have none (EigenSkin §2.1).
//!
//! A joint's bone is made of the segments to its children; a joint without children continues the
//! bone that leads to it. A vertex belongs to its nearest bone. Around a joint, the bones on both
//! sides share it: the further bone's weight falls smoothly with the distance t from the plane
//! through the joint across the limb. With d_b the distance of a vertex to bone b, k a kernel that
//! falls smoothly from one at zero to zero at one, and s a smooth step from zero at −1 to one at 1:
//!
//! ```text
//! owner_n  = Π_m k((d_n − d_m)₊ / separation)         how much bone n owns the vertex
//! share_nb = s(±t / blend) · k((d_b − d_n)₊ / near)   for n's parent and its nearest child b
//! weight_b = Σ_n owner_n · share_nb                   scaled to sum one; n keeps what is left
//! ```
//!
//! Only the owner and its neighbours in the joint tree pull at a vertex, so one finger does not
//! drag the next. All widths are shares of the vertex's distance to its nearest bone: the local
//! thickness of the limb.

use glam::DVec3;

use crate::mesh::Mesh;
use crate::parallel::map_indices;
use crate::skeleton::Skeleton;
use crate::weights::{Influence, SkinWeights, WeightsError};

/// How far the bones reach.
#[derive(Debug, Clone, PartialEq)]
pub struct BoneDistanceParams {
    /// joints that may pull at one vertex; default 4
    pub max_influences: usize,
    /// half the width of the transition between a bone and its neighbour in the joint tree, as a
    /// share of the limb's thickness (its radius); default 1.3
    pub blend: f64,
    /// width of the transition between bones that are no neighbours (two fingers, two legs), as a
    /// share of the limb's thickness; default 0.3
    pub separation: f64,
    /// length by which a joint without children continues its parent's bone, as a share of that
    /// bone; 0 makes it a point (right where the skeleton has tip joints); default 0.75
    pub leaf_continuation: f64,
    /// rounds of averaging over the mesh's edges; default 0
    pub smoothing_rounds: usize,
}

impl Default for BoneDistanceParams {
    fn default() -> Self {
        Self { max_influences: 4, blend: 1.3, separation: 0.3, leaf_continuation: 0.75, smoothing_rounds: 0 }
    }
}

/// Why weights cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BoneDistanceError {
    /// Nothing to be near to.
    #[error("the skeleton has no joints, so there are no bones to take weights from")]
    NoJoints,
    /// A parameter out of its range.
    #[error("{name} is {value}, but must be {range}")]
    BadParameter {
        /// the parameter at fault
        name: &'static str,
        /// its value
        value: f64,
        /// what it may be
        range: &'static str,
    },
    /// The weights were refused.
    #[error("the weights from bone distance are not valid: {0}")]
    Weights(#[from] WeightsError),
}

/// Weights that follow the nearest bone and blend smoothly into its neighbours.
pub fn weights_from_bone_distance(
    mesh: &Mesh,
    skeleton: &Skeleton,
    params: &BoneDistanceParams,
) -> Result<SkinWeights, BoneDistanceError> {
    check(skeleton, params)?;
    let bones = bones_of(skeleton, params.leaf_continuation);
    let crossings = crossings_of(skeleton);
    // A vertex on a bone has no thickness; a hair's breadth keeps the kernels finite.
    let thinnest = 1e-4 * mesh.size();
    let positions = mesh.positions();
    let weights_of = |v: usize| weights_at(positions[v].as_dvec3(), &bones, &crossings, params, thinnest);
    let mut weights: Vec<Vec<(u32, f64)>> = map_indices(positions.len(), weights_of);
    if params.smoothing_rounds > 0 {
        let adjacent = adjacent_vertices(mesh);
        for _ in 0..params.smoothing_rounds {
            weights = smoothed(&weights, &adjacent);
        }
    }
    let faintest = if params.smoothing_rounds > 0 { FAINTEST } else { 0.0 };
    let influences = weights.into_iter().map(|list| strongest(list, params.max_influences, faintest));
    Ok(SkinWeights::new(skeleton.joint_count(), influences)?.0)
}

fn check(skeleton: &Skeleton, params: &BoneDistanceParams) -> Result<(), BoneDistanceError> {
    if skeleton.joint_count() == 0 {
        return Err(BoneDistanceError::NoJoints);
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    let bad = |name, value, range| Err(BoneDistanceError::BadParameter { name, value, range });
    if params.max_influences == 0 {
        return bad("max_influences", 0.0, "at least 1");
    }
    if !positive(params.blend) {
        return bad("blend", params.blend, "finite and above 0");
    }
    if !positive(params.separation) {
        return bad("separation", params.separation, "finite and above 0");
    }
    if !(params.leaf_continuation.is_finite() && params.leaf_continuation >= 0.0) {
        return bad("leaf_continuation", params.leaf_continuation, "finite and not negative");
    }
    Ok(())
}

/// `joint` → the segments of its bone; at least one, which may be a point.
fn bones_of(skeleton: &Skeleton, leaf_continuation: f64) -> Vec<Vec<(DVec3, DVec3)>> {
    (0..skeleton.joint_count())
        .map(|joint| {
            let at = skeleton.rest_position(joint);
            let segments: Vec<_> =
                skeleton.children(joint).map(|child| (at, skeleton.rest_position(child))).collect();
            if !segments.is_empty() {
                return segments;
            }
            let from = skeleton.joints()[joint].parent.map_or(at, |parent| skeleton.rest_position(parent));
            vec![(at, at + leaf_continuation * (at - from))]
        })
        .collect()
}

/// The plane across the limb at a joint.
struct Crossing {
    parent: Option<usize>,
    at: DVec3,
    /// unit direction of the limb; none where the joint sits on its parent and has no bone
    along: Option<DVec3>,
}

/// `joint` → where the limb passes from its parent's bone to its own.
fn crossings_of(skeleton: &Skeleton) -> Vec<Crossing> {
    (0..skeleton.joint_count())
        .map(|joint| {
            let at = skeleton.rest_position(joint);
            let parent = skeleton.joints()[joint].parent;
            let incoming = parent.map_or(DVec3::ZERO, |p| at - skeleton.rest_position(p)).normalize_or_zero();
            let outgoing = skeleton
                .children(joint)
                .map(|child| (skeleton.rest_position(child) - at).normalize_or_zero())
                .sum::<DVec3>()
                .normalize_or_zero();
            // A limb that turns right back has no plane across it; its own bone decides then.
            let along = (incoming + outgoing).try_normalize().or(outgoing.try_normalize());
            Crossing { parent, at, along }
        })
        .collect()
}

/// A neighbouring bone counts only up to this many thicknesses beyond the owner.
const NEAR: f64 = 1.5;

/// Weights of one vertex by joint, summing to one.
fn weights_at(
    vertex: DVec3,
    bones: &[Vec<(DVec3, DVec3)>],
    crossings: &[Crossing],
    params: &BoneDistanceParams,
    thinnest: f64,
) -> Vec<(u32, f64)> {
    let to_bone = |bone: &Vec<(DVec3, DVec3)>| {
        bone.iter().map(|&(a, b)| distance_to_segment(vertex, a, b)).fold(f64::INFINITY, f64::min)
    };
    let distances: Vec<f64> = bones.iter().map(to_bone).collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let thickness = nearest.max(thinnest);
    let (blend, separation) = (params.blend * thickness, params.separation * thickness);
    // How far the vertex has passed from the parent's bone to the joint's own: 0 to 1.
    let passed = |joint: usize| {
        let crossing = &crossings[joint];
        crossing.along.map(|along| rising_step((vertex - crossing.at).dot(along) / blend))
    };
    let mut weights = vec![0.0; bones.len()];
    for owner in 0..bones.len() {
        let behind = distances[owner] - nearest;
        if behind >= separation {
            continue;
        }
        let lead = |&other: &f64| falling_kernel((distances[owner] - other) / separation);
        let owned: f64 = distances.iter().map(lead).product();
        let near = |bone: usize| falling_kernel((distances[bone] - distances[owner]) / (NEAR * thickness));
        let mut shares = Vec::new();
        if let (Some(parent), Some(share)) = (crossings[owner].parent, passed(owner)) {
            shares.push((parent, (1.0 - share) * near(parent)));
        }
        let children = || (0..bones.len()).filter(|&child| crossings[child].parent == Some(owner));
        // At the root of several fingers only the nearest counts: they are no neighbours.
        let nearest_child = children().map(|child| distances[child]).fold(f64::INFINITY, f64::min);
        for child in children() {
            let leads = falling_kernel((distances[child] - nearest_child) / separation);
            shares.push((child, passed(child).unwrap_or(0.0) * near(child) * leads));
        }
        let kept: f64 = shares.iter().map(|&(_, share)| 1.0 - share).product();
        let sum = kept + shares.iter().map(|&(_, share)| share).sum::<f64>();
        weights[owner] += owned * kept / sum;
        for (bone, share) in shares {
            weights[bone] += owned * share / sum;
        }
    }
    let sum: f64 = weights.iter().sum();
    let pulling = weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0);
    pulling.map(|(joint, &weight)| (joint as u32, weight / sum)).collect()
}

/// From zero at −1 to one at 1, with no slope at either end.
fn rising_step(x: f64) -> f64 {
    let x = 0.5 + 0.5 * x.clamp(-1.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// One up to zero, then falling to zero at one, with no slope at either end.
fn falling_kernel(x: f64) -> f64 {
    let rest = 1.0 - x.clamp(0.0, 1.0).powi(2);
    rest * rest
}

fn distance_to_segment(point: DVec3, from: DVec3, to: DVec3) -> f64 {
    let along = to - from;
    let share = (point - from).dot(along) / along.length_squared().max(f64::MIN_POSITIVE);
    point.distance(from + share.clamp(0.0, 1.0) * along)
}

/// `vertex` → the vertices an edge away; vertices at one position (a texture seam) share theirs.
fn adjacent_vertices(mesh: &Mesh) -> Vec<Vec<u32>> {
    let mut adjacent = vec![Vec::new(); mesh.vertex_count()];
    for &[a, b, c] in mesh.triangles() {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            adjacent[from as usize].push(to);
            adjacent[to as usize].push(from);
        }
    }
    let positions = mesh.positions();
    let at = |vertex: u32| crate::mesh::position_bits(positions[vertex as usize]);
    let mut order: Vec<u32> = (0..mesh.vertex_count() as u32).collect();
    order.sort_by_key(|&vertex| at(vertex));
    for group in order.chunk_by(|&a, &b| at(a) == at(b)) {
        let mut joined: Vec<u32> = group.iter().flat_map(|&v| adjacent[v as usize].clone()).collect();
        joined.sort_unstable_by_key(|&vertex| at(vertex));
        joined.dedup_by_key(|vertex| at(*vertex));
        for &vertex in group {
            adjacent[vertex as usize].clone_from(&joined);
        }
    }
    adjacent
}

/// Each vertex half itself, half the mean of its neighbours.
fn smoothed(weights: &[Vec<(u32, f64)>], adjacent: &[Vec<u32>]) -> Vec<Vec<(u32, f64)>> {
    let one = |vertex: usize| {
        let around = &adjacent[vertex];
        if around.is_empty() {
            return weights[vertex].clone();
        }
        let mut list: Vec<(u32, f64)> = weights[vertex].iter().map(|&(j, w)| (j, 0.5 * w)).collect();
        let share = 0.5 / around.len() as f64;
        for &other in around {
            list.extend(weights[other as usize].iter().map(|&(j, w)| (j, share * w)));
        }
        // Stable order, so that sums do not depend on anything but the mesh.
        list.sort_by_key(|&(joint, _)| joint);
        list.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        list
    };
    map_indices(weights.len(), one)
}

/// Smoothing spreads weights thinly over many vertices; this much is taken off them all.
const FAINTEST: f64 = 2e-3;

/// The `most` heaviest, less the next one's weight (or `faintest`): a joint enters and leaves the
/// set at zero. (Only where more joints than allowed pull alike is every choice a jump.)
fn strongest(mut list: Vec<(u32, f64)>, most: usize, faintest: f64) -> Vec<Influence> {
    list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let cut = list.get(most).map_or(0.0, |&(_, weight)| weight).max(faintest);
    list.truncate(most);
    // As heavy as the one left out: then there is nothing between them, and they share.
    let cut = if list.first().is_some_and(|&(_, weight)| weight - cut > 1e-9) { cut } else { 0.0 };
    list.retain(|&(_, weight)| weight > cut);
    let sum: f64 = list.iter().map(|&(_, weight)| weight - cut).sum();
    list.iter().map(|&(joint, weight)| Influence { joint, weight: ((weight - cut) / sum) as f32 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use glam::{DAffine3, Vec3};

    /// Joints at these places, each the child of the joint named by index.
    fn skeleton(joints: &[(Option<usize>, DVec3)]) -> Skeleton {
        let joint = |(index, &(parent, at)): (usize, &(Option<usize>, DVec3))| Joint {
            name: format!("joint {index}"),
            parent,
            reference: None,
            joint_from_rest: DAffine3::from_translation(-at),
        };
        Skeleton::new(joints.iter().enumerate().map(joint).collect()).unwrap()
    }

    /// An open tube around the y axis moved by `x`, from 0 to `length`, rings `step` apart.
    fn tube(x: f32, radius: f32, length: f32, step: f32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let rings = (length / step).round() as u32;
        let sides = 12;
        let mut positions = Vec::new();
        let mut triangles = Vec::new();
        for ring in 0..=rings {
            for side in 0..sides {
                let angle = std::f32::consts::TAU * side as f32 / sides as f32;
                positions.push(Vec3::new(
                    x + radius * angle.cos(),
                    ring as f32 * step,
                    -radius * angle.sin(),
                ));
                if ring > 0 {
                    let [a, b] = [side, (side + 1) % sides].map(|k| (ring - 1) * sides + k);
                    triangles.extend([[a, b, b + sides], [a, b + sides, a + sides]]);
                }
            }
        }
        (positions, triangles)
    }

    fn weight(weights: &SkinWeights, vertex: usize, joint: u32) -> f64 {
        weights.of(vertex).iter().filter(|i| i.joint == joint).map(|i| f64::from(i.weight)).sum()
    }

    /// A limb of three bones, each ten long, with radius one.
    fn limb() -> (Mesh, Skeleton) {
        let (positions, triangles) = tube(0.0, 1.0, 30.0, 0.1);
        let at = |y: f64| DVec3::new(0.0, y, 0.0);
        let joints = [(None, at(0.0)), (Some(0), at(10.0)), (Some(1), at(20.0))];
        (Mesh::new(positions, triangles, None).unwrap(), skeleton(&joints))
    }

    #[test]
    fn weights_sum_to_one_and_the_middle_of_a_bone_follows_it_alone() {
        let (mesh, skeleton) = limb();
        let weights = weights_from_bone_distance(&mesh, &skeleton, &BoneDistanceParams::default()).unwrap();
        for (vertex, p) in mesh.positions().iter().enumerate() {
            let sum: f64 = weights.of(vertex).iter().map(|i| f64::from(i.weight)).sum();
            assert!((sum - 1.0).abs() < 1e-6);
            let bone = (p.y / 10.0).floor().min(2.0);
            let from_middle = (p.y - (10.0 * bone + 5.0)).abs();
            if from_middle < 3.0 {
                assert_eq!(weights.of(vertex), [Influence { joint: bone as u32, weight: 1.0 }]);
            }
        }
        // Half and half where two bones meet.
        let joint_ring = mesh.positions().iter().position(|p| (p.y - 10.0).abs() < 1e-4).unwrap();
        assert!((weight(&weights, joint_ring, 0) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn weights_fall_smoothly_to_zero_at_the_edge_of_their_influence() {
        let (mesh, skeleton) = limb();
        let params = BoneDistanceParams::default();
        let weights = weights_from_bone_distance(&mesh, &skeleton, &params).unwrap();
        // The steepest place of a smooth step over twice `blend` has the slope 0.75 / blend; the
        // distance kernel on top of it adds a little.
        let steepest = 1.15 * 0.75 / params.blend;
        for &[a, b, c] in mesh.triangles() {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                let [from, to] = [from as usize, to as usize];
                let length = f64::from(mesh.positions()[from].distance(mesh.positions()[to]));
                for joint in 0..3 {
                    let jump = (weight(&weights, from, joint) - weight(&weights, to, joint)).abs();
                    assert!(jump <= steepest * length, "{jump} over {length}");
                }
            }
        }
        // No slope at the border either: a tenth of the way in, a step has risen by 2.8 %.
        for (vertex, p) in mesh.positions().iter().enumerate() {
            let inside = f64::from(p.y) - (10.0 - params.blend);
            let upper = weight(&weights, vertex, 1);
            if inside <= 0.0 {
                assert_eq!(upper, 0.0);
            } else if inside < 0.2 * params.blend {
                assert!(upper > 0.0 && upper < 0.028);
            }
        }
    }

    #[test]
    fn neighbouring_fingers_do_not_drag_each_other() {
        // Two fingers of radius one, a gap of half a radius between them.
        let (mut positions, mut triangles) = tube(0.0, 1.0, 12.0, 0.25);
        let (others, more) = tube(2.5, 1.0, 12.0, 0.25);
        let first = positions.len() as u32;
        positions.extend(others);
        triangles.extend(more.iter().map(|t| t.map(|v| v + first)));
        let mesh = Mesh::new(positions, triangles, None).unwrap();
        let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        let skeleton = skeleton(&[
            (None, at(1.25, -6.0)),
            (Some(0), at(0.0, 0.0)),
            (Some(1), at(0.0, 6.0)),
            (Some(0), at(2.5, 0.0)),
            (Some(3), at(2.5, 6.0)),
        ]);
        let params = BoneDistanceParams { leaf_continuation: 1.0, ..BoneDistanceParams::default() };
        let weights = weights_from_bone_distance(&mesh, &skeleton, &params).unwrap();
        for (vertex, p) in mesh.positions().iter().enumerate() {
            let strangers = if p.x < 1.25 { [3, 4] } else { [1, 2] };
            assert!(strangers.iter().all(|&joint| weight(&weights, vertex, joint) == 0.0), "at {p}");
        }
    }

    /// A strip of skin across a fan of five bones that all leave one joint.
    fn fan() -> (Mesh, Skeleton) {
        let count = 1200;
        let mut positions = Vec::new();
        for step in 0..=count {
            let x = 6.0 * step as f32 / count as f32 - 3.0;
            positions.extend([Vec3::new(x, 2.0, 1.2), Vec3::new(x, 2.1, 1.2)]);
        }
        let triangles = (0..count)
            .flat_map(|s| [[2 * s, 2 * s + 2, 2 * s + 1], [2 * s + 1, 2 * s + 2, 2 * s + 3]])
            .collect();
        let mut joints = vec![(None, DVec3::new(0.0, -1.0, 0.0))];
        for finger in 0..5 {
            let x = 0.5 * f64::from(finger) - 1.0;
            joints.push((Some(0), DVec3::new(0.4 * x, 1.6, 0.0)));
            joints.push((Some(joints.len() - 1), DVec3::new(x, 4.0, 0.0)));
        }
        (Mesh::new(positions, triangles, None).unwrap(), skeleton(&joints))
    }

    #[test]
    fn leaving_out_influences_makes_no_jump() {
        let (mesh, skeleton) = fan();
        let every = BoneDistanceParams { max_influences: 99, ..BoneDistanceParams::default() };
        let few = BoneDistanceParams::default();
        let all = weights_from_bone_distance(&mesh, &skeleton, &every).unwrap();
        assert!(all.most_influences() > 4, "the limit must have something to cut");
        let cut = weights_from_bone_distance(&mesh, &skeleton, &few).unwrap();
        assert_eq!(cut.most_influences(), 4);
        let largest_jump = |weights: &SkinWeights| {
            let step = |v: usize, joint| (weight(weights, v + 2, joint) - weight(weights, v, joint)).abs();
            (0..mesh.vertex_count() - 2)
                .flat_map(|v| (0..11).map(move |j| (v, j)))
                .fold(0.0, |m, (v, j)| step(v, j).max(m))
        };
        // Steps of 1/200 of a unit: a jump in the set would show as a few tenths.
        assert!(largest_jump(&all) < 0.02, "{}", largest_jump(&all));
        assert!(largest_jump(&cut) < 0.05, "{}", largest_jump(&cut));
    }

    #[test]
    fn smoothing_softens_the_steepest_place() {
        let (mesh, skeleton) = limb();
        let sharp = BoneDistanceParams { blend: 0.2, ..BoneDistanceParams::default() };
        let soft = BoneDistanceParams { smoothing_rounds: 30, ..sharp.clone() };
        let steepest = |params: &BoneDistanceParams| {
            let weights = weights_from_bone_distance(&mesh, &skeleton, params).unwrap();
            // Twelve vertices a ring.
            let jumps =
                (0..mesh.vertex_count() - 12).map(|v| weight(&weights, v + 12, 1) - weight(&weights, v, 1));
            jumps.fold(0.0, f64::max)
        };
        assert!(steepest(&soft) < 0.6 * steepest(&sharp));
    }

    #[test]
    fn bad_parameters_are_named() {
        let (mesh, skeleton) = limb();
        let refused =
            |params: BoneDistanceParams| weights_from_bone_distance(&mesh, &skeleton, &params).unwrap_err();
        let error = refused(BoneDistanceParams { blend: f64::NAN, ..BoneDistanceParams::default() });
        assert!(matches!(error, BoneDistanceError::BadParameter { name: "blend", .. }));
        let error = refused(BoneDistanceParams { max_influences: 0, ..BoneDistanceParams::default() });
        assert!(matches!(error, BoneDistanceError::BadParameter { name: "max_influences", .. }));
        let none = weights_from_bone_distance(&mesh, &Skeleton::empty(), &BoneDistanceParams::default());
        assert_eq!(none, Err(BoneDistanceError::NoJoints));
    }
}
