//! How fast baked models play, as ratios taken in one interleaved run: against a straightforward
//! loop, against plain skinning, and against copying the bytes that are touched.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::sync::Arc;
use std::time::Instant;

use eigenskin::baked::{BakeParams, BakedEvaluator, BakedModel, Block, Output, Path, Storage};
use eigenskin::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant, Kernel, Representation, Tail};
use eigenskin::glam::{Affine3A, DAffine3, DQuat, DVec3, Mat4, Vec3};
use eigenskin::mesh::Mesh;
use eigenskin::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::BaseSkinning;
use eigenskin::weights::{Influence, SkinWeights};

const JOINTS: usize = 24;
const AROUND: usize = 100;

fn main() {
    println!("one thread, 4 influences, path {:?}", Path::available().last().unwrap());
    in_cache();
    out_of_cache();
}

fn in_cache() {
    let rig = tube(28_000);
    let poses = [pose(&rig, 0.1), pose(&rig, -0.15)];
    let vertices = rig.vertex_count();
    let model = |components, normals, base| model(&rig, components, normals, base);
    let plain = model(0, false, BaseSkinning::LinearBlend);
    let five = model(5, false, BaseSkinning::LinearBlend);
    let turning = model(5, true, BaseSkinning::LinearBlend);
    let mut bench = Bench::default();
    let baseline = Baseline::new(&rig);
    let mut out = vec![(Vec3::ZERO, Vec3::ZERO); vertices];
    let mut turn = 0;
    bench.add("straightforward loop", vertices, move || {
        turn = 1 - turn;
        baseline.skin(&poses[turn], &mut out);
        std::hint::black_box(&out);
    });
    for (name, model, storage, path) in [
        ("plain skinning", &plain, Storage::F32, None),
        ("plain skinning, portable", &plain, Storage::F32, Some(Path::Portable)),
        ("5 components f16", &five, Storage::F16, None),
        ("5 components i16", &five, Storage::I16, None),
        ("5 components f32", &five, Storage::F32, None),
        ("5 components + normals f16", &turning, Storage::F16, None),
        ("dual quaternions", &model(0, false, BaseSkinning::DualQuaternion), Storage::F32, None),
    ] {
        bench.add(name, vertices, baked_order(model, storage, path));
    }
    bench.add("drivers", vertices, {
        let mut evaluator = BakedEvaluator::new(baked(&five, Storage::F16));
        let poses = [pose(&rig, 0.1), pose(&rig, -0.15)];
        let mut turn = 0;
        move || {
            turn = 1 - turn;
            std::hint::black_box(evaluator.drive(&poses[turn]));
        }
    });
    bench.add("plain, caller's order", vertices, callers_order(&plain, Storage::F32));
    bench.add("5 components f16, caller's order", vertices, callers_order(&five, Storage::F16));
    bench.run(100);
    bench.compare("plain skinning", "straightforward loop");
    bench.compare("plain, caller's order", "straightforward loop");
    for name in ["5 components f16", "5 components i16", "5 components f32", "5 components + normals f16"] {
        bench.compare(name, "plain skinning");
    }
}

fn out_of_cache() {
    let rig = tube(400_000);
    let vertices = rig.vertex_count();
    let mut bench = Bench::default();
    for (name, components, storage) in
        [("400k plain", 0, Storage::F32), ("400k 5 components f16", 5, Storage::F16)]
    {
        let model = model(&rig, components, false, BaseSkinning::LinearBlend);
        let report = *BakedModel::new(&model, &BakeParams { storage }).unwrap().report();
        // Positions and normals are written beside what is read; a copy reads half and writes half.
        let bytes = report.bytes_per_vertex * vertices as f64 + 24.0 * (report.blocks * 8) as f64;
        let from = vec![1u8; (bytes / 2.0) as usize];
        let mut to = from.clone();
        bench.add(name, vertices, baked_order(&model, storage, None));
        bench.add(&format!("{name}: copy of its bytes"), vertices, move || {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&to);
        });
    }
    bench.run(8);
    for name in ["400k plain", "400k 5 components f16"] {
        bench.compare(name, &format!("{name}: copy of its bytes"));
    }
}

struct Entry {
    name: String,
    vertices: usize,
    work: Box<dyn FnMut()>,
}

/// Named work, run in turns so that a busy machine slows all alike.
#[derive(Default)]
struct Bench {
    entries: Vec<Entry>,
    /// `entry → round`, ns per vertex
    times: Vec<Vec<f64>>,
}

