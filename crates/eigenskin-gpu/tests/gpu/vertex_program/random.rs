//! Models from a seed.

use eigenskin_core::pose::Pose;
use proptest::prelude::*;

use super::compare::check;
use super::random_models::{Random, model, pose, shapes};
use crate::adapter::context;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn both_kernels_equal_the_reference(shape in shapes(1..10, 2..10, 0..7), scaled in any::<bool>(), tangents in any::<bool>()) {
        let model = model(shape);
        let mut random = Random::new(shape.seed ^ 1);
        let poses: Vec<Pose> = (0..2).map(|_| pose(&mut random, model.rig(), scaled)).collect();
        check(context(), &model, &poses, tangents);
    }
}
