//! Poses by name: what a sculpt or a shape key is called says at which key of which clip it is.

use std::collections::BTreeSet;

use eigenskin_core::pose::Pose;

use super::natural_order;
use crate::RigFile;
use crate::gltf::Clip;

/// The pose of a named shape.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedKey {
    /// the shape
    pub shape: usize,
    /// index of the clip in the rig's file
    pub clip: usize,
    /// the key of that clip
    pub key: usize,
    /// the pose there
    pub pose: Pose,
}

/// Why names do not say poses.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NamedPosesError {
    /// No such clip.
    #[error("the rig has no clip {name:?}; it has {}", listed(clips))]
    NoClip {
        /// the clip asked for
        name: String,
        /// the clips there are
        clips: Vec<String>,
    },
    /// Two shapes with one name.
    #[error("two of the {what} are named {name:?}; give each a name of its own")]
    SameName {
        /// "sculpts" or "shape keys"
        what: &'static str,
        /// the name
        name: String,
    },
    /// A name that is neither a clip nor a key of one.
    #[error("{name:?} names no pose: {problem}; the {what} are {}, the clips with their keys {}", listed(names), poses.join(", "))]
    NoPose {
        /// "sculpts" or "shape keys"
        what: &'static str,
        /// the name at fault
        name: String,
        /// what is wrong with it
        problem: String,
        /// all names
        names: Vec<String>,
        /// the clips and their keys
        poses: Vec<String>,
    },
    /// By order, but not equally many.
    #[error(
        "{count} {what} ({}) for the {keys} keys of clip {clip:?}; make one per key in the order of their names, or name each after its key, from {first:?} on",
        listed(names)
    )]
    Count {
        /// "sculpts" or "shape keys"
        what: &'static str,
        /// how many there are
        count: usize,
        /// their names
        names: Vec<String>,
        /// keys of the clip
        keys: usize,
        /// the clip
        clip: String,
        /// a name that would do
        first: String,
    },
}

/// The pose that each of `names` means, in the order of clips and keys.
///
/// - `NAME@12` is key 12 (from 0) of `clip`; of the clip called NAME when `clip` is not given.
/// - `NAME` is the clip of that name when `clip` is not given; the clip must be one pose.
/// - With `clip` and no `@` in any name, names in natural order are the keys of the clip in order.
///
/// With `others_allowed`, names without `@` that are no clip are passed over, as long as some name
/// is a pose.
pub fn find(
    file: &RigFile,
    clip: Option<&str>,
    names: &[String],
    what: &'static str,
    others_allowed: bool,
) -> Result<Vec<NamedKey>, NamedPosesError> {
    let clip = clip.map(|name| clip_index(file, name)).transpose()?;
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(NamedPosesError::SameName { what, name: name.clone() });
    }
    if let Some(clip) = clip.filter(|_| !names.iter().any(|name| name.contains('@'))) {
        return in_order(file, clip, names, what);
    }
    let mut found = Vec::new();
    let mut other = None;
    for (shape, name) in names.iter().enumerate() {
        match key_of(file, clip, name) {
            Ok((clip, key)) => found.push(named_key(file, shape, clip, key)),
            Err(problem) => {
                let is_pose = name.contains('@') || clip_index(file, name).is_ok();
                let error = || NamedPosesError::NoPose {
                    what,
                    name: name.clone(),
                    problem,
                    names: names.to_vec(),
                    poses: poses(file),
                };
                if is_pose || !others_allowed {
                    return Err(error());
                }
                other.get_or_insert_with(error);
            }
        }
    }
    found.sort_by_key(|named| (named.clip, named.key));
    match other {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn clip_index(file: &RigFile, name: &str) -> Result<usize, NamedPosesError> {
    file.clips().iter().position(|clip| clip.name == name).ok_or_else(|| NamedPosesError::NoClip {
        name: name.into(),
        clips: file.clips().iter().map(|clip| clip.name.clone()).collect(),
    })
}

fn in_order(
    file: &RigFile,
    clip: usize,
    names: &[String],
    what: &'static str,
) -> Result<Vec<NamedKey>, NamedPosesError> {
    let keys = file.clips()[clip].key_times(file.layout()).len();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| natural_order::compare(&names[a], &names[b]));
    if names.len() != keys {
        return Err(NamedPosesError::Count {
            what,
            count: names.len(),
            names: names.to_vec(),
            keys,
            clip: file.clips()[clip].name.clone(),
            first: format!("{}@0", order.first().map_or("pose", |&first| names[first].as_str())),
        });
    }
    Ok(order.into_iter().enumerate().map(|(key, shape)| named_key(file, shape, clip, key)).collect())
}

/// The clip and the key that a name means, or why it means none.
fn key_of(file: &RigFile, clip: Option<usize>, name: &str) -> Result<(usize, usize), String> {
    let keys = |clip: &Clip| clip.key_times(file.layout()).len();
    let Some((stem, number)) = name.rsplit_once('@') else {
        let Some(index) = clip_index(file, name).ok().filter(|_| clip.is_none()) else {
            let needed = if clip.is_some() { "it has no @KEY" } else { "there is no clip of that name" };
            return Err(needed.into());
        };
        let clip = &file.clips()[index];
        let mut poses = clip.key_times(file.layout()).into_iter().map(|time| file.sample(clip, time));
        let first = poses.next().ok_or("the clip of that name has no keys of the rig")?;
        if poses.any(|pose| pose != first) {
            return Err(format!("the clip of that name has {} keys, say which: {name}@KEY", keys(clip)));
        }
        return Ok((index, 0));
    };
    let index = match clip {
        Some(index) => index,
        None => clip_index(file, stem).map_err(|_| format!("there is no clip {stem:?}"))?,
    };
    let key: usize = number.trim().parse().map_err(|_| format!("{number:?} is not the number of a key"))?;
    let count = keys(&file.clips()[index]);
    if key >= count {
        return Err(format!("clip {:?} has {count} keys, counted from 0", file.clips()[index].name));
    }
    Ok((index, key))
}

fn named_key(file: &RigFile, shape: usize, clip: usize, key: usize) -> NamedKey {
    let of = &file.clips()[clip];
    let time = of.key_times(file.layout()).get(key).copied().unwrap_or(0.0);
    NamedKey { shape, clip, key, pose: file.sample(of, time) }
}

/// The clips that pose the rig, with the range of their keys.
fn poses(file: &RigFile) -> Vec<String> {
    let described = |clip: &Clip| match clip.key_times(file.layout()).len() {
        0 => format!("{:?} (none)", clip.name),
        1 => format!("{:?} (0)", clip.name),
        keys => format!("{:?} (0 to {})", clip.name, keys - 1),
    };
    let all: Vec<String> = file.clips().iter().map(described).collect();
    if all.is_empty() { vec!["none".into()] } else { all }
}

/// Names in quotes; of many, the first.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return "none".into();
    }
    let mut text: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    if names.len() > SHOWN {
        text.push(format!("and {} more", names.len() - SHOWN));
    }
    text.join(", ")
}
