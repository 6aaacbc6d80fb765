//! Which joint (and control) is which on the other side.

use super::MirrorError;
use super::names::{Side, other_side, side_of, without_number};
use super::plane::MirrorPlane;
use eigenskin_core::rig::Rig;
use glam::DVec3;

/// Joints further from where the mirror puts them than this share of the size are no pair by place.
const NEAR: f64 = 0.05;

/// Pairs by names.
pub struct NamedPairs {
    /// `joint` → the joint on the other side; itself in the middle
    pub partner: Vec<Option<usize>>,
    /// `joint` → the side its name tells
    pub side: Vec<Option<Side>>,
    /// `joint` → whether someone said it
    pub said: Vec<bool>,
}

/// Pairs joints by what people say, then by their names.
pub fn pairs_by_name(rig: &Rig, said: &[(String, String)]) -> Result<NamedPairs, MirrorError> {
    let names: Vec<&str> = rig.skeleton().joints().iter().map(|joint| joint.name.as_str()).collect();
    let mut pairs = NamedPairs {
        partner: vec![None; names.len()],
        side: names.iter().map(|name| side_of(name)).collect(),
        said: vec![false; names.len()],
    };
    for (a, b) in said {
        let find = |name: &str| {
            names.iter().position(|known| *known == name).ok_or_else(|| MirrorError::NoSuchJoint {
                name: name.to_string(),
                nearest: eigenskin_core::nearest_name::hint(name, names.iter().copied()),
            })
        };
        let (a, b) = (find(a)?, find(b)?);
        for (joint, other) in [(a, b), (b, a)] {
            if pairs.said[joint] && pairs.partner[joint] != Some(other) {
                return Err(MirrorError::TwoPartners { name: names[joint].to_string() });
            }
            pairs.partner[joint] = Some(other);
            pairs.said[joint] = true;
        }
    }
    for joint in 0..names.len() {
        let Some(wanted) = other_side(names[joint]).filter(|_| pairs.partner[joint].is_none()) else {
            continue;
        };
        let open = |&other: &usize| other != joint && pairs.partner[other].is_none();
        let exact = (0..names.len()).filter(open).find(|&other| names[other] == wanted);
        // Some programs number all joints: that of the other side has another number.
        let numbered = || {
            let alike = |name: &str| without_number(name) == without_number(&wanted);
            let mut found = (0..names.len()).filter(open).filter(|&other| alike(names[other]));
            let own = (0..names.len()).filter(|&o| without_number(names[o]) == without_number(names[joint]));
            found.next().filter(|_| found.next().is_none() && own.count() == 1)
        };
        if let Some(other) = exact.or_else(numbered) {
            pairs.partner[joint] = Some(other);
            pairs.partner[other] = Some(joint);
        }
    }
    Ok(pairs)
}

impl NamedPairs {
    /// Rest positions of the pairs, each once, left first.
    pub fn positions(&self, rig: &Rig) -> Vec<(DVec3, DVec3)> {
        let at = |joint: usize| rig.skeleton().rest_position(joint);
        (0..self.partner.len())
            .filter_map(|joint| Some((joint, self.partner[joint]?)))
            .filter(|(a, b)| a < b)
            .map(|(a, b)| (at(a), at(b)))
            .collect()
    }

    /// All pairs: those by name that the plane confirms, then by place; joints without a side in
    /// their name that stand on the plane are their own.
    pub fn completed(mut self, rig: &Rig, plane: MirrorPlane) -> Vec<Option<usize>> {
        let count = self.partner.len();
        let limit = NEAR * rig.mesh().size();
        let at = |joint: usize| rig.skeleton().rest_position(joint);
        let miss = |a: usize, b: usize| plane.point(at(a)).distance(at(b));
        // Names of some rigs count the two sides in different directions.
        let by_name = self.partner.clone();
        for joint in 0..count {
            if !self.said[joint] && self.partner[joint].is_some_and(|other| miss(joint, other) > limit) {
                self.partner[joint] = None;
            }
        }
        for joint in 0..count {
            if self.partner[joint].is_none() && self.side[joint].is_none() && miss(joint, joint) <= limit {
                self.partner[joint] = Some(joint);
            }
        }
        let fits = |a: usize, b: usize| match (self.side[a], self.side[b]) {
            (Some(a), Some(b)) => a != b,
            (None, None) => true,
            _ => false,
        };
        let nearest = |joint: usize, partner: &[Option<usize>]| {
            (0..count)
                .filter(|&other| other != joint && partner[other].is_none() && fits(joint, other))
                .map(|other| (other, miss(joint, other)))
                .filter(|&(_, miss)| miss <= limit)
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(other, _)| other)
        };
        let open = self.partner.clone();
        for joint in (0..count).filter(|&joint| open[joint].is_none()) {
            if let Some(other) = nearest(joint, &open).filter(|&other| nearest(other, &open) == Some(joint)) {
                self.partner[joint] = Some(other);
            }
        }
        // A character that does not rest alike on both sides: the names are all there is.
        for joint in 0..count {
            let Some(other) = by_name[joint] else { continue };
            if self.partner[joint].is_none() && self.partner[other].is_none() {
                self.partner[joint] = Some(other);
                self.partner[other] = Some(joint);
            }
        }
        self.partner
    }
}

/// `control` → the control on the other side; itself where its name tells none.
pub fn control_pairs(rig: &Rig) -> Vec<usize> {
    let controls = rig.controls();
    let partner = |index: usize| {
        let wanted = other_side(&controls[index].name)?;
        controls.iter().position(|control| control.name == wanted)
    };
    (0..controls.len()).map(|index| partner(index).unwrap_or(index)).collect()
}
