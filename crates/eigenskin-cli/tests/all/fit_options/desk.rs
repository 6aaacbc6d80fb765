//! An arm with everything that `fit` can be given, small enough to be fitted hundreds of times.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use eigenskin::articulation::NamedPose;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::gltf::RigFile;
use eigenskin::gltf::internals::append::{self, Usage};
use eigenskin::io::vertex_cache::{write_obj, write_pc2};
use eigenskin::io::{read_model, write_examples, write_rig};
use eigenskin::model::Model;
use eigenskin::pose::Pose;
use eigenskin::skinning::{BaseSkinning, PosedSkinning};
use serde_json::{Value, json};

use crate::support::eigenskin;

/// Examples: what the shoulder does about two axes, the elbow, and both together.
const POSES: [(&str, [f64; 5]); 8] = [
    ("raised", [-0.5, 0.0, 0.0, 0.0, 0.0]),
    ("lowered", [0.45, 0.0, 0.0, 0.0, 0.0]),
    ("swung", [0.0, 0.4, 0.0, 0.0, 0.0]),
    ("half", [0.0, 0.0, -0.7, 0.0, 0.0]),
    ("bent", [0.0, 0.0, -1.3, 0.0, 0.0]),
    ("closed", [0.0, 0.0, -1.9, 0.0, 0.0]),
    ("lifted", [-0.5, 0.3, -1.1, 0.0, 0.0]),
    ("curled", [0.4, 0.0, -1.7, 0.0, 0.0]),
];

/// Where models are compared: between the examples, beside and beyond them.
const PROBES: [[f64; 5]; 6] = [
    [-0.3, 0.1, -0.4, 0.0, 0.0],
    [0.0, 0.0, -1.0, 0.0, 0.0],
    [0.2, -0.2, -1.5, 0.0, 0.0],
    [0.45, 0.3, -0.2, 0.0, 0.0],
    [-0.9, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.8, -2.6, 0.0, 0.0],
];

/// A folder of files.
pub struct Desk {
    folder: tempfile::TempDir,
    arm: Character,
    runs: AtomicUsize,
    /// what was fitted already, by method and words
    fitted: Mutex<BTreeMap<(String, String), Run>>,
}

/// A fit: what it said on standard output, or its error; and where its model is.
#[derive(Clone)]
pub struct Run {
    pub said: Result<String, String>,
    pub model: PathBuf,
}

