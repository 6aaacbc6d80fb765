//! A clip and a cache give the same examples as an example set, whatever the order, axes and unit.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::weights::SkinWeights;
use eigenskin_io::vertex_cache::{write_mdd, write_pc2};
use eigenskin_io::{VertexCache, examples_from_clip, read_obj_folder};

use crate::support::faces::{faces_of, lips_scene, renamed};
use crate::support::scene::{Scene, arm_scene, assert_shapes, reordered, shuffled};

fn cache_of(frames: Vec<Vec<Vec3>>, faces: Option<Vec<Vec<u32>>>) -> VertexCache {
    VertexCache::new(Path::new("shapes.pc2"), frames, faces, None).unwrap()
}

fn examples(scene: &Scene, cache: &VertexCache) -> (ExampleSet, String) {
    let (set, notes) = examples_from_clip(&scene.file, "poses", cache, 0).unwrap();
    (set, notes.join("\n"))
}

fn refusal(scene: &Scene, cache: &VertexCache) -> String {
    examples_from_clip(&scene.file, "poses", cache, 0).unwrap_err().to_string()
}

/// The bytes of the two binary formats, by hand from their descriptions.
#[test]
fn binary_formats_have_the_documented_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let frames = vec![vec![Vec3::new(1.0, 2.0, 3.0)], vec![Vec3::new(-4.0, 5.5, 0.25)]];
    let (pc2, mdd) = (folder.path().join("a.pc2"), folder.path().join("a.mdd"));
    write_pc2(&pc2, &frames, 10.0, 0.5).unwrap();
    write_mdd(&mdd, &[0.0, 0.5], &frames).unwrap();
    let pc2 = std::fs::read(pc2).unwrap();
    assert_eq!(pc2.len(), 32 + 24);
    assert_eq!(&pc2[..20], b"POINTCACHE2\0\x01\0\0\0\x01\0\0\0");
    // 10.0, 0.5 and two frames; then 1.0.
    assert_eq!(&pc2[20..36], b"\0\0\x20\x41\0\0\0\x3f\x02\0\0\0\0\0\x80\x3f");
    let mdd = std::fs::read(mdd).unwrap();
    assert_eq!(mdd.len(), 8 + 8 + 24);
    assert_eq!(&mdd[..20], b"\0\0\0\x02\0\0\0\x01\0\0\0\0\x3f\0\0\0\x3f\x80\0\0");
}

#[test]
fn order_axes_and_unit_are_found() {
    type Case<'a> = (&'a str, Vec<Vec<Vec3>>, &'a [&'a str]);
    let (_, scene) = arm_scene();
    let order = shuffled(scene.rest.len(), 7);
    let z_up = |p: Vec3| Vec3::new(p.x, -p.z, p.y);
    let changed = |change: &dyn Fn(Vec3) -> Vec3| -> Vec<Vec<Vec3>> {
        scene.frames().iter().map(|frame| frame.iter().map(|&p| change(p)).collect()).collect()
    };
    let cases: [Case; 6] = [
        ("shuffled", scene.frames(), &["matched"]),
        ("z up", changed(&z_up), &["x, z, −y"]),
        ("centimetres", changed(&|p| 100.0 * p), &["0.01 of"]),
        ("z up in millimetres", changed(&|p| 1000.0 * z_up(p)), &["x, z, −y", "0.001 of"]),
        ("mirrored", changed(&|p| Vec3::new(-p.x, p.y, p.z)), &["−x, y, z", "mirrored"]),
        ("a unit of its own", changed(&|p| 3.7 * p), &["another unit"]),
    ];
    for (name, frames, words) in cases {
        for (frames, shuffle) in [(reordered(&frames, &order), true), (frames, false)] {
            let (set, notes) = examples(&scene, &cache_of(frames, None));
            assert_shapes(&set, &scene, 1e-6);
            for word in words.iter().filter(|word| shuffle || **word != "matched") {
                assert!(notes.contains(word), "{name}: {word:?} is missing in {notes:?}");
            }
        }
    }
}

