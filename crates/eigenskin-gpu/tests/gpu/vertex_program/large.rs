//! Many instances.

use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;

use super::compare::check;
use super::random_models::{Random, Shape, model, pose};
use crate::adapter::context;

#[test]
fn a_hundred_instances_each_in_a_pose_of_its_own() {
    let context = context();
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion] {
        let model =
            model(Shape { seed: 11, base, joints: 6, influences: 8, rings: 11, layers: 6, offset: 1.0 });
        assert!(model.layers().len() > 3);
        let mut random = Random::new(4);
        // Some instances stretch, others do not.
        let poses: Vec<Pose> = (0..100).map(|i| pose(&mut random, model.rig(), i % 7 == 0)).collect();
        check(context, &model, &poses, true);
    }
}
