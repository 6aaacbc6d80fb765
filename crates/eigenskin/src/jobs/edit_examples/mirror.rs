//! Examples of one side, made for the other.
//!
//! An example whose pose is its own mirror image is skipped, and so is one whose other side is there
//! already, under whatever name. Another shape on the other side is only replaced when that is asked.

use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::progress::{Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_fit::mirror::{Mirror, MirrorParams, MirrorPlane, mirrored_name};
use eigenskin_gltf::{EditError, ExampleList};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::EditExamplesError;

/// Which examples are mirrored, and how the two sides are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorSettings {
    /// the examples; default: all that are not muted
    pub names: Vec<String>,
    /// the mirror plane, in text `x` or `x=0.5`; default: found from the joints
    #[serde(serialize_with = "plane_text", deserialize_with = "plane_of_text")]
    pub plane: Option<MirrorPlane>,
    /// joints that belong together, beyond what their names tell; a joint of the middle with itself
    pub joint_pairs: Vec<(String, String)>,
    /// rest positions agree within this share of the size; default 1e-3
    pub tolerance: f64,
    /// whether examples of the other side are made anew; needs `names`
    pub replace: bool,
}

/// How examples were mirrored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MirrorReport {
    /// the plane that was used
    #[serde(serialize_with = "some_plane_text")]
    pub plane: MirrorPlane,
    /// pairs of joints
    pub joint_pairs: usize,
    /// joints that are their own other side
    pub middle_joints: usize,
    /// joints without another side
    pub unpaired_joints: Vec<String>,
    /// vertices without one at their mirror image, rising: they get the displacement of their neighbours
    pub asymmetric_vertices: Vec<usize>,
    /// (the example that was made, the one it was made from)
    pub made: Vec<(String, String)>,
    /// examples of which nothing was made
    pub skipped: Vec<SkippedExample>,
}

/// An example of which no other side was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedExample {
    /// the example
    pub name: String,
    /// why
    pub reason: SkipReason,
}

/// Why no other side was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// its pose is its own mirror image
    OwnImage,
    /// its other side is there
    There {
        /// under this name
        name: String,
    },
}

impl Default for MirrorSettings {
    fn default() -> Self {
        let MirrorParams { plane, joint_pairs, tolerance } = MirrorParams::default();
        Self { names: Vec::new(), plane, joint_pairs, tolerance, replace: false }
    }
}

/// Adds the other side of examples to `list`.
pub(super) fn mirror(
    list: &mut ExampleList,
    settings: &MirrorSettings,
    progress: &dyn Progress,
) -> Result<MirrorReport, EditExamplesError> {
    let MirrorSettings { names, plane, joint_pairs, tolerance, replace } = settings.clone();
    if replace && names.is_empty() {
        return Err(EditExamplesError::ReplaceNeedsNames);
    }
    let originals = originals(list, &names)?;
    let rig = list.set.rig().clone();
    let mirror = Mirror::new(rig.clone(), &MirrorParams { plane, joint_pairs, tolerance }, progress)?;
    let mut report = report(&mirror, &rig);
    let counted = Counted::new(progress, "mirroring examples", originals.len());
    for original in &originals {
        let from = original.name.clone();
        let mirrored = mirror
            .example(original, mirrored_name(&from))
            .map_err(|error| EditExamplesError::MirrorExample { example: from.clone(), error })?;
        let name = mirrored.name.clone();
        match put(list, original, mirrored, replace)? {
            Some(reason) => report.skipped.push(SkippedExample { name: from, reason }),
            None => report.made.push((name, from)),
        }
        counted.next()?;
    }
    Ok(report)
}

fn originals(list: &ExampleList, names: &[String]) -> Result<Vec<Example>, EditError> {
    let examples = list.set.examples();
    if names.is_empty() {
        return Ok(examples.iter().filter(|example| !list.is_muted(&example.name)).cloned().collect());
    }
    names.iter().map(|name| Ok(examples[list.find(name)?].clone())).collect()
}

/// Puts the other side of an example into the list, or says why not.
fn put(
    list: &mut ExampleList,
    original: &Example,
    mirrored: Example,
    replace: bool,
) -> Result<Option<SkipReason>, EditExamplesError> {
    let rig = list.set.rig().clone();
    if likeness(original, &mirrored, &rig)? != Likeness::OtherPose {
        return Ok(Some(SkipReason::OwnImage));
    }
    let (name, example) = (mirrored.name.clone(), original.name.clone());
    let Ok(place) = list.find(&name) else {
        return match list.check_news(&mirrored) {
            Err(EditError::Repeats { twin, .. }) => Ok(Some(SkipReason::There { name: twin })),
            Err(error) => Err(EditExamplesError::OtherSideTaken { example, error }),
            Ok(()) => {
                list.add(mirrored)?;
                Ok(None)
            }
        };
    };
    let differs = match likeness(&list.set.examples()[place], &mirrored, &rig)? {
        Likeness::Same => return Ok(Some(SkipReason::There { name })),
        Likeness::OtherPose => "pose",
        Likeness::OtherShape => "shape",
    };
    if !replace {
        return Err(EditExamplesError::OtherSideDiffers { example, other: name, differs });
    }
    list.replace(&name, mirrored)?;
    Ok(None)
}

/// How two examples compare.
#[derive(PartialEq)]
enum Likeness {
    Same,
    OtherShape,
    OtherPose,
}

fn likeness(a: &Example, b: &Example, rig: &Arc<Rig>) -> Result<Likeness, ExamplesError> {
    let [a, b] = [("a", a), ("b", b)].map(|(name, e)| Example { name: name.to_string(), ..e.clone() });
    Ok(match ExampleSet::new(rig.clone(), vec![a, b])?.for_training(false) {
        Ok((_, merged)) if merged.iter().any(|merged| merged.same_as.is_some()) => Likeness::Same,
        Ok(_) => Likeness::OtherPose,
        Err(ExamplesError::SamePose { .. }) => Likeness::OtherShape,
        Err(error) => return Err(error),
    })
}

fn report(mirror: &Mirror, rig: &Rig) -> MirrorReport {
    let joints = mirror.joints();
    let alone = (0..joints.len()).filter(|&joint| joints[joint].is_none());
    let with_index = || joints.iter().enumerate();
    MirrorReport {
        plane: mirror.plane(),
        joint_pairs: with_index().filter(|(joint, other)| other.is_some_and(|o| o > *joint)).count(),
        middle_joints: with_index().filter(|(joint, other)| **other == Some(*joint)).count(),
        unpaired_joints: alone.map(|joint| rig.skeleton().joints()[joint].name.clone()).collect(),
        asymmetric_vertices: mirror.asymmetric_vertices(),
        made: Vec::new(),
        skipped: Vec::new(),
    }
}

fn some_plane_text<S: Serializer>(plane: &MirrorPlane, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(plane)
}

#[allow(clippy::ref_option, reason = "as serde calls it")]
fn plane_text<S: Serializer>(plane: &Option<MirrorPlane>, serializer: S) -> Result<S::Ok, S::Error> {
    plane.map(|plane| plane.to_string()).serialize(serializer)
}

fn plane_of_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MirrorPlane>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse()).transpose().map_err(serde::de::Error::custom)
}
