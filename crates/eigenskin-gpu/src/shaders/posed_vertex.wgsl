// One vertex of one instance: correction, skinning, normal and tangent.
// Part of the kernels skin_compute and skin_vertex, which are this text followed by their own; Rust
// twin: cpu/posed_vertex.rs.
//
// EigenSkin (Kry, James, Pai 2002), Equation 2, for vertex i:
//
//   v_i = Σ_b w_ib T_b ( v_i⁰ + Σ_j Σ_k α_jk û_i^jk )                      before skinning
//       + Σ_l R_l Σ_k α_lk d_i^lk                                          after skinning
//
// with joints b, their weights w and maps T; layers j that reach the vertex, their coordinates α and
// eigendisplacements û; layers l that are added in the axes R of a joint. Coordinates are not found
// here: drivers run on the CPU in f64. As in §2.5 a vertex lists only the displacements that reach
// it, so it costs what it carries.
//
// Normals: n_i = unit( M_i ( n_i⁰ + Σ α_jk n̂_i^jk ) ), M the 3 × 3 part of the vertex's map itself.
// Tangents: t_i = unit of M_i t_i⁰ with what lies along n_i taken out; the sign w is kept.
//
// Dual quaternions (Kavan, Collins, Žára, O'Sullivan 2008): Σ_b ± w_b q_b, scaled to unit length, after
// linearly blended stretches. q and −q are one rotation: each joint goes the shorter way from the
// heaviest joint, which is also what is left when all cancel.
//
// Rest positions and the maps of joints are about the centre of the model: small numbers lose less.

// The base is dual quaternions; otherwise blended matrices (rigid skinning has one joint per vertex).
override DUAL_QUATERNION: bool = false;
// Displacements are stored in 16 bits.
override HALF_STORAGE: bool = false;
// There are tangents.
override TANGENTS: bool = false;
// vec4s of a joint: 3 for blended matrices, 4 with layers after skinning, 5 for dual quaternions.
override JOINT_STRIDE: u32 = 3u;

// Normals shorter than the root of this have no direction; they become z.
const SMALLEST_SQUARE: f32 = 1e-36;
// Blends of quaternions shorter than the root of this have cancelled.
const CANCELLED_SQUARE: f32 = 1e-24;
// Stands for the heaviest joint of each vertex.
const HEAVIEST: u32 = 0xffffffffu;

struct Counts {
    vertices: u32,
    instances: u32,
    // of one instance; the last one never moves
    joints: u32,
    // of one instance
    coordinates: u32,
    // not zero: some joint of some instance scales or shears
    any_stretch: u32,
    unused_a: u32,
    unused_b: u32,
    unused_c: u32,
}

// 40 bytes. One more at the end closes the lists of the last vertex.
struct Vertex {
    x: f32,
    y: f32,
    z: f32,
    normal_x: f32,
    normal_y: f32,
    normal_z: f32,
    // into influences
    first_influence: u32,
    // into displacements: before skinning, of normals, after skinning, one list after the other
    first_before: u32,
    first_turning: u32,
    first_after: u32,
}

// 8 bytes. At least one per vertex, the heaviest first.
struct Influence {
    joint: u32,
    weight: f32,
}

@group(0) @binding(0) var<uniform> counts: Counts;
// `vertex + 1`
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read> influences: array<Influence>;
// f32: two words of two each, (coordinate, x) and (y, z). 16 bits: one, the coordinate as u16 below
// x, then y below z.
@group(0) @binding(3) var<storage, read> displacements: array<vec2<u32>>;
// `coordinate`: the joint in whose axes it is added after skinning, or HEAVIEST
@group(0) @binding(4) var<storage, read> frames: array<u32>;
// `vertex`; one unused element without tangents
@group(0) @binding(5) var<storage, read> tangents: array<vec4<f32>>;
// `instance × joint × JOINT_STRIDE`. Blended matrices: three rows; its rotation (x, y, z, w) if there
// are layers after skinning. Dual quaternions: real part, dual part, three rows of the stretch.
@group(0) @binding(6) var<storage, read> joints: array<vec4<f32>>;
// `instance × coordinate`
@group(0) @binding(7) var<storage, read> coordinates: array<f32>;

