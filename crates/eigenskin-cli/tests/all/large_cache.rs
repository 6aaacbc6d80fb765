//! Caches that are larger than the memory a fit may take.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use eigenskin::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin::gltf::RigFile;
use eigenskin::mesh::Mesh;
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::{BaseSkinning, PosedSkinning};
use eigenskin::weights::{Influence, SkinWeights};

use crate::support::json_of;

const RINGS: usize = 1000;
const AROUND: usize = 100;
const JOINTS: usize = 6;
const LENGTH: f64 = 12.0;

/// A tube of 100,000 vertices along x with a chain of joints.
fn tube() -> Arc<Rig> {
    let at = |ring: usize, place: usize| {
        let angle = std::f64::consts::TAU * place as f64 / AROUND as f64;
        DVec3::new(LENGTH * ring as f64 / (RINGS - 1) as f64, angle.cos(), angle.sin()).as_vec3()
    };
    let positions = (0..RINGS * AROUND).map(|v| at(v / AROUND, v % AROUND)).collect();
    let mut triangles = Vec::new();
    for ring in 1..RINGS as u32 {
        for place in 0..AROUND as u32 {
            let next = (place + 1) % AROUND as u32;
            let corner = |r: u32, p: u32| r * AROUND as u32 + p;
            let [a, b, c, d] =
                [corner(ring - 1, place), corner(ring, place), corner(ring, next), corner(ring - 1, next)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    let joint = |index: usize| Joint {
        name: format!("joint {index}"),
        parent: index.checked_sub(1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(-joint_position(index)),
    };
    let skeleton = Skeleton::new((0..JOINTS).map(joint).collect()).unwrap();
    let weights = (0..RINGS * AROUND).map(|vertex| {
        // Which joint's stretch this is, and how near its end.
        let x = LENGTH * (vertex / AROUND) as f64 / (RINGS - 1) as f64 / (LENGTH / JOINTS as f64);
        let lower = ((x - 0.5).floor().max(0.0) as usize).min(JOINTS - 2);
        let t = ((x - 0.75 - lower as f64) / 0.5).clamp(0.0, 1.0) as f32;
        let upper = t * t * (3.0 - 2.0 * t);
        let influence = |joint: usize, weight: f32| Influence { joint: joint as u32, weight };
        vec![influence(lower, 1.0 - upper), influence(lower + 1, upper)]
    });
    let (weights, _) = SkinWeights::new(JOINTS, weights).unwrap();
    Arc::new(Rig::new(Mesh::new(positions, triangles, None).unwrap(), skeleton, weights, vec![]).unwrap())
}

fn joint_position(joint: usize) -> DVec3 {
    DVec3::X * (LENGTH * joint as f64 / JOINTS as f64)
}

/// All joints bend at their own pace.
fn angles(frame: usize) -> [f64; JOINTS] {
    std::array::from_fn(
        |joint| if joint == 0 { 0.0 } else { 0.7 * (0.11 * joint as f64 * (frame + 1) as f64).sin() },
    )
}

fn pose(rig: &Rig, angles: &[f64]) -> Pose {
    let mut pose = rig.rest_pose();
    for joint in 1..JOINTS {
        let turn = DAffine3::from_quat(DQuat::from_rotation_z(angles[joint]));
        let bone = DAffine3::from_translation(joint_position(joint) - joint_position(joint - 1));
        pose.world_from_joint[joint] = pose.world_from_joint[joint - 1] * bone * turn;
    }
    pose
}

/// Skinning of a shape that bulges where joints bend.
fn shape(rig: &Rig, pose: &Pose, angles: &[f64]) -> Vec<Vec3> {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
    let rest = rig.mesh().positions().iter().zip(rig.mesh().normals()).enumerate();
    rest.map(|(vertex, (position, normal))| {
        let (position, normal) = (position.as_dvec3(), normal.as_dvec3());
        let bulge: f64 = (1..JOINTS)
            .map(|joint| {
                let away = (position.x - joint_position(joint).x) / 0.7;
                let bend = angles[joint];
                (0.15 * bend * bend + 0.1 * bend * normal.y) * (-away * away).exp()
            })
            .sum();
        skinning.position(vertex, position + bulge * normal).as_vec3()
    })
    .collect()
}

/// Writes the rig with a clip, and its shapes frame by frame.
fn write(folder: &Path, poses: usize) {
    let rig = tube();
    let clip: Vec<Pose> = (0..poses).map(|frame| pose(&rig, &angles(frame))).collect();
    let times: Vec<f64> = (0..poses).map(|frame| frame as f64 / 30.0).collect();
    let file = RigFile::from_rig(rig.clone(), "tube").unwrap().with_clip("motion", &times, &clip).unwrap();
    eigenskin::io::write_rig(folder.join("tube.glb"), &file).unwrap();
    let mut cache = BufWriter::new(std::fs::File::create(folder.join("tube.pc2")).unwrap());
    cache.write_all(b"POINTCACHE2\0").unwrap();
    for whole in [1, rig.vertex_count() as i32] {
        cache.write_all(&whole.to_le_bytes()).unwrap();
    }
    cache.write_all(&0f32.to_le_bytes()).unwrap();
    cache.write_all(&1f32.to_le_bytes()).unwrap();
    cache.write_all(&(poses as i32 + 1).to_le_bytes()).unwrap();
    let mut frame = |positions: &[Vec3]| {
        let bytes: Vec<u8> = positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect();
        cache.write_all(&bytes).unwrap();
    };
    frame(rig.mesh().positions());
    let frames: Vec<usize> = (0..poses).collect();
    for group in frames.chunks(16) {
        let shapes: Vec<Vec<Vec3>> = std::thread::scope(|scope| {
            let (rig, clip) = (&rig, &clip);
            let work: Vec<_> =
                group.iter().map(|&f| scope.spawn(move || shape(rig, &clip[f], &angles(f)))).collect();
            work.into_iter().map(|work| work.join().unwrap()).collect()
        });
        for shape in &shapes {
            frame(shape);
        }
    }
    cache.flush().unwrap();
}

/// Fits the cache by a method; figures of the fit.
fn fit(folder: &Path, flags: &[&str]) -> serde_json::Value {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let [rig, cache, model] = ["tube.glb", "tube.pc2", "model.glb"].map(path);
    let figures =
        json_of(&[&["fit", &rig, "--clip", "motion", "--cache", &cache, "-o", &model], flags].concat());
    assert!(!folder.join("model.glb.scratch").exists(), "scratch files are removed");
    figures
}

/// Bytes that are free where temporary files go, where `df` tells.
fn free_space(folder: &Path) -> Option<u64> {
    let output = std::process::Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

fn check(poses: usize, flags: &[&str], most_memory: u64) {
    let folder = tempfile::tempdir().unwrap();
    let needed = 4 * 12 * 100_000 * poses as u64;
    if let Some(free) = free_space(folder.path()).filter(|&free| free < needed) {
        panic!("{needed} bytes are needed for temporary files, {free} are free");
    }
    write(folder.path(), poses);
    let bytes = std::fs::metadata(folder.path().join("tube.pc2")).unwrap().len();
    for method in ["parameterization", "eigenskin"] {
        let figures = fit(folder.path(), &[&["--method", method], flags].concat());
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
        let (error, streamed) = (number(&figures["training"]["relative_error"]), &figures["streamed"]);
        println!(
            "{} MB, {poses} poses of 100,000 vertices, {method}: {:.0} s, {:.0} MB of memory, {error:.4} of skinning's error",
            bytes / 1_000_000,
            number(&streamed["seconds"]),
            number(&streamed["peak_memory"]) / 1e6,
        );
        assert_eq!(figures["training"]["poses"], poses);
        assert!(error < 0.2, "{method}: {error}");
        // Only some systems tell.
        if let Some(memory) = streamed["peak_memory"].as_u64() {
            assert!(memory < most_memory, "{method}: {memory}");
        }
    }
}

#[test]
fn two_hundred_megabytes_are_left_on_disk_when_asked() {
    check(167, &["--stream"], 1 << 30);
}

/// Part of the full check: gigabytes on disk, minutes of work.
#[test]
#[ignore = "writes 2.4 GB and takes minutes; part of check --full"]
fn gigabytes_are_left_on_disk() {
    check(2000, &[], 1 << 30);
}
