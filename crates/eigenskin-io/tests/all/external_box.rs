//! Programs as black boxes: one that works, and all the ways in which one does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eigenskin_characters::cylinder;
use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_io::ExternalBox;

use crate::support::boxes::{command, example, furthest, python_with, rest_of, run};

/// A small character, bent.
fn bar() -> (Arc<Rig>, eigenskin_core::pose::Pose) {
    let character = cylinder(12).unwrap();
    let pose = character.pose(&[0.9, 0.4]);
    (character.rig.clone(), pose)
}

#[test]
fn a_program_deforms_the_character() {
    let python = python_with("json");
    let (rig, pose) = bar();
    let points: Vec<DVec3> = rest_of(&rig).iter().map(|p| *p + 0.1 * DVec3::new(p.y, p.z, p.x)).collect();
    let script = example("bend_box.py");
    let mut plain = ExternalBox::start(&command(&[&python, &script, "0"], 30.0), &rig).unwrap();
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
    let skinned: Vec<DVec3> = (0..points.len()).map(|v| skinning.position(v, points[v])).collect();
    assert!(furthest(&run(&mut plain, &pose, &points), &skinned) < 1e-9, "it is linear blending");

    // The bulge, by the formula.
    let mut bulging = ExternalBox::start(&command(&[&python, &script, "0.3"], 30.0), &rig).unwrap();
    let posed = run(&mut bulging, &pose, &points);
    let joints: Vec<DAffine3> = pose.posed_from_rest(rig.skeleton()).collect();
    let (vertex, bulge) = (0..points.len())
        .map(|v| (v, (posed[v] - skinned[v]).length()))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    let of = rig.weights().of(vertex);
    let turn = |joint: u32| {
        DQuat::from_mat3(&DMat3::from_cols_array(&joints[joint as usize].matrix3.to_cols_array()))
    };
    let angle = turn(of[0].joint).angle_between(turn(of[1].joint));
    let swell = 0.3 * 4.0 * f64::from(of[0].weight) * f64::from(of[1].weight) * (1.0 - angle.cos());
    // A normal of unit length goes through the blended matrix, which shrinks it.
    assert!(bulge <= swell * 1.001 && bulge > 0.5 * swell, "vertex {vertex}: {bulge} for {swell}");
    // At rest there is none; later calls do not remember earlier ones.
    assert!(furthest(&run(&mut bulging, &rig.rest_pose(), &points), &points) < 1e-5);
    assert_eq!(run(&mut bulging, &pose, &points), posed);
}

/// What a call to `script` says, given what it does after it has read the character.
fn failure(python: &str, seconds: f64, after_header: &str) -> (String, Duration) {
    let (rig, pose) = bar();
    let script = format!(
        "import sys, json, time, struct, os\n\
         get, put = sys.stdin.buffer, sys.stdout.buffer\n\
         n = json.loads(get.readline())['vertices']\n\
         def send(line, points=b''):\n    put.write(line.encode() + b'\\n' + points); put.flush()\n\
         def ask():\n    call = get.readline(); return get.read(24 * n)\n\
         {after_header}\n"
    );
    let start = Instant::now();
    let error = match ExternalBox::start(&command(&[python, "-c", &script], seconds), &rig) {
        Err(error) => error,
        Ok(mut started) => {
            let mut posed = rest_of(&rig);
            let error = started.deform(&pose, &rest_of(&rig), &mut posed).unwrap_err();
            // Once stopped it stays stopped, without waiting.
            let again = Instant::now();
            let second = started.deform(&pose, &rest_of(&rig), &mut posed).unwrap_err();
            if !error.to_string().contains("says of call") {
                assert_eq!(second, error);
                assert!(again.elapsed() < Duration::from_millis(200));
            }
            error
        }
    };
    let BlackBoxError::Failed(message) = error else { panic!("{error:?}") };
    assert!(message.contains(python) && !message.contains('\n'), "{message}");
    (message, start.elapsed())
}

