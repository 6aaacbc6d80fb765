//! Tests of the true shape: rest, rigid motion, locality, smoothness, volume, coupling.

use glam::{DAffine3, DQuat, DVec3, Vec3};

use super::test_support::{medium_hand, small_hand, volume};
use super::truth::SweptSkin;
use super::{Character, arm, cylinder, square_bar};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

fn linear_blend(character: &Character, pose: &Pose) -> Vec<Vec3> {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &character.rig, pose);
    let positions = character.rig.mesh().positions().iter().enumerate();
    positions.map(|(vertex, p)| skinning.position(vertex, p.as_dvec3()).as_vec3()).collect()
}

fn rmse(a: &[Vec3], b: &[Vec3]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.distance_squared(*b))).sum();
    (squares / a.len() as f64).sqrt()
}

/// Truth less linear blending, pulled back to rest.
fn correction(character: &Character, skin: &SweptSkin, pose: &Pose) -> Vec<DVec3> {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &character.rig, pose);
    let rest = character.rig.mesh().positions();
    let pulled = |(vertex, truth): (usize, &Vec3)| {
        let rest = rest[vertex].as_dvec3();
        skinning.inverse_position(vertex, truth.as_dvec3(), rest) - rest
    };
    skin.shape(pose).iter().enumerate().map(pulled).collect()
}

fn norm(field: &[DVec3]) -> f64 {
    field.iter().map(|d| d.length_squared()).sum::<f64>().sqrt()
}

/// Angles with one degree of freedom turned.
fn one_angle(index: usize, angle: f64) -> Vec<f64> {
    let mut angles = vec![0.0; index + 1];
    angles[index] = angle;
    angles
}

#[test]
fn rest_is_rest_and_rigid_motion_commutes() {
    for character in [square_bar().unwrap(), cylinder(12).unwrap(), arm(600).unwrap(), small_hand().clone()] {
        let skin = SweptSkin::new(&character);
        let size = character.rig.mesh().size();
        assert!(
            rmse(&skin.shape(&character.rig.rest_pose()), character.rig.mesh().positions()) < 1e-6 * size
        );
        let pose = character.multi_joint_poses(1, 3).pop().unwrap().pose;
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 1.3);
        let motion = DAffine3::from_rotation_translation(turn, DVec3::new(0.3, -0.2, 0.5) * size);
        let moved = skin.shape(&pose.moved_by(motion));
        for (still, moved) in skin.shape(&pose).iter().zip(&moved) {
            assert!(motion.transform_point3(still.as_dvec3()).distance(moved.as_dvec3()) < 1e-5 * size);
        }
    }
}

#[test]
fn bending_one_finger_leaves_the_others_alone() {
    let hand = small_hand();
    let skin = SweptSkin::new(hand);
    let skeleton = hand.rig.skeleton();
    let rest = hand.rig.mesh().positions();
    for (index, degree) in hand.degrees_of_freedom.iter().enumerate() {
        let angle = if -degree.lowest > degree.highest { degree.lowest } else { degree.highest };
        let pose = hand.pose(&one_angle(index, angle));
        let shape = skin.shape(&pose);
        let carried: Vec<DAffine3> = pose.posed_from_rest(skeleton).collect();
        let own = skeleton.joints()[degree.joint].name.split('-').next().unwrap();
        for (vertex, &before) in rest.iter().enumerate() {
            let heaviest = hand.rig.weights().of(vertex)[0].joint as usize;
            let name = &skeleton.joints()[heaviest].name;
            // Fingers beyond the web move with their bones alone, unless a joint of theirs bends them.
            let beyond = name.contains("intermediate") || name.contains("distal");
            let stranger = beyond && !name.starts_with(own);
            // Swelling reaches one bone before a joint; two bones further on all is rigid.
            let far_behind = name.ends_with("phalanx-distal")
                && name.starts_with(own)
                && skeleton.joints()[degree.joint].name.ends_with("phalanx-proximal")
                && own != "thumb";
            if stranger || far_behind {
                let rigid = carried[heaviest].transform_point3(before.as_dvec3());
                assert!(
                    rigid.distance(shape[vertex].as_dvec3()) < 2e-7,
                    "vertex {vertex} of {name}, degree {index}"
                );
            }
        }
    }
}

