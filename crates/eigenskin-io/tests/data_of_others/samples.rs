//! Files of others: they are read rightly, and models and example sets can be written into them.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::driver::{
    Clamp, Combine, Driver, FeatureGroup, Interpolant, Kernel, Representation, Tail,
};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::{Document, ModelWarning};
use eigenskin_gltf::{
    ModelWriteOptions, Profile, ReadOptions, RigFile, examples_glb, examples_of, model_glb, model_of,
};

use crate::data;
use crate::keep::keep;

fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}

/// Largest distance between two lists of points.
fn furthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
}

/// A correction of the first vertices, driven by the last joint that has a reference.
fn some_model(file: &RigFile) -> Model {
    let rig = file.rig();
    let skeleton = rig.skeleton();
    let group = (0..skeleton.joint_count())
        .rev()
        .find_map(|joint| FeatureGroup::joint(skeleton, joint, Representation::Rotation))
        .unwrap();
    let support: Vec<u32> = (0..rig.vertex_count() as u32).step_by(3).collect();
    let unit = 0.01 * rig.mesh().size() as f32;
    let positions = support.iter().map(|&v| unit * Vec3::new((v as f32).sin(), 1.0, 0.3)).collect();
    let normals = support.iter().map(|&v| 0.1 * Vec3::new(1.0, (v as f32).cos(), 0.0)).collect();
    let driver = Driver {
        groups: vec![group],
        combine: Combine::Distance,
        interpolant: Interpolant::Rbf {
            kernel: Kernel::Exponential,
            centres: vec![0.0, 0.0, 0.0, 1.0],
            widths: vec![1.0],
            coefficients: vec![-2.0],
            tail: Tail::Constant(vec![1.3]),
        },
        clamp: Clamp::None,
    };
    let basis = DisplacementBasis { positions, normals };
    let layer = Layer { name: "test".into(), support, basis, driver, stage: Stage::BeforeSkinning };
    Model::new(rig.clone(), BaseSkinning::LinearBlend, vec![layer]).unwrap()
}

#[test]
fn khronos_samples_are_read() {
    let data = data();
    // File, vertices, joints, clips; the figures of the files' own JSON.
    let rigs = [
        ("gltf/CesiumMan.glb", 3273, 19, 1),
        ("gltf/Fox.glb", 1728, 24, 3),
        ("gltf/RiggedFigure.glb", 370, 19, 1),
        ("gltf/RiggedSimple.glb", 160, 2, 1),
        ("gltf/AnimatedMorphCube.glb", 24, 0, 1),
        ("gltf/MorphPrimitivesTest.glb", 30, 0, 0),
        ("gltf/MorphStressTest.glb", 1528, 0, 3),
        ("webxr-hand/left.glb", 1360, 25, 0),
        ("webxr-hand/right.glb", 1360, 25, 0),
    ];
    for (name, vertices, joints, clips) in rigs {
        let file = eigenskin_io::read_rig(data.join(name), &ReadOptions::default()).unwrap();
        let found = (file.rig().vertex_count(), file.rig().skeleton().joint_count(), file.clips().len());
        println!("{name}: {found:?} {:?}", file.notes);
        assert_eq!(found, (vertices, joints, clips), "{name}");
    }
    let many = data.join("gltf/RecursiveSkeletons.glb");
    let error = eigenskin_io::read_rig(&many, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("skin 83"), "{error}");
    let options = ReadOptions { skin: Some("skin 83".into()), ..ReadOptions::default() };
    assert_eq!(eigenskin_io::read_rig(&many, &options).unwrap().rig().skeleton().joint_count(), 10);
}

/// At the default pose the skinned shape, moved by `scene_from_mesh`, is what the file shows; the
/// `gltf` crate says what that is.
#[test]
fn poses_agree_with_an_independent_reader() {
    let data = data();
    for name in [
        "gltf/CesiumMan.glb",
        "gltf/Fox.glb",
        "gltf/RiggedFigure.glb",
        "gltf/RiggedSimple.glb",
        "webxr-hand/left.glb",
    ] {
        let bytes = std::fs::read(data.join(name)).unwrap();
        let file = eigenskin_io::read_rig(data.join(name), &ReadOptions::default()).unwrap();
        let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).unwrap();
        let mut globals = vec![eigenskin_core::glam::DMat4::IDENTITY; document.nodes().len()];
        let mut stack: Vec<(gltf::Node<'_>, eigenskin_core::glam::DMat4)> = document
            .default_scene()
            .unwrap()
            .nodes()
            .map(|n| (n, eigenskin_core::glam::DMat4::IDENTITY))
            .collect();
        while let Some((node, parent)) = stack.pop() {
            let local = eigenskin_core::glam::Mat4::from_cols_array_2d(&node.transform().matrix()).as_dmat4();
            globals[node.index()] = parent * local;
            stack.extend(node.children().map(|child| (child, parent * local)));
        }
        let node = document.nodes().find(|n| n.skin().is_some()).unwrap();
        let skin = node.skin().unwrap();
        let binds = skin.reader(|_| blob.as_deref()).read_inverse_bind_matrices().unwrap();
        let joints: Vec<_> = skin
            .joints()
            .zip(binds)
            .map(|(j, m)| globals[j.index()] * eigenskin_core::glam::Mat4::from_cols_array_2d(&m).as_dmat4())
            .collect();
        let pose = file.default_pose();
        let size = file.rig().mesh().size();
        for (joint, ours) in pose.posed_from_rest(file.rig().skeleton()).enumerate() {
            let shown = file.layout().scene_from_mesh * ours;
            for corner in [DVec3::ZERO, DVec3::X * size, DVec3::Y * size, DVec3::Z * size] {
                let difference =
                    shown.transform_point3(corner).distance(joints[joint].transform_point3(corner));
                assert!(difference < 1e-5 * size, "{name}: joint {joint} {difference}");
            }
        }
    }
}

