
// skin_compute: poses all vertices of all instances into a vertex buffer, once per frame; what
// follows (depth, shadows, the picture) draws from it. Rust twin: cpu/skin_compute.rs.
//
// Grid: x = ⌈vertices / 64⌉, y = instances.

// `instance × vertex`, each position (3), unit normal (3) and, with TANGENTS, tangent (4): 24 or 40
// bytes, vertex formats float32x3, float32x3, float32x4.
@group(1) @binding(0) var<storage, read_write> posed_vertices: array<f32>;

@compute @workgroup_size(64)
fn skin_compute(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = id.x;
    let instance = id.y;
    if vertex >= counts.vertices || instance >= counts.instances {
        return;
    }
    let posed = posed_vertex(vertex, instance);
    let at = (instance * counts.vertices + vertex) * select(6u, 10u, TANGENTS);
    posed_vertices[at] = posed.position.x;
    posed_vertices[at + 1u] = posed.position.y;
    posed_vertices[at + 2u] = posed.position.z;
    posed_vertices[at + 3u] = posed.normal.x;
    posed_vertices[at + 4u] = posed.normal.y;
    posed_vertices[at + 5u] = posed.normal.z;
    if TANGENTS {
        posed_vertices[at + 6u] = posed.tangent.x;
        posed_vertices[at + 7u] = posed.tangent.y;
        posed_vertices[at + 8u] = posed.tangent.z;
        posed_vertices[at + 9u] = posed.tangent.w;
    }
}