#[test]
fn programs_that_fail_are_stopped_and_named() {
    let python = python_with("json");
    let ready = "send('{\"ok\": true}')\n";
    let cases: [(&str, &str, &[&str]); 14] = [
        (
            "hangs at once",
            "time.sleep(100)",
            &["the description of the character", "within 1.5 s", "stopped"],
        ),
        ("hangs later", "READYask(); time.sleep(100)", &["did not answer call 1 within 1.5 s"]),
        ("never reads", "READYtime.sleep(100)", &["did not answer call 1"]),
        (
            "hangs amid points",
            "READYask(); send('{\"ok\": true, \"vertices\": %d}' % n, b'12345'); time.sleep(100)",
            &["within 1.5 s"],
        ),
        ("dies at once", "sys.exit('no licence')", &["ended (exit", "no licence"]),
        ("dies later", "READYask(); raise ValueError('too hot')", &["before it answered call 1", "too hot"]),
        (
            "dies amid points",
            "READYask(); send('{\"ok\": true, \"vertices\": %d}' % n, b'12345')",
            &["in the middle of its points"],
        ),
        (
            "garbage",
            "READYask(); send('Blender 4.5 loading'); time.sleep(100)",
            &["Blender 4.5 loading", "JSON"],
        ),
        (
            "binary garbage",
            "READYask(); send('', bytes(range(256)) * 1000); time.sleep(100)",
            &["no line of JSON"],
        ),
        ("endless garbage", "READYask()\nwhile True: put.write(b'x' * 100000)", &["no line of JSON"]),
        (
            "other count",
            "READYask(); send('{\"ok\": true, \"vertices\": 7}', bytes(7 * 24)); time.sleep(100)",
            &["7 vertices"],
        ),
        ("no count", "READYask(); send('{\"ok\": true}'); time.sleep(100)", &["vertices"]),
        (
            "NaN",
            "READYask(); send('{\"ok\": true, \"vertices\": %d}' % n, struct.pack('<d', float('nan')) * 3 * n); time.sleep(100)",
            &["vertex 0", "finite"],
        ),
        (
            "says no",
            "READY\nwhile ask(): send('{\"error\": \"the elbow is locked\"}')",
            &["says of call 1: the elbow is locked"],
        ),
    ];
    for (name, body, words) in cases {
        let seconds = if words.iter().any(|word| word.contains("did not answer") || word.contains("within")) {
            1.5
        } else {
            20.0
        };
        let (message, took) = failure(&python, seconds, &body.replace("READY", ready));
        assert!(words.iter().all(|word| message.contains(word)), "{name}: {message}");
        assert!(took < Duration::from_secs(5), "{name} took {took:?}");
    }
    // More than a pipe holds, and nobody reads it.
    let large = cylinder(60).unwrap().rig;
    let start = Instant::now();
    let deaf = command(&[&python, "-c", "import time; time.sleep(100)"], 1.0);
    let message = ExternalBox::start(&deaf, &large).unwrap_err().to_string();
    assert!(message.contains("within 1 s") && start.elapsed() < Duration::from_secs(4), "{message}");
    let (rig, _) = bar();
    let missing = ExternalBox::start(&command(&["no-such-program-1234"], 3.0), &rig).unwrap_err().to_string();
    assert!(missing.contains("no-such-program-1234") && missing.contains("cannot be started"), "{missing}");
}

/// Stopping ends the program itself, what it started, and leaves no zombie; so does dropping.
#[cfg(target_os = "linux")]
#[test]
fn nothing_stays_behind() {
    let python = python_with("json");
    let (rig, pose) = bar();
    let folder = tempfile::tempdir().unwrap();
    let ids = folder.path().join("ids");
    let script = format!(
        "import sys, os, subprocess, time\n\
         child = subprocess.Popen(['sleep', '100'])\n\
         open({ids:?}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n\
         sys.stdin.buffer.readline(); print('{{\"ok\": true}}', flush=True)\n\
         time.sleep(100)\n"
    );
    let alive = |id: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // A zombie of another parent is none of ours; the program itself must be gone altogether.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    for by_drop in [false, true] {
        let mut started = ExternalBox::start(&command(&[&python, "-c", &script], 2.0), &rig).unwrap();
        if !by_drop {
            let mut posed = rest_of(&rig);
            started.deform(&pose, &rest_of(&rig), &mut posed).unwrap_err();
        }
        drop(started);
        let text = std::fs::read_to_string(&ids).unwrap();
        let (program, child) = text.split_once(' ').unwrap();
        assert!(!std::path::Path::new(&format!("/proc/{program}")).exists(), "by drop: {by_drop}");
        std::thread::sleep(Duration::from_millis(50));
        assert!(!alive(child), "by drop: {by_drop}");
    }
}
