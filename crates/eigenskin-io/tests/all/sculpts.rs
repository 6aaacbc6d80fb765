//! Sculpts and shape keys of a GLB: what their names mean, how vertices are matched, what is refused.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_gltf::Document;
use eigenskin_gltf::{ReadOptions, rig_glb, rig_of};
use eigenskin_io::{examples_from_sculpts, examples_from_shape_keys};
use serde_json::json;

use crate::support::faces::{faces_of, renamed};
use crate::support::scene::{Scene, arm_scene, reordered, shuffled};
use crate::support::sculpts::{Sculpt, write_sculpts, write_shape_keys};

type Spoil = fn(&mut Vec<Sculpt>);

fn sculpted(
    scene: &Scene,
    clip: Option<&str>,
    change: impl FnOnce(&mut Vec<Sculpt>),
) -> Result<(ExampleSet, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sculpts.glb");
    write_sculpts(&path, scene, change);
    examples_from_sculpts(&scene.file, clip, &path).map_err(|error| error.to_string())
}

fn keyed(
    scene: &Scene,
    clip: Option<&str>,
    change: impl FnOnce(&mut Vec<String>),
) -> Result<(ExampleSet, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.glb");
    write_shape_keys(&path, scene, change);
    examples_from_shape_keys(&scene.file, clip, &path, &ReadOptions::default())
        .map_err(|error| error.to_string())
}

/// Each example is the scene's shape at the key that `key_of` gives for its name, and has its pose.
fn assert_examples(set: &ExampleSet, scene: &Scene, key_of: impl Fn(&str) -> usize) {
    assert_eq!(set.len(), scene.shapes.len());
    let limit = 5e-7 * scene.rig().mesh().size();
    for example in set.examples() {
        let key = key_of(&example.name);
        let far = |(a, b): (&Vec3, &Vec3)| f64::from(a.distance(*b));
        let furthest = example.positions.iter().zip(&scene.shapes[key]).map(far).fold(0.0, f64::max);
        assert!(furthest <= limit, "{}: {furthest} of {limit}", example.name);
        for (found, expected) in example.pose.world_from_joint.iter().zip(&scene.poses[key].world_from_joint)
        {
            assert!(found.abs_diff_eq(*expected, 1e-5), "{}", example.name);
        }
    }
}

fn after_at(name: &str) -> usize {
    name.rsplit_once('@').unwrap().1.parse().unwrap()
}

#[test]
fn names_say_keys_of_the_given_clip_of_their_own_or_the_order() {
    let (_, scene) = arm_scene();
    assert_examples(&sculpted(&scene, Some("poses"), |_| {}).unwrap().0, &scene, after_at);
    let own_clip = |sculpts: &mut Vec<Sculpt>| {
        for s in sculpts.iter_mut() {
            s.name = format!("poses@{}", after_at(&s.name));
        }
    };
    assert_examples(&sculpted(&scene, None, own_clip).unwrap().0, &scene, after_at);
    // Without keys in the names: "pose 7" is before "pose 14".
    let no_keys = |sculpts: &mut Vec<Sculpt>| {
        for s in sculpts.iter_mut() {
            s.name = s.name.split('@').next().unwrap().to_string();
        }
    };
    let (set, _) = sculpted(&scene, Some("poses"), no_keys).unwrap();
    assert_examples(&set, &scene, |name| name[5..].parse::<usize>().unwrap() / 7);
    let strip =
        |names: &mut Vec<String>| names.iter_mut().for_each(|n| *n = n.split('@').next().unwrap().into());
    let (set, _) = keyed(&scene, Some("poses"), strip).unwrap();
    assert_examples(&set, &scene, |name| name[5..].parse::<usize>().unwrap() / 7);
}

