
// live_surface: the same shape while it moves. This text follows `surface`, whose light it shares;
// corners come straight from the vertex buffer that `skin_compute` has written, and how open they are
// is left to `live_resolve`.
// Heat: the distance to the same vertex of another shape, as a colour, found here, so that nothing
// but the pose is uploaded.

struct Live {
    // 1 / distance that has the last colour; 0: clay
    heat_per_unit: f32,
    heat_colours: u32,
    unused_a: u32,
    unused_b: u32,
}

// `vertex × 6`: position, normal
@group(0) @binding(6) var<storage, read> posed: array<f32>;
@group(0) @binding(7) var<storage, read> compared: array<f32>;
// from no distance to the largest, linear light
@group(0) @binding(8) var<storage, read> heat: array<vec4<f32>>;
@group(0) @binding(9) var<uniform> live: Live;

@vertex
fn live_vertex(@builtin(vertex_index) index: u32) -> Shown {
    let at = 6u * corners[index];
    var shown: Shown;
    shown.position = vec3<f32>(posed[at], posed[at + 1u], posed[at + 2u]);
    shown.clip = view.clip_from_world * vec4<f32>(shown.position, 1.0);
    shown.normal = vec3<f32>(posed[at + 3u], posed[at + 4u], posed[at + 5u]);
    shown.colour = view.clay.rgb;
    if live.heat_per_unit > 0.0 {
        let other = vec3<f32>(compared[at], compared[at + 1u], compared[at + 2u]);
        shown.colour = heat_colour(distance(shown.position, other) * live.heat_per_unit);
    }
    shown.openness = vec4<f32>(1.0);
    shown.corner = vec3<f32>(f32(index % 3u == 0u), f32(index % 3u == 1u), f32(index % 3u == 2u));
    return shown;
}

fn heat_colour(share: f32) -> vec3<f32> {
    let last = live.heat_colours - 1u;
    let along = clamp(share, 0.0, 1.0) * f32(last);
    let first = min(u32(along), max(last, 1u) - 1u);
    return mix(heat[first].rgb, heat[min(first + 1u, last)].rgb, along - f32(first));
}
