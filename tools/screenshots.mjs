// Pictures of a report for the documentation: its first screen, wide and on a phone, light and dark.
// Install once with `npm ci --prefix tools`, then `node tools/screenshots.mjs REPORT.html FOLDER`;
// `--section ID` pictures a section instead (`--section simulation`).
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './headless.mjs';

const SCREENS = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 1500 } };

const [report, folder, option, section] = process.argv.slice(2);
if (!report || !folder || (option && (option !== '--section' || !section))) {
  console.error('usage: node tools/screenshots.mjs REPORT.html FOLDER [--section ID]');
  process.exit(2);
}
await mkdir(folder, { recursive: true });
const browser = await launch();
try {
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ colorScheme, viewport });
      const page = await context.newPage();
      await page.goto(pathToFileURL(resolve(report)).href);
      const name = section ? `report-${section}` : 'report';
      const path = resolve(folder, `${name}-${screen}-${colorScheme}.png`);
      if (section) await page.locator(`section[aria-labelledby="${section}"]`).screenshot({ path });
      else await page.screenshot({ path });
      console.log(path);
      await context.close();
    }
  }
} finally {
  await browser.close();
}
