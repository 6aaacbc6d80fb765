//! What programs write within the formats of caches, and where they put the character.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_io::vertex_cache::{write_mdd, write_pc2};
use eigenskin_io::{VertexCache, examples_from_clip, read_cache, read_obj_folder};

use crate::support::scene::{Scene, arm_scene, reordered, shuffled};

fn cache_of(frames: Vec<Vec<Vec3>>) -> VertexCache {
    VertexCache::new(Path::new("shapes.pc2"), frames, None, None).unwrap()
}

fn examples(scene: &Scene, frames: Vec<Vec<Vec3>>) -> Result<(Vec<Vec<Vec3>>, String), String> {
    let found = examples_from_clip(&scene.file, "poses", &cache_of(frames), 0);
    let (set, notes) = found.map_err(|error| error.to_string())?;
    Ok((set.examples().iter().map(|e| e.positions.clone()).collect(), notes.join("\n")))
}

/// Largest distance between shapes and the scene's own, as a share of the size.
fn furthest(scene: &Scene, shapes: &[Vec<Vec3>]) -> f64 {
    assert_eq!(shapes.len(), scene.shapes.len());
    let pairs = shapes.iter().flatten().zip(scene.shapes.iter().flatten());
    pairs.map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max) / scene.rig().mesh().size()
}

/// Every frame moved, frame by frame.
fn moved(frames: &[Vec<Vec3>], shift: impl Fn(usize) -> Vec3) -> Vec<Vec<Vec3>> {
    frames.iter().enumerate().map(|(f, frame)| frame.iter().map(|&p| p + shift(f)).collect()).collect()
}

#[test]
fn a_cache_beside_the_rig_is_brought_back() {
    let (_, scene) = arm_scene();
    let frames = scene.frames();
    let size = scene.rig().mesh().size() as f32;
    let aside = Vec3::new(0.5, -0.2, 0.125) * size;
    let (shapes, notes) = examples(&scene, moved(&frames, |_| aside)).unwrap();
    assert!(furthest(&scene, &shapes) < 1e-6);
    assert!(notes.contains("another place in all frames"), "{notes}");
    // Other axes, another unit and another order besides: z up, centimetres.
    let z_up = |p: &Vec3| 100.0 * (Vec3::new(p.x, -p.z, p.y) + aside);
    let turned: Vec<Vec<Vec3>> = frames.iter().map(|frame| frame.iter().map(z_up).collect()).collect();
    let turned = reordered(&turned, &shuffled(frames[0].len(), 3));
    let (shapes, notes) = examples(&scene, turned).unwrap();
    assert!(furthest(&scene, &shapes) < 1e-6);
    assert!(
        notes.contains("another place") && notes.contains("x, z, −y") && notes.contains("0.01"),
        "{notes}"
    );
}

/// Frames that do not agree about the shift are no shapes of one object.
#[test]
fn a_shift_of_some_frames_only_is_refused() {
    let (_, scene) = arm_scene();
    let frames = scene.frames();
    let aside = Vec3::X * scene.rig().mesh().size() as f32;
    let only_rest =
        examples(&scene, moved(&frames, |f| if f == 0 { aside } else { Vec3::ZERO })).unwrap_err();
    assert!(only_rest.contains("frame 1 is not shifted"), "{only_rest}");
    assert!(only_rest.contains("apply the object's location"), "{only_rest}");
    let wandering = examples(&scene, moved(&frames, |f| aside * (1.0 + f as f32))).unwrap_err();
    assert!(wandering.contains("frame 1 is shifted otherwise"), "{wandering}");
}

