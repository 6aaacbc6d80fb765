//! Reference joints of flat rigs.
//!
//! Some rigs list all joints as siblings (WebXR hands). A node's rotation is then no joint angle,
//! and the joint that each one turns against must be found: from names, else from geometry. It is
//! a guess; callers show it and let people correct it.

use crate::rig::Rig;
use crate::skeleton::Skeleton;

/// How reference joints were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceSource {
    /// names of common rigs and numbered chains
    Names,
    /// each joint hangs on the nearest one that already hangs on the root
    Geometry,
}

/// Guessed reference joints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuessedReferences {
    /// `joint`; the root has none
    pub references: Vec<Option<usize>>,
    /// how they were found
    pub source: ReferenceSource,
}

/// Whether the hierarchy says nothing: four joints or more, none of them below another, or all
/// below one.
pub fn is_flat(skeleton: &Skeleton) -> bool {
    let joints = skeleton.joints();
    let is_leaf_of_root =
        |joint: &crate::skeleton::Joint| joint.parent.is_none_or(|parent| joints[parent].parent.is_none());
    let parents_with_children = (0..joints.len()).filter(|&j| skeleton.children(j).next().is_some()).count();
    joints.len() >= 4 && parents_with_children <= 1 && joints.iter().all(is_leaf_of_root)
}

/// Reference joints for a flat rig; `None` when the rig has a hierarchy or already says them.
pub fn guess_references(rig: &Rig) -> Option<GuessedReferences> {
    let skeleton = rig.skeleton();
    let root = skeleton.first_root()?;
    let says_them = skeleton.joints().iter().enumerate().any(|(index, joint)| {
        let by_hierarchy = joint.parent.or(Some(root)).filter(|&reference| reference != index);
        joint.reference != by_hierarchy
    });
    if says_them || !is_flat(skeleton) {
        return None;
    }
    Some(match by_names(skeleton) {
        Some(references) => GuessedReferences { references, source: ReferenceSource::Names },
        None => GuessedReferences { references: by_geometry(rig), source: ReferenceSource::Geometry },
    })
}

/// Parts of a finger from tip to palm, as WebXR names them.
const FINGER: [&str; 5] =
    ["-tip", "-phalanx-distal", "-phalanx-intermediate", "-phalanx-proximal", "-metacarpal"];
/// Names of joints that the rest of a body or hand hangs on.
const ROOTS: [&str; 5] = ["wrist", "hips", "pelvis", "root", "hand"];

fn by_names(skeleton: &Skeleton) -> Option<Vec<Option<usize>>> {
    let names: Vec<String> = skeleton.joints().iter().map(|joint| joint.name.to_lowercase()).collect();
    let root = ROOTS.iter().find_map(|word| names.iter().position(|name| name.contains(word)))?;
    let mut any_chain = false;
    let references = (0..names.len())
        .map(|joint| {
            if joint == root {
                return None;
            }
            let next = next_in_finger(&names, joint).or_else(|| previous_in_chain(&names, joint));
            any_chain |= next.is_some();
            next.or(Some(root))
        })
        .collect();
    any_chain.then_some(references)
}

fn next_in_finger(names: &[String], joint: usize) -> Option<usize> {
    let (part, finger) = FINGER
        .iter()
        .enumerate()
        .find_map(|(part, suffix)| Some((part, names[joint].strip_suffix(suffix)?)))?;
    FINGER[part + 1..]
        .iter()
        .find_map(|suffix| names.iter().position(|name| *name == format!("{finger}{suffix}")))
}

/// "spine2" hangs on "spine1", "tail.003" on "tail.002".
fn previous_in_chain(names: &[String], joint: usize) -> Option<usize> {
    let stem = names[joint].trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &names[joint][stem.len()..];
    let previous = digits.parse::<u32>().ok()?.checked_sub(1)?;
    let wanted = format!("{stem}{previous:0width$}", width = digits.len());
    names.iter().position(|name| *name == wanted || (previous == 0 && !stem.is_empty() && *name == stem))
}

/// A minimum spanning tree over the joints' rest positions, grown from the joint that carries the
/// most skin.
fn by_geometry(rig: &Rig) -> Vec<Option<usize>> {
    let skeleton = rig.skeleton();
    let count = skeleton.joint_count();
    let mut carried = vec![0.0; count];
    for vertex in 0..rig.vertex_count() {
        for influence in rig.weights().of(vertex) {
            carried[influence.joint as usize] += f64::from(influence.weight);
        }
    }
    let root = (0..count).max_by(|&a, &b| carried[a].total_cmp(&carried[b]).then(b.cmp(&a))).unwrap_or(0);
    let distance = |a: usize, b: usize| skeleton.rest_position(a).distance(skeleton.rest_position(b));
    let mut references = vec![None; count];
    let mut hung = vec![root];
    while hung.len() < count {
        let pairs = (0..count)
            .filter(|joint| !hung.contains(joint))
            .flat_map(|joint| hung.iter().map(move |&on| (joint, on)));
        let Some((joint, on)) = pairs.min_by(|a, b| distance(a.0, a.1).total_cmp(&distance(b.0, b.1))) else {
            break;
        };
        references[joint] = Some(on);
        hung.push(joint);
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use crate::skeleton::Joint;
    use crate::weights::{Influence, SkinWeights};
    use glam::{DAffine3, DVec3, Vec3};

    fn flat_rig(joints: &[(&str, DVec3)], heaviest: u32) -> Rig {
        let skeleton = Skeleton::new(
            joints
                .iter()
                .map(|&(name, at)| Joint {
                    name: name.into(),
                    parent: None,
                    reference: None,
                    joint_from_rest: DAffine3::from_translation(at).inverse(),
                })
                .collect(),
        )
        .unwrap();
        let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None).unwrap();
        let weights = vec![vec![Influence { joint: heaviest, weight: 1.0 }]; 3];
        Rig::new(mesh, skeleton, SkinWeights::new(joints.len(), weights).unwrap().0, vec![]).unwrap()
    }

    #[test]
    fn webxr_names_give_fingers() {
        let rig = flat_rig(
            &[
                ("thumb-tip", DVec3::X),
                ("thumb-phalanx-distal", DVec3::Y),
                ("thumb-metacarpal", DVec3::Z),
                ("wrist", DVec3::ZERO),
            ],
            0,
        );
        let guess = guess_references(&rig).unwrap();
        assert_eq!(guess.source, ReferenceSource::Names);
        assert_eq!(guess.references, [Some(1), Some(2), Some(3), None]);
        // Once said, they are not guessed again.
        assert_eq!(guess_references(&rig.with_references(&guess.references).unwrap()), None);
    }

    #[test]
    fn numbered_names_give_chains() {
        let rig = flat_rig(
            &[("root", DVec3::ZERO), ("tail.001", DVec3::X), ("tail.003", DVec3::Y), ("tail.002", DVec3::Z)],
            0,
        );
        assert_eq!(guess_references(&rig).unwrap().references, [None, Some(0), Some(3), Some(1)]);
    }

    #[test]
    fn geometry_gives_the_nearest_neighbour_towards_the_heaviest() {
        let at = |x: f64| DVec3::new(x, 0.0, 0.0);
        let rig = flat_rig(&[("d", at(3.0)), ("b", at(1.0)), ("a", at(0.0)), ("c", at(2.1))], 2);
        let guess = guess_references(&rig).unwrap();
        assert_eq!(guess.source, ReferenceSource::Geometry);
        assert_eq!(guess.references, [Some(3), Some(2), None, Some(1)]);
    }
}
