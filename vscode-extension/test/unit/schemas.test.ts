import * as fs from 'node:fs';
import * as path from 'node:path';
import { Ajv } from 'ajv';
import { parse as toml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { parse as yaml } from 'yaml';
import packageJson from '../../package.json';
import profileSchema from '../../schemas/profile.schema.json';
import configSchema from '../../schemas/tileops.schema.json';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const ajv = new Ajv({ strict: false, validateFormats: false });

describe('the schema of profiles', () => {
  const validate = ajv.compile(profileSchema);
  const folder = path.join(ROOT, 'profiles');
  const h200 = () => yaml(fs.readFileSync(path.join(folder, 'h200.yaml'), 'utf8'));

  it('accepts those of the project', () => {
    for (const name of fs.readdirSync(folder).filter((name) => /\.ya?ml$/.test(name))) {
      expect(
        validate(yaml(fs.readFileSync(path.join(folder, name), 'utf8'))),
        `${name}: ${ajv.errorsText(validate.errors)}`,
      ).toBe(true);
    }
  });

  it.each<[string, (profile: Record<string, never>) => void]>([
    ['a calibration above one', (profile) => Object.assign(profile.hbm ?? {}, { calibration: 1.02 })],
    ['a bandwidth of nothing', (profile) => Object.assign(profile.hbm ?? {}, { bandwidth: 0 })],
    ['a key that means nothing', (profile) => Object.assign(profile, { effective_bandwidth: 1 })],
    ['a number as a text', (profile) => Object.assign(profile, { latency_floor_ns: '1.6e3' })],
    ['a mix above one', (profile) => Object.assign(profile.hbm ?? {}, { mixes: { copy: 1.5 } })],
  ])('refuses %s', (_, change) => {
    const profile = h200();
    change(profile);
    expect(validate(profile)).toBe(false);
  });

  it('says nothing of files that are no profiles', () => {
    for (const text of ['name: debug\noptions: [a]\n', 'gpu: false\n', '[]\n', 'x\n'])
      expect(validate(yaml(text))).toBe(true);
  });
});

describe('the schema of tileops.toml', () => {
  const validate = ajv.compile(configSchema);

  it('accepts what the README shows', () => {
    const readme = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/```toml\n([\s\S]*?)```/g)].map((found) => found[1] ?? '');
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) expect(validate(toml(block)), ajv.errorsText(validate.errors)).toBe(true);
  });

  it.each([
    'manifst = ["m"]',
    'manifest = "m"',
    '[codes]\nunknown-nam = "error"',
    '[codes]\nunknown-name = "loud"',
    '[formulas]\npath = "x"',
  ])('refuses %s', (text) => expect(validate(toml(text))).toBe(false));
});

it('every file that package.json names is there', () => {
  const { contributes } = packageJson;
  const named = [
    packageJson.icon,
    ...contributes.grammars.map((one) => one.path),
    ...contributes.tomlValidation.map((one) => one.url),
    ...contributes.yamlValidation.map((one) => one.url),
    ...contributes.viewsContainers.activitybar.map((one) => one.icon),
    ...contributes.walkthroughs.flatMap((one) => one.steps.map((step) => step.media.markdown)),
  ];
  for (const file of named) expect(fs.existsSync(path.resolve(import.meta.dirname, '../..', file)), file).toBe(true);
  expect(contributes.walkthroughs[0]?.steps).toHaveLength(4);
});

it('every command of a menu, a step or a view is contributed', () => {
  const { contributes } = packageJson;
  const commands = new Set(contributes.commands.map((one) => one.command));
  const used = Object.values(contributes.menus).flatMap((items) => items.map((item) => item.command));
  const linked = contributes.walkthroughs.flatMap((one) =>
    one.steps.flatMap((step) =>
      [...step.description.matchAll(/command:(tileops\.\w+)\)/g)].map((found) => found[1] ?? ''),
    ),
  );
  for (const command of [...used, ...linked]) expect(commands, command).toContain(command);
});