/// A square bar looks the same from eight sides; only its poses tell which is right.
#[test]
fn symmetric_shapes_are_turned_by_their_poses() {
    let bar = eigenskin_characters::square_bar().unwrap();
    let poses: Vec<Pose> = bar.single_joint_poses(3).into_iter().map(|named| named.pose).collect();
    let shapes = poses.iter().map(|pose| eigenskin_characters::truth::true_shape(&bar, pose)).collect();
    let scene = Scene::new(bar.rig.clone(), poses, shapes);
    let order = shuffled(scene.rest.len(), 3);
    let turn = |p: &Vec3| Vec3::new(p.z, -p.x, -p.y);
    let frames: Vec<Vec<Vec3>> =
        reordered(&scene.frames(), &order).iter().map(|frame| frame.iter().map(turn).collect()).collect();
    let (set, notes) = examples(&scene, &cache_of(frames, None));
    assert!(notes.contains("orientations"), "{notes}");
    assert_shapes(&set, &scene, 1e-6);
}

#[test]
fn seam_vertices_share_a_welded_one() {
    let (character, welded) = arm_scene();
    let mesh = welded.rig().mesh();
    // Triangles on one side get vertices of their own, as a texture seam makes them.
    let mut positions = mesh.positions().to_vec();
    let mut copy_of: Vec<usize> = (0..positions.len()).collect();
    let mut copies = vec![None; positions.len()];
    let mut triangles = mesh.triangles().to_vec();
    for triangle in &mut triangles {
        if triangle.iter().map(|&v| mesh.positions()[v as usize].y).sum::<f32>() > 0.0 {
            for corner in triangle.iter_mut() {
                let old = *corner as usize;
                *corner = *copies[old].get_or_insert_with(|| {
                    positions.push(mesh.positions()[old]);
                    copy_of.push(old);
                    (positions.len() - 1) as u32
                });
            }
        }
    }
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let skeleton = character.rig.skeleton().clone();
    let influences = copy_of.iter().map(|&old| character.rig.weights().of(old).to_vec());
    let (weights, _) = SkinWeights::new(skeleton.joint_count(), influences).unwrap();
    let rig = Arc::new(Rig::new(mesh, skeleton, weights, vec![]).unwrap());
    let of_copies = |shape: &Vec<Vec3>| copy_of.iter().map(|&old| shape[old]).collect();
    let split =
        Scene::new(rig, welded.poses.clone(), welded.shapes.iter().map(of_copies).collect::<Vec<_>>());
    assert!(split.rest.len() > welded.rest.len() + 100);
    let order = shuffled(welded.rest.len(), 11);
    for frames in [welded.frames(), reordered(&welded.frames(), &order)] {
        let (set, notes) = examples(&split, &cache_of(frames, None));
        assert_shapes(&set, &split, 0.0);
        assert!(notes.contains(&format!("to {} cache vertices", welded.rest.len())), "{notes}");
    }
    // The other way round: a split cache of a welded rig.
    let (set, _) = examples(&welded, &cache_of(split.frames(), None));
    assert_shapes(&set, &welded, 0.0);
}

#[test]
fn touching_surfaces_are_told_apart_by_their_neighbours() {
    let scene = lips_scene(3.0, -2.0);
    let count = scene.rest.len();
    let order = shuffled(count, 5);
    // Two vertices on one place: column 4 of the upper sheet is column 1 of the lower.
    let (upper, lower) = (6 + 4, 24 + 6 + 1);
    assert_eq!(scene.rest[upper], scene.rest[lower]);
    let mut swapped: Vec<usize> = (0..count).collect();
    swapped.swap(upper, lower);
    for (order, word) in [(order, "told apart"), (swapped, "2 vertices on touching surfaces")] {
        for faces in [None, Some(renamed(&faces_of(&scene), &order))] {
            let (set, notes) = examples(&scene, &cache_of(reordered(&scene.frames(), &order), faces));
            assert_shapes(&set, &scene, 1e-6);
            assert!(notes.contains(word), "{notes}");
        }
    }
    let (set, notes) = examples(&scene, &cache_of(scene.frames(), None));
    assert_shapes(&set, &scene, 0.0);
    assert_eq!(notes, "");
}

