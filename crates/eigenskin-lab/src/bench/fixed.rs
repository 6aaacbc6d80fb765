//! One kernel on a fixed input, for tools that count instructions.

use anyhow::{Result, bail};
use eigenskin::packed::{Path, Storage};
use eigenskin::skinning::BaseSkinning;
use eigenskin::speed::{Player, Target, packed};

use super::character;

/// Vertices and frames.
const VERTICES: usize = 2_000;
const FRAMES: usize = 20;

/// Plays some frames with one kernel.
pub fn play(kernel: &str) -> Result<()> {
    let linear = BaseSkinning::LinearBlend;
    let (components, normals, base, storage, into, path) = match kernel {
        "plain" => (0, false, linear, Storage::F32, Target::Blocks, None),
        "plain-portable" => (0, false, linear, Storage::F32, Target::Blocks, Some(Path::Portable)),
        "callers-order" => (0, false, linear, Storage::F32, Target::Arrays, None),
        "vertex-buffer" => (0, false, linear, Storage::F32, Target::Interleaved, None),
        "dual-quaternions" => (0, false, BaseSkinning::DualQuaternion, Storage::F32, Target::Blocks, None),
        "components-f32" => (5, false, linear, Storage::F32, Target::Blocks, None),
        "components-f16" => (5, false, linear, Storage::F16, Target::Blocks, None),
        "components-i16" => (5, false, linear, Storage::I16, Target::Blocks, None),
        "normal-components-f16" => (5, true, linear, Storage::F16, Target::Blocks, None),
        "components-f16-portable" => (5, false, linear, Storage::F16, Target::Blocks, Some(Path::Portable)),
        "drivers" => (5, false, linear, Storage::F16, Target::Drivers, None),
        other => bail!("there is no kernel {other:?}"),
    };
    let rig = character::tube(VERTICES)?;
    let model = character::model(&rig, components, normals, base)?;
    let mut player = Player::new(&packed(&model, storage)?, into, path);
    for _ in 0..FRAMES {
        counted_frame(&mut player);
    }
    Ok(())
}

/// What is counted: everything inside. Tools know it by this name.
#[inline(never)]
fn counted_frame(player: &mut Player) {
    player.frame();
}