impl Bench {
    fn add(&mut self, name: &str, vertices: usize, work: impl FnMut() + 'static) {
        self.entries.push(Entry { name: name.to_string(), vertices, work: Box::new(work) });
    }

    fn run(&mut self, rounds: usize) {
        self.times = vec![Vec::new(); self.entries.len()];
        for _ in 0..rounds {
            for (Entry { vertices, work, .. }, times) in self.entries.iter_mut().zip(&mut self.times) {
                // The first brings its data back into the cache.
                let best = (0..6)
                    .map(|_| {
                        let start = Instant::now();
                        work();
                        start.elapsed()
                    })
                    .skip(1)
                    .min();
                times.push(1e9 * best.unwrap_or_default().as_secs_f64() / *vertices as f64);
            }
        }
        for times in &mut self.times {
            times.sort_by(f64::total_cmp);
        }
        println!("{:<44} ns per vertex: median    best", "");
        for (Entry { name, .. }, times) in self.entries.iter().zip(&self.times) {
            println!("{name:<44} {:>22.2} {:>7.2}", times[times.len() / 2], times[0]);
        }
    }

    fn compare(&self, name: &str, with: &str) {
        let times =
            |name: &str| &self.times[self.entries.iter().position(|entry| entry.name == name).unwrap()];
        let (own, other) = (times(name), times(with));
        let middle = own.len() / 2;
        println!(
            "{name} takes {:.2} (best {:.2}) of {with}: {:.2}× as fast",
            own[middle] / other[middle],
            own[0] / other[0],
            other[middle] / own[middle]
        );
    }
}

fn baked(model: &Model, storage: Storage) -> Arc<BakedModel> {
    Arc::new(BakedModel::new(model, &BakeParams { storage }).unwrap())
}

fn baked_order(model: &Model, storage: Storage, path: Option<Path>) -> impl FnMut() + 'static {
    let baked = baked(model, storage);
    let poses = [pose(model.rig(), 0.1), pose(model.rig(), -0.15)];
    let mut positions = vec![Block::default(); baked.block_count()];
    let mut normals = positions.clone();
    let path = path.unwrap_or(*Path::available().last().unwrap());
    let mut evaluator = BakedEvaluator::with_path(baked, path).unwrap();
    let mut turn = 0;
    move || {
        turn = 1 - turn;
        let output =
            Output::Blocks { positions: &mut positions, normals: Some(&mut normals), tangents: None };
        evaluator.evaluate_to(&poses[turn], output);
        std::hint::black_box((&positions, &normals));
    }
}

fn callers_order(model: &Model, storage: Storage) -> impl FnMut() + 'static {
    let baked = baked(model, storage);
    let poses = [pose(model.rig(), 0.1), pose(model.rig(), -0.15)];
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    let mut normals = positions.clone();
    let mut evaluator = BakedEvaluator::new(baked);
    let mut turn = 0;
    move || {
        turn = 1 - turn;
        evaluator.evaluate(&poses[turn], &mut positions, Some(&mut normals));
        std::hint::black_box((&positions, &normals));
    }
}

/// What one writes first: an array of vertices, each with its joints.
struct Baseline {
    rig: Arc<Rig>,
    vertices: Vec<Vertex>,
}

struct Vertex {
    position: Vec3,
    normal: Vec3,
    joints: [u32; 4],
    weights: [f32; 4],
}

impl Baseline {
    fn new(rig: &Arc<Rig>) -> Self {
        let vertices = (0..rig.vertex_count()).map(|vertex| {
            let influences = rig.weights().of(vertex);
            Vertex {
                position: rig.mesh().positions()[vertex],
                normal: rig.mesh().normals()[vertex],
                joints: std::array::from_fn(|i| influences.get(i).map_or(0, |influence| influence.joint)),
                weights: std::array::from_fn(|i| influences.get(i).map_or(0.0, |influence| influence.weight)),
            }
        });
        Self { rig: rig.clone(), vertices: vertices.collect() }
    }

    fn skin(&self, pose: &Pose, out: &mut [(Vec3, Vec3)]) {
        let joints: Vec<Mat4> = pose
            .posed_from_rest(self.rig.skeleton())
            .map(|map| {
                Mat4::from(Affine3A::from_mat3_translation(map.matrix3.as_mat3(), map.translation.as_vec3()))
            })
            .collect();
        for (out, vertex) in out.iter_mut().zip(&self.vertices) {
            let blended = vertex
                .joints
                .iter()
                .zip(vertex.weights)
                .map(|(&joint, weight)| joints[joint as usize] * weight)
                .sum::<Mat4>();
            *out = (
                blended.transform_point3(vertex.position),
                blended.transform_vector3(vertex.normal).normalize(),
            );
        }
    }
}