struct PosedVertex {
    position: vec3<f32>,
    normal: vec3<f32>,
    tangent: vec4<f32>,
}

// Rows of an affine map.
struct Map {
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
}

struct Displacement {
    coordinate: u32,
    vector: vec3<f32>,
}

fn posed_vertex(vertex: u32, instance: u32) -> PosedVertex {
    let own = vertices[vertex];
    let first_joint = instance * counts.joints;
    let first_coordinate = instance * counts.coordinates;
    let influence_end = vertices[vertex + 1u].first_influence;

    var map: Map;
    if DUAL_QUATERNION {
        map = dual_quaternion_map(own.first_influence, influence_end, first_joint);
    } else {
        map = blended_map(own.first_influence, influence_end, first_joint, 0u);
    }

    let rest = vec3<f32>(own.x, own.y, own.z)
        + displacement_sum(own.first_before, own.first_turning, first_coordinate);
    var posed: PosedVertex;
    posed.position = map_point(map, rest)
        + after_skinning(own.first_after, vertices[vertex + 1u].first_before, own.first_influence, first_joint, first_coordinate);
    let rest_normal = vec3<f32>(own.normal_x, own.normal_y, own.normal_z)
        + displacement_sum(own.first_turning, own.first_after, first_coordinate);
    posed.normal = unit_or(map_vector(map, rest_normal), vec3<f32>(0.0, 0.0, 1.0));
    posed.tangent = vec4<f32>(0.0);
    if TANGENTS {
        let carried = map_vector(map, tangents[vertex].xyz);
        let along_skin = carried - posed.normal * dot(posed.normal, carried);
        posed.tangent = vec4<f32>(unit_or(along_skin, any_perpendicular(posed.normal)), tangents[vertex].w);
    }
    return posed;
}

fn displacement_at(entry: u32) -> Displacement {
    var found: Displacement;
    if HALF_STORAGE {
        let words = displacements[entry];
        found.coordinate = words.x & 0xffffu;
        found.vector = vec3<f32>(unpack2x16float(words.x >> 16u).x, unpack2x16float(words.y));
    } else {
        let first = displacements[2u * entry];
        let second = displacements[2u * entry + 1u];
        found.coordinate = first.x;
        found.vector = bitcast<vec3<f32>>(vec3<u32>(first.y, second));
    }
    return found;
}

// Σ α û over a list.
fn displacement_sum(first: u32, end: u32, first_coordinate: u32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    for (var entry = first; entry < end; entry++) {
        let one = displacement_at(entry);
        sum += coordinates[first_coordinate + one.coordinate] * one.vector;
    }
    return sum;
}

// Σ R α d over a list. Displacements of one frame stand together and are turned once.
fn after_skinning(first: u32, end: u32, heaviest: u32, first_joint: u32, first_coordinate: u32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    var in_frame = vec3<f32>(0.0);
    var frame = 0u;
    for (var entry = first; entry < end; entry++) {
        let one = displacement_at(entry);
        let next = frames[one.coordinate];
        if entry > first && next != frame {
            sum += turned(in_frame, frame, heaviest, first_joint);
            in_frame = vec3<f32>(0.0);
        }
        frame = next;
        in_frame += coordinates[first_coordinate + one.coordinate] * one.vector;
    }
    if end > first {
        sum += turned(in_frame, frame, heaviest, first_joint);
    }
    return sum;
}

// A vector in the axes of a frame, as that joint's rotation carries it.
fn turned(vector: vec3<f32>, frame: u32, heaviest: u32, first_joint: u32) -> vec3<f32> {
    var joint = frame;
    if frame == HEAVIEST {
        joint = influences[heaviest].joint;
    }
    let rotation = joints[(first_joint + joint) * JOINT_STRIDE + select(3u, 0u, DUAL_QUATERNION)];
    let twice = 2.0 * cross(rotation.xyz, vector);
    return vector + rotation.w * twice + cross(rotation.xyz, twice);
}

