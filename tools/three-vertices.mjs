// The vertices of a mesh of three.js as three's own shader code moves them, for viewers built on three.
import { declarations, fragmentShader, sizeFor, toPixel } from './vertex-pixels.mjs';

// three's constants of these names: viewers that bundle three do not export them.
const [GLSL3, NoBlending, NearestFilter, FloatType] = ['300 es', 0, 1003, 1015];

// three's chunks in the order of its own materials; only the end is ours.
const vertexShader = `
  #include <common>
  #include <morphtarget_pars_vertex>
  #include <skinning_pars_vertex>
  uniform mat4 toFile;
  ${declarations}
  void main() {
    #include <beginnormal_vertex>
    #include <morphinstance_vertex>
    #include <morphnormal_vertex>
    #include <skinbase_vertex>
    #include <skinnormal_vertex>
    #include <begin_vertex>
    #include <morphtarget_vertex>
    #include <skinning_vertex>
    mat4 model = toFile * modelMatrix;
    ${toPixel('(model * vec4(transformed, 1.0)).xyz', 'transpose(inverse(mat3(model))) * objectNormal')}
  }`;

/** The only mesh of a file. */
export function onlyMesh(root) {
  const meshes = [];
  root.traverse((object) => object.isMesh && meshes.push(object));
  if (meshes.length !== 1) throw new Error(`${meshes.length} meshes; one is expected`);
  return meshes[0];
}

/** What `open_glb` gives of a mesh. */
export const shapeOf = ({ geometry }) => ({
  vertices: geometry.attributes.position.count,
  triangles: Array.from(geometry.index.array),
});

/** A way to read positions and normals as RGBA floats, and morph weights, as they are at the time of the call.
 *
 * `root` is the file's scene; `RenderTarget` is the class of three that the renderer belongs to. */
export function vertexReader({ root, mesh, renderer, camera, RenderTarget }) {
  const [width, height] = sizeFor(mesh.geometry.attributes.position.count);
  const target = new RenderTarget(width, height, {
    count: 2, type: FloatType, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false,
  });
  // The place that the viewer gives the file.
  const toFile = root.matrixWorld.clone();
  const material = Object.assign(mesh.material.clone(), {
    glslVersion: GLSL3, depthTest: false, blending: NoBlending,
    onBeforeCompile: (shader) => {
      Object.assign(shader, { vertexShader, fragmentShader });
      Object.assign(shader.uniforms, { pixels: { value: [width, height] }, toFile: { value: toFile } });
    },
  });
  // Drawn as points: three decides by these marks. Skin and morphs have marks of their own.
  const points = { material, frustumCulled: false, isMesh: false, isPoints: true };

  return () => {
    const { frustumCulled, isMesh, isPoints } = mesh;
    const before = { material: mesh.material, frustumCulled, isMesh, isPoints };
    if (root.parent) toFile.copy(root.parent.matrixWorld).invert();
    else toFile.identity();
    Object.assign(mesh, points);
    renderer.setClearColor(0, 0);
    renderer.setRenderTarget(target);
    renderer.clear();
    renderer.render(root, camera);
    const read = (index) => {
      const floats = new Float32Array(4 * width * height);
      renderer.readRenderTargetPixels(target, 0, 0, width, height, floats, undefined, index);
      return floats;
    };
    const shown = { positions: read(0), normals: read(1), weights: [...(mesh.morphTargetInfluences ?? [])] };
    renderer.setRenderTarget(null);
    Object.assign(mesh, before);
    const error = renderer.getContext().getError();
    if (error) throw new Error(`WebGL error ${error}`);
    return shown;
  };
}
