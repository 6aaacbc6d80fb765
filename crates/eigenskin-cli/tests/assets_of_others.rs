//! Characters of others through the whole pipeline: check, synthetic examples, fit, evaluate, bake.
//! What the file had besides the skin stays as it was.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::path::Path;

use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::DVec3;
use eigenskin::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_io::{ReadOptions, RigFile, read_rig, write_examples};
use serde_json::Value;
use support::{data, eigenskin, json_of};

/// Shapes at eight moments of the first clip: linear blending of a rest shape whose bulges follow
/// how far the clip has come.
fn synthetic_examples(file: &RigFile) -> ExampleSet {
    let rig = file.rig();
    let clip = &file.clips()[0];
    let examples = (1..=8)
        .map(|step| {
            let pose = file.sample(clip, clip.duration() * f64::from(step) / 8.5);
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &pose);
            let amount = 0.02 * rig.mesh().size() * (f64::from(step) * 0.7).sin();
            let positions = (0..rig.vertex_count())
                .map(|vertex| {
                    let rest = rig.mesh().positions()[vertex].as_dvec3();
                    let wave = (9.0 * rest / rig.mesh().size()).to_array().map(f64::sin);
                    skinning.position(vertex, rest + amount * DVec3::from_array(wave)).as_vec3()
                })
                .collect();
            Example { name: format!("moment {step}"), pose, positions, normals: None }
        })
        .collect();
    ExampleSet::new(rig.clone(), examples).unwrap()
}

fn json_chunk(path: &Path) -> (Value, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[20..20 + length]).unwrap(), bytes[28 + length..].to_vec())
}

/// The bytes of every image that the file carries.
fn images((json, binary): &(Value, Vec<u8>)) -> Vec<Vec<u8>> {
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap_or(0) as usize;
    let list = json["images"].as_array().cloned().unwrap_or_default();
    list.iter()
        .filter_map(|image| image["bufferView"].as_u64())
        .map(|view| {
            let view = &json["bufferViews"][view as usize];
            let start = number(view, "byteOffset");
            binary[start..start + number(view, "byteLength")].to_vec()
        })
        .collect()
}

#[test]
fn sample_characters_go_all_the_way() {
    let Some(data) = data("sample characters through the whole pipeline") else { return };
    for (name, clip) in [("CesiumMan", "clip 0"), ("Fox", "Survey"), ("RiggedFigure", "clip 0")] {
        let folder = tempfile::tempdir().unwrap();
        let path = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
        let rig = data.join("gltf").join(format!("{name}.glb"));
        let rig_path = rig.to_str().unwrap();
        assert!(eigenskin(&["check", rig_path]).status.success(), "{name}");
        let file = read_rig(&rig, &ReadOptions::default()).unwrap();
        write_examples(Path::new(&path("examples.glb")), &file, &synthetic_examples(&file)).unwrap();

        let (examples, model, baked) = (path("examples.glb"), path("model.glb"), path("baked.glb"));
        json_of(&["fit", rig_path, "--examples", &examples, "-o", &model]);
        let figures = json_of(&["evaluate", &model, "--truth", &examples]);
        // The examples themselves, hit but for what lies outside the joints' regions.
        let left = figures["relative_error"].as_f64().unwrap();
        assert!(left < 0.1, "{name}: {left}");
        let shapes = path("shapes");
        json_of(&["bake", &model, "--clip", clip, "--rate", "10", "-o", &baked, "--obj", &shapes]);
        assert!(std::fs::read_dir(&shapes).unwrap().count() >= 5, "{name}");

        let before = json_chunk(&rig);
        for written in [&model, &baked] {
            let after = json_chunk(Path::new(written));
            for key in ["materials", "textures", "samplers", "cameras"] {
                assert_eq!(after.0.get(key), before.0.get(key), "{name}: {key} of {written}");
            }
            assert_eq!(images(&after), images(&before), "{name}: images of {written}");
        }
    }
}
