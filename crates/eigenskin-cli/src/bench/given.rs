//! The same figures for a given model.

use std::sync::Arc;

use anyhow::Result;
use eigenskin::model::Model;
use eigenskin::packed::Storage;
use eigenskin::skinning::BaseSkinning;
use rayon::ThreadPool;

use super::Figures;
use super::baseline::Baseline;
use super::character;
use super::clock::{Work, seconds};
use super::player::{Player, Target, packed};
use super::synthetic::STORAGES;

/// Takes all figures of a model.
pub fn measure(model: &Model, pool: &Arc<ThreadPool>, figures: &mut Figures) -> Result<()> {
    let rig = model.rig();
    let base = model.base().skinning().unwrap_or(BaseSkinning::LinearBlend);
    let plain = packed(&Model::new(rig.clone(), base, Vec::new())?, Storage::default())?;
    let mut baseline = Baseline::new(rig);
    let poses = [character::pose(rig, 0.1), character::pose(rig, -0.15)];
    let mut turn = 0;
    let mut works: Vec<Work> = Vec::new();
    works.push(Box::new(move || {
        turn = 1 - turn;
        baseline.skin(&poses[turn]);
        std::hint::black_box(&baseline.posed);
    }));
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
            add("two threads".into(), Player::new(&packed, Target::Blocks, None).with_threads(pool));
        }
    }
    let times = seconds(&mut works, 25, 6);
    for (name, time) in names.into_iter().zip(times) {
        figures.put(format!("model/{name}/ns"), 1e9 * time / rig.vertex_count().max(1) as f64);
    }
    Ok(())
}