// Σ_b w_b T_b; the rows stand at `offset` within a joint.
fn blended_map(first: u32, end: u32, first_joint: u32, offset: u32) -> Map {
    var map = Map(vec4<f32>(0.0), vec4<f32>(0.0), vec4<f32>(0.0));
    for (var index = first; index < end; index++) {
        let weight = influences[index].weight;
        let at = (first_joint + influences[index].joint) * JOINT_STRIDE + offset;
        map.x += weight * joints[at];
        map.y += weight * joints[at + 1u];
        map.z += weight * joints[at + 2u];
    }
    return map;
}

fn dual_quaternion_map(first: u32, end: u32, first_joint: u32) -> Map {
    let pivot_at = (first_joint + influences[first].joint) * JOINT_STRIDE;
    let pivot = joints[pivot_at];
    var real = vec4<f32>(0.0);
    var dual = vec4<f32>(0.0);
    for (var index = first; index < end; index++) {
        let at = (first_joint + influences[index].joint) * JOINT_STRIDE;
        let one = joints[at];
        let weight = influences[index].weight * select(1.0, -1.0, dot(one, pivot) < 0.0);
        real += weight * one;
        dual += weight * joints[at + 1u];
    }
    let squared = dot(real, real);
    if squared > CANCELLED_SQUARE {
        let scale = 1.0 / sqrt(squared);
        real *= scale;
        dual *= scale;
    } else {
        real = pivot;
        dual = joints[pivot_at + 1u];
    }
    let rigid = rigid_map(real, dual);
    if counts.any_stretch == 0u {
        return rigid;
    }
    return map_after(rigid, blended_map(first, end, first_joint, 2u));
}

// Rows of a unit dual quaternion.
fn rigid_map(q: vec4<f32>, dual: vec4<f32>) -> Map {
    // vector part of 2 · dual · conjugate(q)
    let moved = 2.0 * (q.w * dual.xyz - dual.w * q.xyz + cross(q.xyz, dual.xyz));
    let d = 2.0 * q.xyz * q.xyz;
    let m = 2.0 * q.xyz * q.yzx;
    let w = 2.0 * q.w * q.xyz;
    return Map(
        vec4<f32>(1.0 - d.y - d.z, m.x - w.z, m.z + w.y, moved.x),
        vec4<f32>(m.x + w.z, 1.0 - d.x - d.z, m.y - w.x, moved.y),
        vec4<f32>(m.z - w.y, m.y + w.x, 1.0 - d.x - d.y, moved.z),
    );
}

fn map_after(outer: Map, inner: Map) -> Map {
    let last = vec4<f32>(0.0, 0.0, 0.0, 1.0);
    return Map(
        outer.x.x * inner.x + outer.x.y * inner.y + outer.x.z * inner.z + outer.x.w * last,
        outer.y.x * inner.x + outer.y.y * inner.y + outer.y.z * inner.z + outer.y.w * last,
        outer.z.x * inner.x + outer.z.y * inner.y + outer.z.z * inner.z + outer.z.w * last,
    );
}

fn map_point(map: Map, point: vec3<f32>) -> vec3<f32> {
    let p = vec4<f32>(point, 1.0);
    return vec3<f32>(dot(map.x, p), dot(map.y, p), dot(map.z, p));
}

fn map_vector(map: Map, vector: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(dot(map.x.xyz, vector), dot(map.y.xyz, vector), dot(map.z.xyz, vector));
}

fn unit_or(vector: vec3<f32>, otherwise: vec3<f32>) -> vec3<f32> {
    let squared = dot(vector, vector);
    if squared > SMALLEST_SQUARE {
        return vector / sqrt(squared);
    }
    return otherwise;
}

fn any_perpendicular(normal: vec3<f32>) -> vec3<f32> {
    let off_axis = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), abs(normal.x) > 0.7);
    return normalize(cross(normal, off_axis));
}
