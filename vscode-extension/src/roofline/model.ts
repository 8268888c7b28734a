/** What the side view shows, of what the server says of a file's rows and their records. Plain functions. */

/** A place in a document, from zero. */
export interface Position {
  line: number;
  character: number;
}

/** What `tileops/rows` answers. */
export interface RowsAnswer {
  entries: {
    op: string;
    range: { start: Position; end: Position };
    rows: {
      label: string | null;
      range: { start: Position; end: Position };
      cases: Case[];
    }[];
  }[];
  /** The device of the profile. */
  gpu: string | null;
  /** The ceilings of the profile, in FLOP and bytes a second. */
  roofs: Roof[];
  /** Where records are. */
  records: string[];
  profile: string | null;
}

/** A call of a row. */
export interface Case {
  id: string;
  /** Bytes, counted from its tensors. */
  read: number | null;
  write: number | null;
  record: Recorded | null;
}

/** A ceiling of the profile. */
export interface Roof {
  key: string;
  flops: number;
  bandwidth: number;
}

/** What a record says, held against the profile. */
export interface Recorded {
  flops: number | null;
  bytes: number | null;
  roof: string | null;
  device: string | null;
  timeNs: number | null;
  bound: string | null;
  efficiency: number | null;
  verdict: string | null;
  latencyBound: boolean;
  fitsL2: boolean;
  blank: string | null;
  formulaErrors: string[];
  stale: boolean;
}

/** What a row is, as the report has it: by the first of these that holds. */
export type Kind = 'error' | 'unrecorded' | 'priced' | 'blank' | 'anomaly' | 'latency' | 'at-ceiling' | 'below';

/** The kinds in words, and the mark of each. */
export const KINDS: Record<Kind, { name: string; mark: string }> = {
  error: { name: 'Formula error', mark: '✖' },
  unrecorded: { name: 'No record', mark: '·' },
  priced: { name: 'Not timed', mark: '◌' },
  blank: { name: 'No reading', mark: '○' },
  anomaly: { name: 'Anomaly', mark: '▲' },
  latency: { name: 'Latency-bound', mark: '■' },
  'at-ceiling': { name: 'At ceiling', mark: '◆' },
  below: { name: 'Below the ceiling', mark: '●' },
};

/** One call of a row. */
export interface Row {
  id: string;
  /** Where the row stands. */
  at: Position;
  kind: Kind;
  /** Bytes that it reads and writes: its record's, else counted from its tensors. */
  bytes: number | null;
  read: number | null;
  write: number | null;
  flops: number | null;
  intensity: number | null;
  /** FLOP a second. */
  rate: number | null;
  timeNs: number | null;
  bound: string | null;
  efficiency: number | null;
  roof: string | null;
  /** Why there is no reading, and whatever else is worth saying. */
  remarks: string[];
  stale: boolean;
}

/** An entry. */
export interface Entry {
  op: string;
  at: Position;
  rows: Row[];
}

/** Everything that the page shows. */
export interface View {
  /** The document; nothing where none is shown. */
  uri: string | null;
  name: string;
  entries: Entry[];
  /** The device that the records are held against. */
  gpu: string | null;
  /** The ceilings that the rows are held against. */
  roofs: Roof[];
  /** What there is to say about the records as a whole, and the setting that it is about. */
  notice: { text: string; setting: 'records' | 'profile' } | null;
}

/** The view of a document. */
export function viewOf(uri: string, answer: RowsAnswer): View {
  const entries = answer.entries.map((entry) => ({
    op: entry.op,
    at: entry.range.start,
    rows: entry.rows.flatMap((row) => {
      if (row.cases.length > 0) return row.cases.map((one) => rowOf(one, row.range.start));
      const id = row.label ?? 'a row without a label';
      return [{ ...blank(id, row.range.start), remarks: ['It determines no call: it has a defect.'] }];
    }),
  }));
  const used = new Set(entries.flatMap((entry) => entry.rows.map((row) => row.roof)));
  const name = decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1));
  return {
    uri,
    name,
    entries,
    gpu: answer.gpu,
    roofs: answer.roofs.filter((roof) => used.has(roof.key)),
    notice: notice(answer),
  };
}

function notice(answer: RowsAnswer): View['notice'] {
  if (answer.records.length === 0) {
    return { text: 'No records are configured: the bytes are counted from the rows.', setting: 'records' };
  }
  if (answer.gpu === null) {
    const text =
      answer.profile === null
        ? 'No GPU profile is configured to hold the records against.'
        : `The GPU profile ${answer.profile} cannot be read.`;
    return { text, setting: 'profile' };
  }
  return null;
}

