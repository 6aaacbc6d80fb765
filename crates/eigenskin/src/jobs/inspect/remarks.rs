//! What there is to say about a file, beyond counts.

use std::fmt;

use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::reference::{ReferenceSource, guess_references};
use eigenskin_gltf::RigFile;
use eigenskin_gltf::limits::{self, LimitWarning};
use eigenskin_report::page::figure;
use serde::{Serialize, Serializer};

use super::Inspect;

/// Something that deserves attention; in words, one sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// the reader mended or left out something
    Reading(String),
    /// the size is odd for a character in metres: another unit?
    OddSize {
        /// by glTF's unit
        metres: f64,
    },
    /// joints are siblings; what each turns against was found otherwise
    Flat {
        /// how
        source: ReferenceSource,
    },
    /// an example that says nothing
    RestShape {
        /// the example
        example: String,
    },
    /// an example that says what another one says
    Repeats {
        /// the example
        example: String,
        /// the other one
        twin: String,
    },
    /// nothing can be learnt from these examples
    Examples(ExamplesError),
    /// an engine does not take so much
    Limit(LimitWarning),
    /// a file of integers, which not all programs read
    Quantized,
}

/// Characters are between two centimetres and twenty metres large.
const USUAL_METRES: std::ops::RangeInclusive<f64> = 0.02..=20.0;

/// All that there is to say.
pub(super) fn of(job: &Inspect) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = job.file.notes.iter().cloned().map(Remark::Reading).collect();
    remarks.extend(odd_size(&job.file));
    remarks.extend(guess_references(job.file.rig()).map(|guess| Remark::Flat { source: guess.source }));
    if let Some(set) = &job.examples {
        remarks.extend(same_poses(set));
    }
    let exceeded = limits::check(&job.file.counts).into_iter().filter(|warning| warning.limit.usual);
    remarks.extend(exceeded.map(Remark::Limit));
    remarks.extend(job.file.is_quantized.then_some(Remark::Quantized));
    remarks
}

/// glTF is in metres; other units show as odd sizes.
fn odd_size(file: &RigFile) -> Option<Remark> {
    let scale = file.layout().scene_from_mesh.matrix3.determinant().abs().cbrt();
    let metres = scale * file.rig().mesh().size();
    (!USUAL_METRES.contains(&metres)).then_some(Remark::OddSize { metres })
}

fn same_poses(set: &ExampleSet) -> Vec<Remark> {
    match set.for_training(false) {
        Ok((_, merged)) => merged
            .into_iter()
            .map(|merged| match merged.same_as {
                None => Remark::RestShape { example: merged.name },
                Some(twin) => Remark::Repeats { example: merged.name, twin },
            })
            .collect(),
        Err(error) => vec![Remark::Examples(error)],
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reading(note) => f.write_str(note),
            Self::OddSize { metres } => write!(
                f,
                "the character is {} metres large by glTF's unit: is it in millimetres or centimetres?",
                figure(*metres)
            ),
            Self::Flat { source } => {
                let found = match source {
                    ReferenceSource::Names => "names",
                    ReferenceSource::Geometry => "geometry",
                };
                write!(
                    f,
                    "the rig is flat: all joints are siblings; each is measured against a joint found by {found}"
                )
            }
            Self::RestShape { example } => write!(f, "example {example:?} is the rest shape"),
            Self::Repeats { example, twin } => write!(f, "example {example:?} repeats {twin:?}"),
            Self::Examples(error) => error.fmt(f),
            Self::Limit(warning) => warning.fmt(f),
            Self::Quantized => f.write_str(
                "its numbers are integers (KHR_mesh_quantization): Bevy, Assimp and released versions of Godot do not read it, and Blender cuts weights off below 0 and above 1; write it for them without --profile web",
            ),
        }
    }
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
