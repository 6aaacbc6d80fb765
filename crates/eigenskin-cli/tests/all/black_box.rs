//! Sculpts made after deformers, as an artist types it: `--base`, `check --pose`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use eigenskin::articulation::NamedPose;
use eigenskin::characters::{Character, arm};
use eigenskin::deformers::BlackBox;
use eigenskin::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::vertex_cache::write_obj;
use eigenskin::io::{read_box, read_examples, read_model};
use eigenskin::pose::Pose;
use eigenskin::skinning::BaseSkinning;
use serde_json::Value;

use crate::support::{eigenskin, json_of};

/// A folder with an arm, two poses and boxes.
struct Desk {
    folder: tempfile::TempDir,
    arm: Character,
    poses: Vec<NamedPose>,
}

const CHAIN: &str = r#"
name = "fleshy"
[[deformer]]
kind = "linear"
[[deformer]]
kind = "lattice"
lowest = [-1, -1, -1]
highest = [1, 1, 1]
counts = [3, 3, 3]
moves = [{ point = [1, 1, 1], by = [0, 0, 0.02] }]
[[deformer]]
kind = "delta-mush"
iterations = 4
"#;

impl Desk {
    fn new() -> Self {
        let arm = arm(600).unwrap();
        let bent = |elbow: f64| arm.pose(&[0.0, 0.0, elbow]);
        let mut twisted = arm.rig.rest_pose();
        let skeleton = arm.rig.skeleton();
        let (elbow, wrist) = (skeleton.rest_position(2), skeleton.rest_position(3));
        let turn = DQuat::from_axis_angle((wrist - elbow).normalize(), std::f64::consts::PI);
        let twist = DAffine3::from_translation(elbow)
            * DAffine3::from_quat(turn)
            * DAffine3::from_translation(-elbow);
        for joint in &mut twisted.world_from_joint[2..] {
            *joint = twist * *joint;
        }
        let named = |name: &str, pose: Pose| NamedPose { name: name.to_string(), pose };
        let poses = vec![named("half", bent(-0.5)), named("bent", bent(-1.0)), named("twist", twisted)];
        let desk = Self { folder: tempfile::tempdir().unwrap(), arm, poses };
        let file = RigFile::from_rig(desk.arm.rig.clone(), "arm").unwrap();
        eigenskin::io::write_rig(desk.file("rig.glb"), &file).unwrap();
        let poses: Vec<_> = desk.poses.iter().map(|pose| (pose.clone(), String::new())).collect();
        eigenskin::io::pose_file::write_poses(desk.file("poses.json"), &desk.arm.rig, &poses).unwrap();
        std::fs::write(desk.file("chain.toml"), CHAIN).unwrap();
        desk
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn words(&self, line: &str) -> Vec<String> {
        let ends = [".glb", ".obj", ".json", ".toml", ".png", ".html"];
        line.split_whitespace()
            .map(|word| {
                let is_file = ends.iter().any(|end| word.ends_with(end));
                if is_file { self.file(word).to_str().unwrap().to_string() } else { word.to_string() }
            })
            .collect()
    }

    fn run(&self, line: &str) -> Output {
        eigenskin(&self.words(line).iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn json(&self, line: &str) -> Value {
        json_of(&self.words(line).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The one sentence with which a command is refused; it writes nothing of that name.
    fn refused(&self, line: &str, written: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && !self.file(written).exists(), "{line}: {message}");
        assert_eq!(message.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{message}");
        message
    }

    /// What a correction at rest makes after a box, as an OBJ file. Returns the correction.
    fn sculpt(&self, pose: usize, box_name: &str, name: &str) -> Vec<DVec3> {
        let rig = &self.arm.rig;
        let (elbow, size) = (rig.skeleton().rest_position(2), rig.mesh().size());
        let rest: Vec<DVec3> = rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
        let bump = |at: DVec3| 0.02 * size * (-(at - elbow).length_squared() / (0.02 * size * size)).exp();
        let known: Vec<DVec3> = rest.iter().map(|&at| bump(at) * DVec3::Y).collect();
        let points: Vec<DVec3> = rest.iter().zip(&known).map(|(r, d)| *r + *d).collect();
        let mut posed = points.clone();
        let mut stack = read_box(self.file(box_name)).unwrap().open(rig).unwrap();
        stack.deform(&self.poses[pose].pose, &points, &mut posed).unwrap();
        self.write_sculpt(name, &posed);
        known
    }

    fn write_sculpt(&self, name: &str, shape: &[DVec3]) {
        let shape: Vec<Vec3> = shape.iter().map(|p| p.as_vec3()).collect();
        write_obj(&self.file(name), &shape, &[], self.arm.rig.mesh().triangles()).unwrap();
    }

    fn size(&self) -> f64 {
        self.arm.rig.mesh().size()
    }
}

#[test]
fn sculpts_after_a_chain_of_deformers_are_learnt_through_it() {
    let desk = Desk::new();
    desk.sculpt(0, "chain.toml", "half.obj");
    let known = desk.sculpt(1, "chain.toml", "bent.obj");
    desk.json(
        "examples add rig.glb half.obj --pose poses.json --pose-name half --base chain.toml -o set.glb",
    );
    let added =
        desk.json("examples add set.glb bent.obj --pose poses.json --pose-name bent --base chain.toml");
    assert_eq!(added["inversion"]["through"], "fleshy");
    assert!(added["inversion"]["calls"].as_u64().unwrap() < 200, "{added}");

    // The set keeps what was found, through the file.
    let (_, set) = read_examples(desk.file("set.glb"), &ReadOptions::default()).unwrap();
    let inverted = set.examples()[1].inverted.as_ref().unwrap();
    assert_eq!(inverted.base.name(), "fleshy");
    let off = inverted.deltas.iter().zip(&known).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
    assert!(off < 2e-3 * desk.size(), "{off}");

    // What the examples were pulled back through is what the model sits on.
    let fit = desk.json("fit rig.glb --examples set.glb -o model.glb --method psd --report fit.html");
    assert!(fit["training"]["model"]["max_of_100"].as_f64().unwrap() < 0.01, "{fit}");
    assert!(fit["viewer"]["rmse"].as_f64().unwrap() > 0.0, "stock viewers have no lattice");
    // They are met: two warnings about viewers, and none about what skinning cannot reach.
    let said = fit["warnings"].as_array().unwrap();
    let is_known = |text: &str| text.contains("deformer") || text.contains("act after skinning");
    assert!(said.iter().all(|warning| is_known(warning.as_str().unwrap())), "{said:?}");
    let model = read_model(desk.file("model.glb")).unwrap().1;
    assert_eq!(model.base(), &inverted.base);
    let evaluated = desk.json("evaluate model.glb --truth set.glb --report evaluation.html");
    assert!(evaluated["model"]["max_of_100"].as_f64().unwrap() < 0.01, "{evaluated}");
    for method in ["psd", "eigenskin"] {
        // The same without what the set remembers.
        let line = format!("fit rig.glb --examples set.glb --base chain.toml -o again.glb --method {method}");
        assert!(desk.json(&line)["training"]["model"]["max_of_100"].as_f64().unwrap() < 0.05, "{method}");
    }
    // A sculpt that was added without the box is pulled back through it now; two boxes are a question.
    desk.sculpt(1, "chain.toml", "other.obj");
    desk.json(
        "examples add rig.glb half.obj --pose poses.json --pose-name half --base chain.toml -o mixed.glb",
    );
    desk.json("examples add mixed.glb other.obj --pose poses.json --pose-name bent");
    let mixed = desk.json("fit rig.glb --examples mixed.glb -o mixed-model.glb --method psd");
    assert!(mixed["training"]["model"]["max_of_100"].as_f64().unwrap() < 0.01, "{mixed}");
    assert_eq!(read_model(desk.file("mixed-model.glb")).unwrap().1.base().name(), "fleshy");
    std::fs::write(desk.file("second.toml"), CHAIN.replace("fleshy", "bony")).unwrap();
    desk.json("examples replace mixed.glb other other.obj --base second.toml");
    let message = desk.refused("fit rig.glb --examples mixed.glb -o refused.glb --method psd", "refused.glb");
    assert!(
        message.contains("fleshy") && message.contains("bony") && message.contains("--base"),
        "{message}"
    );
    // Edits keep the inversion; the example can still be learnt on another base.
    desk.json("examples rename set.glb bent full");
    let (_, renamed) = read_examples(desk.file("set.glb"), &ReadOptions::default()).unwrap();
    assert_eq!(renamed.examples()[1].inverted.as_ref(), Some(inverted));
    let linear = desk.json("fit rig.glb --examples set.glb --base linear -o linear.glb --method psd");
    assert!(linear["training"]["model"]["max_of_100"].as_f64().unwrap() < 0.01);
    assert_eq!(
        read_model(desk.file("linear.glb")).unwrap().1.base().skinning(),
        Some(BaseSkinning::LinearBlend)
    );
}

#[test]
fn a_half_twist_keeps_its_sculpt_and_says_what_viewers_lose() {
    let desk = Desk::new();
    let rig = &desk.arm.rig;
    let skinning =
        eigenskin::skinning::PosedSkinning::new(BaseSkinning::DualQuaternion, rig, &desk.poses[2].pose);
    let rest = rig.mesh().positions().iter().enumerate();
    let shape: Vec<DVec3> = rest.map(|(vertex, p)| skinning.position(vertex, p.as_dvec3())).collect();
    desk.write_sculpt("twist.obj", &shape);
    let check = desk.json("check rig.glb --pose poses.json --picture where.png");
    let maps = check["invertibility"].as_array().unwrap();
    assert_eq!(maps.len(), 3);
    let least = |map: usize| maps[map]["least"].as_f64().unwrap();
    assert!(least(1) > 0.5 && least(2) < 0.2, "{} {}", least(1), least(2));
    assert_eq!(maps[2]["kept"].as_array().unwrap().len(), rig.vertex_count());
    let picture = std::fs::read(desk.file("where.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    // Dual quaternions do not collapse.
    let check = desk.json("check rig.glb --pose poses.json --pose-name twist --base dual-quaternion");
    assert_eq!(check["invertibility"][0]["pose"], "twist");

    desk.json("examples add rig.glb twist.obj --pose poses.json --pose-name twist -o set.glb");
    let fit = desk.json("fit rig.glb --examples set.glb -o model.glb --method psd");
    assert!(fit["training"]["model"]["max_of_100"].as_f64().unwrap() < 1e-3, "{fit}");
    assert!(fit["viewer"]["max"].as_f64().unwrap() > 0.01 * desk.size(), "{}", fit["viewer"]);
    let evaluated = desk.json("evaluate model.glb --truth set.glb");
    assert!(evaluated["model"]["max_of_100"].as_f64().unwrap() < 1e-3, "the file keeps what is added after");
    let told = desk.run("fit rig.glb --examples set.glb -o model.glb --method psd");
    let told = [told.stdout, told.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(told.contains("added after skinning where skinning collapses"), "{told}");
}

fn python() -> String {
    let found = ["python3", "python"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    found.expect("Python is missing: install Python 3, so that python3 can be started").to_string()
}

fn write_program(desk: &Desk, name: &str, python: &str, script: &str, timeout: f64) {
    let text = format!(
        "name = \"{name}\"\n[[deformer]]\nkind = \"external\"\nname = \"{name}\"\ncommand = [{python:?}, {script:?}]\ntimeout = {timeout}\n"
    );
    std::fs::write(desk.file(&format!("{name}.toml")), text).unwrap();
}

#[test]
fn another_program_is_the_box() {
    let python = python();
    let desk = Desk::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/black_box/bend_box.py");
    write_program(&desk, "bend", &python, script.to_str().unwrap(), 60.0);
    desk.sculpt(1, "bend.toml", "bent.obj");
    desk.json("examples add rig.glb bent.obj --pose poses.json --pose-name bent --base bend.toml -o set.glb");
    // No file starts a program.
    let message = desk.refused("fit rig.glb --examples set.glb -o model.glb --method psd", "model.glb");
    assert!(message.contains("--base FILE.toml") && message.contains("bend"), "{message}");
    let fit = desk.json("fit rig.glb --examples set.glb --base bend.toml -o model.glb --method psd");
    assert!(fit["training"]["model"]["max_of_100"].as_f64().unwrap() < 0.01, "{fit}");
    desk.refused("evaluate model.glb --truth set.glb --json figures.json", "figures.json");
    desk.refused("evaluate model.glb --truth set.glb --base chain.toml --json figures.json", "figures.json");
    let evaluated = desk.json("evaluate model.glb --truth set.glb --base bend.toml --report shown.html");
    assert!(evaluated["model"]["max_of_100"].as_f64().unwrap() < 0.01, "{evaluated}");
    let line = "fit rig.glb --examples set.glb --base bend.toml -o budget.glb --method psd --max-error 0.1";
    assert!(desk.refused(line, "budget.glb").contains("another program"));
}

#[test]
fn programs_that_fail_leave_nothing_behind() {
    let python = python();
    let desk = Desk::new();
    desk.sculpt(1, "chain.toml", "bent.obj");
    let ready = "import sys, time, json\nprint('{\"ok\": true}', flush=True)\nheader = json.loads(sys.stdin.buffer.readline())\nn = header['vertices']\ncall = sys.stdin.buffer.readline()\n";
    let answer = "sys.stdout.write('{\"ok\": true, \"vertices\": %d}\\n' % COUNT)\nsys.stdout.flush()\nsys.stdout.buffer.write(BYTES)\nsys.stdout.buffer.flush()\ntime.sleep(30)\n";
    let cases = [
        ("hangs", format!("{ready}time.sleep(600)\n"), "2"),
        ("dies", format!("{ready}sys.stderr.write('out of luck')\nsys.exit(3)\n"), "out of luck"),
        ("garbage", format!("{ready}print('hello', flush=True)\ntime.sleep(30)\n"), "hello"),
        (
            "count",
            format!(
                "{ready}{}",
                answer.replace("COUNT", "(n - 1)").replace("BYTES", "b'\\0' * (24 * (n - 1))")
            ),
            "vertices",
        ),
        (
            "nan",
            format!("{ready}{}", answer.replace("COUNT", "n").replace("BYTES", "b'\\xff' * (24 * n)")),
            "finite",
        ),
    ];
    for (name, script, expected) in cases {
        std::fs::write(desk.file(&format!("{name}.py")), script).unwrap();
        write_program(&desk, name, &python, &format!("{name}.py"), 2.0);
        let line = format!(
            "examples add rig.glb bent.obj --pose poses.json --pose-name bent --base {name}.toml -o set.glb"
        );
        let start = std::time::Instant::now();
        let message = desk.refused(&line, "set.glb");
        assert!(message.contains(expected), "{name}: {message}");
        assert!(start.elapsed().as_secs_f64() < 20.0, "{name}");
    }
}

#[test]
fn boxes_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    desk.sculpt(1, "chain.toml", "bent.obj");
    let add = "examples add rig.glb bent.obj --pose poses.json --pose-name bent -o set.glb --base";
    std::fs::write(desk.file("joint.toml"), CHAIN.replace("[-1, -1, -1]", "[-1, -1, -1]\nframe = \"elbo\""))
        .unwrap();
    std::fs::write(desk.file("kind.toml"), CHAIN.replace("delta-mush", "delta-mash")).unwrap();
    for (name, expected) in [("joint", "elbo"), ("kind", "delta-mush"), ("missing", "missing.toml")] {
        let message = desk.refused(&format!("{add} {name}.toml"), "set.glb");
        assert!(message.contains(expected), "{name}: {message}");
    }
    let output = desk.run(&format!("{add} curvy"));
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("deformer-stack file")
    );
    let output = desk.run("check rig.glb --base linear");
    assert!(String::from_utf8_lossy(&output.stderr).contains("need a pose"));
}
