// live_resolve: a moving shape before its background, in one pass over the pixels. Draws outlines
// where depth jumps, as `resolve` does, and takes light from folds.
//
// Folds are found from the depth of the picture itself (McGuire, Mara, Luebke 2012): each pixel looks at
// points around it; those that stand above its surface hide some sky. That is cheaper than `openness`
// by far and blind to what is out of sight.

struct Picture {
    world_from_clip: mat4x4<f32>,
    // linear light
    background_middle: vec4<f32>,
    background_rim: vec4<f32>,
    // pixels across and down
    size: vec2<f32>,
    // how far folds reach: world, pixels
    fold_radius: f32,
    fold_pixels: f32,
    // jump in depth that makes an outline, width in pixels, brightness against the surface
    outline_step: f32,
    outline_reach: f32,
    outline_brightness: f32,
    // how much light folds lose; less on colours that carry a value
    fold_strength: f32,
}

@group(0) @binding(0) var<uniform> picture: Picture;
// multiplied with coverage
@group(0) @binding(1) var light: texture_2d<f32>;
// 0 near, 1 nothing
@group(0) @binding(2) var depth: texture_depth_multisampled_2d;

const SAMPLES: i32 = 4;
const FOLD_POINTS: u32 = 18u;

@vertex
fn whole_picture(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return vec4<f32>(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

@fragment
fn live_resolve(@builtin(position) place: vec4<f32>) -> @location(0) vec4<f32> {
    let at = vec2<i32>(place.xy);
    let covered = textureLoad(light, at, 0);
    var colour = background(place.xy);
    if covered.a > 0.0 {
        let surface = covered.rgb * folds(at) * outline(at);
        colour = surface + (1.0 - covered.a) * colour;
    }
    // Less than a step of a byte, so that soft gradients have no bands.
    let noise = fract(52.9829189 * fract(dot(place.xy, vec2<f32>(0.06711056, 0.00583715)))) - 0.5;
    return vec4<f32>(srgb(colour.r), srgb(colour.g), srgb(colour.b), 1.0) + noise / 255.0;
}

fn background(place: vec2<f32>) -> vec3<f32> {
    let across = place / picture.size;
    let from_middle = (across - vec2<f32>(0.42, 0.4)) * vec2<f32>(1.0, 1.1);
    let glow = exp(-2.6 * dot(from_middle, from_middle));
    return mix(picture.background_rim.rgb, picture.background_middle.rgb, glow);
}

// Brightness of the lines on a pixel: 1 without.
fn outline(at: vec2<i32>) -> f32 {
    let reach = i32(picture.outline_reach);
    if reach == 0 {
        return 1.0;
    }
    var found = 0.0;
    var all = 0.0;
    for (var sample = 0; sample < SAMPLES; sample++) {
        let here = textureLoad(depth, at, sample);
        if here < 1.0 {
            all += 1.0;
            let limit = here + picture.outline_step;
            let beyond = is_beyond(at + vec2<i32>(reach, 0), sample, limit)
                || is_beyond(at - vec2<i32>(reach, 0), sample, limit)
                || is_beyond(at + vec2<i32>(0, reach), sample, limit)
                || is_beyond(at - vec2<i32>(0, reach), sample, limit);
            found += f32(beyond);
        }
    }
    return mix(1.0, picture.outline_brightness, found / max(all, 1.0));
}

fn is_beyond(at: vec2<i32>, sample: i32, limit: f32) -> bool {
    let found = textureLoad(depth, inside(at), sample);
    return found > limit || found >= 1.0;
}

fn inside(at: vec2<i32>) -> vec2<i32> {
    return clamp(at, vec2<i32>(0), vec2<i32>(picture.size) - 1);
}

// Which share of the light a pixel keeps.
fn folds(at: vec2<i32>) -> vec3<f32> {
    let here = depth_at(at);
    if here >= 1.0 || picture.fold_strength == 0.0 {
        return vec3<f32>(1.0);
    }
    let point = world(at, here);
    let across = nearer(point, at, vec2<i32>(1, 0));
    let down = nearer(point, at, vec2<i32>(0, 1));
    // Down is against up, so this points toward the eye.
    let normal = normalize(cross(down, across) + vec3<f32>(1e-20));
    var hidden = 0.0;
    for (var index = 0u; index < FOLD_POINTS; index++) {
        let share = (f32(index) + 0.5) / f32(FOLD_POINTS);
        let angle = 2.39996 * f32(index);
        let offset = share * picture.fold_pixels * vec2<f32>(cos(angle), sin(angle));
        let there = inside(at + vec2<i32>(round(offset)));
        let far = depth_at(there);
        if far < 1.0 {
            let toward = (world(there, far) - point) / picture.fold_radius;
            let squared = dot(toward, toward);
            let fade = max(1.0 - squared, 0.0);
            let above = max(dot(toward, normal) - 0.06 * share, 0.0);
            hidden += fade * fade * fade * above / (squared + 0.02);
        }
    }
    let open = clamp(1.0 - picture.fold_strength * hidden / f32(FOLD_POINTS), 0.0, 1.0);
    // Light that bounces between folds is warm.
    return mix(vec3<f32>(0.30, 0.20, 0.17), vec3<f32>(1.0), open);
}

// Step to the neighbour on the side that is on the same surface.
fn nearer(point: vec3<f32>, at: vec2<i32>, step: vec2<i32>) -> vec3<f32> {
    let after = inside(at + step);
    let before = inside(at - step);
    let forward = world(after, depth_at(after)) - point;
    let backward = point - world(before, depth_at(before));
    return select(backward, forward, dot(forward, forward) < dot(backward, backward));
}

fn depth_at(at: vec2<i32>) -> f32 {
    return textureLoad(depth, at, 0);
}

fn world(at: vec2<i32>, depth: f32) -> vec3<f32> {
    let share = (vec2<f32>(at) + 0.5) / picture.size;
    let clip = vec4<f32>(2.0 * share.x - 1.0, 1.0 - 2.0 * share.y, depth, 1.0);
    let point = picture.world_from_clip * clip;
    return point.xyz / point.w;
}

fn srgb(linear: f32) -> f32 {
    let x = clamp(linear, 0.0, 1.0);
    if x <= 0.0031308 {
        return 12.92 * x;
    }
    return 1.055 * pow(x, 1.0 / 2.4) - 0.055;
}
