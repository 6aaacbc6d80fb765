//! C programs that use the interface: `program/` tests it, `../examples/skin.c` is the example of the
//! documentation. Their numbers must be those of Rust, to the bit.

use std::process::Command;

use eigenskin_core::glam::{DMat4, Vec3, Vec4};
use eigenskin_core::model::Stage;
use eigenskin_core::packed::Storage;
use eigenskin_gltf::internals::read_target;

use crate::programs::{
    Sample, check_header, compile, folder, misuse, run, test_program, with_tangents, written_shapes,
};
use crate::rust::{evaluator, posed_tangents, rounded, samples, shape};

/// As the header numbers them.
const STORAGES: [(Storage, &str); 3] = [(Storage::F16, "0"), (Storage::I16, "1"), (Storage::F32, "2")];

#[test]
fn shapes_have_the_bits_of_rust() {
    let place = tempfile::tempdir().unwrap();
    let program = test_program(place.path());
    for sample in samples().into_iter().chain([with_tangents(Sample::small())]) {
        let (file, model) = sample.read();
        let rest_tangents = file.tangents().unwrap();
        for (storage, code) in STORAGES {
            let found = written_shapes(&mut Command::new(&program), &sample, code, place.path());
            let shapes = found.chunks_exact(found.len() / (3 * sample.poses.len()));
            let mut evaluator = evaluator(&model, storage, rest_tangents.as_deref());
            // The program writes each pose in doubles, joint by joint, and in floats.
            let poses = sample.poses.iter().flat_map(|pose| [pose.clone(), pose.clone(), rounded(pose)]);
            assert_eq!(shapes.len(), 3 * sample.poses.len());
            for (found, pose) in shapes.zip(poses) {
                let expected = shape(&mut evaluator, &pose);
                let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
                assert_eq!(bits(&found[..expected.len()]), bits(&expected), "{} {storage:?}", sample.name);
                let (weights, tangents) = found[expected.len()..]
                    .split_at(found.len() - expected.len() - 4 * rest_tangents.as_ref().map_or(0, Vec::len));
                check_weights(&sample, evaluator.coordinates(), weights);
                if rest_tangents.is_some() {
                    assert_eq!(bits(tangents), bits(&posed_tangents(&mut evaluator, &pose)));
                }
            }
        }
    }
}

/// The file's morph targets with these weights displace the rest shape as coordinates and basis do.
fn check_weights(sample: &Sample, coordinates: &[f32], weights: &[f32]) {
    let (document, (file, model)) = (sample.document(), sample.read());
    let vertices = model.rig().vertex_count();
    let mut expected = vec![Vec3::ZERO; vertices];
    let mut coordinates = coordinates.iter();
    for layer in model.layers() {
        for component in 0..layer.component_count() {
            let coordinate = *coordinates.next().unwrap();
            let field = layer.basis.component_positions(component, layer.support.len());
            if layer.stage == Stage::BeforeSkinning {
                for (&vertex, &displacement) in layer.support.iter().zip(field) {
                    expected[vertex as usize] += coordinate * displacement;
                }
            }
        }
    }
    let own = vec![0; file.layout().meshes.len()];
    let mut found = vec![Vec3::ZERO; vertices];
    for (target, &weight) in weights.iter().enumerate() {
        assert!(weight >= 0.0);
        let field = read_target(&document, file.layout(), &own, target, "POSITION", vertices).unwrap();
        for (found, displacement) in found.iter_mut().zip(field) {
            *found += weight * displacement;
        }
    }
    let size = model.rig().mesh().size() as f32;
    let furthest = found.iter().zip(&expected).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(furthest < 1e-5 * size, "{}: {furthest} of {size}", sample.name);
}

