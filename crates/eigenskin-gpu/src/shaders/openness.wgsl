// openness: which share of a sky each vertex sees past the shape itself.
// Rust twin: the CPU painter of eigenskin-report; tests compare whole panels.
//
// `openness_depth` draws the shape as seen from each direction of the sky, with the triangles as indices
// and the direction as the draw's only instance; `openness` then looks up
// every vertex in all of these depth maps. Shares are weighted by the cosine to the normal, and for the
// light also by the brightness of the direction:
//
//   light_i = Σ_d seen_id cos_id b_d / Σ_d cos_id b_d,   over the directions d on one side of the skin
//
// Grid of `openness`: x = ⌈vertices / 64⌉.

struct Sky {
    // of a sphere around the shape; w: its radius
    centre: vec4<f32>,
    vertices: u32,
    directions: u32,
    // a map has map_size × map_size texels
    map_size: u32,
    unused: u32,
}

struct Direction {
    right: vec4<f32>,
    up: vec4<f32>,
    // toward the sky; w: brightness
    toward: vec4<f32>,
}

// A point must lie this far behind a map to be hidden, and vertices are lifted as far off the skin, in
// texels: hides the steps of the maps.
const BIAS_TEXELS: f32 = 1.5;

@group(0) @binding(0) var<uniform> sky: Sky;
@group(0) @binding(1) var<storage, read> directions: array<Direction>;
// `vertex × 3` each
@group(0) @binding(2) var<storage, read> positions: array<f32>;
@group(0) @binding(3) var<storage, read> normals: array<f32>;

// Column and row in texels, and depth: 0 nearest to the sky, 1 farthest.
fn place(direction: Direction, point: vec3<f32>) -> vec3<f32> {
    let from_centre = (point - sky.centre.xyz) / sky.centre.w;
    // One texel on each side stays free, so that the border lets light through.
    let middle = 0.5 * f32(sky.map_size);
    return vec3<f32>(
        middle + (middle - 1.0) * dot(from_centre, direction.right.xyz),
        middle + (middle - 1.0) * dot(from_centre, direction.up.xyz),
        0.5 - 0.49 * dot(from_centre, direction.toward.xyz),
    );
}

@vertex
fn openness_depth(@builtin(vertex_index) vertex: u32, @builtin(instance_index) direction: u32) -> @builtin(position) vec4<f32> {
    let at = 3u * vertex;
    let point = vec3<f32>(positions[at], positions[at + 1u], positions[at + 2u]);
    let where_to = place(directions[direction], point);
    let size = f32(sky.map_size);
    return vec4<f32>(2.0 * where_to.x / size - 1.0, 1.0 - 2.0 * where_to.y / size, where_to.z, 1.0);
}

@group(1) @binding(0) var maps: texture_depth_2d_array;
// `vertex`: light and hemisphere on the side of the normal, then on the other side
@group(1) @binding(1) var<storage, read_write> shares: array<vec4<f32>>;

@compute @workgroup_size(64)
fn openness(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= sky.vertices {
        return;
    }
    let at = 3u * id.x;
    let point = vec3<f32>(positions[at], positions[at + 1u], positions[at + 2u]);
    let normal = vec3<f32>(normals[at], normals[at + 1u], normals[at + 2u]);
    let texel = sky.centre.w / (0.5 * f32(sky.map_size) - 1.0);
    var seen = vec4<f32>(0.0);
    var all = vec4<f32>(0.0);
    for (var index = 0u; index < sky.directions; index++) {
        let direction = directions[index];
        let cosine = dot(normal, direction.toward.xyz);
        let side = select(vec4<f32>(0.0, 0.0, 1.0, 1.0), vec4<f32>(1.0, 1.0, 0.0, 0.0), cosine >= 0.0);
        let lifted = point + normal * BIAS_TEXELS * texel * select(-1.0, 1.0, cosine >= 0.0);
        let share = abs(cosine) * side * vec4<f32>(direction.toward.w, 1.0, direction.toward.w, 1.0);
        seen += share * visibility(place(direction, lifted), index, texel);
        all += share;
    }
    shares[id.x] = select(vec4<f32>(1.0), seen / all, all > vec4<f32>(0.0));
}

// Share of the four texels around a place that do not hide it, weighted by nearness.
fn visibility(where_to: vec3<f32>, map: u32, texel: f32) -> f32 {
    let last = f32(sky.map_size) - 2.0;
    let corner = clamp(floor(where_to.xy - 0.5), vec2<f32>(0.0), vec2<f32>(last));
    let share = clamp(where_to.xy - 0.5 - corner, vec2<f32>(0.0), vec2<f32>(1.0));
    let nearest_seen = where_to.z - 0.49 * BIAS_TEXELS * texel / sky.centre.w;
    let first = vec2<i32>(corner);
    let above = mix(is_open(first, map, nearest_seen), is_open(first + vec2<i32>(1, 0), map, nearest_seen), share.x);
    let below = mix(is_open(first + vec2<i32>(0, 1), map, nearest_seen), is_open(first + vec2<i32>(1, 1), map, nearest_seen), share.x);
    return mix(above, below, share.y);
}

fn is_open(at: vec2<i32>, map: u32, depth: f32) -> f32 {
    return select(0.0, 1.0, depth <= textureLoad(maps, at, map, 0));
}
