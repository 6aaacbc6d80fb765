//! `simulate` as a user types it: from a rig without examples to a measured model, in one go or in
//! parts.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use eigenskin::characters::arm;
use eigenskin::glam::{DAffine3, Vec3};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::read_examples;
use eigenskin::mesh::Mesh;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};

use crate::support::bundle::{Bundle, bar_bundle};
use crate::support::{eigenskin, json_of, two_meshes};

/// Only the elbow bends, in three poses to one side, in few cells.
const ELBOW: [&str; 13] = [
    "--range",
    "forearm:flex=0..70",
    "--lock",
    "upper-arm",
    "--lock",
    "forearm-twist",
    "--lock",
    "hand",
    "--max-cells",
    "400",
    "--per-degree",
    "3",
    "--validation-poses=2",
];

/// A folder with the built-in arm as `arm.glb`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with_arm() -> Self {
        let folder = Self::empty();
        write(folder.path("arm.glb"), arm(400).unwrap().rig);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_string()
    }

    fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    /// Names of what is in it, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `simulate RIG -o OUT` with options; what it printed.
    fn simulate(&self, rig: &str, out: &str, options: &[&str]) -> String {
        let (rig, out) = (self.path(rig), self.path(out));
        printed(&[&["simulate", &rig, "-o", &out], options].concat())
    }

    /// The same, which must end with exit code 1, one sentence with all of `words`, and no output.
    fn refused(&self, rig: &str, options: &[&str], words: &[&str]) {
        let before = self.names();
        let (rig, out) = (self.path(rig), self.path("refused.glb"));
        sentence(&[&["simulate", &rig, "-o", &out], options].concat(), words);
        assert_eq!(self.names(), before, "{options:?}");
    }
}

fn write(path: impl AsRef<Path>, rig: Arc<Rig>) {
    eigenskin::io::write_rig(path.as_ref(), &RigFile::from_rig(rig, "arm").unwrap()).unwrap();
}

fn printed(arguments: &[&str]) -> String {
    let result = eigenskin(arguments);
    assert!(result.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8(result.stdout).unwrap()
}

fn sentence(arguments: &[&str], words: &[&str]) {
    let result = eigenskin(arguments);
    let message = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{arguments:?}: {message}");
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{arguments:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{arguments:?}: {word:?} is missing in: {message}");
    }
}

#[test]
fn a_rig_becomes_a_measured_model() {
    let folder = Folder::with_arm();
    folder.simulate("arm.glb", "one.glb", &[&ELBOW[..], &["--threads", "1"]].concat());
    folder.simulate("arm.glb", "two.glb", &[&ELBOW[..], &["--threads", "2"]].concat());
    assert_eq!(folder.bytes("one.glb"), folder.bytes("two.glb"));
    assert_eq!(folder.bytes("one.validation.glb"), folder.bytes("two.validation.glb"));
    let files = ["arm.glb", "one.glb", "one.validation.glb", "two.glb", "two.validation.glb"];
    assert_eq!(folder.names(), files);

    let [rig, examples, validation, model] =
        ["arm.glb", "one.glb", "one.validation.glb", "model.glb"].map(|name| folder.path(name));
    let [fit_page, evaluate_page] = ["fit.html", "evaluate.html"].map(|name| folder.path(name));
    printed(&["fit", &rig, "--examples", &examples, "-o", &model, "--report", &fit_page]);
    let found = json_of(&["evaluate", &model, "--truth", &validation, "--report", &evaluate_page]);
    assert_eq!(found["poses"], 2);
    let relative = found["relative_error"].as_f64().unwrap();
    assert!(relative < 0.6, "{relative}");

    // Both reports say how the poses of their own set were made.
    for (page, set, poses) in [(&fit_page, &examples, 3), (&evaluate_page, &validation, 2)] {
        let record = eigenskin::io::read_simulation(Path::new(set)).unwrap().unwrap();
        assert_eq!(record.poses.len() + record.dropped.len(), poses);
        assert!(record.contact && record.unknowns > 3 * record.cubes / 2 && record.poisson == 0.45);
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("{} cells of edge", record.cubes)));
        for pose in &record.poses {
            assert!(page.contains(&format!(
                "{:.1} %</td><td>{:.2}</td>",
                100.0 * pose.volume,
                pose.smallest_j
            )));
        }
    }
    // A model has learnt; it was not simulated.
    assert_eq!(eigenskin::io::read_simulation(Path::new(&model)).unwrap(), None);
}

