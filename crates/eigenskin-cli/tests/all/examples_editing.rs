//! `eigenskin examples`, as an artist types it.

use std::path::{Path, PathBuf};

use eigenskin::characters::{Character, arm, truth::SweptSkin, two_arms::two_arms};
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::vertex_cache::write_obj;
use eigenskin::io::{read_example_list, read_examples};
use eigenskin::pose::Pose;
use serde_json::{Value, json};

use crate::support::{eigenskin, json_of};

/// A folder with an arm, a clip of poses, sculpts of them, and the same poses as JSON.
struct Desk {
    folder: tempfile::TempDir,
    arm: Character,
    poses: Vec<Pose>,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arm = arm(600).unwrap();
        let poses: Vec<Pose> = [[0.0, 0.0, -0.6], [0.0, 0.0, -1.2], [-0.5, 0.0, 0.0]]
            .iter()
            .map(|angles| arm.pose(angles))
            .collect();
        let desk = Self { folder, arm, poses };
        let file = RigFile::from_rig(desk.arm.rig.clone(), "arm")
            .unwrap()
            .with_clip("poses", &[0.0, 1.0, 2.0], &desk.poses)
            .unwrap();
        eigenskin::io::write_rig(desk.file("rig.glb"), &file).unwrap();
        for (index, shape) in desk.shapes().iter().enumerate() {
            desk.write_sculpt(&format!("{index}.obj"), shape);
        }
        let named: Vec<_> = desk
            .poses
            .iter()
            .enumerate()
            .map(|(index, pose)| {
                let pose =
                    eigenskin::articulation::NamedPose { name: format!("pose {index}"), pose: pose.clone() };
                (pose, String::new())
            })
            .collect();
        eigenskin::io::pose_file::write_poses(desk.file("poses.json"), &desk.arm.rig, &named).unwrap();
        desk
    }

    fn shapes(&self) -> Vec<Vec<Vec3>> {
        let skin = SweptSkin::new(&self.arm);
        self.poses.iter().map(|pose| skin.shape(pose)).collect()
    }

    fn write_sculpt(&self, name: &str, shape: &[Vec3]) {
        write_obj(&self.file(name), shape, &[], self.arm.rig.mesh().triangles()).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_string()
    }

    /// Runs `examples` in this folder: arguments that are files here become their paths.
    fn run(&self, line: &str) -> std::process::Output {
        let words: Vec<String> = std::iter::once("examples".to_string())
            .chain(line.split_whitespace().map(|word| {
                let is_file = [".glb", ".obj", ".json", ".npz"].iter().any(|end| word.ends_with(end));
                if is_file { self.path(word) } else { word.replace('~', " ") }
            }))
            .collect();
        eigenskin(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    /// The one sentence of a refusal; `file` is left as it was.
    fn refused(&self, line: &str, file: &str) -> String {
        let before = std::fs::read(self.file(file)).ok();
        let entries = std::fs::read_dir(self.folder.path()).unwrap().count();
        let output = self.run(line);
        assert!(!output.status.success(), "{line} was done");
        assert_eq!(std::fs::read(self.file(file)).ok(), before, "{line} changed {file}");
        assert_eq!(std::fs::read_dir(self.folder.path()).unwrap().count(), entries, "{line} wrote something");
        let error = String::from_utf8(output.stderr).unwrap();
        let told = error.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(told, 1, "{line}: {error}");
        error
    }

    fn set(&self, name: &str) -> ExampleSet {
        read_examples(self.file(name), &ReadOptions::default()).unwrap().1
    }
}

fn names(set: &ExampleSet) -> Vec<&str> {
    set.examples().iter().map(|example| example.name.as_str()).collect()
}

fn furthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

#[test]
fn a_set_grows_from_a_rig_and_is_edited() {
    let desk = Desk::new();
    let shapes = desk.shapes();
    desk.done("add rig.glb 0.obj --name bent --clip poses --frame 0 -o set.glb");
    let told = desk.done("add set.glb 1.obj --name far --clip poses --time 1.0");
    assert!(told.contains("added far") && told.contains("2 examples"), "{told}");
    desk.done("add set.glb 2.obj --name shoulder --pose poses.json --pose-name pose~2");
    let set = desk.set("set.glb");
    assert_eq!(names(&set), ["bent", "far", "shoulder"]);
    for (example, shape) in set.examples().iter().zip(&shapes) {
        assert!(furthest(&example.positions, shape) < 1e-5, "{}", example.name);
    }

    let listed = json_of(&["examples", "list", &desk.path("set.glb")]);
    assert_eq!(listed["examples"][1]["name"], "far");
    let moves = listed["examples"][1]["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 1);
    let degrees = moves[0]["amount"].as_f64().unwrap();
    assert!((degrees - 1.2f64.to_degrees()).abs() < 1e-3, "{degrees}");
    assert!(listed["examples"][1]["largest_delta"].as_f64().unwrap() > 1e-3);
    assert!(desk.done("list set.glb").contains("69°"));

    // Muted: in the file, not in what is learnt; it keeps its place, also under another name.
    desk.done("mute set.glb far");
    assert_eq!(names(&desk.set("set.glb")), ["bent", "shoulder"]);
    desk.done("rename set.glb far further");
    let (_, list) = read_example_list(desk.file("set.glb"), &ReadOptions::default()).unwrap();
    assert_eq!(names(&list.set), ["bent", "further", "shoulder"]);
    assert!(list.is_muted("further") && list.muted.len() == 1);
    let fitted = json_of(&[
        "fit",
        &desk.path("set.glb"),
        "--examples",
        &desk.path("set.glb"),
        "-o",
        &desk.path("model.glb"),
    ]);
    assert_eq!(
        fitted.pointer("/training/poses").or(fitted.pointer("/examples")).and_then(Value::as_u64),
        Some(2),
        "{fitted}"
    );
    desk.done("unmute set.glb further");
    assert_eq!(desk.set("set.glb").len(), 3);

    // Replaced in its place, with its own pose; other examples keep their bits.
    let before = desk.set("set.glb");
    let thicker: Vec<Vec3> = shapes[0].iter().map(|p| *p * 1.01).collect();
    desk.write_sculpt("again.obj", &thicker);
    desk.done("replace set.glb bent again.obj -o other.glb");
    assert_eq!(desk.set("set.glb"), before);
    let after = desk.set("other.glb");
    assert_eq!(names(&after), ["bent", "further", "shoulder"]);
    assert!(furthest(&after.examples()[0].positions, &thicker) < 1e-5);
    for index in [1, 2] {
        assert!(furthest(&after.examples()[index].positions, &before.examples()[index].positions) < 1e-7);
    }
    desk.done("delete set.glb bent shoulder");
    assert_eq!(names(&desk.set("set.glb")), ["further"]);
}

/// Editing again and again does not wear shapes and poses off.
#[test]
fn a_hundred_edits_leave_the_others_alone() {
    let desk = Desk::new();
    desk.done("add rig.glb 0.obj --name a --clip poses --frame 0 -o set.glb");
    desk.done("add set.glb 1.obj --name b --clip poses --frame 1");
    let before = desk.set("set.glb");
    let (mut file, mut list) = read_example_list(desk.file("set.glb"), &ReadOptions::default()).unwrap();
    for _ in 0..50 {
        for (from, to) in [("b", "c"), ("c", "b")] {
            list.rename(from, to).unwrap();
            eigenskin::io::write_example_list(desk.file("set.glb"), &file, &list).unwrap();
            (file, list) = read_example_list(desk.file("set.glb"), &ReadOptions::default()).unwrap();
        }
    }
    for (old, new) in before.examples().iter().zip(list.set.examples()) {
        assert_eq!(old.name, new.name);
        assert!(
            furthest(&old.positions, &new.positions) < 1e-6,
            "{}",
            furthest(&old.positions, &new.positions)
        );
        let pairs = old.pose.world_from_joint.iter().zip(&new.pose.world_from_joint);
        assert!(pairs.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-6)));
    }
}

