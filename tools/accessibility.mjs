// Opens HTML pages in Chromium, wide and on a phone, light and dark, and lets axe-core look for what
// keeps people out. One line per view; exit code 1 when a fault is serious or critical.
// Install once with `npm ci --prefix tools`, then `node tools/accessibility.mjs report.html…`.
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './headless.mjs';

const VIEWS = [1280, 390].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme })));
const REFUSED = ['serious', 'critical'];

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node tools/accessibility.mjs PAGE.html…');
  process.exit(2);
}
const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const browser = await launch();
let failed = false;
try {
  for (const file of files) {
    for (const { width, colorScheme } of VIEWS) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } });
      const page = await context.newPage();
      await page.goto(pathToFileURL(resolve(file)).href);
      // What is folded away is read too.
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
      await page.evaluate(axe);
      const { violations, passes } = await page.evaluate(() => window.axe.run());
      // Contrast once more with tables laid open: axe does not judge cells that are scrolled out of sight.
      await page.addStyleTag({ content: '.scroll { overflow: visible !important; max-height: none !important }' });
      const contrast = await page.evaluate(() => window.axe.run({ runOnly: ['color-contrast'] }));
      const known = new Set(violations.map(({ id }) => id));
      violations.push(...contrast.violations.filter(({ id }) => !known.has(id)));
      const places = (results) => results.reduce((sum, { nodes }) => sum + nodes.length, 0);
      const refused = violations.filter(({ impact }) => REFUSED.includes(impact));
      console.log(
        `axe-core: ${basename(file)}, ${width} px, ${colorScheme}: ${passes.length} rules pass, ${refused.length} serious ` +
          `or critical faults, ${violations.length - refused.length} lesser ones; contrast of ${places(contrast.passes)} ` +
          `texts measured, of ${places(contrast.incomplete)} left to people`,
      );
      for (const { id, impact, help, nodes } of violations) {
        console.log(`  ${impact} ${id}: ${help} (${nodes.length} places)`);
        for (const node of nodes.slice(0, 3)) console.log(`    ${node.target.join(' ')}: ${node.html.slice(0, 120)}`);
      }
      failed ||= refused.length > 0;
      await context.close();
    }
  }
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