#[test]
fn models_and_examples_go_into_files_of_others() {
    let data = data();
    for name in ["gltf/CesiumMan.glb", "gltf/Fox.glb", "gltf/RiggedFigure.glb", "webxr-hand/left.glb"] {
        let file = eigenskin_io::read_rig(data.join(name), &ReadOptions::default()).unwrap();
        let model = some_model(&file);
        let (glb, report) = model_glb(&file, &model, &ModelWriteOptions::default()).unwrap();
        println!("{name}: {report:?}");
        assert_eq!(report.baked_clips, file.clips().len());
        let (read, back) = model_of(document(&glb)).unwrap();
        assert_eq!(back, model, "{name}");
        // Images, materials and textures are the input's.
        for key in ["images", "materials", "textures", "nodes", "skins", "animations", "accessors"] {
            assert_eq!(read.document().json.get(key), file.document().json.get(key), "{name}: {key}");
        }
        let stem = Path::new(name).file_stem().unwrap().to_str().unwrap();
        keep(&format!("{stem}-model.glb"), &glb);

        let mut evaluator = Evaluator::new(Arc::new(model));
        let poses: Vec<_> = match file.clips().first() {
            Some(clip) => (0..4).map(|i| file.sample(clip, 0.2 * f64::from(i))).collect(),
            None => vec![file.default_pose()],
        };
        let examples = poses
            .into_iter()
            .enumerate()
            .map(|(index, pose)| {
                let mut positions = vec![Vec3::ZERO; file.rig().vertex_count()];
                let mut normals = positions.clone();
                evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
                Example { name: format!("e{index}"), pose, positions, normals: Some(normals), inverted: None }
            })
            .collect();
        let set = ExampleSet::new(file.rig().clone(), examples).unwrap();
        let glb = examples_glb(&file, &set).unwrap();
        let (_, back) = examples_of(document(&glb), &ReadOptions::default()).unwrap();
        let size = file.rig().mesh().size();
        for (a, b) in back.examples().iter().zip(set.examples()) {
            assert!(furthest(&a.positions, &b.positions) < 1e-6 * size, "{name}");
        }
        keep(&format!("{stem}-examples.glb"), &glb);
    }
}

#[test]
fn numpy_bundles_are_read() {
    let data = data();
    let read = |name: &str| eigenskin_io::read_examples(data.join(name), &ReadOptions::default()).unwrap();
    let (bone, frames) = read("dem-bones/bone_anim.npz");
    let rig = bone.rig();
    assert_eq!((rig.vertex_count(), rig.mesh().triangles().len(), frames.len()), (754, 1504, 400));
    let roots = rig.skeleton().joints().iter().filter(|j| j.parent.is_none()).count();
    assert_eq!((rig.skeleton().joint_count(), roots), (6, 2));
    assert_eq!(frames.examples()[17].name, "pose 17");
    assert!(bone.notes.iter().any(|note| note.contains("scaled to sum to one")), "{:?}", bone.notes);
    // Plain skinning against the truth: known figures of the data set.
    let (mut square, mut largest) = (0.0, 0.0f64);
    for example in frames.examples() {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &example.pose);
        for vertex in 0..rig.vertex_count() {
            let skinned = skinning.position(vertex, rig.mesh().positions()[vertex].as_dvec3());
            let error = skinned.distance(example.positions[vertex].as_dvec3());
            square += error * error;
            largest = largest.max(error);
        }
    }
    let rmse = (square / (400.0 * 754.0)).sqrt();
    assert!((rmse - 0.0776).abs() < 2e-4 && (largest - 0.418).abs() < 2e-3, "{rmse} {largest}");

    let (hand, poses) = read("fem-hand/train.npz");
    assert_eq!((hand.rig().vertex_count(), poses.len()), (1159, 120));
    assert_eq!(hand.rig().skeleton().joints()[0].parent, Some(1));
    assert!(poses.examples()[0].name.contains(':'));
    assert_eq!(read("fem-hand/held_out.npz").1.len(), 13);

    let start = std::time::Instant::now();
    for (name, file, set) in [("hand", &hand, &poses), ("bone", &bone, &frames)] {
        let glb = examples_glb(file, set).unwrap();
        let (_, back) = examples_of(document(&glb), &ReadOptions::default()).unwrap();
        assert_eq!(back.rig(), set.rig());
        let size = file.rig().mesh().size();
        for (a, b) in back.examples().iter().zip(set.examples()) {
            assert!(furthest(&a.positions, &b.positions) < 1e-6 * size, "{name} {}", a.name);
        }
        println!("{name}: {} bytes, {:?}", glb.len(), start.elapsed());
        keep(&format!("{name}-examples.glb"), &glb);
        let (glb, _) = model_glb(file, &some_model(file), &ModelWriteOptions::default()).unwrap();
        assert_eq!(model_of(document(&glb)).unwrap().1, some_model(file));
        keep(&format!("{name}-model.glb"), &glb);
    }
    let face =
        eigenskin_io::read_rig(data.join("ict-facekit/ict_facekit_expressions.npz"), &ReadOptions::default());
    let error = face.unwrap_err().to_string();
    assert!(error.contains("rest"), "{error}");
}