/// At the hinge of the sheets (row 0) the partners part by no more than the sculpted bumps: without
/// faces a guess would be as often wrong as right. (Vertex 5 has its neighbours' bump, 26 not: these
/// two are told apart.)
#[test]
fn bumps_are_no_evidence() {
    let scene = lips_scene(3.0, 0.0);
    for seed in 0..20 {
        let order = shuffled(scene.rest.len(), seed);
        let frames = reordered(&scene.frames(), &order);
        let message = refusal(&scene, &cache_of(frames.clone(), None));
        assert!(message.contains(" 4 of the rig's vertices (3, 4, 24, 25)"), "{message}");
        let faces = renamed(&faces_of(&scene), &order);
        assert_shapes(&examples(&scene, &cache_of(frames, Some(faces))).0, &scene, 0.0);
    }
}

#[test]
fn what_cannot_be_told_apart_is_named() {
    // The sheets lie wholly on each other: no vertex is certain.
    let scene = lips_scene(0.0, -2.0);
    let order = shuffled(scene.rest.len(), 5);
    let message = refusal(&scene, &cache_of(reordered(&scene.frames(), &order), None));
    assert!(message.contains("48 of the rig's vertices (0, 1, 2, 3, 4, …)"), "{message}");
    assert!(message.contains("shapes.pc2"), "{message}");
    // In the rig's own order nothing is in doubt.
    assert_shapes(&examples(&scene, &cache_of(scene.frames(), None)).0, &scene, 0.0);
}

#[test]
fn other_shapes_are_refused_and_small_drift_is_told() {
    let (_, scene) = arm_scene();
    let size = scene.rig().mesh().size();
    let moved = |share: f64| {
        let mut frames = scene.frames();
        frames[0][17].y += (share * size) as f32;
        frames
    };
    let (set, notes) = examples(&scene, &cache_of(moved(5e-4), None));
    assert!(notes.contains("0.0500 % of the size"), "{notes}");
    assert_shapes(&set, &scene, 0.0);
    let message = refusal(&scene, &cache_of(moved(4e-3), None));
    assert!(message.contains("1 of the rig's") && message.contains("(17)"), "{message}");
    assert!(message.contains("0.400 % of the size"), "{message}");

    let other = eigenskin_characters::arm(600).unwrap();
    let shapes = scene.poses.iter().map(|pose| eigenskin_characters::truth::true_shape(&other, pose));
    let frames = std::iter::once(other.rig.mesh().positions().to_vec()).chain(shapes).collect();
    let message = refusal(&scene, &cache_of(frames, None));
    assert!(message.contains("topology") && message.contains("302 vertices"), "{message}");
    assert!(!message.contains("flat"), "{message}");
}

#[test]
fn flat_shaded_exports_are_explained() {
    let (_, scene) = arm_scene();
    let corners: Vec<usize> = scene.triangles().iter().flatten().map(|&v| v as usize).collect();
    let flat = reordered(&scene.frames(), &corners);
    // In a steady order the corners are copies of one point.
    assert_shapes(&examples(&scene, &cache_of(flat.clone(), None)).0, &scene, 0.0);
    // Split anew in every pose they come in another order.
    let mut unsteady = flat;
    for (seed, frame) in unsteady.iter_mut().enumerate().skip(1) {
        *frame = shuffled(corners.len(), seed as u64).into_iter().map(|old| frame[old]).collect();
    }
    let message = refusal(&scene, &cache_of(unsteady, None));
    assert!(message.contains("flat-shaded") && message.contains("2400 vertices"), "{message}");
}

