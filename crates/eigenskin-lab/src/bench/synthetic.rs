//! The ratios that speed is judged by, on tubes of several sizes.

use std::sync::Arc;

use anyhow::Result;
use eigenskin::model::Model;
use eigenskin::packed::{
    Block, Output, PackedEvaluator, PackedModel, Path, Storage, evaluate_crowd, evaluate_crowd_in,
};
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skinning::BaseSkinning;
use eigenskin::speed::{
    Baseline, Figures, Player, STORAGES, Target, Work, bytes_touched, packed, pose, seconds,
};
use rayon::ThreadPool;

use super::character;

/// Components of each vertex.
pub const COMPONENTS: [usize; 4] = [1, 3, 5, 10];
/// Without and with normal corrections.
pub const CORRECTIONS: [(bool, &str); 2] = [(false, "positions"), (true, "normals")];
/// Crowds: characters, and vertices of each.
pub const CROWDS: [(usize, usize); 2] = [(100, 14_000), (8, 400_000)];
/// Papers: name, vertices, components of each vertex; frames on their hardware.
pub const PAPERS: [(&str, usize, usize, &str); 2] = [
    ("EigenSkin 2002: hand of 55,904 triangles", 28_000, 5, "47"),
    ("Kim 2011: 39,808 vertices", 39_800, 12, "1,225–4,133"),
];

/// What everything of one size has in common.
struct Size<'a> {
    vertices: usize,
    rig: Arc<Rig>,
    plain: Arc<PackedModel>,
    pool: &'a Arc<ThreadPool>,
}

impl Size<'_> {
    /// Rounds and repeats: large shapes take longer and need fewer.
    fn patience(&self) -> (usize, usize) {
        if self.vertices > 100_000 { (7, 2) } else { (15, 4) }
    }

    fn seconds(&self, works: &mut [Work]) -> Vec<f64> {
        let (rounds, repeats) = self.patience();
        seconds(works, rounds, repeats)
    }

    fn model(&self, components: usize, normals: bool, base: BaseSkinning) -> Result<Model> {
        character::model(&self.rig, components, normals, base)
    }
}

fn work<'a>(mut player: Player) -> Work<'a> {
    Box::new(move || player.frame())
}

/// Takes all figures of one size; names start with the number of vertices.
pub fn measure_size(vertices: usize, pool: &Arc<ThreadPool>, figures: &mut Figures) -> Result<()> {
    let rig = character::tube(vertices)?;
    let plain = packed(&character::model(&rig, 0, false, BaseSkinning::LinearBlend)?, Storage::F32)?;
    let size = Size { vertices: rig.vertex_count(), rig, plain, pool };
    skinning(&size, &vertices.to_string(), figures)?;
    for components in COMPONENTS {
        for (normals, corrections) in CORRECTIONS {
            let model = size.model(components, normals, BaseSkinning::LinearBlend)?;
            for (storage, name) in STORAGES {
                let packed = packed(&model, storage)?;
                let times = size.seconds(&mut [
                    work(Player::new(&size.plain, Target::Blocks, None)),
                    work(Player::new(&packed, Target::Blocks, None)),
                    work(Player::new(&packed, Target::Blocks, None).with_threads(pool)),
                ]);
                let key = format!("{vertices}/{components} components/{name}/{corrections}");
                figures.put(format!("{key}/times plain"), times[1] / times[0]);
                figures.put(format!("{key}/two threads"), times[1] / times[2]);
            }
        }
    }
    Ok(())
}

/// Plain skinning in several ways, against the straightforward loop, and against copying bytes.
fn skinning(size: &Size, key: &str, figures: &mut Figures) -> Result<()> {
    let dual = packed(&size.model(0, false, BaseSkinning::DualQuaternion)?, Storage::F32)?;
    let five = packed(&size.model(5, false, BaseSkinning::LinearBlend)?, Storage::F16)?;
    let player = |of: &Arc<PackedModel>, into| work(Player::new(of, into, None));
    let mut baseline = Baseline::new(&size.rig);
    let poses = [pose(&size.rig, 0.1), pose(&size.rig, -0.15)];
    let mut turn = 0;
    let the_loop: Work = Box::new(move || {
        turn = 1 - turn;
        baseline.skin(&poses[turn]);
        std::hint::black_box(&baseline.posed);
    });
    let named: Vec<(&str, Work)> = vec![
        ("loop", the_loop),
        ("plain", player(&size.plain, Target::Blocks)),
        ("plain, caller's order", player(&size.plain, Target::Arrays)),
        ("plain, vertex buffer", player(&size.plain, Target::Interleaved)),
        ("plain, two threads", work(Player::new(&size.plain, Target::Blocks, None).with_threads(size.pool))),
        ("plain, portable", work(Player::new(&size.plain, Target::Blocks, Some(Path::Portable)))),
        ("dual quaternions", player(&dual, Target::Blocks)),
        ("5 components", player(&five, Target::Blocks)),
        ("5 components, caller's order", player(&five, Target::Arrays)),
        ("drivers", player(&five, Target::Drivers)),
        ("plain: copy", copy(bytes_touched(size.plain.report()))),
        ("5 components: copy", copy(bytes_touched(five.report()))),
    ];
    let (names, mut works): (Vec<&str>, Vec<Work>) = named.into_iter().unzip();
    let times = size.seconds(&mut works);
    for (name, time) in names.into_iter().zip(times) {
        figures.put(format!("{key}/{name}/ns"), 1e9 * time / size.vertices as f64);
    }
    Ok(())
}

