//! How symmetric characters of others are, and that their poses can be mirrored.

use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::mirror::{Mirror, MirrorError, MirrorParams};
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_rig;

use crate::data;

#[test]
fn characters_of_others_have_two_sides() {
    let data = data();
    // name, pairs of joints, share of vertices that have another side at least
    for (name, pairs, share) in [("CesiumMan", 7, 0.99), ("RiggedFigure", 7, 0.99), ("Fox", 7, 0.99)] {
        let file = read_rig(data.join("gltf").join(format!("{name}.glb")), &ReadOptions::default()).unwrap();
        let rig = file.rig();
        let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
        let joints = mirror.joints();
        let found = joints.iter().enumerate().filter(|(j, other)| other.is_some_and(|o| o > *j)).count();
        let alone: Vec<&str> = (0..joints.len())
            .filter(|&j| joints[j].is_none())
            .map(|j| rig.skeleton().joints()[j].name.as_str())
            .collect();
        let symmetric = mirror.vertices().iter().flatten().count();
        let size = rig.mesh().size();
        let plane = mirror.plane();
        let off = joints
            .iter()
            .enumerate()
            .filter_map(|(j, other)| Some((j, (*other)?)))
            .map(|(j, other)| {
                plane.point(rig.skeleton().rest_position(j)).distance(rig.skeleton().rest_position(other))
            })
            .fold(0.0, f64::max);
        println!(
            "{name}: across {} at {:.4} of the size, {found} pairs of joints (off by up to {:.2} %), without: {alone:?}; {symmetric} of {} vertices have another side, {} points by topology",
            plane.axis_name(),
            plane.centre / size,
            100.0 * off / size,
            rig.vertex_count(),
            mirror.paired_by_topology()
        );
        for (joint, other) in joints.iter().enumerate() {
            assert!(other.is_none_or(|other| joints[other] == Some(joint)), "{joint}");
        }
        assert_eq!(found, pairs, "{name}");
        assert!(symmetric as f64 >= share * rig.vertex_count() as f64, "{name}: {symmetric}");

        // Frames of its own motion, in the mirror and back; skin of one side is the other's, as far as
        // the character is symmetric.
        let clip = &file.clips()[0];
        let (mut worst, mut there_and_back) = (0.0f64, 0.0f64);
        for step in 0..5 {
            let pose = file.sample(clip, clip.duration() * f64::from(step) / 5.0);
            let mirrored = mirror.pose(&pose).unwrap();
            let twice = mirror.pose(&mirrored).unwrap();
            for (a, b) in pose.world_from_joint.iter().zip(&twice.world_from_joint) {
                there_and_back = there_and_back.max(a.translation.distance(b.translation) / size);
            }
            let [here, there] =
                [&pose, &mirrored].map(|pose| PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose));
            let rest = |v: usize| rig.mesh().positions()[v].as_dvec3();
            let mut sum = 0.0;
            for (vertex, from) in mirror.vertices().iter().enumerate() {
                let Some(from) = from.map(|from| from as usize) else { continue };
                let seen = plane.point(here.position(from, rest(from)));
                sum += there.position(vertex, rest(vertex)).distance_squared(seen);
            }
            worst = worst.max((sum / symmetric.max(1) as f64).sqrt() / size);
        }
        println!(
            "  twice: joints off by {there_and_back:.1e}; skin of the mirrored pose off by {:.2} % of the size (rms)",
            100.0 * worst
        );
        assert!(there_and_back < 1e-6, "{name}: {there_and_back}");
        assert!(worst < 0.03, "{name}: {worst}");
    }
    let hand = read_rig(data.join("webxr-hand/left.glb"), &ReadOptions::default()).unwrap();
    assert_eq!(
        Mirror::new(hand.rig().clone(), &MirrorParams::default(), &Unwatched).unwrap_err(),
        MirrorError::NoPairs
    );
}
