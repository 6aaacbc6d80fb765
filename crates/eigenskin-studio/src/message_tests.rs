use eigenskin_characters::square_bar;
use serde_json::json;

use super::*;

fn vocabulary() -> Vocabulary {
    Vocabulary {
        rig: square_bar().unwrap().rig,
        clips: vec![("grasp".into(), 2.0)],
        examples: vec!["fist".into()],
    }
}

fn joint_name(index: usize) -> String {
    vocabulary().rig.skeleton().joints()[index].name.clone()
}

fn steps(value: &Value) -> Vec<Step> {
    Message::parse(&value.to_string(), &vocabulary()).unwrap().steps
}

fn error(text: &str) -> String {
    Message::parse(text, &vocabulary()).unwrap_err().to_string()
}

#[test]
fn quaternions_are_x_y_z_w_and_made_unit_length() {
    let name = joint_name(1);
    let found = steps(&json!({ "joints": { name: [0.0, 0.0, 2.0, 2.0] } }));
    let Step::Joints(joints) = &found[0] else { panic!("{found:?}") };
    let quarter = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    assert_eq!(joints[0].0, 1);
    assert!(joints[0].1.dot(quarter) > 1.0 - 1e-12);
}

#[test]
fn matrices_are_column_by_column() {
    let rig = vocabulary().rig;
    let turn = DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.3), DVec3::new(1.0, 2.0, 3.0));
    let count = rig.skeleton().joint_count();
    let matrices: Vec<Vec<f64>> = vec![matrix_numbers(&turn).to_vec(); count];
    assert_eq!(matrices[0][12..], [1.0, 2.0, 3.0, 1.0]);
    let found = steps(&json!({ "world_from_joint": matrices }));
    let Step::World(world) = &found[0] else { panic!("{found:?}") };
    assert_eq!(world, &vec![turn; count]);
}

#[test]
fn steps_come_in_an_order_that_makes_sense_whatever_that_of_the_fields() {
    let text =
        r#"{"quit":true,"screenshot":"a.png","view":"heat","clip":"grasp","time":0.4,"reset":true,"at":1.5}"#;
    let message = Message::parse(text, &vocabulary()).unwrap();
    assert_eq!(message.at, Some(1.5));
    let expected = [
        Step::Reset,
        Step::Clip { clip: 0, time: Some(0.4) },
        Step::View(Shown::Heat),
        Step::Screenshot("a.png".into()),
        Step::Quit,
    ];
    assert_eq!(message.steps, expected);
    assert!(steps(&json!({ "quit": false, "reset": false })).is_empty());
}

#[test]
fn errors_name_the_joint_or_field() {
    let name = joint_name(1);
    for (text, parts) in [
        ("{".to_string(), vec!["not JSON"]),
        ("[1]".to_string(), vec!["no JSON object"]),
        (r#"{"jonts":{}}"#.to_string(), vec!["jonts", "did you mean \"joints\"?"]),
        (r#"{"joints":{"nose":[0,0,0,1]}}"#.to_string(), vec!["joint \"nose\"", name.as_str()]),
        (format!(r#"{{"joints":{{"{name}":[0,0,1]}}}}"#), vec![name.as_str(), "[x, y, z, w]"]),
        (format!(r#"{{"joints":{{"{name}":[0,0,0,0]}}}}"#), vec![name.as_str(), "not zero"]),
        (format!(r#"{{"joints":{{"{name}":[0,0,1e300,0]}}}}"#), vec![name.as_str()]),
        (r#"{"joints":[1]}"#.to_string(), vec!["joints", "an object"]),
        (r#"{"controls":{"smile":1}}"#.to_string(), vec!["control \"smile\""]),
        (r#"{"world_from_joint":[]}"#.to_string(), vec!["world_from_joint", "one per joint"]),
        (r#"{"clip":"gasp"}"#.to_string(), vec!["clip \"gasp\"", "grasp"]),
        (r#"{"view":"xray"}"#.to_string(), vec!["view \"xray\"", "model, skinning, truth, heat"]),
        (r#"{"time":-1}"#.to_string(), vec!["time", "seconds"]),
        (r#"{"screenshot":"/etc/passwd"}"#.to_string(), vec!["screenshot", ".png"]),
        (r#"{"quit":1}"#.to_string(), vec!["quit", "true or false"]),
    ] {
        let found = error(&text);
        assert!(parts.iter().all(|part| found.contains(part)), "{text}: {found}");
    }
}

#[test]
fn a_flat_matrix_names_its_joint() {
    let rig = vocabulary().rig;
    let mut matrices: Vec<Vec<f64>> =
        rig.rest_pose().world_from_joint.iter().map(|joint| matrix_numbers(joint).to_vec()).collect();
    matrices[1][0..3].fill(0.0);
    let found = error(&json!({ "world_from_joint": matrices }).to_string());
    assert!(found.contains(&joint_name(1)) && found.contains("three dimensions"), "{found}");
}
