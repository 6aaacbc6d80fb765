//! How fast models play on this machine, as ratios.
//!
//! Times on shared machines mean little, ratios taken in one run mean more: everything is compared with a
//! straightforward loop over vertices, with plain skinning, or with copying the bytes that are touched, all
//! interleaved.

mod baseline;
mod clock;
mod player;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DQuat};
use eigenskin_core::model::{Model, ModelError};
use eigenskin_core::packed::{PackError, Storage};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use rayon::{ThreadPool, ThreadPoolBuildError};

pub use baseline::Baseline;
pub use clock::{Work, median, seconds};
pub use player::{Player, Target, bytes_touched, packed};

/// Storages and their names.
pub const STORAGES: [(Storage, &str); 3] =
    [(Storage::F32, "f32"), (Storage::F16, "f16"), (Storage::I16, "i16")];

/// Named numbers of one run; several runs are merged by their medians.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Figures(pub BTreeMap<String, f64>);

impl Figures {
    /// Notes a number.
    pub fn put(&mut self, name: impl Into<String>, value: f64) {
        self.0.insert(name.into(), value);
    }

    /// A number; NaN if it was not taken.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// The figures that another process writes to its standard output as JSON. Memory lies elsewhere in each
    /// process, which changes times by some percent, so medians are taken over several.
    pub fn of_process(command: &mut Command) -> Result<Self, SpeedError> {
        let result = command.stderr(Stdio::piped()).output().map_err(SpeedError::Start)?;
        if !result.status.success() {
            let said = String::from_utf8_lossy(&result.stderr);
            return Err(SpeedError::Process { said: said.trim().trim_start_matches("error: ").to_string() });
        }
        serde_json::from_slice(&result.stdout).map_err(SpeedError::Figures)
    }

    /// The median of every number over several runs.
    pub fn medians(runs: &[Self]) -> Self {
        let names = runs.first().map(|run| run.0.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        let median = |name: &String| {
            let mut values: Vec<f64> = runs.iter().map(|run| run.get(name)).collect();
            clock::median(&mut values)
        };
        Self(names.iter().map(|name| (name.clone(), median(name))).collect())
    }
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum SpeedError {
    /// The model cannot be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The rig cannot be played alone.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No threads.
    #[error(transparent)]
    Threads(#[from] ThreadPoolBuildError),
    /// Another process cannot be started.
    #[error("another process cannot be started: {0}")]
    Start(std::io::Error),
    /// Another process failed.
    #[error("{said}")]
    Process {
        /// what it said
        said: String,
    },
    /// Another process gave something else.
    #[error("a process gave no figures: {0}")]
    Figures(serde_json::Error),
}

/// Takes all figures of a model.
pub fn measure_model(model: &Model) -> Result<Figures, SpeedError> {
    let pool = two_threads()?;
    let rig = model.rig();
    let base = model.base().skinning().unwrap_or(BaseSkinning::LinearBlend);
    let plain = packed(&Model::new(rig.clone(), base, Vec::new())?, Storage::default())?;
    let mut baseline = Baseline::new(rig);
    let poses = [pose(rig, 0.1), pose(rig, -0.15)];
    let mut turn = 0;
    let mut works: Vec<Work> = Vec::new();
    works.push(Box::new(move || {
        turn = 1 - turn;
        baseline.skin(&poses[turn]);
        std::hint::black_box(&baseline.posed);
    }));
    let mut figures = Figures::default();
    let mut names = vec!["loop".to_string()];
    let mut add = |name: String, mut player: Player| {
        names.push(name);
        works.push(Box::new(move || player.frame()));
    };
    add("plain".into(), Player::new(&plain, Target::Blocks, None));
    add("plain, caller's order".into(), Player::new(&plain, Target::Arrays, None));
    for (storage, name) in STORAGES {
        let packed = packed(model, storage)?;
        let report = packed.report();
        for (what, value) in [
            ("groups", report.groups as f64),
            ("padding", report.padding),
            ("zero weights", report.zero_weights),
            ("bytes per vertex", report.bytes_per_vertex),
            ("storage error", report.storage_error),
        ] {
            figures.put(format!("model/{name}/{what}"), value);
        }
        add(name.to_string(), Player::new(&packed, Target::Blocks, None));
        add(format!("{name}, caller's order"), Player::new(&packed, Target::Arrays, None));
        if name == "f16" {
            add("drivers".into(), Player::new(&packed, Target::Drivers, None));
            add("two threads".into(), Player::new(&packed, Target::Blocks, None).with_threads(&pool));
        }
    }
    let times = seconds(&mut works, 25, 6);
    for (name, time) in names.into_iter().zip(times) {
        figures.put(format!("model/{name}/ns"), 1e9 * time / rig.vertex_count().max(1) as f64);
    }
    Ok(figures)
}

/// Two threads, as all tables say.
pub fn two_threads() -> Result<Arc<ThreadPool>, SpeedError> {
    Ok(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build()?))
}

/// Every joint bent, some more than others.
pub fn pose(rig: &Rig, bend: f64) -> Pose {
    let skeleton = rig.skeleton();
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    for (joint, transform) in local.iter_mut().enumerate() {
        *transform *= DAffine3::from_quat(DQuat::from_rotation_y(bend * (1 + joint % 3) as f64));
    }
    let controls = rig.controls().iter().map(|control| control.default + bend).collect();
    Pose { world_from_joint: skeleton.forward_kinematics(&local), controls }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_by_medians() {
        let run = |a: f64, b: f64| Figures(BTreeMap::from([("a".into(), a), ("b".into(), b)]));
        let merged = Figures::medians(&[run(1.0, 9.0), run(5.0, 7.0), run(2.0, 8.0)]);
        assert_eq!(merged, run(2.0, 8.0));
        assert!(merged.get("c").is_nan());
    }
}