impl Desk {
    pub fn new() -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
            arm: arm(300).unwrap(),
            runs: AtomicUsize::new(0),
            fitted: Mutex::default(),
        };
        let named = |(name, angles): &(&str, [f64; 5])| NamedPose {
            name: (*name).to_string(),
            pose: desk.arm.pose(angles),
        };
        let poses: Vec<NamedPose> = POSES.iter().map(named).collect();
        let set = SweptSkin::new(&desk.arm).examples(poses.iter().cloned()).unwrap();
        let (times, motion) = desk.arm.demo_motion();
        let keys: Vec<f64> = (0..poses.len()).map(|key| key as f64).collect();
        let of_examples: Vec<Pose> = poses.iter().map(|named| named.pose.clone()).collect();
        let less: Vec<Pose> =
            POSES.iter().map(|(_, angles)| desk.arm.pose(&angles.map(|angle| 0.8 * angle))).collect();
        let file = RigFile::from_rig(desk.arm.rig.clone(), "arm").unwrap();
        let with_clips = file.clone().with_clip("motion", &times, &motion).unwrap();
        let with_clips = with_clips.with_clip("poses", &keys, &of_examples).unwrap();
        let with_clips = with_clips.with_clip("less", &keys, &less).unwrap();
        write_rig(desk.path("rig.glb"), &with_clips).unwrap();
        write_examples(desk.path("set.glb"), &file, &set).unwrap();

        // Other shapes of the same poses: what skinning lacks, times 1.5.
        let other = desk.exaggerated(&set);
        write_examples(desk.path("other.glb"), &file, &other).unwrap();
        let shapes: Vec<Vec<Vec3>> = other.examples().iter().map(|e| e.positions.clone()).collect();
        desk.write_shapes(&with_clips, &shapes);
        std::fs::write(desk.path("two.glb"), with_second_skin(&with_clips)).unwrap();
        std::fs::write(desk.path("parents.toml"), "[parents]\n\"forearm\" = \"shoulder\"\n").unwrap();
        std::fs::write(desk.path("chain.toml"), CHAIN).unwrap();
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Words with the folder before those that end as files do.
    pub fn words(&self, line: &str) -> Vec<String> {
        let ends = [".glb", ".toml", ".pc2", ".json", ".html", ".dir"];
        line.split_whitespace()
            .map(|word| {
                let is_file = ends.iter().any(|end| word.ends_with(end));
                if is_file { self.path(word).to_str().unwrap().to_string() } else { word.to_string() }
            })
            .collect()
    }

    /// The same as [`Self::fit`], once for many who ask.
    pub fn fitted(&self, method: &str, line: &str) -> Run {
        let key = (method.to_string(), line.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(run) = self.fitted.lock().unwrap().get(&key) {
            return run.clone();
        }
        let run = self.fit(method, line);
        self.fitted.lock().unwrap().insert(key, run.clone());
        run
    }

    /// `eigenskin fit` with these words, and a model of its own.
    pub fn fit(&self, method: &str, line: &str) -> Run {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let model = self.path(&format!("model {run}.glb"));
        let mut words = vec!["fit".to_string()];
        words.extend(self.words(line));
        words.extend(["--method", method, "-o", model.to_str().unwrap()].map(str::to_string));
        let output = eigenskin(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // Neither the name of the model nor seconds are what an option changes.
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap().replace(model.to_str().unwrap(), "MODEL.glb");
            let lines = text.lines().filter(|line| !line.starts_with("took "));
            lines.flat_map(|line| [line, "\n"]).collect::<String>()
        };
        let said = if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) };
        Run { said, model }
    }

    /// The furthest that a vertex is apart in poses between and beyond the examples, in sizes.
    pub fn difference(&self, [a, b]: [&Run; 2]) -> f64 {
        let [a, b] = [a, b].map(|run| self.shapes(run));
        let size = self.arm.rig.mesh().size();
        a.iter().zip(&b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max) / size
    }

    /// The model of a fit.
    pub fn model(run: &Run) -> Model {
        read_model(&run.model).unwrap().1
    }

    fn shapes(&self, run: &Run) -> Vec<Vec3> {
        let mut evaluator = Evaluator::new(Arc::new(Self::model(run)));
        let mut shape = vec![Vec3::ZERO; self.arm.rig.vertex_count()];
        let mut shapes = Vec::new();
        for angles in PROBES {
            evaluator.evaluate(&self.arm.pose(&angles), &mut shape, None);
            shapes.extend(&shape);
        }
        shapes
    }

    fn exaggerated(&self, set: &ExampleSet) -> ExampleSet {
        let rest = self.arm.rig.mesh().positions();
        let more = |example: &Example| {
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &self.arm.rig, &example.pose);
            let shape = example.positions.iter().enumerate().map(|(vertex, position)| {
                let skinned = skinning.position(vertex, rest[vertex].as_dvec3()).as_vec3();
                skinned + 1.5 * (*position - skinned)
            });
            Example { positions: shape.collect(), normals: None, ..example.clone() }
        };
        ExampleSet::new(set.rig().clone(), set.examples().iter().map(more).collect()).unwrap()
    }

    /// As a cache, with the rest shape first or last, as OBJ files, as sculpts and as shape keys.
    fn write_shapes(&self, file: &RigFile, shapes: &[Vec<Vec3>]) {
        let mesh = self.arm.rig.mesh();
        let rest = mesh.positions().to_vec();
        let first: Vec<Vec<Vec3>> = std::iter::once(rest.clone()).chain(shapes.iter().cloned()).collect();
        let last: Vec<Vec<Vec3>> = shapes.iter().cloned().chain([rest]).collect();
        write_pc2(self.path("rest-first.pc2"), &first, 0.0, 1.0).unwrap();
        write_pc2(self.path("rest-last.pc2"), &last, 0.0, 1.0).unwrap();
        std::fs::create_dir(self.path("obj.dir")).unwrap();
        for (frame, shape) in first.iter().enumerate() {
            write_obj(&self.path("obj.dir").join(format!("{frame}.obj")), shape, &[], mesh.triangles())
                .unwrap();
        }
        let mut sculpts = file.document().clone();
        let mut keys = file.document().clone();
        let (mut targets, mut names) = (Vec::new(), Vec::new());
        for (key, shape) in shapes.iter().enumerate() {
            let positions = append::vec3(&mut sculpts, "s", shape, Usage::Vertices, true).unwrap();
            let corners = mesh.triangles().concat();
            let corners = append::indices(&mut sculpts, "s", &corners, shape.len(), Usage::Indices).unwrap();
            let primitive = json!({"attributes": {"POSITION": positions}, "indices": corners});
            sculpts.array_mut("meshes").unwrap().push(json!({"primitives": [primitive]}));
            let mesh = sculpts.array("meshes").len() - 1;
            sculpts.array_mut("nodes").unwrap().push(json!({"name": format!("s@{key}"), "mesh": mesh}));
            let node = sculpts.array("nodes").len() - 1;
            sculpts.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(node.into());

            let bump: Vec<Vec3> = (0..shape.len()).map(|v| Vec3::Y * 0.002 * (v % 5 + key) as f32).collect();
            let accessor = append::vec3(&mut keys, "k", &bump, Usage::Vertices, true).unwrap();
            targets.push(json!({"POSITION": accessor}));
            names.push(format!("k@{key}"));
        }
        let mesh = keys.entry_mut("meshes", 0).unwrap();
        mesh["primitives"][0]["targets"] = targets.into();
        mesh["extras"] = json!({"targetNames": names});
        std::fs::write(self.path("sculpts.glb"), sculpts.to_glb().unwrap()).unwrap();
        std::fs::write(self.path("keys.glb"), keys.to_glb().unwrap()).unwrap();
    }
}

/// Deformers after linear blending.
const CHAIN: &str = r#"
name = "fleshy"
[[deformer]]
kind = "linear"
[[deformer]]
kind = "delta-mush"
iterations = 2
"#;

/// A rig, and the same rig again as "tail", with its joints in another order.
pub fn with_second_skin(file: &RigFile) -> Vec<u8> {
    let mut document = file.document().clone();
    for key in ["skins", "meshes"] {
        let copies = document.array_mut(key).unwrap();
        let mut copy: Value = copies[0].clone();
        copy["name"] = "tail".into();
        if let Some(joints) = copy.get_mut("joints").and_then(Value::as_array_mut) {
            joints.reverse();
        }
        copies.push(copy);
    }
    let nodes = document.array_mut("nodes").unwrap();
    nodes.push(json!({"name": "tail", "mesh": 1, "skin": 1}));
    let index = nodes.len() - 1;
    document.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(index.into());
    document.to_glb().unwrap()
}
