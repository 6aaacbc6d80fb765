// Runs the Khronos glTF validator over the files given: one line per file, exit code 1 when any
// has errors. Install once with `npm ci --prefix tools`, then `node tools/validate-gltf.mjs FILE…`.
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import validator from 'gltf-validator';

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tools/validate-gltf.mjs FILE.glb…');
  process.exit(2);
}
let failed = false;
for (const file of files) {
  const bytes = new Uint8Array(await readFile(file));
  const report = await validator.validateBytes(bytes, {
    uri: basename(file),
    maxIssues: 0,
    externalResourceFunction: async (uri) =>
      new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, numInfos, numHints, messages } = report.issues;
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings, ${numInfos} infos, ${numHints} hints`);
  for (const message of messages.filter((m) => m.severity <= 1).slice(0, 10)) {
    const kind = message.severity === 0 ? 'error' : 'warning';
    console.log(`  ${kind} ${message.code} at ${message.pointer ?? message.offset}: ${message.message}`);
  }
  failed ||= numErrors > 0;
}
process.exit(failed ? 1 : 0);
