//! The table of damaged files.
mod gltf;
mod others;

/// One file and what its error has to say.
pub struct Case {
    pub name: &'static str,
    pub input: Input,
    pub says: &'static [&'static str],
}

/// How the file is read.
pub enum Input {
    Rig(Vec<u8>),
    Examples(Vec<u8>),
    Model(Vec<u8>),
    Bundle(Vec<u8>),
    /// the name of the file, for its format
    Cache(&'static str, Vec<u8>),
    Bvh(Vec<u8>),
    /// files of a folder, of which `a.gltf` is read
    Folder(Vec<(&'static str, Vec<u8>)>),
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    gltf::containers(&mut cases);
    gltf::accessors(&mut cases);
    gltf::nodes_and_skins(&mut cases);
    gltf::amplifiers(&mut cases);
    gltf::external(&mut cases);
    gltf::tables(&mut cases);
    others::arrays(&mut cases);
    others::archives(&mut cases);
    others::bundles(&mut cases);
    others::caches(&mut cases);
    others::motions(&mut cases);
    cases
}
