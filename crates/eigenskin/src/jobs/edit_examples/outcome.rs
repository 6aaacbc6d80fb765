//! What was done to a set.

use std::fmt;
use std::path::Path;

use eigenskin_gltf::{ExampleList, RigFile};
use eigenskin_io::write_example_list;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{EditExamplesError, MirrorReport};
use crate::base::InvertedExamples;

/// An edited set. Serialises as what was done, the names of all examples and of those that are muted.
#[derive(Debug, Clone, PartialEq)]
pub struct EditOutcome {
    /// the set as it is now
    pub list: ExampleList,
    /// what was done
    pub done: EditDone,
    /// how a sculpt was pulled back through deformers
    pub inversion: Option<InvertedExamples>,
    /// how examples were mirrored
    pub mirror: Option<MirrorReport>,
}

/// What was done; in words a short phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditDone {
    /// an example is new
    Added {
        /// its name
        name: String,
    },
    /// an example has another shape
    Replaced {
        /// its name
        name: String,
    },
    /// an example has another name
    Renamed {
        /// the old one
        from: String,
        /// the new one
        to: String,
    },
    /// examples are gone
    Deleted {
        /// their names
        names: Vec<String>,
    },
    /// examples are no longer learnt from
    Muted {
        /// their names
        names: Vec<String>,
    },
    /// examples are learnt from again
    Unmuted {
        /// their names
        names: Vec<String>,
    },
    /// examples have another side
    Mirrored {
        /// (the new example, the one it was made from)
        pairs: Vec<(String, String)>,
    },
    /// the set is as it was
    Nothing,
}

impl EditDone {
    pub(super) fn mirrored(report: &MirrorReport) -> Self {
        if report.made.is_empty() { Self::Nothing } else { Self::Mirrored { pairs: report.made.clone() } }
    }
}

impl EditOutcome {
    /// Whether the set differs from the one before.
    pub fn changed(&self) -> bool {
        self.done != EditDone::Nothing
    }

    /// Writes the set as GLB, into the file of the rig that it came from.
    pub fn write(&self, path: impl AsRef<Path>, file: &RigFile) -> Result<(), EditExamplesError> {
        let path = path.as_ref();
        Ok(write_example_list(path, file, &self.list)?)
    }
}

impl fmt::Display for EditDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { name } => write!(f, "added {name}"),
            Self::Replaced { name } => write!(f, "replaced {name}"),
            Self::Renamed { from, to } => write!(f, "renamed {from} to {to}"),
            Self::Deleted { names } => write!(f, "deleted {}", names.join(", ")),
            Self::Muted { names } => write!(f, "muted {}", names.join(", ")),
            Self::Unmuted { names } => write!(f, "unmuted {}", names.join(", ")),
            Self::Mirrored { pairs } => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(new, from)| format!("{new} from {from}")).collect();
                write!(f, "mirrored {}", pairs.join(", "))
            }
            Self::Nothing => f.write_str("nothing changed"),
        }
    }
}

impl Serialize for EditDone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for EditOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<&str> = self.list.set.examples().iter().map(|e| e.name.as_str()).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("done", &self.done)?;
        map.serialize_entry("examples", &names)?;
        map.serialize_entry("muted", &self.list.muted)?;
        if let Some(inversion) = &self.inversion {
            map.serialize_entry("inversion", inversion)?;
        }
        if let Some(mirror) = &self.mirror {
            map.serialize_entry("mirror", mirror)?;
        }
        map.end()
    }
}