/// Line ends of Windows, continued lines, colours, weights, negative and combined corners,
/// comments, names in an old encoding.
#[test]
fn dialects_of_obj() {
    let text = b"# C:\\models\\\r\nmtllib a.mtl\r\no M\xfcll\\\r\nv 0 0 0 1\r\nv 1 \\\r\n  0 \\\r\n  0 0.5 0.25 1\r\n\tv 1 1 0 # corner\r\nv 0 1 0\r\nvt 0 0\r\nf 1/1 2/1 3/1/7\r\nf -4//1 -2 \\\r\n-1 # last\r\ng end\\";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.obj");
    std::fs::write(&path, text).unwrap();
    let cache = read_cache(&path).unwrap();
    assert_eq!(cache.frames[0], [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y]);
    assert_eq!(cache.faces.unwrap(), [[0, 1, 2], [0, 2, 3]]);
    // The line of an error is that of the file, and a last backslash continues nothing.
    std::fs::write(&path, b"v 0 0 0\nv 1 \\\n0 0\nv 1 0 \\").unwrap();
    assert!(read_cache(&path).unwrap_err().to_string().contains("line 4: a vertex has three numbers"));
}

/// Start, rate and times say when a frame is shown; the clip's keys say it here.
#[test]
fn times_of_point_caches_do_not_matter() {
    let (_, scene) = arm_scene();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let frames = scene.frames();
    write_pc2(path("a.pc2"), &frames, 12.5, 0.5).unwrap();
    let times: Vec<f32> = (0..frames.len()).map(|f| 3.0 + f as f32 / 24.0).collect();
    write_mdd(path("a.mdd"), &times, &frames).unwrap();
    // By the layout of the format: counts, then times, big endian.
    let bytes = std::fs::read(path("a.mdd")).unwrap();
    assert_eq!(bytes[..4], (frames.len() as u32).to_be_bytes());
    assert_eq!(bytes[8..12], 3.0f32.to_be_bytes());
    assert_eq!(bytes[8 + 4 * frames.len()..][..4], frames[0][0].x.to_be_bytes());
    for name in ["a.pc2", "a.mdd"] {
        assert_eq!(read_cache(path(name)).unwrap().frames, frames, "{name}");
    }
}

/// Blender's exporter on an object beside the origin, z up in Blender (fixtures/make_blender_obj.py).
#[test]
fn a_sequence_from_blender() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/blender-obj");
    let cache = read_obj_folder(&folder).unwrap();
    // The mesh by the script's formula, in glTF's axes: (x, y, z) → (x, z, −y).
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0f32)];
    let tower = |bend: f32| -> Vec<Vec3> {
        let ring =
            |z: f32| corners.map(|(x, y)| Vec3::new(x * (0.5 + 0.1 * z) + bend * 0.25 * z * z, z, -0.3 * y));
        [0.0, 1.0, 2.0].into_iter().flat_map(ring).collect()
    };
    let triangles =
        cache.faces.as_ref().unwrap().iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]);
    let mesh = Mesh::new(tower(0.0), triangles.collect(), None).unwrap();
    let joint =
        Joint { name: "root".into(), parent: None, reference: None, joint_from_rest: DAffine3::IDENTITY };
    let (weights, _) =
        SkinWeights::new(1, (0..12).map(|_| vec![Influence { joint: 0, weight: 1.0 }])).unwrap();
    let rig = Arc::new(Rig::new(mesh, Skeleton::new(vec![joint]).unwrap(), weights, vec![]).unwrap());
    let pose =
        |x: f64| Pose { world_from_joint: vec![DAffine3::from_translation(DVec3::X * x)], controls: vec![] };
    let shapes = vec![tower(0.5), tower(1.0)];
    let scene = Scene::new(rig, vec![pose(0.2), pose(0.4)], shapes);
    let (set, notes) = examples_from_clip(&scene.file, "poses", &cache, 0).unwrap();
    let found: Vec<Vec<Vec3>> = set.examples().iter().map(|e| e.positions.clone()).collect();
    assert!(furthest(&scene, &found) < 1e-5);
    let names: Vec<&str> = set.examples().iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["tower0002", "tower0003"]);
    assert!(notes.join("\n").contains("moved by -2, -0.5, -1"), "{notes:?}");
}
