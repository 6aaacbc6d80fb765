// three.js as a witness: does it show a baked GLB, on the GPU, as `eigenskin bake --write-obj` does?
//
//   eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
//   node tools/three-witness.mjs w/grasp.glb
//
// The OBJ folder and the JSON lie beside each GLB under the same name. Install once with
// `npm ci --prefix tools`; needs Chromium. Prints one line per file; exit code 1 when one disagrees.
import { readFile, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from './headless.mjs';

// Largest distance allowed, in sizes of the model; largest angle between normals, in degrees.
const TOLERANCE = 1e-4;
const ANGLE = 0.1;
// A weight that is on, and not a rounding error.
const ON = 1e-3;
// Frames looked at: enough to see every part of a clip. Software rendering is slow.
const MOST_FRAMES = 61;

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tools/three-witness.mjs BAKED.glb…');
  process.exit(2);
}

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

const floatsOf = (base64) => {
  const bytes = Buffer.from(base64, 'base64');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};

/** The largest distance and angle of a frame, each with its vertex. */
function compare(shown, expected) {
  const [positions, normals] = [floatsOf(shown.positions), floatsOf(shown.normals)];
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

/** The keys of the first clip's morph weights, [key][target], as they stand in a GLB. */
function keyedWeights(bytes, document, targets) {
  const { channels, samplers } = document.animations[0];
  const channel = channels.find(({ target }) => target.path === 'weights');
  const accessor = document.accessors[samplers[channel.sampler].output];
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

async function witness(page, address, number) {
  const file = files[number];
  const stem = file.replace(/\.glb$/, '');
  const baked = JSON.parse(await readFile(`${stem}.json`));
  const shapes = (await readdir(stem)).filter((name) => /^frame-\d+\.obj$/.test(name)).sort();
  if (shapes.length !== baked.times.length) throw new Error(`${shapes.length} OBJs for ${baked.times.length} frames`);
  const opened = await page.evaluate((url) => window.open_glb(url), `${address}/baked/${number}.glb`);
  const step = Math.max(1, Math.ceil((shapes.length - 1) / (MOST_FRAMES - 1)));
  const worst = { distance: 0, angle: 0, vertex: 0, frame: 0 };
  const weights = [];
  for (let frame = 0; frame < shapes.length; frame += step) {
    const expected = readObj(await readFile(join(stem, shapes[frame]), 'utf8'));
    if (expected.positions.length !== 3 * opened.vertices || expected.normals.length !== 3 * opened.vertices)
      throw new Error(`three.js has ${opened.vertices} vertices, the OBJ ${expected.positions.length / 3}`);
    // Equal triangles of equal vertex numbers: then vertex i here is vertex i there.
    const equal = opened.triangles.length === expected.triangles.length;
    if (!equal || opened.triangles.some((v, i) => v !== expected.triangles[i]))
      throw new Error('three.js numbers the vertices otherwise than the file');
    const shown = await page.evaluate((time) => window.show(time), baked.times[frame]);
    const { distance, angle, vertex } = compare(shown, expected);
    if (distance > worst.distance) Object.assign(worst, { distance, vertex, frame: frame + 1 });
    worst.angle = Math.max(worst.angle, angle);
    weights.push(shown.weights);
  }
  const bytes = await readFile(file);
  const document = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)));
  const names = document.meshes[0].extras.targetNames;
  const changing = signChanges(names, weights);
  // A model has targets for all signs that its drivers can give; a clip need not go through them all.
  const keyed = signChanges(names, keyedWeights(bytes, document, names.length));
  if (keyed > 0 && changing === 0)
    throw new Error(`none of ${keyed} coordinates that change their sign in the file does so in three.js`);
  const relative = worst.distance / baked.size;
  const line =
    `${basename(file)}: ${weights.length} frames, ${opened.vertices} vertices, ${changing} coordinates change sign, ` +
    `largest difference / size ${relative.toExponential(1)}, normals ${worst.angle.toFixed(3)}°`;
  const agrees = relative <= TOLERANCE && worst.angle <= ANGLE;
  const where = agrees ? '' : ` at frame ${worst.frame}, vertex ${worst.vertex}: ${TOLERANCE} and ${ANGLE}° are allowed`;
  console.log(`three.js r${opened.revision}${agrees ? '' : ' disagrees'}: ${line}${where}`);
  return { agrees, changing };
}

const tools = fileURLToPath(new URL('.', import.meta.url));
const server = await serve((path) => {
  const baked = /^\/baked\/(\d+)\.glb$/.exec(path);
  if (baked) return resolve(files[Number(baked[1])]);
  if (path === '/') return join(tools, 'three-witness.html');
  return path.startsWith('/three/') ? join(tools, 'node_modules', path) : undefined;
});
const browser = await launch();
let [failed, changing] = [false, 0];
try {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  // three reports shaders that do not compile only here.
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    failed = true;
    console.error(`page: ${message.text()}`);
  });
  await page.goto(server.address);
  await page.waitForFunction(() => window.ready, undefined, { timeout: 30_000 });
  for (let number = 0; number < files.length; number++) {
    try {
      const result = await witness(page, server.address, number);
      failed ||= !result.agrees;
      changing += result.changing;
    } catch (error) {
      failed = true;
      console.log(`three.js disagrees: ${basename(files[number])}: ${error.message.split('\n')[0]}`);
    }
  }
  if (changing === 0 && !failed) {
    failed = true;
    console.log('no coordinate changes its sign in these clips: they witness too little');
  }
} finally {
  await browser.close();
  server.stop();
}
process.exit(failed ? 1 : 0);
