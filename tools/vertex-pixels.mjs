// Reads back from the GPU where vertices end: each is drawn as one pixel whose colours are its position
// and its normal. For the pages of the witnesses; the viewers' own shader code stands before `toPixel`.

const WIDTH = 256;

/** Width and height of a picture with a pixel for each vertex. */
export const sizeFor = (vertices) => [WIDTH, Math.ceil(vertices / WIDTH)];

/** What the vertex shader hands on. */
export const declarations = `
  uniform vec2 pixels;
  flat varying vec4 shownPosition;
  flat varying vec4 shownNormal;`;

/** The end of the vertex shader: a position and a normal in the space of the file, at the pixel of the vertex. */
export const toPixel = (position, normal) => `
  shownPosition = vec4(${position}, 1.0);
  shownNormal = vec4(normalize(${normal}), 1.0);
  vec2 pixel = vec2(gl_VertexID % int(pixels.x), gl_VertexID / int(pixels.x));
  gl_Position = vec4((pixel + 0.5) / pixels * 2.0 - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;`;

export const fragmentShader = `
  precision highp float;
  flat varying vec4 shownPosition;
  flat varying vec4 shownNormal;
  layout(location = 0) out vec4 position;
  layout(location = 1) out vec4 normal;
  void main() { position = shownPosition; normal = shownNormal; }`;
