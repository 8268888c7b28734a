// Packs the extension with its programs for one platform:
//   node scripts/package.mjs --target linux-x64 --programs FOLDER --out FILE
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { target: { type: 'string' }, programs: { type: 'string' }, out: { type: 'string' } },
});
const { target, programs, out } = values;
if (!target || !programs || !out) throw new Error('usage: package.mjs --target TARGET --programs FOLDER --out FILE');

const root = path.resolve(import.meta.dirname, '..');
const server = path.join(root, 'server');
rmSync(server, { recursive: true, force: true });
mkdirSync(server, { recursive: true });
for (const name of ['tileops-lsp', 'tileops-roofline']) {
  const file = target.startsWith('win32') ? `${name}.exe` : name;
  const from = path.join(programs, file);
  if (!existsSync(from)) throw new Error(`${from} is not there: build it first`);
  copyFileSync(from, path.join(server, file));
  chmodSync(path.join(server, file), 0o755);
}
copyFileSync(path.join(root, '../LICENSE'), path.join(root, 'LICENSE'));
mkdirSync(path.dirname(path.resolve(out)), { recursive: true });
const vsce = path.join(root, 'node_modules/@vscode/vsce/vsce');
const args = ['package', '--target', target, '--out', path.resolve(out), '--no-dependencies', '--skip-license'];
execFileSync(process.execPath, [vsce, ...args], { cwd: root, stdio: 'inherit' });