/// Characters of others, of games too: several meshes, several skins, weights that do not sum to one. Written in
/// both profiles they have no errors, which `check` asks the validator about the files that are kept here.
#[test]
fn characters_of_others_are_written_in_both_profiles() {
    let data = data();
    let characters = [
        ("characters/kaykit_knight", None),
        ("characters/quaternius_adventurer_woman", None),
        ("characters/robot_expressive", None),
        ("gltf/CesiumMan", None),
        ("gltf/Fox", None),
        ("gltf/RiggedFigure", None),
        ("gltf/RiggedSimple", None),
        // 84 skins show one mesh: it cannot have another unit for one of them.
        ("gltf/RecursiveSkeletons", Some("skin 30")),
        ("webxr-hand/right", None),
    ];
    for (name, skin) in characters {
        let path = data.join(format!("{name}.glb"));
        let options = ReadOptions { skin: skin.map(String::from), ..ReadOptions::default() };
        let file = eigenskin_io::read_rig(&path, &options).unwrap();
        let name = name.split('/').next_back().unwrap();
        let scaled = file.notes.iter().filter(|note| note.contains("scaled to sum to one")).count();
        assert_eq!(scaled, usize::from(name == "robot_expressive"), "{name}: {:?}", file.notes);
        let model = some_model(&file);
        let mut sizes = Vec::new();
        for profile in [Profile::Plain, Profile::Web] {
            let options = ModelWriteOptions { profile, ..ModelWriteOptions::default() };
            let (glb, report) = model_glb(&file, &model, &options).unwrap();
            assert_eq!(report.baked_clips, file.clips().len());
            keep(&format!("{name}-{profile:?}.glb").to_lowercase(), &glb);
            let (read, back) = model_of(document(&glb)).unwrap();
            // It is read without a remark about weights: the file has them right.
            assert!(!read.notes.iter().any(|note| note.contains("sum to one")), "{name}: {:?}", read.notes);
            let off = furthest(back.rig().mesh().positions(), model.rig().mesh().positions());
            let is_web = profile == Profile::Web && skin.is_none();
            let allowed = if is_web { 3e-5 * model.rig().mesh().size() } else { 0.0 };
            assert!(off <= allowed, "{name}: {off}");
            assert_eq!(read.is_quantized, is_web, "{name}");
            let said =
                report.warnings.iter().any(|warning| matches!(warning, ModelWarning::NotForWeb { .. }));
            assert_eq!(said, profile == Profile::Web && !is_web, "{name}: {:?}", report.warnings);
            // Clips of several meshes share their keys.
            let weights = keyed_weights(&glb, &read.layout().mesh_nodes);
            assert!(weights.len() <= file.clips().len(), "{name}: {} accessors of weights", weights.len());
            sizes.push(glb.len());
        }
        let input = std::fs::metadata(&path).unwrap().len();
        println!("{name}: {input} bytes; with a model of one component {} plain, {} web", sizes[0], sizes[1]);
    }
    // Both hands of the robot have skins of their own, of one skeleton.
    let robot = eigenskin_io::read_rig(data.join("characters/robot_expressive.glb"), &ReadOptions::default());
    assert_eq!(robot.unwrap().layout().skins.len(), 2);
}

/// Accessors of keyed weights of these nodes, each once.
fn keyed_weights(glb: &[u8], nodes: &[usize]) -> Vec<u64> {
    let json = document(glb).json;
    let mut outputs = Vec::new();
    for animation in json["animations"].as_array().into_iter().flatten() {
        for channel in animation["channels"].as_array().unwrap() {
            let node = channel["target"]["node"].as_u64().unwrap() as usize;
            if channel["target"]["path"] == "weights" && nodes.contains(&node) {
                let sampler = channel["sampler"].as_u64().unwrap() as usize;
                outputs.push(animation["samplers"][sampler]["output"].as_u64().unwrap());
            }
        }
    }
    outputs.sort_unstable();
    outputs.dedup();
    outputs
}
