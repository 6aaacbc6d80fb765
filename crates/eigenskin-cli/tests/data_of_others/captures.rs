//! Motion capture on characters of others.

use std::path::Path;

use eigenskin::glam::Vec3;

use crate::support::data;
use crate::support::json::json_of;
use crate::support::point_cache::read_pc2;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_capture_walks_a_sample_character() {
    let data = data();
    let folder = tempfile::tempdir().unwrap();
    let (glb, pc2) = (folder.path().join("walk.glb"), folder.path().join("walk.pc2"));
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cesium-man-cmu.toml");
    let (model, bvh) = (data.join("gltf/CesiumMan.glb"), data.join("bvh/02_01.bvh"));
    let report = json_of(&[
        "bake",
        text(&model),
        "--bvh",
        text(&bvh),
        "--map",
        text(&map),
        "--align",
        "--rate",
        "30",
        "-o",
        text(&glb),
        "--write-pc2",
        text(&pc2),
    ]);
    assert_eq!(
        (report["frames"].as_u64(), report["unmatched"].as_array().map(Vec::len)),
        (Some(87), Some(2))
    );
    let frames = read_pc2(&pc2);
    let bounds = |frame: &[Vec3]| {
        let low = frame.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        (low, frame.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max))
    };
    for frame in &frames {
        // Upright on the ground all the time: 1.5 m tall, feet within 8 cm of it.
        let (low, high) = bounds(frame);
        assert!((1.3..1.65).contains(&(high.y - low.y)) && low.y.abs() < 0.08, "{low} {high}");
    }
    let centre = |frame: &[Vec3]| frame.iter().sum::<Vec3>() / frame.len() as f32;
    let walked = centre(&frames[86]) - centre(&frames[0]);
    assert!(walked.with_y(0.0).length() > 1.0 && walked.y.abs() < 0.1, "{walked}");
}
