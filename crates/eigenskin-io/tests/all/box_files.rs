//! Black boxes as TOML files.

use std::path::Path;
use std::sync::Arc;

use eigenskin_characters::{arm, cylinder};
use eigenskin_core::deformers::{
    Amount, Cage, Deformer, Lattice, LatticeBasis, Smoothing, SmoothingWeighting, Wrap,
};
use eigenskin_core::glam::DVec3;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::RigFile;
use eigenskin_io::{BoxFileError, read_box, write_rig};

use crate::support::boxes::{example, furthest, python_with, rest_of, run};

fn bar() -> (Arc<Rig>, eigenskin_core::pose::Pose) {
    let character = cylinder(12).unwrap();
    (character.rig.clone(), character.pose(&[0.9, 0.4]))
}

fn written(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("my box.toml");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn all_kinds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (rig, pose) = bar();
    write_rig(folder.path().join("cage.glb"), &RigFile::from_rig(rig.clone(), "cage").unwrap()).unwrap();
    std::fs::write(folder.path().join("script.py"), "").unwrap();
    let joint = rig.skeleton().joints()[1].name.clone();
    let text = format!(
        r#"
name = "everything"

[[deformer]]
kind = "lattice"
frame = "{joint}"
lowest = [-5, -5, -30.5]
highest = [5, 5, 30]
counts = [2, 2, 3]
basis = "b-spline"
moves = [{{ point = [1, 0, 2], by = [0.5, 0, 0.25] }}]
amount = {{ joint = "{joint}", factor = 2 }}
fade = 3

[[deformer]]
kind = "wrap"
mesh = "cage.glb"
nearest = 3

[[deformer]]
kind = "delta-mush"

[[deformer]]
kind = "corrective-smooth"
iterations = 7
factor = 0.25
weighting = "edge-length"
pin-borders = true
detail = 0.5

[[deformer]]
kind = "external"
name = "mine"
command = ["python3", "script.py", "elsewhere.py"]
timeout = 2.5
"#
    );
    let read = read_box(written(folder.path(), &text)).unwrap();
    assert_eq!(read.stack.name, "everything");
    let mut lattice = Lattice::at_rest(
        DVec3::new(-5.0, -5.0, -30.5),
        DVec3::new(5.0, 5.0, 30.0),
        [2, 2, 3],
        LatticeBasis::BSpline,
    );
    lattice.frame = Some(joint.clone());
    lattice.displacements[1 + 2 * (2 * 2)] = DVec3::new(0.5, 0.0, 0.25);
    lattice.amount = Amount::JointAngle { joint, factor: 2.0 };
    lattice.fade = Some(3.0);
    let smooth = Smoothing {
        iterations: 7,
        factor: 0.25,
        weighting: SmoothingWeighting::EdgeLength,
        pin_borders: true,
        detail: 0.5,
    };
    let expected = [
        Deformer::Lattice(lattice),
        Deformer::Wrap(Wrap { cage: Cage::of_rig(&rig), nearest: 3 }),
        Deformer::Smoothing(Smoothing::delta_mush()),
        Deformer::Smoothing(smooth),
        Deformer::External { name: "mine".into() },
    ];
    assert_eq!(read.stack.steps, expected);
    let command = &read.externals["mine"];
    let script = folder.path().join("script.py").to_str().unwrap().to_string();
    assert_eq!(command.words, ["python3".to_string(), script, "elsewhere.py".into()]);
    assert_eq!(command.timeout.as_millis(), 2500);

    for base in ["linear", "dual-quaternion", "rigid"] {
        let read = read_box(written(folder.path(), &format!("[[deformer]]\nkind = {base:?}"))).unwrap();
        assert_eq!(read.stack.name, "my box");
        let base = BaseSkinning::named(base).unwrap();
        assert_eq!(read.stack.steps, [Deformer::Skinning(base)]);
        let posed = run(&mut read.open(&rig).unwrap(), &pose, &rest_of(&rig));
        let skinning = PosedSkinning::new(base, &rig, &pose);
        let expected: Vec<DVec3> =
            rest_of(&rig).iter().enumerate().map(|(v, p)| skinning.position(v, *p)).collect();
        assert_eq!(posed, expected);
    }
}

