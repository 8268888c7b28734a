import { describe, expect, it } from 'vitest';
import { bytes, facts, labels, type Recorded, type RowsAnswer, si, time, viewOf } from '../../src/roofline/model';

const at = (line: number) => ({ start: { line, character: 2 }, end: { line, character: 9 } });

const RECORD: Recorded = {
  flops: 2e9,
  bytes: 1e6,
  roof: 'tensor_core.bf16',
  device: 'Test GPU',
  timeNs: 4_000,
  bound: 'compute',
  efficiency: 0.5,
  verdict: null,
  latencyBound: false,
  fitsL2: false,
  blank: null,
  formulaErrors: [],
  stale: false,
};

function answer(record: Recorded | null, change: Partial<RowsAnswer> = {}): RowsAnswer {
  const cases = [{ id: 'small-bf16', read: 600_000, write: 400_000, record }];
  return {
    entries: [{ op: 'AFwdOp', range: at(0), rows: [{ label: 'small', range: at(9), cases }] }],
    gpu: 'Test GPU',
    roofs: [
      { key: 'tensor_core.bf16', flops: 1e15, bandwidth: 1e12 },
      { key: 'cuda_core.fp32', flops: 1e14, bandwidth: 1e12 },
    ],
    records: ['/records'],
    profile: '/profile.yaml',
    ...change,
  };
}

function row(record: Recorded | null) {
  return viewOf('file:///w/a%20b.yaml', answer(record)).entries[0]?.rows[0];
}

describe('the view', () => {
  it('has a row for each call, with its place and its numbers', () => {
    expect(row(RECORD)).toMatchObject({
      id: 'small-bf16',
      at: { line: 9, character: 2 },
      kind: 'below',
      intensity: 2_000,
      rate: 5e14,
      remarks: [],
    });
  });

  it('has the roofs that its rows are under', () => {
    const view = viewOf('file:///w/a%20b.yaml', answer(RECORD));
    expect(view.name).toBe('a b.yaml');
    expect(view.roofs.map((roof) => roof.key)).toEqual(['tensor_core.bf16']);
  });

  it('counts bytes from the row where there is no record', () => {
    expect(row(null)).toMatchObject({ kind: 'unrecorded', bytes: 1_000_000, flops: null, rate: null });
  });

  it.each<[string, Partial<Recorded>, string]>([
    ['a formula error before anything else', { formulaErrors: ['x'], verdict: 'anomaly' }, 'error'],
    ['an anomaly before latency', { verdict: 'anomaly', latencyBound: true }, 'anomaly'],
    ['latency before the ceiling', { latencyBound: true, verdict: null }, 'latency'],
    ['at the ceiling', { verdict: 'at_ceiling' }, 'at-ceiling'],
    ['priced', { efficiency: null, blank: 'not timed', timeNs: null }, 'priced'],
    ['blank', { efficiency: null, blank: 'no roof' }, 'blank'],
  ])('tells %s', (_, change, kind) => {
    expect(row({ ...RECORD, ...change })?.kind).toBe(kind);
  });

  it('says what is the matter with a record', () => {
    const found = row({ ...RECORD, stale: true, efficiency: null, blank: 'no roof', fitsL2: true });
    expect(found?.remarks).toEqual([
      'The entry has changed since it was recorded.',
      'No roof.',
      'Its bytes fit the L2 cache.',
    ]);
  });

  it('lists a row that determines no call', () => {
    const entries = [{ op: 'AFwdOp', range: at(0), rows: [{ label: null, range: at(3), cases: [] }] }];
    expect(viewOf('file:///a.yaml', answer(null, { entries })).entries[0]?.rows).toMatchObject([
      { id: 'a row without a label', kind: 'unrecorded', remarks: ['It determines no call: it has a defect.'] },
    ]);
  });

  it('says what is not configured', () => {
    const of = (change: Partial<RowsAnswer>) => viewOf('file:///a.yaml', answer(null, change)).notice;
    expect(of({ records: [] })?.setting).toBe('records');
    expect(of({ gpu: null, profile: null })?.setting).toBe('profile');
    expect(of({ gpu: null })?.text).toContain('/profile.yaml cannot be read');
    expect(of({})).toBeNull();
  });

  it('shows only the facts that a row has', () => {
    const names = (record: Recorded | null) => facts(row(record) as never).map(([name]) => name);
    expect(names(RECORD)).toEqual(['Verdict', 'Bound', 'Bytes', 'FLOPs', 'Read', 'Written', 'Intensity', 'Time']);
    expect(names(null)).toEqual(['Bytes', 'Read', 'Written']);
  });
});

describe('numbers', () => {
  it('have three digits and a unit', () => {
    expect([si(999, ''), si(1_370, ''), si(137_438_953_472, ''), si(null, '')]).toEqual([
      '999',
      '1.37 k',
      '137 G',
      '–',
    ]);
    expect([bytes(12), bytes(100_663_296), bytes(1_000)]).toEqual(['12 B', '96.0 MiB', '0.977 KiB']);
    expect([time(14_900), time(212_000), time(5)]).toEqual(['14.9 µs', '212 µs', '5.00 ns']);
  });

  it('of roofs that lie close together have one label', () => {
    const roofs = [
      { key: 'tensor_core.fp16', flops: 7.8e14 },
      { key: 'tensor_core.bf16', flops: 8.1e14 },
      { key: 'cuda_core.fp32', flops: 6.5e13 },
    ];
    expect(labels(roofs).map((one) => one.label)).toEqual(['tensor_core.bf16, fp16', 'cuda_core.fp32']);
  });
});
