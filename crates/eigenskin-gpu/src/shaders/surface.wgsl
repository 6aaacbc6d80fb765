// surface: a lit shape, one sample per texel of a picture that is made larger than asked and averaged
// by `resolve`.
// Rust twin: the CPU painter of eigenskin-report; tests compare whole panels.
//
// Light on an open surface depends on its normal only and is nine numbers per colour (Ramamoorthi and
// Hanrahan 2001). Vertices bring along which share of it the shape itself hides (`openness`).
//
// Triangles are drawn without indices, three corners each, so that a corner knows its place in its
// triangle: that gives thin lines along the edges.

struct View {
    clip_from_world: mat4x4<f32>,
    // where the eye is (w = 1), or the direction to it (w = 0)
    eye: vec4<f32>,
    // right, up, toward the viewer: the axes of the light
    right: vec4<f32>,
    up: vec4<f32>,
    toward: vec4<f32>,
    // toward the lamp, in space
    lamp: vec4<f32>,
    // linear light; w: brightness of its inside
    clay: vec4<f32>,
    // linear light; w: opacity
    line_colour: vec4<f32>,
    // width of lines in texels (0: none); 1 for clay, 0 for colours of vertices
    line_width: f32,
    is_clay: f32,
    unused_a: f32,
    unused_b: f32,
    harmonics: array<vec4<f32>, 9>,
}

@group(0) @binding(0) var<uniform> view: View;
// `triangle × 3`
@group(0) @binding(1) var<storage, read> corners: array<u32>;
// `vertex × 3` each
@group(0) @binding(2) var<storage, read> positions: array<f32>;
@group(0) @binding(3) var<storage, read> normals: array<f32>;
// linear light; unused for clay
@group(0) @binding(4) var<storage, read> colours: array<f32>;
// `vertex`: share of the light and of the hemisphere on the side of the normal, then on the other side
@group(0) @binding(5) var<storage, read> openness: array<vec4<f32>>;

struct Shown {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) colour: vec3<f32>,
    @location(3) openness: vec4<f32>,
    @location(4) @interpolate(linear) corner: vec3<f32>,
}

@vertex
fn surface_vertex(@builtin(vertex_index) index: u32) -> Shown {
    let vertex = corners[index];
    let at = 3u * vertex;
    var shown: Shown;
    shown.position = vec3<f32>(positions[at], positions[at + 1u], positions[at + 2u]);
    shown.clip = view.clip_from_world * vec4<f32>(shown.position, 1.0);
    shown.normal = vec3<f32>(normals[at], normals[at + 1u], normals[at + 2u]);
    shown.colour = view.clay.rgb;
    if view.is_clay == 0.0 {
        shown.colour = vec3<f32>(colours[at], colours[at + 1u], colours[at + 2u]);
    }
    shown.openness = openness[vertex];
    shown.corner = vec3<f32>(f32(index % 3u == 0u), f32(index % 3u == 1u), f32(index % 3u == 2u));
    return shown;
}

@fragment
fn surface_fragment(shown: Shown, @builtin(front_facing) outside: bool) -> @location(0) vec4<f32> {
    let to_eye = normalize(view.eye.xyz - view.eye.w * shown.position);
    let normal = normalize(shown.normal * select(-1.0, 1.0, outside));
    let open = select(shown.openness.zw, shown.openness.xy, outside);
    var light: vec3<f32>;
    if view.is_clay != 0.0 {
        light = clay(shown.colour * select(view.clay.w, 1.0, outside), open, normal, to_eye);
    } else {
        light = chart(shown.colour, open, normal);
    }
    // Distance to the nearest edge, in texels.
    let distances = shown.corner / max(fwidth(shown.corner), vec3<f32>(1e-6));
    let to_edge = min(distances.x, min(distances.y, distances.z));
    let on_line = clamp(0.5 * view.line_width - to_edge + 0.5, 0.0, 1.0) * step(1e-6, view.line_width);
    return vec4<f32>(mix(light, view.line_colour.rgb, on_line * view.line_colour.a), 1.0);
}

// Matt clay with a soft gleam, a light rim and warm shadows.
fn clay(albedo: vec3<f32>, open: vec2<f32>, normal: vec3<f32>, to_eye: vec3<f32>) -> vec3<f32> {
    let half_way = normalize(view.lamp.xyz + to_eye + vec3<f32>(1e-9));
    let gleam = pow(max(dot(normal, half_way), 0.0), 24.0);
    let rim = pow(1.0 - clamp(dot(normal, to_eye), 0.0, 1.0), 4.0);
    // Light that bounces between folds takes the clay's colour with it.
    let bounced = albedo * (1.0 - open.y) * 0.25;
    let diffuse = light_on(normal) * open.x + bounced;
    return albedo * diffuse + open.y * (0.05 * gleam + 0.07 * rim);
}

// Colours that carry a value: shaded gently, so that a legend can be read off them.
fn chart(colour: vec3<f32>, open: vec2<f32>, normal: vec3<f32>) -> vec3<f32> {
    let brightness = dot(light_on(normal), vec3<f32>(1.0 / 3.0)) * open.x;
    return colour * min(0.45 + 0.55 * brightness, 1.0);
}

// Diffuse light on an open surface; 1 is a sheet of white under a sky of 1.
fn light_on(normal: vec3<f32>) -> vec3<f32> {
    let d = vec3<f32>(dot(view.right.xyz, normal), dot(view.up.xyz, normal), dot(view.toward.xyz, normal));
    let sum = 0.282095 * view.harmonics[0].rgb
        + 0.488603 * (d.y * view.harmonics[1].rgb + d.z * view.harmonics[2].rgb + d.x * view.harmonics[3].rgb)
        + 1.092548 * (d.x * d.y * view.harmonics[4].rgb + d.y * d.z * view.harmonics[5].rgb + d.x * d.z * view.harmonics[7].rgb)
        + 0.315392 * (3.0 * d.z * d.z - 1.0) * view.harmonics[6].rgb
        + 0.546274 * (d.x * d.x - d.y * d.y) * view.harmonics[8].rgb;
    return max(sum, vec3<f32>(0.0));
}
