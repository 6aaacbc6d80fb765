//! Writes a small valid file of every format into `corpus/` beside this crate's manifest.

use std::path::Path;

fn main() -> std::io::Result<()> {
    for (target, name, bytes) in eigenskin_fuzz::seeds::all() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
