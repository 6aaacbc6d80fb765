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
        // Layers without an entry are dropped: the first model that keeps enough of them.
        let random_model =
            |seed| model(Shape { seed, base, joints: 6, influences: 8, rings: 11, layers: 6, offset: 1.0 });
        let model =
            (0..100).map(random_model).find(|model| model.layers().len() > 3).expect("a model of layers");
        let mut random = Random::new(4);
        // Some instances stretch, others do not.
        let poses: Vec<Pose> = (0..100).map(|i| pose(&mut random, model.rig(), i % 7 == 0)).collect();
        check(context, &model, &poses, true);
    }
}