#[test]
fn bad_input_is_refused_in_one_sentence_and_nothing_is_written() {
    let desk = Desk::new();
    desk.done("add rig.glb 0.obj --name bent --clip poses --frame 0 -o set.glb");
    desk.done("add set.glb 1.obj --name far --clip poses --frame 1");
    let shapes = desk.shapes();
    desk.write_sculpt("thick.obj", &shapes[0].iter().map(|p| *p * 1.1).collect::<Vec<_>>());
    let short: Vec<Vec3> = shapes[2][..shapes[2].len() - 1].to_vec();
    write_obj(&desk.file("short.obj"), &short, &[], &[[0, 1, 2]]).unwrap();
    // The same surface with its vertices in reverse order.
    let last = shapes[2].len() as u32 - 1;
    let reversed: Vec<Vec3> = shapes[2].iter().rev().copied().collect();
    let faces: Vec<[u32; 3]> = desk.arm.rig.mesh().triangles().iter().map(|t| t.map(|v| last - v)).collect();
    write_obj(&desk.file("reversed.obj"), &reversed, &[], &faces).unwrap();
    desk.write_sculpt("rest.obj", desk.arm.rig.mesh().positions());
    desk.write_sculpt("tiny.obj", &shapes[2].iter().map(|p| *p * 0.001).collect::<Vec<_>>());
    std::fs::write(desk.file("note.txt"), "").unwrap();
    let pose = |value: Value| std::fs::write(desk.file("wrong.json"), value.to_string()).unwrap();
    let refused = |line: &str, expected: &[&str]| {
        let error = desk.refused(line, "set.glb");
        for expected in expected {
            assert!(error.contains(expected), "{line}: {error:?} does not say {expected:?}");
        }
    };
    let third = "--name new --clip poses --frame 2";
    refused(&format!("add set.glb short.obj {third}"), &["vertices, the rig has", "--rest"]);
    refused(&format!("add set.glb reversed.obj {third}"), &["another order", "--rest"]);
    refused(&format!("add set.glb tiny.obj {third}"), &["away from the character", "unit"]);
    refused(&format!("add set.glb note.txt {third}"), &["not an .obj"]);
    refused(&format!("add set.glb missing.obj {third}"), &["missing.obj"]);
    refused("add set.glb 2.obj --name new", &["pose of the sculpt is missing", "--clip NAME --frame N"]);
    refused("add set.glb 2.obj --name new --clip walk --frame 0", &["no clip \"walk\"", "poses"]);
    refused("add set.glb 2.obj --name new --clip poses --frame 9", &["3 keys, counted from 0"]);
    refused("add set.glb 2.obj --name new --clip poses --time 7", &["lasts 2.000 s"]);
    refused("add set.glb 2.obj --name new --clip poses", &["3 keys", "--frame"]);
    refused("add set.glb 2.obj --name bent --clip poses --frame 2", &["example \"bent\" already"]);
    refused("add set.glb 0.obj --name new --clip poses --frame 0", &["pose and the shape of \"bent\""]);
    refused(
        "add set.glb thick.obj --name new --clip poses --frame 0",
        &["\"bent\" and \"new\" have the same pose"],
    );
    refused("add rig.glb 0.obj --name new --clip poses --frame 0", &["-o SET.glb"]);
    pose(json!({ "name": "new" }));
    refused("add set.glb thick.obj --name new --pose wrong.json", &["at the rest pose, but vertex"]);
    refused("add set.glb rest.obj --name new --pose wrong.json", &["rest shape in the rest pose"]);
    pose(json!({ "name": "new", "joints": { "forarm": [0, 0, 90] } }));
    refused(
        "add set.glb 2.obj --name new --pose wrong.json",
        &["joint \"forarm\"", "did you mean \"forearm\"?", "wrong.json"],
    );
    pose(json!({ "name": "new", "controls": { "smile": 1 } }));
    refused("add set.glb 2.obj --name new --pose wrong.json", &["control \"smile\"", "it has no controls"]);
    refused("add set.glb 2.obj --name posse~2 --pose poses.json", &["did you mean \"pose 2\"?"]);
    refused("replace set.glb bnt 0.obj", &["no example \"bnt\"", "did you mean \"bent\"?"]);
    refused("replace set.glb far thick.obj --clip poses --frame 0", &["have the same pose"]);
    refused("rename set.glb bent far", &["example \"far\" already"]);
    refused("rename set.glb best cent", &["did you mean \"bent\"?"]);
    refused("delete set.glb bent walk", &["no example \"walk\"; there are \"bent\", \"far\""]);
    refused("delete set.glb bent far", &["no example would be left"]);
    refused("mute set.glb fur", &["did you mean \"far\"?"]);
    refused("mirror set.glb", &["left and a right side", "--pair"]);
    refused("mirror set.glb --pair a", &["LEFT=RIGHT"]);
    refused("mirror set.glb --plane w", &["--plane", "\"w\""]);
    refused("mirror set.glb --replace", &["--replace needs the names"]);
    refused("list rig.glb", &["a plain rig without examples"]);

    desk.done("mute set.glb bent far");
    let error = eigenskin(&[
        "fit",
        &desk.path("rig.glb"),
        "--examples",
        &desk.path("set.glb"),
        "-o",
        &desk.path("m.glb"),
    ]);
    let error = String::from_utf8(error.stderr).unwrap();
    assert!(error.contains("all 2 examples are muted"), "{error}");
}

