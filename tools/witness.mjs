// What a viewer shows of a baked GLB, compared with what `eigenskin bake --write-obj` wrote of it.
//
// The OBJ folder and the JSON lie beside each GLB under the same name.
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

// Largest distance allowed, in sizes of the model; largest angle between normals, in degrees.
const TOLERANCE = 1e-4;
const ANGLE = 0.1;
// The same for normals that the file has as bytes (profile web): each target adds up to 0.4° times its weight, and
// several act at a vertex.
const ANGLE_OF_BYTES = 3;
// A weight that is on, and not a rounding error.
const ON = 1e-3;
// Frames looked at: enough to see every part of a clip. Software rendering is slow.
const MOST_FRAMES = 61;

/** Positions, normals and triangles of an OBJ, flat. */
function readObj(text) {
  const [positions, normals, triangles] = [[], [], []];
  for (const line of text.split('\n')) {
    const [kind, ...words] = line.split(' ');
    if (kind === 'v') positions.push(...words.map(Number));
    else if (kind === 'vn') normals.push(...words.map(Number));
    else if (kind === 'f') triangles.push(...words.map((word) => parseInt(word) - 1));
  }
  return { positions, normals, triangles };
}

/** The largest distance and angle of a frame, and the vertex of the distance. Shown are RGBA floats, alpha 1. */
function compare(shown, expected) {
  const { positions, normals } = shown;
  const largest = { distance: 0, angle: 0, vertex: 0 };
  for (let vertex = 0; vertex < expected.positions.length / 3; vertex++) {
    if (positions[4 * vertex + 3] !== 1) throw new Error(`vertex ${vertex} was not drawn`);
    const d = [0, 1, 2].map((i) => positions[4 * vertex + i] - expected.positions[3 * vertex + i]);
    const n = [0, 1, 2].map((i) => normals[4 * vertex + i] - expected.normals[3 * vertex + i]);
    const distance = Math.hypot(...d);
    // The chord between unit vectors: exact for small angles, as the arc cosine is not.
    const angle = (2 * Math.asin(Math.min(1, Math.hypot(...n) / 2)) * 180) / Math.PI;
    if (!(Number.isFinite(distance) && Number.isFinite(angle))) throw new Error(`vertex ${vertex} is no number`);
    if (distance > largest.distance) Object.assign(largest, { distance, vertex });
    largest.angle = Math.max(largest.angle, angle);
  }
  return largest;
}

/** Vertex i of the viewer is vertex i of the OBJ: there are as many, in equal triangles of equal numbers. */
function requireEqualNumbering(opened, expected) {
  const count = 3 * opened.vertices;
  if (expected.positions.length !== count || expected.normals.length !== count)
    throw new Error(`the viewer has ${opened.vertices} vertices, the OBJ ${expected.positions.length / 3}`);
  const { triangles } = expected;
  if (opened.triangles.length !== triangles.length || opened.triangles.some((v, i) => v !== triangles[i]))
    throw new Error('the viewer numbers the vertices otherwise than the file');
}

/** The keys of the first clip's morph weights, [key][target], as they stand in a GLB. */
function keyedWeights(bytes, document, targets) {
  const { channels, samplers } = document.animations[0];
  const channel = channels.find(({ target }) => target.path === 'weights');
  const accessor = document.accessors[samplers[channel.sampler].output];
  // Files of integers have one target for both signs: nothing to look for.
  if (accessor.componentType !== 5126) return [];
  const view = document.bufferViews[accessor.bufferView];
  const binary = bytes.subarray(28 + bytes.readUInt32LE(12));
  const start = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
  const key = (k) => Array.from({ length: targets }, (_, t) => binary.readFloatLE(start + 4 * (k * targets + t)));
  return Array.from({ length: accessor.count / targets }, (_, k) => key(k));
}

/** How many coordinates use their positive and their negative target at different times. */
function signChanges(names, weights) {
  const on = (target) => weights.some((frame) => frame[target] > ON);
  const isPair = (name, next) => name.endsWith('_pos') && next === `${name.slice(0, -4)}_neg`;
  const pairs = names.flatMap((name, i) => (i + 1 < names.length && isPair(name, names[i + 1]) ? [i] : []));
  return pairs.filter((i) => on(i) && on(i + 1)).length;
}

/** The sign changes shown. A model has targets for all signs that its drivers can give; a clip need not use them all. */
function shownSignChanges(bytes, document, weights) {
  const names = document.meshes[0].extras.targetNames;
  const changing = signChanges(names, weights);
  const keyed = signChanges(names, keyedWeights(bytes, document, names.length));
  if (keyed > 0 && changing === 0)
    throw new Error(`none of ${keyed} coordinates that change their sign in the file does so in the viewer`);
  return changing;
}

/** Compares one file: whether it agrees, how many coordinates change sign, and a line that says so. */
async function witness(viewer, file) {
  const stem = file.replace(/\.glb$/, '');
  const baked = JSON.parse(await readFile(`${stem}.json`));
  const shapes = (await readdir(stem)).filter((name) => /^frame-\d+\.obj$/.test(name)).sort();
  if (shapes.length !== baked.times.length) throw new Error(`${shapes.length} OBJs for ${baked.times.length} frames`);
  const opened = await viewer.open(file);
  const step = Math.max(1, Math.ceil((shapes.length - 1) / (MOST_FRAMES - 1)));
  const worst = { distance: 0, angle: 0, vertex: 0, frame: 0 };
  const weights = [];
  for (let frame = 0; frame < shapes.length; frame += step) {
    const expected = readObj(await readFile(join(stem, shapes[frame]), 'utf8'));
    requireEqualNumbering(opened, expected);
    const shown = await viewer.show(baked.times[frame]);
    const { distance, angle, vertex } = compare(shown, expected);
    if (distance > worst.distance) Object.assign(worst, { distance, vertex, frame: frame + 1 });
    worst.angle = Math.max(worst.angle, angle);
    weights.push(shown.weights);
  }
  const bytes = await readFile(file);
  const document = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)));
  const changing = shownSignChanges(bytes, document, weights);
  const relative = worst.distance / baked.size;
  const allowed = document.extensionsRequired?.includes('KHR_mesh_quantization') ? ANGLE_OF_BYTES : ANGLE;
  const agrees = relative <= TOLERANCE && worst.angle <= allowed;
  const where = agrees ? '' : ` at frame ${worst.frame}, vertex ${worst.vertex}: ${TOLERANCE} and ${allowed}° are allowed`;
  const line =
    `${weights.length} frames, ${opened.vertices} vertices, ${changing} coordinates change sign, ` +
    `largest difference / size ${relative.toExponential(1)}, normals ${worst.angle.toFixed(3)}°${where}`;
  return { agrees, changing, line };
}

/** Compares all files and prints a line for each; says whether a viewer agrees with all of them.
 *
 * A viewer has a `name`, `open(file)`, which gives vertices and triangles, and `show(time)`, which gives
 * positions, normals and morph weights. */
export async function agreesWith(viewer, files) {
  let [agrees, changing] = [true, 0];
  for (const file of files) {
    let result;
    try {
      result = await witness(viewer, file);
    } catch (error) {
      result = { agrees: false, changing: 0, line: error.message.split('\n')[0] };
    }
    agrees &&= result.agrees;
    changing += result.changing;
    console.log(`${viewer.name}${result.agrees ? '' : ' disagrees'}: ${basename(file)}: ${result.line}`);
  }
  if (agrees && changing === 0) {
    console.log(`${viewer.name}: no coordinate changes its sign in these clips: they witness too little`);
    return false;
  }
  return agrees;
}
