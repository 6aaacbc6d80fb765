//! A black box as people write it: a TOML file with one table per deformer (docs/use/deformers.md).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use eigenskin_core::deformers::wrap::USUAL_NEAREST;
use eigenskin_core::deformers::{
    Amount, BlackBoxError, BoundStack, Cage, Deformer, DeformerError, DeformerStack, Lattice, LatticeBasis,
    Smoothing, SmoothingWeighting, Wrap,
};
use eigenskin_core::glam::DVec3;
use eigenskin_core::nearest_name;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ReadError;
use crate::external_box::{ExternalBox, ExternalCommand};
use crate::{ReadOptions, read_rig, whole_file};

/// A chain of deformers, and how to start the programs in it.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxFile {
    /// the chain
    pub stack: DeformerStack,
    /// by the name of the deformer
    pub externals: BTreeMap<String, ExternalCommand>,
}

/// Why a file describes no deformer stack. Deformers count from 1.
#[derive(Debug, thiserror::Error)]
pub enum BoxFileError {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Not TOML, or no deformers in it.
    #[error("{} is not a valid deformer-stack file ({problem}); write [[deformer]] with kind = \"linear\" or another kind", path.display())]
    Form {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// Something about one deformer.
    #[error("{}: deformer {step} {problem}", path.display())]
    Deformer {
        /// the file
        path: PathBuf,
        /// the deformer at fault
        step: usize,
        /// what is wrong
        problem: String,
    },
    /// The mesh that a wrap follows.
    #[error("{}: deformer {step} follows a mesh that cannot be read: {error}", path.display())]
    Mesh {
        /// the file
        path: PathBuf,
        /// the deformer at fault
        step: usize,
        /// what is wrong with the mesh
        error: Box<ReadError>,
    },
}

/// Larger files are refused.
const LARGEST_FILE: u64 = 64 << 20;
/// Seconds to wait for an answer where nothing is said.
const USUAL_TIMEOUT: f64 = 60.0;

/// Reads the description of a black box. Meshes in it are read, programs are not started.
pub fn read_box(path: impl AsRef<Path>) -> Result<BoxFile, BoxFileError> {
    let path = path.as_ref();
    let bytes = whole_file::read(path, LARGEST_FILE)
        .map_err(|error| BoxFileError::Io { path: path.into(), error })?;
    let form = |problem: String| BoxFileError::Form { path: path.into(), problem };
    let text = String::from_utf8(bytes).map_err(|_| form("it is not UTF-8".into()))?;
    let mut file: toml::Table =
        text.parse().map_err(|error: toml::de::Error| form(error.to_string().trim().replace('\n', " ")))?;
    if let Some(problem) = unknown_key(&file, &["name", "deformer"]) {
        return Err(form(problem));
    }
    let name = match file.remove("name") {
        Some(toml::Value::String(name)) => name,
        Some(_) => return Err(form("its name is no text".into())),
        None => path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("box").to_string(),
    };
    let Some(toml::Value::Array(tables)) = file.remove("deformer") else {
        return Err(form("it has no [[deformer]]".into()));
    };
    let mut read =
        BoxFile { stack: DeformerStack { name, steps: Vec::new() }, externals: BTreeMap::default() };
    for (index, table) in tables.into_iter().enumerate() {
        let entry = Entry { path, step: index + 1 };
        let toml::Value::Table(table) = table else {
            return Err(entry.wrong("is no table; write [[deformer]]"));
        };
        let step = entry.read(table, &mut read.externals)?;
        read.stack.steps.push(step);
    }
    Ok(read)
}

impl BoxFile {
    /// Binds the chain to `rig` and starts its programs.
    pub fn open(&self, rig: &Arc<Rig>) -> Result<BoundStack, DeformerError> {
        self.stack.bind_with(rig, &mut |name| match self.externals.get(name) {
            Some(command) => Ok(Box::new(ExternalBox::start(command, rig)?)),
            None => {
                Err(BlackBoxError::Failed(format!("the deformer-stack file has no command for {name:?}")))
            }
        })
    }
}

/// One deformer of a file.
struct Entry<'a> {
    path: &'a Path,
    step: usize,
}

/// All kinds.
const KINDS: [&str; 8] =
    ["linear", "dual-quaternion", "rigid", "lattice", "delta-mush", "corrective-smooth", "wrap", "external"];