/// What programs do to meshes: welded order, other axes; and a sculpt as a node of a GLB.
#[test]
fn sculpts_of_other_programs_are_matched_by_the_unposed_mesh() {
    let desk = Desk::new();
    let rest = desk.arm.rig.mesh().positions().to_vec();
    let shape = &desk.shapes()[1];
    let last = rest.len() as u32 - 1;
    let faces: Vec<[u32; 3]> = desk.arm.rig.mesh().triangles().iter().map(|t| t.map(|v| last - v)).collect();
    let z_up =
        |shape: &[Vec3]| -> Vec<Vec3> { shape.iter().rev().map(|p| Vec3::new(p.x, -p.z, p.y)).collect() };
    write_obj(&desk.file("sculpt.obj"), &z_up(shape), &[], &faces).unwrap();
    write_obj(&desk.file("unposed.obj"), &z_up(&rest), &[], &faces).unwrap();
    let told = desk.done("add rig.glb sculpt.obj --rest unposed.obj --clip poses --frame 1 -o set.glb");
    assert!(told.contains("other axes"), "{told}");
    let set = desk.set("set.glb");
    assert_eq!(names(&set), ["sculpt"]);
    assert!(furthest(&set.examples()[0].positions, shape) < 1e-5);

    // A character without joints is a mesh without a skin: a GLB to sculpt in.
    let mesh = desk.arm.rig.mesh();
    let sculpted = eigenskin::mesh::Mesh::new(shape.clone(), mesh.triangles().to_vec(), None).unwrap();
    let weights = eigenskin::weights::SkinWeights::none(sculpted.vertex_count());
    let rig =
        eigenskin::rig::Rig::new(sculpted, eigenskin::skeleton::Skeleton::empty(), weights, vec![]).unwrap();
    let file = RigFile::from_rig(std::sync::Arc::new(rig), "clay").unwrap();
    eigenskin::io::write_rig(desk.file("clay.glb"), &file).unwrap();
    desk.done("add rig.glb clay.glb --clip poses --frame 1 -o of-glb.glb");
    assert!(furthest(&desk.set("of-glb.glb").examples()[0].positions, shape) < 1e-5);
    let error = desk.refused("add rig.glb clay.glb --node cly --clip poses --frame 1 -o no.glb", "rig.glb");
    assert!(error.contains("no mesh \"cly\""), "{error}");
}

