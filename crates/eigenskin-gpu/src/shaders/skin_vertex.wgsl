
// skin_vertex: poses vertices inside the draw that shows them, as the EigenSkin vertex program did
// (§2.5); no vertex buffer at all. Rust twin: cpu/skin_vertex.rs.
//
// Draw the mesh's triangles as indices, with one instance of the draw per instance of the model.

struct View {
    clip_from_world: mat4x4<f32>,
}

@group(1) @binding(0) var<uniform> view: View;

// What a fragment shader gets.
struct Shown {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) tangent: vec4<f32>,
}

@vertex
fn skin_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Shown {
    let posed = posed_vertex(vertex, instance);
    var shown: Shown;
    shown.clip = view.clip_from_world * vec4<f32>(posed.position, 1.0);
    shown.position = posed.position;
    shown.normal = posed.normal;
    shown.tangent = posed.tangent;
    return shown;
}
