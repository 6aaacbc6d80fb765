//! Examples pulled back through deformers, and where poses can be.

use std::sync::Arc;

use eigenskin::articulation::NamedPose;
use eigenskin::base::{BaseChoice, ReadBase};
use eigenskin::characters::arm;
use eigenskin::deformers::BlackBox;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::{DAffine3, DQuat, DVec3};
use eigenskin::gltf::{ExampleList, RigFile};
use eigenskin::jobs::invert::{Invert, InvertError, Invertibility, invertibility_picture};
use eigenskin::progress::Unwatched;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::rig::Rig;
use eigenskin::skinning::BaseSkinning;

use crate::stop::Stop;

const CHAIN: &str = "name = \"fleshy\"\n[[deformer]]\nkind = \"linear\"\n[[deformer]]\nkind = \"lattice\"\nlowest = [-1, -1, -1]\nhighest = [1, 1, 1]\ncounts = [3, 3, 3]\nmoves = [{ point = [1, 1, 1], by = [0, 0, 0.02] }]\n";

/// A stack of deformers, as its file says it; the folder is gone by the time it is used.
fn fleshy() -> ReadBase {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.toml");
    std::fs::write(&path, CHAIN).unwrap();
    BaseChoice::File(path).read().unwrap()
}

/// A known correction at rest, and the example that it makes after the base.
fn bulge(rig: &Arc<Rig>, pose: &NamedPose, base: &ReadBase) -> (Vec<DVec3>, Example) {
    let (elbow, size) = (rig.skeleton().rest_position(2), rig.mesh().size());
    let rest: Vec<DVec3> = rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
    let bump = |at: DVec3| 0.02 * size * (-(at - elbow).length_squared() / (0.02 * size * size)).exp();
    let known: Vec<DVec3> = rest.iter().map(|&at| bump(at) * DVec3::Y).collect();
    let points: Vec<DVec3> = rest.iter().zip(&known).map(|(r, d)| *r + *d).collect();
    let mut posed = points.clone();
    let mut open = base.open(rig).unwrap();
    let stack: &mut dyn BlackBox = open.black_box().unwrap();
    stack.deform(&pose.pose, &points, &mut posed).unwrap();
    let positions = posed.iter().map(|p| p.as_vec3()).collect();
    let example = Example {
        name: pose.name.clone(),
        pose: pose.pose.clone(),
        positions,
        normals: None,
        inverted: None,
    };
    (known, example)
}

#[test]
fn a_known_correction_is_found_behind_deformers() {
    let arm = arm(600).unwrap();
    let base = fleshy();
    let pose = NamedPose { name: "bent".into(), pose: arm.pose(&[0.0, 0.0, -1.0]) };
    let (known, example) = bulge(&arm.rig, &pose, &base);
    let list = ExampleList::new(ExampleSet::new(arm.rig.clone(), vec![example]).unwrap());
    let job = Invert { list, base };
    assert!(matches!(job.run(&Stop), Err(InvertError::Cancelled(_))));
    let outcome = job.run(&Unwatched).unwrap();
    let inverted = outcome.list.set.examples()[0].inverted.clone().unwrap();
    let off = inverted.deltas.iter().zip(&known).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
    assert!(off < 2e-3 * arm.rig.mesh().size(), "{off}");
    let told = serde_json::to_value(&outcome).unwrap();
    assert_eq!(told["inversion"]["through"], "fleshy");
    assert!(told["inversion"]["calls"].as_u64().unwrap() < 200, "{told}");

    // Again, or through a skinning: nothing is left to do.
    let again = Invert { list: outcome.list.clone(), base: job.base.clone() }.run(&Unwatched).unwrap();
    assert!(again.inversion.is_none() && again.list == outcome.list);
    let plain = Invert { list: job.list.clone(), base: BaseSkinning::LinearBlend.into() };
    assert!(plain.run(&Unwatched).unwrap().inversion.is_none());

    // The set keeps what was found.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.glb");
    outcome.write(&path, &RigFile::from_rig(arm.rig.clone(), "arm").unwrap()).unwrap();
    let (read, _) = Invert::open(&path, &BaseChoice::Skinning(BaseSkinning::LinearBlend)).unwrap();
    assert_eq!(read.list.set.examples()[0].inverted, Some(inverted));
}

#[test]
fn a_half_twist_collapses_and_is_drawn() {
    let arm = arm(600).unwrap();
    let skeleton = arm.rig.skeleton();
    let (elbow, wrist) = (skeleton.rest_position(2), skeleton.rest_position(3));
    let turn = DQuat::from_axis_angle((wrist - elbow).normalize(), std::f64::consts::PI);
    let twist =
        DAffine3::from_translation(elbow) * DAffine3::from_quat(turn) * DAffine3::from_translation(-elbow);
    let mut twisted = arm.rig.rest_pose();
    for joint in &mut twisted.world_from_joint[2..] {
        *joint = twist * *joint;
    }
    let poses = vec![
        NamedPose { name: "bent".into(), pose: arm.pose(&[0.0, 0.0, -1.0]) },
        NamedPose { name: "twist".into(), pose: twisted },
    ];
    let job = Invertibility { rig: arm.rig.clone(), base: BaseSkinning::LinearBlend.into(), poses };
    assert!(matches!(job.run(&Stop), Err(InvertError::Cancelled(_))));
    let maps = job.run(&Unwatched).unwrap();
    assert!(maps[0].least > 0.5 && maps[0].partly_lost == 0, "{}", maps[0].least);
    assert!(maps[1].least < 0.2 && maps[1].partly_lost > 0, "{}", maps[1].least);
    assert_eq!(maps[1].kept[maps[1].vertex], maps[1].least);
    assert_eq!(maps[1].below(0.2), maps[1].partly_lost);
    let png = invertibility_picture(arm.rig.mesh(), &maps, &CpuPainter).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
}