/// A half twist collapses what follows by half: it is told, and the sculpt is kept.
#[test]
fn collapsed_vertices_are_told() {
    use eigenskin::skinning::{BaseSkinning, PosedSkinning};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let rig = std::sync::Arc::new(two_arms());
    let file = RigFile::from_rig(rig.clone(), "cross").unwrap();
    eigenskin::io::write_rig(Path::new(&path("rig.glb")), &file).unwrap();
    std::fs::write(path("twist.json"), r#"{"name": "twist", "joints": {"arm.L": [180, 0, 0]}}"#).unwrap();
    let poses = eigenskin::io::pose_file::read_poses(Path::new(&path("twist.json")), &rig).unwrap();
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &poses[0].pose);
    // The ring at x = 1 follows the arm by half; the sculpt keeps it open.
    let rest = rig.mesh().positions();
    let half = |v: usize| (rest[v].x - 1.0).abs() < 1e-6;
    let shape: Vec<Vec3> = (0..rest.len())
        .map(|v| if half(v) { rest[v] } else { skinning.position(v, rest[v].as_dvec3()).as_vec3() })
        .collect();
    write_obj(Path::new(&path("twist.obj")), &shape, &[], rig.mesh().triangles()).unwrap();
    let (sculpt, pose, set) = (path("twist.obj"), path("twist.json"), path("set.glb"));
    let output = eigenskin(&["examples", "add", &path("rig.glb"), &sculpt, "--pose", &pose, "-o", &set]);
    let told = String::from_utf8(output.stderr).unwrap();
    let ring: Vec<String> = (0..rest.len()).filter(|&v| half(v)).map(|v| v.to_string()).collect();
    let expected =
        format!("4 vertices are collapsed by the skinning in this pose (vertices {})", ring.join(", "));
    assert!(output.status.success() && told.contains(&expected), "{told}");
    let set = read_examples(Path::new(&set), &ReadOptions::default()).unwrap().1;
    assert!(furthest(&set.examples()[0].positions, &shape) < 1e-5);
}

