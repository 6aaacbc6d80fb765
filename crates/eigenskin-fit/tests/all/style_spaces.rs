//! The space of a style is chosen by frames that are left out in turn, or by a rule where there are few.

use eigenskin_characters::truth::SweptSkin;
use eigenskin_characters::{Character, cylinder, hand, hand_with_fingers, square_bar};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::{BaseSkinning, skinned_shape};
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_fit::style::{ChosenBy, Space, StyleMap, StyleParams};

const LINEAR: Space = Space::Skinning(BaseSkinning::LinearBlend);
const DUAL: Space = Space::Skinning(BaseSkinning::DualQuaternion);

/// Poses of many joints with the true, swelling skin.
fn motion(character: &Character, count: usize) -> ExampleSet {
    SweptSkin::new(character).examples(character.multi_joint_poses(count, 3)).unwrap()
}

/// Every deviation from a skinning times a factor.
fn stronger(set: &ExampleSet, base: BaseSkinning, factor: f32) -> ExampleSet {
    let examples = set.examples().iter().map(|example| {
        let plain = skinned_shape(base, set.rig(), &example.pose);
        let pairs = example.positions.iter().zip(plain);
        Example {
            positions: pairs.map(|(p, plain)| plain + factor * (*p - plain)).collect(),
            ..example.clone()
        }
    });
    ExampleSet::new(set.rig().clone(), examples.collect()).unwrap()
}

/// RMSE with the size set to 100.
fn rmse(a: &ExampleSet, b: &ExampleSet) -> f64 {
    let pairs = a.examples().iter().zip(b.examples());
    let squares: Vec<f64> = pairs
        .flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions))
        .map(|error| f64::from(error).powi(2))
        .collect();
    100.0 * (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() / a.rig().mesh().size()
}

/// 1.5 times the correction, hand → thicker hand: exact as seen from linear blending.
#[test]
fn larger_corrections_are_carried_whole_by_default() {
    let (slender, thick) = (hand(3000).unwrap(), hand_with_fingers(3000, 1.12).unwrap());
    for count in [40, 4] {
        let first: Vec<usize> = (0..count).collect();
        let [x1, y1] = [&slender, &thick].map(|hand| motion(hand, count).select(&first).unwrap());
        let [x2, truth] = [&x1, &y1].map(|set| stronger(set, BaseSkinning::LinearBlend, 1.5));
        let error = |space: Option<Space>| {
            let params = StyleParams { space, ..StyleParams::default() };
            let map = StyleMap::capture(&x1, &x2, &y1, &params, &Unwatched).unwrap();
            (rmse(&map.transfer(&y1, 1.0, &Unwatched).unwrap().set, &truth), map.report)
        };
        let (left, report) = error(None);
        let (from_bones, told) = error(Some(Space::NearestBones));
        let before = rmse(&y1, &truth);
        println!("{count} poses: {before:.3} → {left:.6}, nearest bones {from_bones:.3}; {:?}", report.space);
        assert_eq!(report.space.space, LINEAR, "{:?}", report.space);
        assert_eq!(report.space.left.len(), 3);
        assert!(report.carried > 0.99 && left < 0.01 * before, "{} {left} {before}", report.carried);
        assert_eq!((told.space.space, told.space.by), (Space::NearestBones, ChosenBy::Asked));
        assert!(from_bones > 0.1 * before, "otherwise nothing is chosen: {from_bones} {before}");
    }
}

/// The same of dual quaternions, and the step from one skinning to another.
#[test]
fn a_style_is_seen_from_the_skinning_it_belongs_to() {
    let (slender, thick) = (hand(3000).unwrap(), hand_with_fingers(3000, 1.12).unwrap());
    let [x1, y1] = [&slender, &thick].map(|hand| motion(hand, 30));
    let [x2, truth] = [&x1, &y1].map(|set| stronger(set, BaseSkinning::DualQuaternion, 1.5));
    let map = StyleMap::capture(&x1, &x2, &y1, &StyleParams::default(), &Unwatched).unwrap();
    assert_eq!(map.report.space.space, DUAL, "{:?}", map.report.space);
    assert!(rmse(&map.transfer(&y1, 1.0, &Unwatched).unwrap().set, &truth) < 0.01 * rmse(&y1, &truth));

    let skinned = |character: &Character, base: BaseSkinning| {
        let example = |frame: usize| {
            let pose = character.pose(&[0.0, 170f64.to_radians() * frame as f64 / 8.0]);
            let positions = skinned_shape(base, &character.rig, &pose);
            Example { name: format!("frame {frame}"), pose, positions, normals: None, inverted: None }
        };
        ExampleSet::new(character.rig.clone(), (0..9).map(example).collect()).unwrap()
    };
    let (bar, round) = (square_bar().unwrap(), cylinder(12).unwrap());
    let bases = [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];
    let ([x1, x2], [y1, truth]) =
        (bases.map(|base| skinned(&bar, base)), bases.map(|base| skinned(&round, base)));
    let map = StyleMap::capture(&x1, &x2, &y1, &StyleParams::default(), &Unwatched).unwrap();
    assert_eq!(map.report.space.space, DUAL, "{:?}", map.report.space);
    // Nothing can be told from linear blending, where X1 is linear blending itself.
    let left = |space: Space| map.report.space.left.iter().find(|(s, _)| *s == space).unwrap().1;
    assert!((left(LINEAR) - 1.0).abs() < 1e-6 && left(DUAL) < 0.01, "{:?}", map.report.space);
    assert!(rmse(&map.transfer(&y1, 1.0, &Unwatched).unwrap().set, &truth) < 1e-3 * rmse(&y1, &truth));
}
