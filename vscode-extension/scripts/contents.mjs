// Holds a packed extension to what it should hold: every file that is named, nothing else, and no more than it may weigh.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';

const MEGABYTE = 1_000_000;
const LARGEST = 15 * MEGABYTE;
const EXPECTED = [
  /^extension\/package\.json$/,
  /^extension\/readme\.md$/i,
  /^extension\/LICENSE\.txt$/,
  /^extension\/THIRD-PARTY\.txt$/,
  /^extension\/dist\/(extension|roofline)\.js$/,
  /^extension\/media\/(icon\.png|activity\.svg)$/,
  /^extension\/media\/walkthrough\/(config|entry|defect|roofline)\.md$/,
  /^extension\/schemas\/(tileops|profile)\.schema\.json$/,
  /^extension\/snippets\/manifest\.json$/,
  /^extension\/syntaxes\/tileops-(entry|expression-double|expression-single)\.tmLanguage\.json$/,
  /^extension\/server\/tileops-(lsp|roofline)(\.exe)?$/,
  /^extension\.vsixmanifest$/,
  /^\[Content_Types\]\.xml$/,
];

const [file] = process.argv.slice(2);
if (!file) throw new Error('usage: contents.mjs FILE.vsix');
// A VSIX is a zip archive; Python lists one wherever this runs.
const list =
  'import sys, zipfile\nfor i in zipfile.ZipFile(sys.argv[1]).infolist(): print(f"{i.external_attr >> 16:o} {i.file_size} {i.filename}")';
const entries = execFileSync('python3', ['-c', list, file], { encoding: 'utf8' })
  .trim()
  .split('\n')
  .map((line) => /^(\d+) (\d+) (.+)$/.exec(line)?.slice(1) ?? [])
  .map(([mode, size, name]) => ({ mode, size: Number(size), name }));

const problems = [];
for (const { name } of entries) {
  if (!EXPECTED.some((pattern) => pattern.test(name))) problems.push(`${name} has no business in it`);
}
for (const pattern of EXPECTED) {
  if (!entries.some(({ name }) => pattern.test(name))) problems.push(`nothing in it is ${pattern}`);
}
for (const { name, mode } of entries) {
  if (/^extension\/server\/[^.]+$/.test(name) && !/[157]$/.test(mode))
    problems.push(`${name} cannot be executed: its mode is ${mode}`);
}
const { size } = statSync(file);
if (size > LARGEST) problems.push(`it weighs ${size} bytes, and may weigh ${LARGEST}`);
const unpacked = entries.reduce((sum, entry) => sum + entry.size, 0);
console.log(
  `${file}: ${(size / MEGABYTE).toFixed(1)} MB packed, ${(unpacked / MEGABYTE).toFixed(1)} MB unpacked, ${entries.length} files`,
);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