/// A tube with a chain of joints; every vertex follows the four nearest.
fn tube(vertices: usize) -> Arc<Rig> {
    let rings = vertices / AROUND;
    let length = JOINTS as f64;
    let mut positions = Vec::new();
    let mut weights = Vec::new();
    let mut triangles = Vec::new();
    for ring in 0..rings {
        let x = length * ring as f64 / (rings - 1) as f64;
        for k in 0..AROUND {
            let angle = std::f64::consts::TAU * k as f64 / AROUND as f64;
            positions.push(DVec3::new(x, angle.cos(), angle.sin()).as_vec3());
            let first = (x as usize).saturating_sub(1).min(JOINTS - 4);
            weights.push(
                (first..first + 4)
                    .map(|joint| Influence {
                        joint: joint as u32,
                        weight: (-(x - joint as f64 - 0.5).powi(2)).exp() as f32,
                    })
                    .collect::<Vec<_>>(),
            );
            if ring > 0 {
                let corner = |r: usize, k: usize| (r * AROUND + k % AROUND) as u32;
                let [a, b] = [corner(ring - 1, k), corner(ring - 1, k + 1)];
                let [c, d] = [corner(ring, k), corner(ring, k + 1)];
                triangles.extend([[a, b, c], [b, d, c]]);
            }
        }
    }
    let joints = (0..JOINTS).map(|joint| Joint {
        name: format!("joint-{joint}"),
        parent: joint.checked_sub(1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(-DVec3::X * joint as f64),
    });
    let skeleton = Skeleton::new(joints.collect()).unwrap();
    let (weights, _) = SkinWeights::new(JOINTS, weights).unwrap();
    Arc::new(Rig::new(Mesh::new(positions, triangles, None).unwrap(), skeleton, weights, Vec::new()).unwrap())
}

fn pose(rig: &Rig, bend: f64) -> Pose {
    let skeleton = rig.skeleton();
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    for (joint, transform) in local.iter_mut().enumerate() {
        *transform *= DAffine3::from_quat(DQuat::from_rotation_y(bend * (1 + joint % 3) as f64));
    }
    Pose { world_from_joint: skeleton.forward_kinematics(&local), controls: Vec::new() }
}

/// Twelve supports side by side, so that every vertex has the same number of components; their borders
/// are not those of the joints.
fn model(rig: &Arc<Rig>, components: usize, normals: bool, base: BaseSkinning) -> Model {
    const SUPPORTS: usize = 12;
    let vertices = rig.vertex_count() as u32;
    let layers = (0..SUPPORTS as u32)
        .map(|support| {
            let border = |i: u32| (u64::from(vertices) * u64::from(i) / SUPPORTS as u64) as u32;
            let support_vertices: Vec<u32> = (border(support)..border(support + 1)).collect();
            let count = support_vertices.len() * components;
            let field = |size: f32| -> Vec<Vec3> {
                (0..count)
                    .map(|i| size * Vec3::new((i % 17) as f32, (i % 5) as f32, (i % 29) as f32))
                    .collect()
            };
            let joint = 1 + support as usize * (JOINTS - 1) / SUPPORTS;
            let group = FeatureGroup::joint(rig.skeleton(), joint, Representation::Rotation).unwrap();
            let centres = (0..12).flat_map(|i| DQuat::from_rotation_y(0.1 * f64::from(i)).to_array());
            let interpolant = Interpolant::Rbf {
                kernel: Kernel::Gaussian,
                centres: centres.collect(),
                widths: vec![0.5; 12],
                coefficients: vec![0.1; 12 * components],
                tail: Tail::None,
            };
            Layer {
                name: format!("{support}"),
                support: support_vertices,
                basis: DisplacementBasis {
                    positions: field(0.001),
                    normals: if normals { field(0.001) } else { Vec::new() },
                },
                driver: Driver {
                    groups: vec![group],
                    combine: Combine::Distance,
                    interpolant,
                    clamp: Clamp::None,
                },
                stage: Stage::BeforeSkinning,
            }
        })
        .collect();
    Model::new(rig.clone(), base, layers).unwrap()
}
