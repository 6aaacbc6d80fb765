// resolve: averages the texels of each pixel in linear light and draws outlines where depth jumps. What
// comes out is coverage as opacity, not multiplied into the colours: four sRGB bytes, or four floats
// of linear light.
// Rust twin: the CPU painter of eigenskin-report; tests compare whole panels.
//
// Grid: x = ⌈width / 8⌉, y = ⌈height / 8⌉.

override PACKED: bool = true;

struct Picture {
    // pixels
    width: u32,
    height: u32,
    // texels per pixel, across and down
    samples: u32,
    // width of outlines in texels; 0: none
    outline_reach: u32,
    // jump in depth that makes an outline
    outline_step: f32,
    // brightness of outlines against the surface they lie on
    outline_brightness: f32,
    unused_a: u32,
    unused_b: u32,
}

@group(0) @binding(0) var<uniform> picture: Picture;
@group(0) @binding(1) var light: texture_2d<f32>;
// 0 near, 1 nothing
@group(0) @binding(2) var depth: texture_depth_2d;
// `row × column`; packed with red in the lowest byte, otherwise four words each
@group(0) @binding(3) var<storage, read_write> pixels: array<u32>;

@compute @workgroup_size(8, 8)
fn resolve(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= picture.width || id.y >= picture.height {
        return;
    }
    var sum = vec3<f32>(0.0);
    var covered = 0u;
    let first = id.xy * picture.samples;
    for (var row = 0u; row < picture.samples; row++) {
        for (var column = 0u; column < picture.samples; column++) {
            let at = vec2<i32>(first + vec2<u32>(column, row));
            if textureLoad(depth, at, 0) < 1.0 {
                let line = select(1.0, picture.outline_brightness, is_outline(at));
                sum += line * textureLoad(light, at, 0).rgb;
                covered++;
            }
        }
    }
    var colour = vec4<f32>(0.0);
    if covered > 0u {
        let mean = sum / f32(covered);
        let share = f32(covered) / f32(picture.samples * picture.samples);
        colour = vec4<f32>(mean, share);
    }
    let pixel = id.y * picture.width + id.x;
    if PACKED {
        pixels[pixel] = pack4x8unorm(vec4<f32>(srgb(colour.r), srgb(colour.g), srgb(colour.b), colour.a));
    } else {
        let words = bitcast<vec4<u32>>(colour);
        pixels[4u * pixel] = words.x;
        pixels[4u * pixel + 1u] = words.y;
        pixels[4u * pixel + 2u] = words.z;
        pixels[4u * pixel + 3u] = words.w;
    }
}

// Whether a texel lies at the rim of the shape, or of a part that stands before another.
fn is_outline(at: vec2<i32>) -> bool {
    if picture.outline_reach == 0u {
        return false;
    }
    let reach = i32(picture.outline_reach);
    let limit = textureLoad(depth, at, 0) + picture.outline_step;
    return is_beyond(at + vec2<i32>(reach, 0), limit) || is_beyond(at - vec2<i32>(reach, 0), limit)
        || is_beyond(at + vec2<i32>(0, reach), limit) || is_beyond(at - vec2<i32>(0, reach), limit);
}

fn is_beyond(at: vec2<i32>, limit: f32) -> bool {
    let last = vec2<i32>(vec2<u32>(picture.width, picture.height) * picture.samples) - 1;
    let found = textureLoad(depth, clamp(at, vec2<i32>(0), last), 0);
    return found > limit || found >= 1.0;
}

fn srgb(linear: f32) -> f32 {
    let x = clamp(linear, 0.0, 1.0);
    if x <= 0.0031308 {
        return 12.92 * x;
    }
    return 1.055 * pow(x, 1.0 / 2.4) - 0.055;
}
