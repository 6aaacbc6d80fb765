//! Models, rigs and simulated sets as files on disk.

use eigenskin_gltf::conformance::cases;
use eigenskin_gltf::internals::edit_table;
use eigenskin_gltf::{DroppedPose, FileKind, ModelWriteOptions, PoseRecord, ReadOptions, SimulationRecord};
use eigenskin_io::{read_examples, read_simulation, write_simulated_examples};
use serde_json::json;

use crate::support::cases::{assert_same_set, document, examples_of, file_of};

#[test]
fn a_simulation_travels_with_its_set() {
    let case = cases::random_case(5).unwrap();
    let (file, set) = (file_of(&case), examples_of(&case, 7));
    let record = SimulationRecord {
        cubes: 951,
        edge: 0.1 + 0.2,
        unknowns: 4761,
        bones: 16,
        material: "neo-Hookean".into(),
        poisson: 0.45,
        contact: true,
        poses: set
            .examples()
            .iter()
            .enumerate()
            .map(|(index, example)| PoseRecord {
                name: example.name.clone(),
                volume: 1.0 - 0.01 / (index + 3) as f64,
                smallest_j: 1.0 / 7.0,
                penetration: (index % 2 == 0).then_some(1e-3),
                jump: 0.0,
                stable: index > 0,
            })
            .collect(),
        dropped: vec![DroppedPose { name: "fist".into(), reason: "\"too\" deep".into() }],
        settings: Some(serde_json::json!({ "poses": { "seed": 7 } })),
    };
    let folder = tempfile::tempdir().unwrap();
    let [simulated, plain] = ["simulated.glb", "plain.glb"].map(|name| folder.path().join(name));
    write_simulated_examples(&simulated, &file, &set, &record).unwrap();
    assert_eq!(read_simulation(&simulated).unwrap(), Some(record));
    let (read_file, read) = read_examples(&simulated, &ReadOptions::default()).unwrap();
    assert_same_set(&read, &set);
    // What is written from it without being simulated says nothing of a simulation.
    eigenskin_io::write_examples(&plain, &read_file, &read).unwrap();
    assert_eq!(read_simulation(&plain).unwrap(), None);

    // A damaged record is an error of its own; the shapes can still be read.
    let mut damaged = document(&std::fs::read(&simulated).unwrap());
    edit_table(&mut damaged.json, |table| table["examples"]["simulation"]["cubes"] = json!("many"));
    std::fs::write(&simulated, damaged.to_glb().unwrap()).unwrap();
    let message = read_simulation(&simulated).unwrap_err().to_string();
    assert!(message.contains("simulation") && message.contains("many"), "{message}");
    assert!(read_examples(&simulated, &ReadOptions::default()).is_ok());
}

#[test]
fn files_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let case = cases::random_case(5).unwrap();
    let file = file_of(&case);
    let path = folder.path().join("model.glb");
    let report = eigenskin_io::write_model(&path, &file, &case.model, &ModelWriteOptions::default()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len() as usize, report.bytes);
    assert_eq!(eigenskin_io::read_model(&path).unwrap().1, *case.model);
    assert_eq!(eigenskin_io::file_kind(&path).unwrap(), FileKind::Model);
    let rig_path = folder.path().join("rig.glb");
    eigenskin_io::write_rig(&rig_path, &file).unwrap();
    assert_eq!(eigenskin_io::file_kind(&rig_path).unwrap(), FileKind::Rig);
    let error = eigenskin_io::read_model(&rig_path).unwrap_err().to_string();
    assert!(error.contains("rig.glb") && error.contains("not a model"), "{error}");
    let wrong = folder.path().join("model.obj");
    assert!(eigenskin_io::write_rig(&wrong, &file).is_err() && !wrong.exists());
    assert!(eigenskin_io::read_rig(&wrong, &ReadOptions::default()).is_err());
}
