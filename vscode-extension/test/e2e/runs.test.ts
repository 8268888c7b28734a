import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PLACES, Workbench } from './workbench';

let workbench: Workbench;

/** What stands for `tileops-bench` where rows are timed, which takes a GPU: it writes a record for what it is told to. */
const STAND_IN = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/arguments"
while [ $# -gt 0 ]; do
  case $1 in --op) op=$2; shift ;; --out) out=$2; shift ;; esac
  shift
done
sleep 3
[ "$op" = LinearFwdOp ] && { echo 'no device has a GPU in it' >&2; exit 2; }
echo '{"schema": "tileops.record/1", "op": "'$op'", "case": "square-4k-float16", "dtype": "float16", "flops": 137438953472, "bytes": 100663296, "roof_key": "tensor_core.fp16", "timing": {"source": "cupti", "device_busy_ns": 196000.0, "p10_ns": 195000.0, "p90_ns": 199000.0, "samples": 100}, "device": {"name": "NVIDIA H200"}}' > "$out"
echo 'timed'
`;

const GEMM = fs.readFileSync(path.join(PLACES.manifest, 'gemm.yaml'), 'utf8');
const line = (text: string) => GEMM.split('\n').findIndex((line) => line.startsWith(text)) + 1;

/** The words that the stand-in was started with, each time. */
function started(): string[] {
  const file = path.join(workbench.folder, 'arguments');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** Which program runs rows from now on. */
function use(program: string): void {
  const folder = path.join(workbench.folder, '.vscode');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ 'tileops.tools.bench': program }));
}

beforeAll(async () => {
  expect(fs.existsSync(PLACES.bench), `${PLACES.bench} is not there: cargo build -p tileops-bench`).toBe(true);
  workbench = await Workbench.start({
    size: { width: 1440, height: 900 },
    files: {
      'manifest/gemm.yaml': GEMM,
      'manifest/norm.yaml': undefined,
      'records/h200.jsonl': undefined,
    },
  });
  // Nobody has written records yet.
  fs.rmdirSync(path.join(workbench.folder, 'records'));
  fs.writeFileSync(path.join(workbench.folder, 'stand-in'), STAND_IN, { mode: 0o755 });
  use(PLACES.bench);
  await workbench.open('manifest/gemm.yaml');
  await workbench.hasText('MiB');
});

afterEach(async (context) => {
  if (context.task.result?.state === 'fail')
    await workbench.failed(`runs-${context.task.name.replaceAll(/\W+/g, '-')}`);
});

afterAll(() => workbench?.stop());

describe('the rows of an entry', () => {
  it('are priced by the command, and the view has what they cost', async () => {
    await workbench.command('TileOps: Focus on Roofline View');
    const view = await workbench.webview('main section');
    await view.locator('li', { hasText: 'square-4k-float16' }).first().waitFor();
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(line('MatmulFwdOp:') + 3, 3);
    await workbench.command('TileOps: Price the Rows');
    const file = path.join(workbench.folder, 'records/priced-MatmulFwdOp.jsonl');
    await expect.poll(() => fs.existsSync(file), { timeout: 60_000 }).toBe(true);
    const records = fs
      .readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(new Set(records.map((record) => record.op))).toEqual(new Set(['MatmulFwdOp']));
    // 2 * 4096^3
    const facts = view.locator('li', { hasText: 'square-4k-float16' }).first().locator('.facts');
    await expect.poll(() => facts.textContent(), { timeout: 60_000 }).toContain('FLOPs137 G');
    // The preview in the text says it, too.
    await workbench.goTo(line('  workloads:') + 1, 1);
    await workbench.hasText('137 GFLOP');
    await workbench.picture('priced');
  });

  it('are timed from the lens above the entry, with progress', async () => {
    use(path.join(workbench.folder, 'stand-in'));
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(line('MatmulFwdOp:'), 1);
    const toast = await workbench.lens('bench the rows', 'Benching the rows of MatmulFwdOp');
    await workbench.picture('benching');
    await toast.waitFor({ state: 'detached' });
    expect(started()).toEqual(['--manifest manifest --op MatmulFwdOp --out records/timed-MatmulFwdOp.jsonl']);
    const view = await workbench.webview('main section');
    const row = view.locator('button.row', { hasText: 'square-4k-float16' }).first();
    await expect.poll(() => row.textContent(), { timeout: 60_000 }).toMatch(/8\d\.\d %/);
  });

  it('say so where they cannot be timed', async () => {
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(line('LinearFwdOp:'), 1);
    await workbench.command('TileOps: Bench the Rows');
    await workbench.told('Benching the rows of LinearFwdOp failed with exit code 2');
    await workbench.page.locator('.terminal-wrapper .xterm-rows', { hasText: 'no device has a GPU' }).first().waitFor();
  });

  it('are not timed any more where that is cancelled', async () => {
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(line('MatmulFwdOp:'), 1);
    const before = started().length;
    await workbench.command('TileOps: Bench the Rows');
    const toast = await workbench.told('Benching the rows of MatmulFwdOp');
    await expect.poll(() => started().length).toBe(before + 1);
    await toast.hover();
    await toast.locator('.monaco-button', { hasText: 'Cancel' }).click();
    await toast.waitFor({ state: 'detached', timeout: 2_500 });
  });
});

describe('the report', () => {
  it('opens with the rows of the records', async () => {
    await workbench.tab('gemm.yaml').click();
    await workbench.command('TileOps: Open Roofline Report');
    await workbench.tab('Roofline Report').waitFor();
    const report = await workbench.webview('#plot-title');
    expect(await report.locator('h1').textContent()).toContain('NVIDIA H200');
    await report.locator('body', { hasText: 'MatmulFwdOp' }).waitFor();
    await workbench.picture('report');
  });

  it('says what is missing where there are no records', async () => {
    const config = path.join(workbench.folder, 'tileops.toml');
    fs.writeFileSync(config, 'manifest = ["manifest"]\n');
    await workbench.tab('gemm.yaml').click();
    const view = await workbench.webview('main section');
    await view.locator('.notice', { hasText: 'No records are configured' }).waitFor();
    await workbench.command('TileOps: Open Roofline Report');
    await workbench.told('No records are configured');
  });
});
