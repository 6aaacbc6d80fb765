//! Readers on any bytes, one function per format. They return whatever the file is; only a bug of a
//! reader makes them panic. The fuzz targets call them, and so do the tests of eigenskin-io.

pub mod seeds;

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_gltf::{Document, ReadOptions, examples_of, model_of, rig_glb, rig_of, skins_of};
use eigenskin_io::Bvh;
use eigenskin_io::npz::Bundle;
use eigenskin_io::vertex_cache::cache_of;

/// A GLB or .gltf as rig, example set and model. What is read can be posed and written.
pub fn glb(bytes: &[u8]) {
    let Ok(document) = Document::from_bytes(bytes, None) else { return };
    let options = ReadOptions::default();
    let _ = skins_of(&document);
    if let Ok(file) = rig_of(document.clone(), &options) {
        for clip in file.clips() {
            let _ = file.sample(clip, 0.5 * clip.duration());
        }
        let _ = rig_glb(&file);
    }
    if let Ok((file, set)) = examples_of(document.clone(), &options) {
        assert!(set.examples().iter().all(|e| e.positions.len() == file.rig().vertex_count()));
    }
    if let Ok((file, model)) = model_of(document) {
        let mut shape = vec![Vec3::ZERO; file.rig().vertex_count()];
        Evaluator::new(Arc::new(model)).evaluate(&file.default_pose(), &mut shape, None);
    }
}

/// A numpy archive as bundle and as cache, and the same bytes as a single array.
pub fn npz(bytes: &[u8]) {
    if let Ok(bundle) = Bundle::from_reader(Cursor::new(bytes))
        && let Ok((rig, _)) = bundle.rig(None)
    {
        let _ = bundle.examples(&Arc::new(rig));
    }
    cache("a.npz", bytes);
    cache("a.npy", bytes);
}

/// An OBJ file.
pub fn obj(bytes: &[u8]) {
    cache("a.obj", bytes);
}

/// A PC2 point cache.
pub fn pc2(bytes: &[u8]) {
    cache("a.pc2", bytes);
}

/// An MDD point cache.
pub fn mdd(bytes: &[u8]) {
    cache("a.mdd", bytes);
}

/// A motion capture file.
pub fn bvh(bytes: &[u8]) {
    if let Ok(bvh) = Bvh::parse(&String::from_utf8_lossy(bytes)) {
        let pose = bvh.pose_at(1.5 * bvh.frame_time());
        assert_eq!(pose.positions.len(), bvh.joints().len());
        assert!(pose.positions.iter().all(|p| p.is_finite()));
    }
}

/// A cache that is read keeps its promises.
fn cache(name: &str, bytes: &[u8]) {
    if let Ok(cache) = cache_of(Path::new(name), bytes) {
        let vertices = cache.vertex_count();
        assert!(cache.frames.iter().all(|frame| frame.len() == vertices));
        assert!(cache.frames.iter().flatten().all(|p| p.is_finite()));
        assert!(cache.faces.iter().flatten().flatten().all(|&corner| (corner as usize) < vertices));
    }
}
