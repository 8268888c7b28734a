// Bundles the extension, and the page of the side view.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { context } from 'esbuild';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');
const common = {
  bundle: true,
  metafile: true,
  legalComments: 'none',
  minify: production,
  sourcemap: production ? false : 'linked',
  logLevel: 'warning',
};
const builds = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode'],
  },
  {
    ...common,
    entryPoints: ['src/roofline/page.ts'],
    outfile: 'dist/roofline.js',
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
  },
];
/** The folders of the packages that were bundled. */
const packages = new Set();
for (const build of builds) {
  const made = await context(build);
  if (watch) await made.watch();
  else {
    const { metafile } = await made.rebuild();
    for (const input of Object.keys(metafile.inputs)) {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
      if (found) packages.add(found);
    }
    await made.dispose();
  }
}

// What is bundled goes with its licence.
if (!watch) {
  const notices = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const files = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'License.txt', 'license', 'NOTICE'];
    const texts = files
      .filter((file) => existsSync(path.join(folder, file)))
      .map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
    if (texts.length === 0 && !license) throw new Error(`${name} has no licence`);
    return `${name} ${version} (${license})\n\n${texts.join('\n\n')}`;
  });
  writeFileSync(
    'THIRD-PARTY.txt',
    `The extension's scripts contain these packages.\n\n${notices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`,
  );
}
