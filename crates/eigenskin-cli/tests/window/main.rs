//! `eigenskin view`, in a window on a display without a screen, posed over its WebSocket.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../all/support/command.rs"]
mod command;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use command::eigenskin;
use eigenskin::characters::hand;
use eigenskin::characters::truth::true_shape;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::RigFile;
use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A display, and its name.
fn display() -> (Running, String) {
    let started = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.expect("Xvfb is missing: install xvfb");
    let mut number = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut number).unwrap();
    (Running(child), format!(":{}", number.trim()))
}

/// A hand with corrections, and the shapes it was fitted to.
fn fitted_hand(folder: &Path) -> [PathBuf; 2] {
    let character = hand(1500).unwrap();
    let poses = character.single_joint_poses(1).into_iter().chain(character.multi_joint_poses(0, 1));
    let examples = poses.map(|named| Example {
        positions: true_shape(&character, &named.pose),
        name: named.name,
        pose: named.pose,
        normals: None,
        inverted: None,
    });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
    let (times, poses) = character.demo_motion();
    let file = RigFile::from_rig(character.rig.clone(), "hand").unwrap();
    let file = file.with_clip("grasp", &times, &poses).unwrap();
    let [rig, examples, model] = ["rig.glb", "examples.glb", "model.glb"].map(|name| folder.join(name));
    eigenskin::io::write_rig(&rig, &file).unwrap();
    eigenskin::io::write_examples(&examples, &file, &set).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_string();
    let fit =
        eigenskin(&["fit", &path(&rig), "--examples", &path(&examples), "-o", &path(&model), "--quiet"]);
    assert!(fit.status.success(), "{}", String::from_utf8_lossy(&fit.stderr));
    [model, examples]
}

/// A picture as RGB, `row × column`.
struct Picture {
    pixels: Vec<[u8; 3]>,
    width: usize,
}