#[test]
fn plans_and_lists_compute_nothing() {
    let folder = Folder::with_arm();
    let rig = folder.path("arm.glb");
    let out = folder.path("bent.glb");
    let plan = json_of(&[&["simulate", &rig, "-o", &out, "--plan"], &ELBOW[..]].concat());
    // The picture stands beside what would be written.
    assert_eq!(folder.names(), ["arm.glb", "bent.plan.png"]);
    assert!(folder.bytes("bent.plan.png").starts_with(b"\x89PNG\r\n\x1a\n"));
    let cells = plan["cells"].as_u64().unwrap();
    assert!((200..=400).contains(&cells), "{cells}");
    assert_eq!(plan["degrees_of_freedom"].as_array().unwrap().len(), 1);
    assert_eq!(plan["degrees_of_freedom"][0]["joint"], "forearm");
    // The three poses of the elbow lie on one way; each random pose has its own.
    let jobs = plan["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| job.as_array().unwrap().len()).collect::<Vec<_>>(), [3, 1, 1]);

    let list = printed(&[&["simulate", &rig, "--list-jobs"], &ELBOW[..]].concat());
    let last = jobs[0][2].as_str().unwrap();
    assert!(list.contains(&format!("   0  {last} and 2 on the way")), "{list}");
    assert!(list.contains("   2  ") && !list.contains("   3  "), "{list}");
    let picture = folder.path("seen.png");
    printed(&[&["simulate", &rig, "--plan", "--picture", &picture], &ELBOW[..]].concat());
    assert_eq!(folder.bytes("seen.png"), folder.bytes("bent.plan.png"));
    assert_eq!(folder.names().len(), 3);

    // Without an output it is in the current folder, never beside a rig elsewhere.
    let elsewhere = Folder::empty();
    let made = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
        .args([&["simulate", &rig, "--plan", "--quiet"], &ELBOW[..]].concat())
        .current_dir(elsewhere.0.path())
        .status();
    assert!(made.unwrap().success());
    assert_eq!(elsewhere.names(), ["arm.plan.png"]);
    assert_eq!(elsewhere.bytes("arm.plan.png"), folder.bytes("bent.plan.png"));
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn jobs_of_a_cluster_and_interrupted_runs_end_like_one_run() {
    let folder = Folder::with_arm();
    folder.simulate("arm.glb", "whole.glb", &ELBOW);
    let same = |name: &str| {
        assert_eq!(folder.bytes(&format!("{name}.glb")), folder.bytes("whole.glb"));
        assert_eq!(folder.bytes(&format!("{name}.validation.glb")), folder.bytes("whole.validation.glb"));
        assert!(!folder.has(&format!("{name}.parts")));
    };
    let with = |extra: &[&'static str]| [&ELBOW[..], extra].concat();
    for job in ["2", "0", "1"] {
        folder.simulate("arm.glb", "parts.glb", &with(&["--job", job]));
    }
    assert!(!folder.has("parts.glb") && folder.has("parts.parts/job-0002.json"));
    let kept: Vec<Vec<u8>> =
        ["json", "glb"].map(|end| folder.bytes(&format!("parts.parts/job-0000.{end}"))).into();
    let keep_again = || {
        folder.simulate("arm.glb", "parts.glb", &with(&["--job", "1"]));
        std::fs::write(folder.path("parts.parts/job-0000.json"), &kept[0]).unwrap();
        std::fs::write(folder.path("parts.parts/job-0000.glb"), &kept[1]).unwrap();
    };
    let [rig, out] = [folder.path("arm.glb"), folder.path("parts.glb")];
    let fails = |extra: &[&'static str], words: &[&str]| {
        sentence(&[&["simulate", &rig, "-o", &out], &with(extra)[..]].concat(), words);
        assert!(!folder.has("parts.glb"));
    };
    fails(&[], &["parts.parts", "--resume"]);
    fails(&["--job", "3"], &["--job 3", "3 jobs"]);
    // What changes any shape must be the same; what a plan does not show too.
    for other in [["--poisson", "0.4"], ["--bone-radius", "0.4"], ["--gap", "0.5"], ["--seed", "1"]] {
        fails(&[&["--resume"], &other[..]].concat(), &["parts.parts", "other settings"]);
    }
    fails(&["--resume", "--no-contact"], &["other settings"]);
    folder.simulate("arm.glb", "parts.glb", &with(&["--resume"]));
    same("parts");

    // Interrupted: one job is missing, one is whole.
    keep_again();
    folder.simulate("arm.glb", "parts.glb", &with(&["--resume"]));
    same("parts");
    // Damaged files are named, and removing what is named is enough.
    for damaged in ["parts.parts/job-0000.json", "parts.parts/job-0000.glb"] {
        std::fs::remove_file(folder.path("parts.glb")).unwrap();
        keep_again();
        let bytes = folder.bytes(damaged);
        std::fs::write(folder.path(damaged), &bytes[..bytes.len() / 2]).unwrap();
        fails(&["--resume"], &["job-0000", "damaged; remove it and resume"]);
        std::fs::remove_file(folder.path(damaged)).unwrap();
        folder.simulate("arm.glb", "parts.glb", &with(&["--resume"]));
        same("parts");
    }
}

#[test]
fn ranges_and_poses_can_be_given() {
    let folder = Folder::with_arm();
    let rig = folder.path("arm.glb");
    let ranges = folder.path("ranges.toml");
    std::fs::write(&ranges, "[joints.forearm]\nflex = [0, 60]\n[joints.hand]\nx = [-20, 30]\n").unwrap();
    let plan = json_of(&[
        "simulate",
        &rig,
        "--list-jobs",
        "--ranges",
        &ranges,
        "--lock",
        "upper-arm",
        "--range",
        "forearm-twist:twist=-40..40",
        "--per-degree",
        "2",
        "--validation-poses",
        "0",
        "--no-corners",
    ]);
    // The elbow to one side, hand and twist to both, then all three together.
    assert_eq!(plan["jobs"], 5 + 24);
    let locked = ["--lock", "upper-arm", "--lock", "forearm-twist"];
    let plan = json_of(&[&["simulate", &rig, "--plan", "--ranges", &ranges], &locked[..]].concat());
    let of = |index: usize, key: &str| plan["degrees_of_freedom"][index][key].clone();
    assert_eq!((of(0, "joint"), of(1, "joint")), ("forearm".into(), "hand".into()));
    let degrees =
        |index: usize| [of(index, "lowest_deg"), of(index, "highest_deg")].map(|x| x.as_f64().unwrap());
    for (found, expected) in degrees(1).into_iter().zip([-20.0, 30.0]) {
        assert!((found - expected).abs() < 1e-9, "{found}");
    }
    // A flexed elbow turns by 60 degrees to one of the two sides of its axis.
    assert!((degrees(0)[1] - degrees(0)[0] - 60.0).abs() < 1e-9);

    // Poses of an example set: the same poses have the same shapes.
    folder.simulate("arm.glb", "first.glb", &ELBOW);
    let first = folder.path("first.glb");
    folder.simulate("arm.glb", "again.glb", &["--poses", &first, "--frames", "1:", "--max-cells", "400"]);
    let read = |name: &str| read_examples(folder.path(name), &ReadOptions::default()).unwrap().1;
    let (first, again) = (read("first.glb"), read("again.glb"));
    assert_eq!((first.len(), again.len()), (3, 2));
    assert!(!folder.has("again.validation.glb"));
    for (a, b) in first.examples()[1..].iter().zip(again.examples()) {
        assert_eq!(a.name, b.name);
        let apart = farthest(&a.positions, &b.positions, 1.0);
        assert!(apart < 1e-4 * first.rig().mesh().size(), "{}: {apart}", a.name);
    }
}

/// The largest distance of two shapes, the first one scaled.
fn farthest(first: &[Vec3], second: &[Vec3], scale: f64) -> f64 {
    first.iter().zip(second).map(|(a, b)| (scale * a.as_dvec3()).distance(b.as_dvec3())).fold(0.0, f64::max)
}

#[test]
fn parts_of_a_mesh_can_be_excluded() {
    let folder = Folder::empty();
    two_meshes::write(folder.path("bar.glb").as_ref());
    let plan = |options: &[&str]| {
        let (rig, out) = (folder.path("bar.glb"), folder.path("bar.examples.glb"));
        let plan = ["simulate", &rig, "-o", &out, "--plan", "--cell-size", "1"];
        json_of(&[&plan[..], options].concat())["cells"].as_u64().unwrap()
    };
    let (all, less) = (plan(&[]), plan(&["--exclude", "clothes"]));
    // The clothes are one half of the bar.
    assert!(less < all, "{less} of {all}");
    std::fs::remove_file(folder.path("bar.examples.plan.png")).unwrap();
    folder.refused(
        "bar.glb",
        &["--exclude", "hat"],
        &["\"hat\"", "clothes", "skin", "material 0", "material 3"],
    );
    folder.refused("bar.glb", &["--exclude", "skin", "--exclude", "clothes"], &["exclude less"]);
}

#[test]
fn other_programs_get_the_problem() {
    let folder = Folder::with_arm();
    let (rig, inputs) = (folder.path("arm.glb"), folder.path("inputs"));
    printed(&[&["simulate", &rig, "--export-calculix", &inputs], &ELBOW[..]].concat());
    for job in 0..3 {
        let text = String::from_utf8(folder.bytes(&format!("inputs/job-000{job}.inp"))).unwrap();
        assert!(text.starts_with("*NODE") && text.contains("*HYPERELASTIC"), "job {job}");
        let steps = text.lines().filter(|line| line.starts_with("*STEP")).count();
        assert_eq!(steps, if job == 0 { 3 } else { 1 });
    }
    assert_eq!(std::fs::read_dir(&inputs).unwrap().count(), 3);
    assert_eq!(folder.names(), ["arm.glb", "inputs"]);
}

#[test]
fn bad_options_are_named() {
    let folder = Folder::with_arm();
    let refused = |option: &str, words: &[&str]| folder.refused("arm.glb", &[option], words);
    refused("--cell-size=0", &["--cell-size 0"]);
    refused("--cell-size=-1", &["--cell-size -1"]);
    refused("--cell-size=NaN", &["--cell-size NaN"]);
    refused("--cell-size=1e-5", &["too small", "use at least"]);
    refused("--cell-size=1e-300", &["too small"]);
    refused("--cell-size=1e300", &["use smaller"]);
    refused("--cell-size=50", &["use smaller"]);
    refused("--max-cells=3", &["--max-cells 3"]);
    refused("--max-cells=100000000", &["--max-cells 100000000"]);
    refused("--poisson=0.5", &["0.5", "0.499"]);
    refused("--poisson=-1", &["-1", "0.499"]);
    refused("--bone-radius=2", &["--bone-radius 2"]);
    refused("--gap=-1", &["--gap -1"]);
    refused("--threads=0", &["--threads"]);
    refused("--range=elbow:flex=0..90", &["\"elbow\"", "forearm-twist"]);
    refused("--range=forearm:bend=0..90", &["bend", "flex"]);
    refused("--range=forearm:flex=10..90", &["10..90", "rest"]);
    refused("--range=shoulder:x=0..90", &["shoulder", "whole character"]);
    refused("--lock=elbow", &["\"elbow\"", "forearm-twist"]);
    let all_locked = ["upper-arm", "forearm", "forearm-twist", "hand"].map(|name| format!("--lock={name}"));
    folder.refused("arm.glb", &all_locked.each_ref().map(String::as_str), &["no joint"]);
    folder.refused(
        "arm.glb",
        &["--per-degree=0", "--no-corners", "--multi-joint-poses=0", "--validation-poses=0"],
        &["no poses"],
    );
    folder.refused("arm.glb", &["--ranges", &folder.path("nowhere.toml")], &["nowhere.toml"]);
    folder.refused("nowhere.glb", &[], &["nowhere.glb"]);

    let rig = folder.path("arm.glb");
    let before = folder.bytes("arm.glb");
    sentence(&["simulate", &rig], &["nothing to write", "-o"]);
    sentence(&["simulate", &rig, "-o", &rig], &["both input and output"]);
    sentence(&["simulate", &rig, "--plan", "--picture", &rig], &["both input and output"]);
    let out = folder.path("out.glb");
    sentence(&["simulate", &rig, "-o", &out, "--validation", &rig], &["both input and output"]);
    sentence(&["simulate", &rig, "-o", &out, "--validation", &out], &["out.glb", "two names"]);
    assert_eq!(folder.bytes("arm.glb"), before);
    assert_eq!(folder.names(), ["arm.glb"]);
}

#[test]
fn rigs_that_cannot_be_filled_are_refused() {
    let folder = Folder::empty();
    let bundle = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = bar_bundle();
        change(&mut bundle);
        bundle.write(folder.path("bar.npz").as_ref());
    };
    bundle(&|b| b.rest[17][1] = f32::NAN);
    folder.refused("bar.npz", &[], &["vertex 17", "not a finite number"]);
    bundle(&|b| b.faces.truncate(2));
    folder.refused("bar.npz", &[], &["closed skin"]);
    bundle(&|b| b.rest.iter_mut().for_each(|p| p[1] += 100.0));
    folder.refused("bar.npz", &[], &["same place"]);

    // A mesh that no skin moves.
    let cube = arm(400).unwrap().rig;
    let file = RigFile::from_rig(cube, "arm").unwrap();
    let mut document = file.document().clone();
    document.json.as_object_mut().unwrap().remove("skins");
    for node in document.json["nodes"].as_array_mut().unwrap() {
        node.as_object_mut().unwrap().remove("skin");
    }
    std::fs::write(folder.path("cube.glb"), document.to_glb().unwrap()).unwrap();
    folder.refused("cube.glb", &[], &["cube.glb"]);
}

#[test]
fn bones_without_length_are_held_or_refused() {
    let folder = Folder::empty();
    // The hand's joint lies in the joint before it: no bone between the two.
    let rig = arm(400).unwrap().rig;
    let mut joints: Vec<Joint> = rig.skeleton().joints().to_vec();
    joints[4].joint_from_rest = joints[3].joint_from_rest;
    let skeleton = Skeleton::new(joints).unwrap();
    let changed = Rig::new(rig.mesh().clone(), skeleton, rig.weights().clone(), vec![]).unwrap();
    write(folder.path("arm.glb"), Arc::new(changed));
    folder.simulate("arm.glb", "out.glb", &ELBOW);
    let (_, set) = read_examples(folder.path("out.glb"), &ReadOptions::default()).unwrap();
    assert_eq!(set.len(), 3);
}

/// The rig in another unit.
fn scaled(rig: &Rig, scale: f64) -> Arc<Rig> {
    let positions = rig.mesh().positions().iter().map(|p| (scale * p.as_dvec3()).as_vec3()).collect();
    let mesh = Mesh::new(positions, rig.mesh().triangles().to_vec(), None).unwrap();
    let joint = |joint: &Joint| {
        let DAffine3 { matrix3, translation } = joint.joint_from_rest;
        Joint { joint_from_rest: DAffine3 { matrix3, translation: scale * translation }, ..joint.clone() }
    };
    let skeleton = Skeleton::new(rig.skeleton().joints().iter().map(joint).collect()).unwrap();
    Arc::new(Rig::new(mesh, skeleton, rig.weights().clone(), vec![]).unwrap())
}

#[test]
fn the_unit_does_not_matter() {
    let folder = Folder::with_arm();
    let rig = arm(400).unwrap().rig;
    folder.simulate("arm.glb", "metres.glb", &ELBOW);
    let read = |name: &str| read_examples(folder.path(name), &ReadOptions::default()).unwrap().1;
    let metres = read("metres.glb");
    for scale in [1e-5, 100.0] {
        write(folder.path("scaled.glb"), scaled(&rig, scale));
        folder.simulate("scaled.glb", "out.glb", &ELBOW);
        let out = read("out.glb");
        assert_eq!(out.len(), metres.len());
        let size = out.rig().mesh().size();
        assert!((size - scale * rig.mesh().size()).abs() < 1e-4 * size);
        for (a, b) in metres.examples().iter().zip(out.examples()) {
            let apart = farthest(&a.positions, &b.positions, scale) / size;
            assert!(apart < 1e-4, "{} at scale {scale}: {apart}", a.name);
        }
    }
}

#[test]
fn a_set_gets_more_poses_in_place_or_elsewhere() {
    let folder = Folder::with_arm();
    let two_joints = [
        "--range=forearm:flex=0..70",
        "--range=hand:x=-20..30",
        "--lock=upper-arm",
        "--lock=forearm-twist",
        "--max-cells=300",
        "--per-degree=2",
        "--multi-joint-poses=8",
        "--validation-poses=0",
    ];
    let said = folder.simulate("arm.glb", "set.glb", &two_joints);
    // What more would buy, and how to get it.
    let set = folder.path("set.glb");
    assert!(
        said.contains("outlook") && said.contains(&format!("eigenskin simulate {set} --more 8")),
        "{said}"
    );

    let list = printed(&["simulate", &set, "--more", "2", "--list-jobs"]);
    assert!(list.contains("   0  together-8") && list.contains("   1  together-9"), "{list}");
    let elsewhere = json_of(&["simulate", &set, "--more", "2", "-o", &folder.path("other.glb")]);
    assert_eq!(elsewhere["plan"]["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(elsewhere["outlook"]["poses"], 10);
    // The same in place, begun on another machine.
    printed(&["simulate", &set, "--more", "2", "--job", "1"]);
    assert!(folder.has("set.parts/job-0001.json"));
    sentence(&["simulate", &set, "--more", "2"], &["set.parts", "--resume"]);
    let said = printed(&["simulate", &set, "--more", "2", "--resume"]);
    assert!(said.contains("14 poses"), "{said}");
    assert_eq!(folder.bytes("set.glb"), folder.bytes("other.glb"));
    assert_eq!(folder.names(), ["arm.glb", "other.glb", "set.glb"]);

    sentence(
        &["simulate", &folder.path("arm.glb"), "--more", "2"],
        &["arm.glb has no examples to go on with"],
    );
    sentence(&["simulate", &set, "--more", "0"], &["--more 0", "at least 1"]);
    // What the set says itself is not asked for again.
    let refused = eigenskin(&["simulate", &set, "--more", "2", "--poisson", "0.4"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot be used with"));
}