#[test]
fn the_other_side_is_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let rig = std::sync::Arc::new(two_arms());
    let file = RigFile::from_rig(rig.clone(), "cross").unwrap();
    eigenskin::io::write_rig(Path::new(&path("rig.glb")), &file).unwrap();
    std::fs::write(path("up.json"), r#"{"name": "up", "joints": {"arm.L": [0, 10, 60]}}"#).unwrap();
    let pose =
        eigenskin::io::pose_file::read_poses(Path::new(&path("up.json")), &rig).unwrap().remove(0).pose;
    let skinning =
        eigenskin::skinning::PosedSkinning::new(eigenskin::skinning::BaseSkinning::LinearBlend, &rig, &pose);
    let shape: Vec<Vec3> = (0..rig.vertex_count())
        .map(|v| {
            let rest = rig.mesh().positions()[v].as_dvec3();
            let bulge = 0.2 * (-8.0 * (rest.x - 1.0).powi(2)).exp();
            (skinning.position(v, rest * eigenskin::glam::DVec3::new(1.0, 1.0 + bulge, 1.0 - bulge)))
                .as_vec3()
        })
        .collect();
    write_obj(Path::new(&path("up.obj")), &shape, &[], rig.mesh().triangles()).unwrap();
    let (set, run) = (path("set.glb"), |arguments: &[&str]| eigenskin(arguments));
    json_of(&[
        "examples",
        "add",
        &path("rig.glb"),
        &path("up.obj"),
        "--name",
        "up.L",
        "--pose",
        &path("up.json"),
        "-o",
        &set,
    ]);
    let found = json_of(&["examples", "mirror", &set]);
    assert_eq!(found["examples"], json!(["up.L", "up.R"]));
    let both = read_examples(Path::new(&set), &ReadOptions::default()).unwrap().1;
    let [left, right] = [&both.examples()[0], &both.examples()[1]];
    // Ring r, corner c is mirrored by ring −r, corner c.
    for ring in 0..17 {
        for corner in 0..4 {
            let (here, there) =
                (left.positions[4 * ring + corner], right.positions[4 * (16 - ring) + corner]);
            assert!(there.distance(here * Vec3::new(-1.0, 1.0, 1.0)) < 1e-5, "{ring}, {corner}");
        }
    }
    let turn = right.pose.motion_of(rig.skeleton(), 2).shortest_turn();
    assert!(
        (turn.z + 60f64.to_radians()).abs() < 1e-5 && (turn.y + 10f64.to_radians()).abs() < 1e-5,
        "{turn}"
    );

    // Again: both are there. With another sculpt on one side, the other one is made anew only when asked.
    let before = std::fs::read(&set).unwrap();
    assert_eq!(json_of(&["examples", "mirror", &set])["done"], "nothing changed");
    assert_eq!(std::fs::read(&set).unwrap(), before);
    let fatter: Vec<Vec3> = shape.iter().map(|p| *p * Vec3::new(1.0, 1.0, 1.1)).collect();
    write_obj(Path::new(&path("fat.obj")), &fatter, &[], rig.mesh().triangles()).unwrap();
    json_of(&["examples", "replace", &set, "up.L", &path("fat.obj")]);
    let before = std::fs::read(&set).unwrap();
    let refused = run(&["examples", "mirror", &set, "up.L"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && error.contains("is there already") && error.contains("--replace"),
        "{error}"
    );
    assert_eq!(std::fs::read(&set).unwrap(), before);
    json_of(&["examples", "mirror", &set, "up.L", "--replace"]);
    let both = read_examples(Path::new(&set), &ReadOptions::default()).unwrap().1;
    let top = |e: &eigenskin::examples::Example| e.positions.iter().map(|p| p.z).fold(0.0, f32::max);
    assert_eq!(both.len(), 2);
    assert!(
        (top(&both.examples()[1]) - top(&both.examples()[0])).abs() < 1e-6 && top(&both.examples()[1]) > 0.42
    );
}