/// As a pose library exports: one clip of one key per pose.
#[test]
fn clips_of_one_pose_are_poses() {
    let (_, mut scene) = arm_scene();
    let mut file = scene.file.clone();
    for (key, pose) in scene.poses.iter().enumerate() {
        // The pose held over two keys is still one pose.
        let times = [0.0, 1.0];
        let count = 1 + key % 2;
        file = file.with_clip(&format!("p{key}"), &times[..count], &vec![pose.clone(); count]).unwrap();
    }
    let glb = rig_glb(&file).unwrap();
    let document = Document::from_bytes(&glb, None).unwrap();
    scene.file = rig_of(document, &ReadOptions::default()).unwrap();
    let rename = |sculpts: &mut Vec<Sculpt>| {
        for s in sculpts.iter_mut() {
            s.name = format!("p{}", after_at(&s.name));
        }
    };
    let (set, notes) = sculpted(&scene, None, rename).unwrap();
    assert_examples(&set, &scene, |name| name[1..].parse().unwrap());
    assert!(notes.is_empty(), "{notes:?}");
    let names = |names: &mut Vec<String>| {
        for (key, name) in names.iter_mut().enumerate() {
            *name = format!("p{key}");
        }
    };
    assert_examples(&keyed(&scene, None, names).unwrap().0, &scene, |name| name[1..].parse().unwrap());
    // Other shape keys may stand beside them; sculpts are all meant.
    let smile = |names: &mut Vec<String>| {
        for (key, name) in names.iter_mut().enumerate().skip(1) {
            *name = format!("p{key}");
        }
        names[0] = "smile".into();
    };
    let (set, notes) = keyed(&scene, None, smile).unwrap();
    assert_eq!(set.len(), scene.shapes.len() - 1);
    assert!(notes.iter().any(|note| note.contains("left out: \"smile\"")), "{notes:?}");
}

#[test]
fn a_rest_sculpt_matches_vertices_in_any_order_axes_and_unit() {
    let (_, scene) = arm_scene();
    let order = shuffled(scene.rest.len(), 9);
    let faces: Vec<[u32; 3]> =
        renamed(&faces_of(&scene), &order).into_iter().map(|face| [face[0], face[1], face[2]]).collect();
    let shuffle = |sculpts: &mut Vec<Sculpt>| {
        sculpts.push(Sculpt { name: "Rest".into(), positions: scene.rest.clone(), triangles: vec![] });
        for sculpt in sculpts {
            sculpt.positions = reordered(std::slice::from_ref(&sculpt.positions), &order).remove(0);
            sculpt.triangles.clone_from(&faces);
        }
    };
    let (set, notes) = sculpted(&scene, Some("poses"), shuffle).unwrap();
    assert_examples(&set, &scene, after_at);
    assert!(notes[0].contains("matched"), "{notes:?}");
    // Without it the order is in doubt.
    let message = sculpted(&scene, Some("poses"), |sculpts| {
        shuffle(sculpts);
        sculpts.pop();
    })
    .unwrap_err();
    assert!(message.contains("another order") && message.contains("named \"rest\""), "{message}");
}

/// Programs cut quads along the diagonal that suits the pose.
#[test]
fn the_other_diagonal_is_the_same_mesh() {
    let (_, scene) = arm_scene();
    let flip = |sculpts: &mut Vec<Sculpt>| {
        let triangles = &mut sculpts[1].triangles;
        let [a, b, c] = triangles[0];
        let shares = |t: &[u32; 3]| t.contains(&a) && t.contains(&c) && !t.contains(&b);
        let other = triangles.iter().position(shares).unwrap();
        let d = *triangles[other].iter().find(|&&v| v != a && v != c).unwrap();
        triangles[0] = [a, b, d];
        triangles[other] = [b, c, d];
    };
    assert_examples(&sculpted(&scene, Some("poses"), flip).unwrap().0, &scene, after_at);
}

#[test]
fn a_sculpt_at_the_wrong_key_is_told() {
    let (_, scene) = arm_scene();
    let count = scene.shapes.len();
    let from_one = |sculpts: &mut Vec<Sculpt>| {
        for s in sculpts.iter_mut() {
            s.name = format!("a@{}", (after_at(&s.name) + 1) % count);
        }
    };
    let (_, notes) = sculpted(&scene, Some("poses"), from_one).unwrap();
    let about = notes.iter().filter(|note| note.contains("counted from 0")).count();
    assert!(about * 2 > count, "{notes:?}");
    assert!(
        notes.iter().any(|note| note.contains("\"a@1\" is at key 1") && note.contains("like key 0")),
        "{notes:?}"
    );
}