#[test]
fn the_shape_is_smooth_in_the_pose() {
    let hand = small_hand();
    let skin = SweptSkin::new(hand);
    // Two degrees of one joint and one of its neighbour: everything that meets at a web.
    let directions: [&[(usize, f64)]; 3] = [&[(4, -1.0)], &[(4, -0.8), (5, 0.4)], &[(4, -0.7), (8, -0.7)]];
    let step = 0.02;
    for direction in directions {
        for middle in [0.0, 0.4, 0.9] {
            let at = |amount: f64| {
                let mut angles = vec![0.0; 20];
                for &(index, speed) in direction {
                    angles[index] = amount * speed;
                }
                skin.shape(&hand.pose(&angles))
            };
            let [before, here, after] = [middle - step, middle, middle + step].map(at);
            let slopes_differ =
                (0..here.len()).map(|v| (after[v] - here[v] - (here[v] - before[v])).length());
            // A kink would leave the order of one step (a bone of 0.09 m moves by 2 mm in one).
            let largest = slopes_differ.fold(0.0, f32::max);
            assert!(largest < 1.2e-4, "{largest}");
        }
    }
}

#[test]
fn the_shape_is_smooth_over_the_skin() {
    // The largest stretch must be a property of the shape, not of the mesh.
    let stretch = |hand: &Character| {
        let fist = &hand.multi_joint_poses(0, 0)[0].pose;
        let shape = SweptSkin::new(hand).shape(fist);
        let rest = hand.rig.mesh().positions();
        let sides = hand.rig.mesh().triangles().iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        let ratio = |(a, b): (u32, u32)| {
            let [a, b] = [a as usize, b as usize];
            shape[a].distance(shape[b]) / rest[a].distance(rest[b])
        };
        sides.map(ratio).fold(0.0, f32::max)
    };
    let (coarse, fine) = (stretch(small_hand()), stretch(medium_hand()));
    assert!(fine < 4.0, "{fine}");
    assert!(fine < 1.6 * coarse, "{coarse} {fine}");
}

#[test]
fn a_bent_arm_keeps_its_volume_and_linear_blending_does_not() {
    let arm = arm(4000).unwrap();
    let mesh = arm.rig.mesh();
    let rest = volume(mesh, mesh.positions());
    let skin = SweptSkin::new(&arm);
    for (angles, least_loss) in
        [(one_angle(2, -90f64.to_radians()), 0.012), (one_angle(3, 80f64.to_radians()), 0.012)]
    {
        let pose = arm.pose(&angles);
        let kept = volume(mesh, &skin.shape(&pose)) / rest;
        let blended = volume(mesh, &linear_blend(&arm, &pose)) / rest;
        assert!((kept - 1.0).abs() < 0.05, "{kept}");
        assert!(blended < 1.0 - least_loss && blended < kept - least_loss, "{blended} against {kept}");
    }
}

#[test]
fn bends_without_swelling_keep_the_volume_closely() {
    let bar = cylinder(20).unwrap();
    let mesh = bar.rig.mesh();
    let pose = bar.pose(&[90f64.to_radians()]);
    let kept = volume(mesh, &SweptSkin::new(&bar).shape(&pose)) / volume(mesh, mesh.positions());
    assert!((kept - 1.0).abs() < 0.01, "{kept}");
}

#[test]
fn linear_blending_misses_the_truth_visibly() {
    for character in [arm(2000).unwrap(), small_hand().clone()] {
        let skin = SweptSkin::new(&character);
        let poses = character.multi_joint_poses(6, 1);
        let squares: f64 = poses
            .iter()
            .map(|p| rmse(&skin.shape(&p.pose), &linear_blend(&character, &p.pose)).powi(2))
            .sum();
        let share = (squares / poses.len() as f64).sqrt() / character.rig.mesh().size();
        assert!((0.003..0.02).contains(&share), "{share}");
    }
}

#[test]
fn corrections_interpolate_but_do_not_simply_add() {
    let hand = small_hand();
    let skin = SweptSkin::new(hand);
    let of = |angles: &[(usize, f64)]| {
        let mut all = vec![0.0; 20];
        for &(index, degrees) in angles {
            all[index] = degrees.to_radians();
        }
        correction(hand, &skin, &hand.pose(&all))
    };
    // Half-way between two neighbours of a sweep the mean of their corrections is close.
    let (low, middle, high) = (of(&[(4, -60.0)]), of(&[(4, -67.5)]), of(&[(4, -75.0)]));
    let mean: Vec<DVec3> = low.iter().zip(&high).map(|(a, b)| 0.5 * (*a + *b)).collect();
    let off: Vec<DVec3> = mean.iter().zip(&middle).map(|(a, b)| *a - *b).collect();
    assert!(norm(&off) < 0.05 * norm(&middle));
    // Index and middle finger together against the sum of both.
    let (index, other, both) = (of(&[(4, -70.0)]), of(&[(8, -70.0)]), of(&[(4, -70.0), (8, -70.0)]));
    let off: Vec<DVec3> = (0..both.len()).map(|v| index[v] + other[v] - both[v]).collect();
    let coupling = norm(&off) / norm(&both);
    assert!((0.05..0.5).contains(&coupling), "{coupling}");
}