impl Entry<'_> {
    fn wrong(&self, problem: impl Into<String>) -> BoxFileError {
        BoxFileError::Deformer { path: self.path.into(), step: self.step, problem: problem.into() }
    }

    fn read(
        &self,
        mut table: toml::Table,
        externals: &mut BTreeMap<String, ExternalCommand>,
    ) -> Result<Deformer, BoxFileError> {
        let Some(toml::Value::String(kind)) = table.remove("kind") else {
            return Err(self.wrong(format!("has no kind; kinds are {}", KINDS.join(", "))));
        };
        Ok(match kind.as_str() {
            "linear" | "dual-quaternion" | "rigid" => {
                self.settings::<NoSettings>(table, &[])?;
                Deformer::Skinning(BaseSkinning::named(&kind).unwrap_or(BaseSkinning::LinearBlend))
            }
            "lattice" => Deformer::Lattice(self.lattice(self.settings(table, &LATTICE_KEYS)?)?),
            "delta-mush" => {
                self.smoothing(&self.settings(table, &SMOOTHING_KEYS)?, Smoothing::delta_mush())?
            }
            "corrective-smooth" => {
                self.smoothing(&self.settings(table, &SMOOTHING_KEYS)?, Smoothing::corrective())?
            }
            "wrap" => self.wrap(&self.settings(table, &["mesh", "nearest"])?)?,
            "external" => {
                let (name, command) =
                    self.external(self.settings(table, &["name", "command", "timeout"])?)?;
                if externals.insert(name.clone(), command).is_some() {
                    return Err(
                        self.wrong(format!("is called {name:?}, as an earlier one; give each its name"))
                    );
                }
                Deformer::External { name }
            }
            other => {
                let hint = nearest_name::hint(other, KINDS.into_iter());
                return Err(
                    self.wrong(format!("has the unknown kind {other:?}{hint} ({})", KINDS.join(", ")))
                );
            }
        })
    }

    fn settings<T: DeserializeOwned>(&self, table: toml::Table, known: &[&str]) -> Result<T, BoxFileError> {
        match unknown_key(&table, known) {
            Some(problem) => Err(self.wrong(problem)),
            None => table
                .try_into()
                .map_err(|error| self.wrong(format!("has a bad setting: {}", error.to_string().trim()))),
        }
    }

    fn lattice(&self, settings: LatticeSettings) -> Result<Lattice, BoxFileError> {
        let basis = settings.basis.as_deref().unwrap_or(LatticeBasis::Bernstein.name());
        let basis = LatticeBasis::named(basis).ok_or_else(|| {
            let names = LatticeBasis::ALL.map(LatticeBasis::name);
            let hint = nearest_name::hint(basis, names.into_iter());
            self.wrong(format!("has the unknown basis {basis:?}{hint} ({})", names.join(", ")))
        })?;
        let mut lattice =
            Lattice::at_rest(settings.lowest.into(), settings.highest.into(), settings.counts, basis);
        if let Some(displacements) = settings.displacements {
            lattice.displacements = displacements.into_iter().map(DVec3::from_array).collect();
        }
        let [nx, ny, _] = settings.counts;
        for Move { point, by } in settings.moves {
            let outside = (0..3).any(|axis| point[axis] >= settings.counts[axis]);
            let place = if outside {
                None
            } else {
                lattice.displacements.get_mut(point[0] + nx * (point[1] + ny * point[2]))
            };
            let [x, y, z] = point;
            *place.ok_or_else(|| {
                self.wrong(format!("moves control point [{x}, {y}, {z}], which its lattice does not have"))
            })? += DVec3::from_array(by);
        }
        lattice.frame = settings.frame;
        lattice.fade = settings.fade;
        lattice.amount = match settings.amount {
            None => Amount::Constant(1.0),
            Some(AmountSetting::Constant(value)) => Amount::Constant(value),
            Some(AmountSetting::Driven(driven)) => self.driven(driven)?,
        };
        Ok(lattice)
    }

    fn driven(&self, mut table: toml::Table) -> Result<Amount, BoxFileError> {
        if let Some(problem) = unknown_key(&table, &["control", "joint", "factor"]) {
            return Err(self.wrong(format!("has an amount that {problem}")));
        }
        let factor = match table.remove("factor") {
            None => 1.0,
            Some(toml::Value::Float(factor)) => factor,
            Some(toml::Value::Integer(factor)) => factor as f64,
            Some(_) => return Err(self.wrong("has an amount with a factor that is no number")),
        };
        match (table.remove("control"), table.remove("joint")) {
            (Some(toml::Value::String(control)), None) => Ok(Amount::Control { control, factor }),
            (None, Some(toml::Value::String(joint))) => Ok(Amount::JointAngle { joint, factor }),
            _ => Err(self.wrong(
                "has an unclear amount; write a number, { control = \"NAME\", factor = 1 } or { joint = \"NAME\", factor = 1 }",
            )),
        }
    }

    fn smoothing(&self, settings: &SmoothingSettings, preset: Smoothing) -> Result<Deformer, BoxFileError> {
        let weighting = match &settings.weighting {
            None => preset.weighting,
            Some(name) => SmoothingWeighting::named(name).ok_or_else(|| {
                self.wrong(format!("has the unknown weighting {name:?} (uniform, edge-length)"))
            })?,
        };
        Ok(Deformer::Smoothing(Smoothing {
            iterations: settings.iterations.unwrap_or(preset.iterations),
            factor: settings.factor.unwrap_or(preset.factor),
            weighting,
            pin_borders: settings.pin_borders.unwrap_or(preset.pin_borders),
            detail: settings.detail.unwrap_or(preset.detail),
        }))
    }

    fn wrap(&self, settings: &WrapSettings) -> Result<Deformer, BoxFileError> {
        let mesh = self.folder().join(&settings.mesh);
        let cage = read_rig(&mesh, &ReadOptions::default()).map_err(|error| BoxFileError::Mesh {
            path: self.path.into(),
            step: self.step,
            error: Box::new(error),
        })?;
        Ok(Deformer::Wrap(Wrap {
            cage: Cage::of_rig(cage.rig()),
            nearest: settings.nearest.unwrap_or(USUAL_NEAREST),
        }))
    }

    fn external(&self, settings: ExternalSettings) -> Result<(String, ExternalCommand), BoxFileError> {
        let seconds = settings.timeout.unwrap_or(USUAL_TIMEOUT);
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
        let timeout = timeout
            .ok_or_else(|| self.wrong(format!("has the timeout {seconds}; give a number of seconds")))?;
        let words: Vec<String> = settings.command.iter().map(|word| self.beside(word)).collect();
        if words.first().is_none_or(String::is_empty) {
            return Err(self.wrong("has no command; write command = [\"python3\", \"script.py\"]"));
        }
        let name = settings.name.unwrap_or_else(|| format!("external {}", self.step));
        Ok((name, ExternalCommand { words, timeout }))
    }

    /// A word of a command: the file of that name beside the box file, if there is one.
    fn beside(&self, word: &str) -> String {
        let path = self.folder().join(word);
        if !word.is_empty() && Path::new(word).is_relative() && path.is_file() {
            path.to_str().map_or_else(|| word.to_string(), str::to_string)
        } else {
            word.to_string()
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// What is wrong with the first key that is not known.
fn unknown_key(table: &toml::Table, known: &[&str]) -> Option<String> {
    let key = table.keys().find(|key| !known.contains(&key.as_str()))?;
    let hint = nearest_name::hint(key, known.iter().copied());
    let settings = if known.is_empty() { "there are none".into() } else { known.join(", ") };
    Some(format!("has the unknown setting {key:?}{hint} (settings: {settings})"))
}

#[derive(Deserialize)]
struct NoSettings {}

const LATTICE_KEYS: [&str; 9] =
    ["frame", "lowest", "highest", "counts", "basis", "displacements", "moves", "amount", "fade"];

#[derive(Deserialize)]
struct LatticeSettings {
    frame: Option<String>,
    lowest: [f64; 3],
    highest: [f64; 3],
    counts: [usize; 3],
    basis: Option<String>,
    /// of all control points, x fastest
    displacements: Option<Vec<[f64; 3]>>,
    /// of single ones
    #[serde(default)]
    moves: Vec<Move>,
    amount: Option<AmountSetting>,
    fade: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    point: [usize; 3],
    by: [f64; 3],
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AmountSetting {
    Constant(f64),
    Driven(toml::Table),
}

const SMOOTHING_KEYS: [&str; 5] = ["iterations", "factor", "weighting", "pin-borders", "detail"];

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SmoothingSettings {
    iterations: Option<usize>,
    factor: Option<f64>,
    weighting: Option<String>,
    pin_borders: Option<bool>,
    detail: Option<f64>,
}

#[derive(Deserialize)]
struct WrapSettings {
    mesh: PathBuf,
    nearest: Option<usize>,
}

#[derive(Deserialize)]
struct ExternalSettings {
    name: Option<String>,
    command: Vec<String>,
    timeout: Option<f64>,
}