impl Picture {
    fn read(path: &Path) -> Self {
        let decoder = png::Decoder::new(BufReader::new(std::fs::File::open(path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        let pixels = bytes[..info.buffer_size()].chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
        Self { pixels, width: info.width as usize }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// Pixels left of the panel that differ visibly.
    fn differences(&self, other: &Self) -> usize {
        assert_eq!(self.pixels.len(), other.pixels.len());
        let differs = |a: &[u8; 3], b: &[u8; 3]| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 24);
        let pairs = self.pixels.iter().zip(&other.pixels).enumerate();
        pairs.filter(|(index, (a, b))| index % self.width < self.width - PANEL && differs(a, b)).count()
    }

    /// Pixels left of the panel that are skin: red, and lighter than the room.
    fn skin(&self) -> usize {
        let is_skin = |&[red, green, blue]: &[u8; 3]| red > 90 && red > green && green > blue;
        let left = self.pixels.iter().enumerate().filter(|(i, _)| i % self.width < self.width - PANEL);
        left.filter(|(_, pixel)| is_skin(pixel)).count()
    }
}

/// Width of the panel, pixels.
const PANEL: usize = 316;

struct Window {
    process: Running,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
}

impl Window {
    /// Opens a window with a stream.
    fn open(display: &str, arguments: &[&str], first_picture: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
            .arg("view")
            .args(arguments)
            .args(["--port", "0"])
            .env("DISPLAY", display)
            .env_remove("WAYLAND_DISPLAY")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().last().unwrap_or_default().to_string();
        let mut process = Running(child);
        let (mut socket, _) = tungstenite::connect(&address).unwrap_or_else(|error| {
            panic!("{error}: {line:?} {}", process.errors());
        });
        if let MaybeTlsStream::Plain(stream) = socket.get_mut() {
            stream.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
        }
        // The stream listens before there is a window: only a picture shows that there is one.
        socket.send(Message::text(json!({ "screenshot": first_picture }).to_string())).unwrap();
        let mut window = Self { process, socket };
        if let Err(error) = window.socket.read() {
            panic!("{error}: {}", window.process.errors());
        }
        window
    }

    fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.socket.read();
        let Ok(answer) = answer else { panic!("{answer:?} {}", self.process.errors()) };
        serde_json::from_str(answer.to_text().unwrap()).unwrap()
    }

    fn picture(&mut self, path: &Path) -> Picture {
        let answer = self.ask(&json!({ "screenshot": path }));
        assert_eq!(answer, json!({ "screenshot": path }));
        Picture::read(path)
    }

    /// Asks it to end, and waits for that.
    fn quit(mut self) {
        self.send(&json!({ "quit": true }));
        let until = Instant::now() + Duration::from_secs(30);
        let status = loop {
            if let Some(status) = self.process.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "the window stays open");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(0), "{}", self.process.errors());
    }
}

impl Running {
    /// What it has said, once it has ended.
    fn errors(&mut self) -> String {
        let _ = self.0.kill();
        let mut text = String::new();
        if let Some(mut errors) = self.0.stderr.take() {
            let _ = errors.read_to_string(&mut text);
        }
        text
    }
}

#[test]
fn a_stream_bends_the_hand_in_a_window() {
    let (_display, name) = display();
    let folder = tempfile::tempdir().unwrap();
    let [model, examples] = fitted_hand(folder.path());
    let arguments = [model.to_str().unwrap(), "--truth", examples.to_str().unwrap(), "--size", "1000x700"];
    let mut window = Window::open(&name, &arguments, &folder.path().join("first.png"));

    let rest = window.picture(&folder.path().join("rest.png"));
    assert_eq!(rest.width, 1000);
    // The room is dark and not flat, the panel has its own colour, with text on it.
    let (corner, middle) = (rest.at(3, 3), rest.at(340, 20));
    assert!(corner.iter().all(|&c| c > 0 && c < 70) && corner != middle, "{corner:?} {middle:?}");
    assert_eq!(rest.at(996, 350), [24, 26, 32]);
    let bright = (700..1000).flat_map(|x| (0..700).map(move |y| (x, y)));
    assert!(bright.filter(|&(x, y)| rest.at(x, y)[1] > 180).count() > 300);
    let skin = rest.skin();
    assert!(skin > 20_000, "{skin} pixels of skin");

    // A recorded stream: the fingers bend, frame by frame.
    let character = hand(1500).unwrap();
    let fist = character.multi_joint_poses(0, 1).into_iter().find(|pose| pose.name.contains("fist")).unwrap();
    let skeleton = character.rig.skeleton();
    for step in 1..=10 {
        let joints: serde_json::Map<String, Value> = (0..skeleton.joint_count())
            .map(|joint| {
                let motion = fist.pose.motion_of(skeleton, joint).share(0.1 * f64::from(step));
                (skeleton.joints()[joint].name.clone(), json!(motion.rotation.to_array()))
            })
            .collect();
        window.send(&json!({ "joints": joints }));
    }
    let bent = window.picture(&folder.path().join("bent.png"));
    assert!(bent.differences(&rest) > 15_000, "{} pixels differ", bent.differences(&rest));

    // The same pose by its matrices gives the same picture; plain skinning another.
    window.send(&json!({ "reset": true }));
    let again = window.picture(&folder.path().join("again.png"));
    assert_eq!(again.differences(&rest), 0);
    let world: Vec<Vec<f64>> = fist
        .pose
        .world_from_joint
        .iter()
        .map(|joint| eigenskin::glam::DMat4::from(*joint).to_cols_array().to_vec())
        .collect();
    window.send(&json!({ "world_from_joint": world }));
    let matrices = window.picture(&folder.path().join("matrices.png"));
    assert!(matrices.differences(&bent) < 200, "{} pixels differ", matrices.differences(&bent));
    window.send(&json!({ "view": "skinning" }));
    let skinning = window.picture(&folder.path().join("skinning.png"));
    assert!(skinning.differences(&bent) > 300, "{} pixels differ", skinning.differences(&bent));
    window.send(&json!({ "view": "heat" }));
    let heat = window.picture(&folder.path().join("heat.png"));
    assert!(heat.differences(&bent) > 15_000, "{} pixels differ", heat.differences(&bent));

    // Bad messages are answered and change nothing.
    let answer = window.ask(&json!({ "joints": { "nose": [0, 0, 0, 1] }, "reset": true }));
    assert!(answer["error"].as_str().unwrap().contains("\"nose\""), "{answer}");
    let answer = window.ask(&json!({ "screenshot": folder.path().join("missing/folder.png") }));
    assert!(answer["error"].as_str().unwrap().contains("folder.png"), "{answer}");
    let unchanged = window.picture(&folder.path().join("unchanged.png"));
    assert_eq!(unchanged.differences(&heat), 0);
    window.quit();
}

#[test]
fn a_recorded_stream_ends_the_window_by_itself() {
    let (_display, name) = display();
    let folder = tempfile::tempdir().unwrap();
    let [model, _] = fitted_hand(folder.path());
    let (stream, picture) = (folder.path().join("stream.jsonl"), folder.path().join("a.png"));
    let lines = [
        json!({ "clip": "grasp" }),
        json!({ "at": 0.3, "screenshot": picture }),
        json!({ "at": 0.4, "quit": true }),
    ];
    std::fs::write(&stream, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
        .args(["view", model.to_str().unwrap(), "--play", stream.to_str().unwrap(), "--size", "700x500"])
        .env("DISPLAY", &name)
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(Picture::read(&picture).skin() > 5_000);
}

#[test]
fn pictures_need_no_display() {
    let folder = tempfile::tempdir().unwrap();
    let [model, examples] = fitted_hand(folder.path());
    let shot = |name: &str, arguments: &[&str]| {
        let path = folder.path().join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
            .args(["view", model.to_str().unwrap(), "--truth", examples.to_str().unwrap()])
            .args(["--size", "900x600", "--screenshot", path.to_str().unwrap()])
            .args(arguments)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(output.status.success(), "{error}");
        Picture::read(&path)
    };
    let rest = shot("rest.png", &[]);
    let grasp = shot("grasp.png", &["--clip", "grasp", "--time", "1.5"]);
    assert!(grasp.differences(&rest) > 5_000, "{} pixels differ", grasp.differences(&rest));
    let stream = folder.path().join("stream.jsonl");
    std::fs::write(&stream, "{\"clip\":\"grasp\",\"time\":1.5}\n{\"panel\":true}\n").unwrap();
    let played = shot("played.png", &["--play", stream.to_str().unwrap()]);
    assert_eq!(played.differences(&grasp), 0);
}

#[test]
fn without_a_display_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let [model, _] = fitted_hand(folder.path());
    let output = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
        .args(["view", model.to_str().unwrap()])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = "error: there is no display; use eigenskin render for pictures without a window, or run under xvfb-run\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}

#[test]
fn wrong_names_are_answered_before_a_window_opens() {
    let folder = tempfile::tempdir().unwrap();
    let [model, _] = fitted_hand(folder.path());
    let stream = folder.path().join("stream.jsonl");
    std::fs::write(&stream, "{}\n{\"joints\":{\"nose\":[0,0,0,1]}}\n").unwrap();
    let (model, stream) = (model.to_str().unwrap(), stream.to_str().unwrap());
    for (arguments, parts) in [
        (vec!["--clip", "gasp"], vec!["gasp", "grasp"]),
        (vec!["--clip", "grasp", "--time", "99"], vec!["--time", "lasts"]),
        (vec!["--play", stream], vec!["stream.jsonl", "line 2", "nose"]),
        (vec!["--show", "truth"], vec!["--truth"]),
        (vec!["--screenshot", "a.jpg"], vec![".png"]),
        (vec!["--size", "3x4"], vec!["1280x800"]),
    ] {
        let output = eigenskin(&[&["view", model], arguments.as_slice()].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments:?}: {error}");
    }
}