#[test]
fn models_tell_what_they_are() {
    let place = tempfile::tempdir().unwrap();
    let program = test_program(place.path());
    let (model, out) = (place.path().join("model.glb"), place.path().join("out"));
    for sample in samples().into_iter().chain([with_tangents(Sample::small())]) {
        std::fs::write(&model, &sample.glb).unwrap();
        run(Command::new(&program).arg("facts").arg(&model).arg(&out));
        let found = std::fs::read_to_string(&out).unwrap();
        let expected = facts(&sample);
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{}", sample.name);
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// What `program/facts.c` must write.
fn facts(sample: &Sample) -> String {
    use std::fmt::Write;
    let (file, model) = sample.read();
    let (rig, layout) = (model.rig(), file.layout());
    let json = sample.document().json;
    let attributes = &json["meshes"][layout.meshes[0]]["primitives"][0]["attributes"];
    let has_tangents = attributes.get("TANGENT").is_some();
    let target_count =
        json["meshes"][layout.meshes[0]]["primitives"][0]["targets"].as_array().map_or(0, Vec::len);
    let joints = rig.skeleton().joints();
    let bits = |values: &[f64]| {
        values.iter().fold(String::new(), |text, v| text + &format!(" {:016x}", v.to_bits()))
    };
    let index = |index: Option<usize>| index.map_or("-1".to_string(), |index| index.to_string());
    let mut text = format!(
        "counts {} {} {} {} {} {target_count} {} {}\n",
        rig.vertex_count(),
        rig.mesh().triangles().len(),
        joints.len(),
        rig.controls().len(),
        model.component_count(),
        layout.primitives.len(),
        u8::from(has_tangents)
    );
    for ((joint, rest), node) in joints.iter().zip(rig.skeleton().rest_from_joint()).zip(&layout.joint_nodes)
    {
        let rest = bits(&DMat4::from(*rest).to_cols_array());
        writeln!(
            text,
            "joint {} {} {} {node}{rest}",
            joint.name,
            index(joint.parent),
            index(joint.reference)
        )
        .unwrap();
    }
    for control in rig.controls() {
        writeln!(text, "control {}{}", control.name, bits(&[control.default])).unwrap();
    }
    for range in &layout.primitives {
        let first = range.first_vertex.unwrap();
        writeln!(text, "primitive {} {} {first} {} 0", range.mesh, range.primitive, range.vertex_count)
            .unwrap();
    }
    text += "triangles";
    rig.mesh().triangles().iter().flatten().for_each(|corner| write!(text, " {corner}").unwrap());
    let scene = DMat4::from(layout.scene_from_mesh).to_cols_array().map(|number| f64::from(number as f32));
    writeln!(text, "\nscene{}", bits(&scene)).unwrap();
    if has_tangents {
        let first = rig.mesh().normals()[0].any_orthonormal_vector().extend(1.0);
        let others = std::iter::repeat_n(Vec4::new(1.0, 0.0, 0.0, -1.0), rig.vertex_count() - 1);
        let all: Vec<f64> =
            [first].into_iter().chain(others).flat_map(|t| t.to_array()).map(f64::from).collect();
        writeln!(text, "tangents{}", bits(&all)).unwrap();
    }
    text
}

#[test]
fn wrong_use_is_told_and_never_crashes() {
    let place = tempfile::tempdir().unwrap();
    let program = test_program(place.path());
    misuse(&|| Command::new(&program), place.path(), 101, 2000);
}

#[test]
fn the_header_is_clean_in_c() {
    check_header("cc", ["-x", "c", "-std=c99"]);
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let header = std::fs::read_to_string(folder().join("include/eigenskin.h")).unwrap();
    assert!(header.is_ascii(), "compilers differ in what else they read");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declared: std::collections::BTreeSet<&str> = header
        .split(|c: char| !is_name(c) && c != '(')
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("eigenskin_"))
        .collect();
    let mut exported = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder().join("src")).unwrap() {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let functions = source.split("extern \"C\" fn ").skip(1);
        exported.extend(functions.map(|rest| rest.split(|c| !is_name(c)).next().unwrap().to_string()));
    }
    assert!(declared.len() > 30);
    assert_eq!(declared, exported.iter().map(String::as_str).collect());
}

#[test]
fn the_example_of_the_documentation_works() {
    let source = folder().join("examples/skin.c");
    let documentation = std::fs::read_to_string(folder().join("../../docs/use/c.md")).unwrap();
    let code = std::fs::read_to_string(&source).unwrap();
    assert!(documentation.contains(&format!("```c\n{code}```")), "docs/use/c.md shows another program");
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    compile(&[source], &path("skin"));
    let sample = Sample::small();
    std::fs::write(path("model.glb"), &sample.glb).unwrap();
    run(Command::new(path("skin")).arg(path("model.glb")).arg(path("out.obj")));
    let (_, model) = sample.read();
    let (rig, mut pose) = (model.rig().clone(), model.rig().rest_pose());
    let last = rig.skeleton().joint_count() - 1;
    pose.world_from_joint[last] *= eigenskin_core::glam::DAffine3::from_rotation_x(0.785);
    let mut expected = vec![Vec3::ZERO; rig.vertex_count()];
    evaluator(&model, Storage::F16, None).evaluate(&pose, &mut expected, None);
    let text = std::fs::read_to_string(path("out.obj")).unwrap();
    assert_eq!(text.lines().count(), expected.len());
    for (line, expected) in text.lines().zip(&expected) {
        let numbers: Vec<f32> = line.split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
        assert!(Vec3::from_slice(&numbers).distance(*expected) < 1e-4, "{line}, expected {expected}");
    }
    let bent = expected.iter().zip(rig.mesh().positions()).any(|(a, b)| a.distance(*b) > 1e-2);
    assert!(bent, "the example shows something");
}