#[test]
fn keys_and_frames_must_agree() {
    let (character, scene) = arm_scene();
    let keys = scene.poses.len();
    let frames = scene.frames();
    let message = refusal(&scene, &cache_of(frames[..keys - 1].to_vec(), None));
    let numbers = format!("{} frames for the {keys} keys", keys - 1);
    assert!(message.contains(&numbers) && message.contains("one frame short"), "{message}");
    // As many frames as keys, but the first is rest and the first key is not: all would be shifted.
    let message = refusal(&scene, &cache_of(frames[..keys].to_vec(), None));
    assert!(message.contains("one frame short") && message.contains("not the rest pose"), "{message}");
    let mut more = frames.clone();
    more.push(frames[1].clone());
    assert!(refusal(&scene, &cache_of(more, None)).contains("one frame too many"));
    let unknown = examples_from_clip(&scene.file, "walk", &cache_of(frames.clone(), None), 0).unwrap_err();
    assert!(unknown.to_string().contains("\"walk\"") && unknown.to_string().contains("\"poses\""));

    // A clip that starts at rest needs no frame besides.
    let mut poses = vec![character.rig.rest_pose()];
    poses.extend(scene.poses.clone());
    let with_rest = Scene::new(character.rig.clone(), poses, frames.clone());
    assert_shapes(&examples(&with_rest, &cache_of(frames.clone(), None)).0, &with_rest, 0.0);
    // The rest shape may stand elsewhere.
    let mut last = frames[1..].to_vec();
    last.push(frames[0].clone());
    let (set, _) = examples_from_clip(&scene.file, "poses", &cache_of(last.clone(), None), keys).unwrap();
    assert_shapes(&set, &scene, 0.0);
    assert!(refusal(&scene, &cache_of(last.clone(), None)).contains("rest frame 0"));
    let beyond = examples_from_clip(&scene.file, "poses", &cache_of(last, None), 99).unwrap_err();
    assert!(beyond.to_string().contains("no frame 99"));
}

#[test]
fn obj_folders_are_read_as_programs_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let head = "# by a program\r\nmtllib a.mtl\r\no Körper\r\n";
    write(
        "b2.obj",
        &format!("{head}v 0 0 0 1 0 0\r\nv 1e0 0 0\r\n  v\t0 1. 0\r\nvt 0 0\r\nf 1/1/1 2/1/1 3/1/1\r\n"),
    );
    write("b10.OBJ", "v 0 0 1\nv 1 0 1\nv 0 1 1\nf -3 -2 -1 # last three\n");
    write("notes.txt", "v 9 9 9");
    write("._b2.obj", "v 9 9 9");
    let cache = read_obj_folder(folder.path()).unwrap();
    assert_eq!(cache.names, Some(vec!["b2".to_string(), "b10".to_string()]));
    assert_eq!(cache.frames[0], [Vec3::ZERO, Vec3::X, Vec3::Y]);
    assert_eq!(cache.frames[1][2], Vec3::new(0.0, 1.0, 1.0));
    assert_eq!(cache.faces, Some(vec![vec![0, 1, 2]]));
    let fails = |name: &str, text: &str, words: &[&str]| {
        write(name, text);
        let message = read_obj_folder(folder.path()).unwrap_err().to_string();
        std::fs::remove_file(folder.path().join(name)).unwrap();
        for word in words {
            assert!(message.contains(word), "{word:?} is missing in {message}");
        }
    };
    fails("c.obj", "v 0 0 0\nv 1 0 x\n", &["c.obj", "line 2", "\"x\""]);
    fails("c.obj", "v 0 0 0\nv 1 0 NaN\n", &["c.obj", "line 2", "finite"]);
    fails("c.obj", "v 0 0\n", &["c.obj", "line 1", "three"]);
    fails("c.obj", "v 0 0 0\nf 1 2 3\n", &["c.obj", "vertex 2 of 1"]);
    fails("c.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 1 3\n", &["c.obj", "faces"]);
    fails(
        "a.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 4 5 6\n",
        &["frame b2", "3 vertices", "6", "flat"],
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(read_obj_folder(empty.path()).unwrap_err().to_string().contains("no .obj files"));
}
