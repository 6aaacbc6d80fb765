// Viewers in Chromium as witnesses: do they show a baked GLB as `eigenskin bake --write-obj` does?
//
//   eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
//   node tools/viewer-witness.mjs w/grasp.glb
//   node tools/viewer-witness.mjs babylon w/grasp.glb
//
// Without the name of a viewer, all of them. Each has a page, VIEWER-witness.html, that opens a file and
// shows a time of its clip with the viewer's own code. Install once with `npm ci --prefix tools`; needs
// Chromium. Prints one line per viewer and file; exit code 1 when one disagrees.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from './headless.mjs';
import { agreesWith } from './witness.mjs';

// By the name of the page: what the viewer is called, and the package that has its version.
const VIEWERS = {
  three: { title: 'three.js', npm: 'three' },
  babylon: { title: 'Babylon', npm: 'babylonjs' },
  'model-viewer': { title: 'model-viewer', npm: '@google/model-viewer' },
};

const words = process.argv.slice(2);
const files = words.filter((word) => word.endsWith('.glb'));
const named = words.filter((word) => !word.endsWith('.glb'));
if (files.length === 0 || named.some((word) => !Object.hasOwn(VIEWERS, word))) {
  console.error(`usage: node tools/viewer-witness.mjs [${Object.keys(VIEWERS).join('|')}]… BAKED.glb…`);
  process.exit(2);
}

const tools = fileURLToPath(new URL('.', import.meta.url));

/** Opens a viewer's page; says whether it shows all files as they are and reports no error. */
async function runViewer(browser, address, name) {
  const { title, npm } = VIEWERS[name];
  const { version } = JSON.parse(await readFile(join(tools, 'node_modules', npm, 'package.json')));
  const page = await browser.newPage();
  let quiet = true;
  const complain = (text) => {
    quiet = false;
    console.error(`${title}: page: ${text}`);
  };
  page.on('pageerror', (error) => complain(error.message));
  // Shaders that do not compile are reported only here.
  page.on('console', (message) => message.type() === 'error' && complain(message.text()));
  await page.goto(`${address}/${name}-witness.html`);
  await page.waitForFunction(() => window.ready, undefined, { timeout: 30_000 });
  const viewer = {
    name: `${title} ${version}`,
    open: (file) => page.evaluate((url) => window.open_glb(url), `${address}/baked/${files.indexOf(file)}.glb`),
    show: (time) => page.evaluate((time) => window.show(time), time),
  };
  const agrees = await agreesWith(viewer, files);
  await page.close();
  return agrees && quiet;
}

const server = await serve((path) => {
  const baked = /^\/baked\/(\d+)\.glb$/.exec(path);
  return baked ? resolve(files[Number(baked[1])]) : join(tools, path);
});
const browser = await launch();
let failed = false;
try {
  for (const name of named.length > 0 ? named : Object.keys(VIEWERS))
    failed = !(await runViewer(browser, server.address, name)) || failed;
} finally {
  await browser.close();
  server.stop();
}
process.exit(failed ? 1 : 0);
