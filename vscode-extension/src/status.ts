/** What the language status item says: plain functions from what is known to words. */

/** What the server says of a file. */
export interface FileStatus {
  uri: string;
  manifest: boolean;
  kind: string;
  reason: string;
}

/** How the server is. */
export type ServerState =
  | { kind: 'stopped' }
  | { kind: 'starting' }
  | { kind: 'running' }
  | { kind: 'waiting'; seconds: number }
  | { kind: 'failed'; reason: string };

/** What the item shows. */
export interface Shown {
  text: string;
  detail: string;
  busy: boolean;
  severity: 'information' | 'warning' | 'error';
  command: 'tileops.restartServer' | 'tileops.showLogs';
}

/** How many of something, in words. */
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** What the item shows of a file with so many errors and advisories; of none where no manifest is looked at. */
export function shown(
  state: ServerState,
  work: string | undefined,
  file: FileStatus | undefined,
  errors: number,
  advisories: number,
): Shown {
  const base = { busy: false, severity: 'information', command: 'tileops.showLogs' } as const;
  switch (state.kind) {
    case 'stopped':
      return {
        ...base,
        text: 'TileOps: stopped',
        detail: 'the language server is not running',
        command: 'tileops.restartServer',
      };
    case 'starting':
      return { ...base, text: 'TileOps', detail: 'starting the language server', busy: true };
    case 'waiting':
      return {
        ...base,
        text: 'TileOps: restarting',
        detail: `the language server ended unexpectedly and starts again in ${count(state.seconds, 'second', 'seconds')}`,
        busy: true,
        severity: 'warning',
      };
    case 'failed':
      return {
        ...base,
        text: 'TileOps: stopped',
        detail: state.reason,
        severity: 'error',
        command: 'tileops.restartServer',
      };
    case 'running':
      break;
  }
  const busy = work !== undefined;
  if (file === undefined) return { ...base, text: 'TileOps', detail: work ?? 'ready', busy };
  if (!file.manifest) return { ...base, text: 'Not an op manifest', detail: work ?? file.reason, busy };
  const what = file.kind === 'types' ? 'Shared types' : file.kind === 'profile' ? 'GPU profile' : 'Op manifest';
  const found = [
    ...(errors > 0 ? [count(errors, 'error', 'errors')] : []),
    ...(advisories > 0 ? [count(advisories, 'advisory', 'advisories')] : []),
  ];
  const text = `${what}: ${found.length === 0 ? 'no defects' : found.join(', ')}`;
  return { ...base, text, detail: work ?? file.reason, busy };
}