#[test]
fn what_is_ambiguous_is_refused_in_one_sentence() {
    let (_, scene) = arm_scene();
    let cases: [(Option<&str>, Spoil, &[&str]); 10] = [
        (
            Some("poses"),
            |s| s[0].name = "elbow@99".into(),
            &["\"elbow@99\" names no pose", "keys, counted from 0", "\"poses\" (0 to"],
        ),
        (
            Some("poses"),
            |s| s[0].name = "elbow".into(),
            &["\"elbow\" names no pose", "no @KEY", "\"pose 91@13\""],
        ),
        (Some("poses"), |s| s[0].name = "elbow@3.001".into(), &["\"3.001\" is not the number"]),
        (None, |s| s[0].name = "poses".into(), &["\"poses\" names no pose", "say which: poses@KEY"]),
        (None, |_| {}, &["names no pose", "no clip \"pose"]),
        (Some("wave"), |_| {}, &["no clip \"wave\"", "\"poses\""]),
        (Some("poses"), |s| s[0].name = s[1].name.clone(), &["two of the sculpts are named"]),
        (
            Some("poses"),
            |s| s.iter_mut().take(2).for_each(|s| s.name = "rest".into()),
            &["two of the sculpts are named \"rest\""],
        ),
        (
            Some("poses"),
            |s| {
                s[0].positions.push(Vec3::ZERO);
                s[0].name = "odd@1".into();
                s[1].name = "even@2".into();
            },
            &["sculpt \"odd@1\"", "vertices, the rig has", "one mesh"],
        ),
        (Some("poses"), Vec::clear, &["no sculpts", "mesh nodes without a skin"]),
    ];
    for (clip, spoil, words) in cases {
        let message = sculpted(&scene, clip, spoil).unwrap_err();
        assert!(message.contains("sculpts.glb") && !message.contains('\n'), "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is missing in: {message}");
        }
    }
    let fewer = |sculpts: &mut Vec<Sculpt>| {
        sculpts.truncate(2);
        sculpts[0].name = "b".into();
        sculpts[1].name = "a".into();
    };
    let message = sculpted(&scene, Some("poses"), fewer).unwrap_err();
    assert!(message.contains("2 sculpts (\"b\", \"a\")") && message.contains("\"a@0\""), "{message}");
    let message = keyed(&scene, Some("poses"), |names| names[1] = names[0].clone()).unwrap_err();
    assert!(message.contains("two of the shape keys are named"), "{message}");
    let message = keyed(&scene, None, |_| {}).unwrap_err();
    assert!(message.contains("no clip \"pose 0\""), "{message}");
}

/// Props on bones are no sculpts; other meshes are none when the sculpts have a node of their own.
#[test]
fn other_meshes_may_stand_in_the_file() {
    let (_, scene) = arm_scene();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sculpts.glb");
    write_sculpts(&path, &scene, |sculpts| {
        for name in ["watch", "table"] {
            let triangles = vec![[0, 1, 2]];
            sculpts.push(Sculpt { name: name.into(), positions: vec![Vec3::X, Vec3::Y, Vec3::Z], triangles });
        }
    });
    let mut document = Document::from_bytes(&std::fs::read(&path).unwrap(), None).unwrap();
    let nodes = document.array("nodes").len();
    let (watch, table) = (nodes - 2, nodes - 1);
    let joint = scene.file.layout().joint_nodes[1];
    // The watch hangs on the arm.
    let roots = document.json["scenes"][0]["nodes"].as_array_mut().unwrap();
    roots.retain(|root| root.as_u64() != Some(watch as u64));
    let entry = document.entry_mut("nodes", joint).unwrap();
    let mut children = entry["children"].as_array().cloned().unwrap_or_default();
    children.push(watch.into());
    entry["children"] = children.into();
    std::fs::write(&path, document.to_glb().unwrap()).unwrap();
    let message = examples_from_sculpts(&scene.file, Some("poses"), &path).unwrap_err().to_string();
    assert!(message.contains("\"table\" names no pose"), "{message}");
    // The table stays in the scene, the sculpts move below a node.
    let first = table - 1 - scene.shapes.len();
    let roots = document.json["scenes"][0]["nodes"].as_array_mut().unwrap();
    roots.retain(|root| !(first as u64..watch as u64).contains(&root.as_u64().unwrap()));
    roots.push(nodes.into());
    let children: Vec<usize> = (first..watch).collect();
    document.array_mut("nodes").unwrap().push(json!({"name": "sculpts", "children": children}));
    std::fs::write(&path, document.to_glb().unwrap()).unwrap();
    assert_examples(&examples_from_sculpts(&scene.file, Some("poses"), &path).unwrap().0, &scene, after_at);
}

/// Flat shading makes a vertex of every corner.
#[test]
fn flat_shaded_sculpts_are_explained() {
    let (_, scene) = arm_scene();
    let flat = |sculpts: &mut Vec<Sculpt>| {
        for sculpt in sculpts {
            let corners = sculpt.triangles.concat();
            sculpt.positions = corners.iter().map(|&v| sculpt.positions[v as usize]).collect();
            sculpt.triangles = (0..corners.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        }
    };
    let message = sculpted(&scene, Some("poses"), flat).unwrap_err();
    assert!(message.contains("flat-shaded") && message.contains("shade smooth"), "{message}");
}
