//! Models from a seed.

use eigenskin::pose::Pose;
use eigenskin::skinning::BaseSkinning;
use proptest::prelude::*;

use crate::adapter::context;
use crate::compare::check;
use crate::random_models::{Random, Shape, model, pose};

fn shape() -> impl Strategy<Value = Shape> {
    let base = prop_oneof![
        Just(BaseSkinning::LinearBlend),
        Just(BaseSkinning::DualQuaternion),
        Just(BaseSkinning::Rigid)
    ];
    (any::<u64>(), base, 0usize..7, 1usize..10, 2usize..10, 0usize..7, 0f64..2.0).prop_map(
        |(seed, base, joints, influences, rings, layers, offset)| Shape {
            seed,
            base,
            joints,
            influences,
            rings,
            layers,
            offset,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn both_kernels_equal_the_reference(shape in shape(), scaled in any::<bool>(), tangents in any::<bool>()) {
        if let Some(context) = context() {
            let model = model(shape);
            let mut random = Random(shape.seed ^ 1);
            let poses: Vec<Pose> = (0..2).map(|_| pose(&mut random, model.rig(), scaled)).collect();
            check(context, &model, &poses, tangents);
        }
    }
}