function blank(id: string, at: Position): Row {
  return {
    id,
    at,
    kind: 'unrecorded',
    bytes: null,
    read: null,
    write: null,
    flops: null,
    intensity: null,
    rate: null,
    timeNs: null,
    bound: null,
    efficiency: null,
    roof: null,
    remarks: [],
    stale: false,
  };
}

function rowOf(one: Case, at: Position): Row {
  const { read, write, record } = one;
  const counted = read === null || write === null ? null : read + write;
  if (record === null) return { ...blank(one.id, at), read, write, bytes: counted };
  const { flops, timeNs, stale } = record;
  const bytes = record.bytes ?? counted;
  return {
    id: one.id,
    at,
    kind: kindOf(record),
    bytes,
    read,
    write,
    flops,
    intensity: flops !== null && bytes ? flops / bytes : null,
    rate: flops !== null && timeNs ? (flops / timeNs) * 1e9 : null,
    timeNs,
    bound: record.bound,
    efficiency: record.efficiency,
    roof: record.roof,
    remarks: [
      ...(stale ? ['The entry has changed since it was recorded.'] : []),
      // Why a row has no reading; that it was not timed is its kind.
      ...(record.blank === null || timeNs === null ? [] : [sentence(record.blank)]),
      ...record.formulaErrors.map(sentence),
      ...(record.fitsL2 ? ['Its bytes fit the L2 cache.'] : []),
    ],
    stale,
  };
}

function kindOf(record: Recorded): Kind {
  if (record.formulaErrors.length > 0) return 'error';
  if (record.timeNs === null) return 'priced';
  if (record.efficiency === null) return 'blank';
  if (record.verdict === 'anomaly') return 'anomaly';
  if (record.latencyBound) return 'latency';
  return record.verdict === 'at_ceiling' ? 'at-ceiling' : 'below';
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Roofs that lie so close together that one label is for all of them, the highest first: `tensor_core.fp16, bf16`. */
export function labels(roofs: { key: string; flops: number }[]): { label: string; flops: number }[] {
  const groups: { label: string; flops: number; section: string }[] = [];
  for (const roof of [...roofs].sort((a, b) => b.flops - a.flops)) {
    const [section = '', unit = ''] = roof.key.split('.');
    const near = groups.find((group) => group.flops / roof.flops < 1.25);
    if (near === undefined) groups.push({ label: roof.key, flops: roof.flops, section });
    else near.label += `, ${near.section === section ? unit : roof.key}`;
  }
  return groups.map(({ label, flops }) => ({ label, flops }));
}

/** A number with a unit, to three digits: `33.6 MB`. */
export function si(value: number | null, unit: string): string {
  if (value === null) return '–';
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  let scaled = value;
  let at = 0;
  while (Math.abs(scaled) >= 999.5 && at + 1 < prefixes.length) {
    scaled /= 1_000;
    at++;
  }
  const text = Number.isInteger(scaled) && at === 0 ? String(scaled) : scaled.toPrecision(3);
  return `${text} ${prefixes[at]}${unit}`.trim();
}

/** Bytes as the previews in the text have them: `96.0 MiB`. */
export function bytes(value: number | null): string {
  if (value === null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let scaled = value;
  let at = 0;
  while (scaled >= 1_000 && at + 1 < units.length) {
    scaled /= 1_024;
    at++;
  }
  return `${at === 0 ? scaled : scaled.toPrecision(3)} ${units[at]}`;
}

/** A time to three digits. */
export function time(ns: number | null): string {
  if (ns === null) return '–';
  const [value, unit] =
    ns < 999.5 ? [ns, 'ns'] : ns < 999.5e3 ? [ns / 1e3, 'µs'] : ns < 999.5e6 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  return `${Number(value).toPrecision(3)} ${unit}`;
}

/** A fraction in percent. */
export function percent(value: number | null): string {
  return value === null ? '–' : `${(value * 100).toFixed(1)} %`;
}

/** The facts of a row as pairs, those alone that it has. */
export function facts(row: Row): [string, string][] {
  const all: [string, string | null][] = [
    // Where there is no efficiency, the verdict stands in its place already.
    ['Verdict', row.efficiency === null ? null : KINDS[row.kind].name],
    ['Bound', row.bound],
    ['Bytes', row.bytes === null ? null : bytes(row.bytes)],
    ['FLOPs', row.flops === null ? null : si(row.flops, '')],
    ['Read', row.read === null ? null : bytes(row.read)],
    ['Written', row.write === null ? null : bytes(row.write)],
    ['Intensity', row.intensity === null ? null : si(row.intensity, '')],
    ['Time', row.timeNs === null ? null : time(row.timeNs)],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== null);
}