/// Copies half as many bytes, which then are read and written once each.
fn copy<'a>(bytes: f64) -> Work<'a> {
    let from = vec![1u8; (bytes / 2.0) as usize];
    let mut to = from.clone();
    Box::new(move || {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&to);
    })
}

/// Frames a second of the papers' characters, on one thread, and what part of a frame is drivers.
pub fn measure_papers(pool: &Arc<ThreadPool>, figures: &mut Figures) -> Result<()> {
    for (name, vertices, components, _) in PAPERS {
        let rig = character::tube(vertices)?;
        let model = if components == 12 {
            character::parameterization(&rig, components)?
        } else {
            character::model(&rig, components, false, BaseSkinning::LinearBlend)?
        };
        let packed = packed(&model, Storage::F16)?;
        let times = seconds(
            &mut [
                work(Player::new(&packed, Target::Blocks, None)),
                work(Player::new(&packed, Target::Drivers, None)),
                work(Player::new(&packed, Target::Blocks, None).with_threads(pool)),
            ],
            15,
            4,
        );
        figures.put(format!("{name}/frames"), 1.0 / times[0]);
        figures.put(format!("{name}/drivers"), times[1] / times[0]);
        figures.put(format!("{name}/frames, two threads"), 1.0 / times[2]);
    }
    Ok(())
}

/// Evaluates characters in poses into outputs.
type PlayAll<'a> = dyn Fn(&mut [PackedEvaluator], &[Pose], &mut [Output]) + 'a;

/// A crowd of one model, against its characters one after the other.
pub fn measure_crowd(
    (count, vertices): (usize, usize),
    pool: &ThreadPool,
    figures: &mut Figures,
) -> Result<()> {
    let rig = character::tube(vertices)?;
    let packed = packed(&character::model(&rig, 5, false, BaseSkinning::LinearBlend)?, Storage::F16)?;
    let poses: Vec<Pose> = (0..count).map(|i| pose(&rig, 0.2 * (i as f64 / count as f64 - 0.5))).collect();
    let others: Vec<Pose> = poses.iter().rev().cloned().collect();
    let crowd = |how: &PlayAll| {
        let mut characters: Vec<PackedEvaluator> =
            (0..count).map(|_| PackedEvaluator::new(packed.clone())).collect();
        let mut blocks = vec![[(); 2].map(|()| vec![Block::default(); packed.block_count()]); count];
        let mut turn = false;
        let mut work: Work = Box::new(|| {
            turn = !turn;
            let mut outputs: Vec<Output> = blocks
                .iter_mut()
                .map(|[positions, normals]| Output::Blocks {
                    positions,
                    normals: Some(normals),
                    tangents: None,
                })
                .collect();
            how(&mut characters, if turn { &poses } else { &others }, &mut outputs);
        });
        seconds(std::slice::from_mut(&mut work), 7, 1)[0]
    };
    let one_by_one = crowd(&|characters, poses, outputs| {
        for ((character, pose), output) in characters.iter_mut().zip(poses).zip(outputs) {
            evaluate_crowd(
                std::slice::from_mut(character),
                std::slice::from_ref(pose),
                std::slice::from_mut(output),
            );
        }
    });
    let together = crowd(&|characters, poses, outputs| evaluate_crowd(characters, poses, outputs));
    let threads = crowd(&|characters, poses, outputs| evaluate_crowd_in(pool, characters, poses, outputs));
    figures.put(format!("crowd of {count}/frames"), 1.0 / together);
    figures.put(format!("crowd of {count}/together"), one_by_one / together);
    figures.put(format!("crowd of {count}/two threads"), together / threads);
    Ok(())
}