#[test]
fn a_program_is_started_by_its_file() {
    let python = python_with("json");
    let folder = tempfile::tempdir().unwrap();
    let (rig, pose) = bar();
    std::fs::copy(example("bend_box.py"), folder.path().join("bend.py")).unwrap();
    let text = format!(
        "[[deformer]]\nkind = \"external\"\ncommand = [{python:?}, \"bend.py\", \"0\"]\n\n\
         [[deformer]]\nkind = \"delta-mush\"\n"
    );
    let read = read_box(written(folder.path(), &text)).unwrap();
    let chained = run(&mut read.open(&rig).unwrap(), &pose, &rest_of(&rig));
    let own = "[[deformer]]\nkind = \"linear\"\n\n[[deformer]]\nkind = \"delta-mush\"\n";
    let own = read_box(written(folder.path(), own)).unwrap();
    let expected = run(&mut own.open(&rig).unwrap(), &pose, &rest_of(&rig));
    assert!(furthest(&chained, &expected) < 1e-9);
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, words: &[&str]| {
        let message = read_box(written(folder.path(), text)).unwrap_err().to_string();
        assert!(message.contains("my box.toml"), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    let step = |lines: &str| format!("[[deformer]]\nkind = \"linear\"\n[[deformer]]\n{lines}");
    refused("", &["no [[deformer]]"]);
    refused("deformer = 3", &["no [[deformer]]"]);
    refused("deformer = [3]", &["deformer 1", "table"]);
    refused("[[deformer]\nkind", &["not a valid deformer-stack file"]);
    refused("nmae = \"x\"\n[[deformer]]\nkind = \"linear\"", &["\"nmae\"", "settings: name, deformer"]);
    refused("name = 3\n[[deformer]]\nkind = \"linear\"", &["name"]);
    refused(&step("iterations = 3"), &["deformer 2", "has no kind", "corrective-smooth"]);
    refused(
        &step("kind = \"delta-much\""),
        &["deformer 2", "\"delta-much\"", "did you mean \"delta-mush\"?"],
    );
    refused(&step("kind = \"delta-mush\"\niteration = 3"), &["did you mean \"iterations\"?"]);
    refused(&step("kind = \"delta-mush\"\niterations = -3"), &["deformer 2", "bad setting"]);
    refused(&step("kind = \"delta-mush\"\nweighting = \"area\""), &["\"area\"", "edge-length"]);
    refused(&step("kind = \"linear\"\nfactor = 3"), &["\"factor\"", "there are none"]);
    let lattice = "kind = \"lattice\"\nlowest = [0, 0, 0]\nhighest = [1, 1, 1]\ncounts = [2, 2, 2]\n";
    refused(&step("kind = \"lattice\"\nlowest = [0, 0, 0]"), &["highest"]);
    refused(&step(&format!("{lattice}basis = \"bernstien\"")), &["did you mean \"bernstein\"?"]);
    refused(&step(&format!("{lattice}moves = [{{ point = [2, 0, 0], by = [1, 0, 0] }}]")), &["[2, 0, 0]"]);
    refused(&step(&format!("{lattice}amount = {{ contrl = \"x\" }}")), &["did you mean \"control\"?"]);
    refused(&step(&format!("{lattice}amount = {{ factor = 1 }}")), &["unclear amount"]);
    refused(&step("kind = \"wrap\"\nmesh = \"nowhere.glb\""), &["deformer 2", "nowhere.glb"]);
    refused(&step("kind = \"external\"\ncommand = []"), &["no command"]);
    refused(&step("kind = \"external\"\ncommand = [\"a\"]\ntimeout = -1"), &["timeout -1"]);
    refused(&step("kind = \"external\"\ncommand = [\"a\"]\ntimeout = 0"), &["timeout 0"]);
    let twice = "kind = \"external\"\nname = \"a\"\ncommand = [\"a\"]\n";
    refused(&format!("[[deformer]]\n{twice}[[deformer]]\n{twice}"), &["deformer 2", "earlier"]);
    let nowhere = read_box(folder.path().join("nowhere.toml")).unwrap_err();
    assert!(matches!(nowhere, BoxFileError::Io { .. }) && nowhere.to_string().contains("nowhere.toml"));

    // What only the rig can tell.
    let (rig, _) = bar();
    let huge =
        "kind = \"lattice\"\nlowest = [0, 0, 0]\nhighest = [1, 1, 1]\ncounts = [900000, 900000, 900000]";
    let error = read_box(written(folder.path(), &step(huge))).unwrap().open(&rig).unwrap_err().to_string();
    assert!(error.contains("deformer 2") && error.contains("900000"), "{error}");
    let missing = step("kind = \"external\"\nname = \"mine\"\ncommand = [\"no-such-program-1234\"]");
    let error = read_box(written(folder.path(), &missing)).unwrap().open(&rig).unwrap_err().to_string();
    assert!(error.contains("\"mine\"") && error.contains("no-such-program-1234"), "{error}");
}

/// The example of the documentation, on the arm that it speaks of.
#[test]
fn the_documented_box_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/use/deformers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let read = read_box(written(folder.path(), text)).unwrap();
    let character = arm(1000).unwrap();
    let rest = rest_of(&character.rig);
    let mut bound = read.open(&character.rig).unwrap();
    let at_rest = run(&mut bound, &character.rig.rest_pose(), &rest);
    assert!(furthest(&at_rest, &rest) < 1e-5, "the lattice follows the elbow");
    let pose = character.pose(&[0.0, 0.0, -1.5]);
    let bent = run(&mut bound, &pose, &rest);
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &character.rig, &pose);
    let skinned: Vec<DVec3> = rest.iter().enumerate().map(|(v, p)| skinning.position(v, *p)).collect();
    let effect = furthest(&bent, &skinned);
    assert!(effect > 0.002 && effect < 0.1, "{effect}");
}
