/** Which programs tasks run, with which arguments. */

/** What a task of `tasks.json` says. */
export interface Task {
  task: 'check' | 'rows' | 'price' | 'bench';
  /** What is checked or printed. */
  paths?: string[];
  op?: string;
  /** The folder whose rows are priced or timed. */
  manifest?: string;
  /** Where their records go. */
  out?: string;
}

/** The program that a task runs, and its arguments. */
export function commandLine(definition: Task): { program: 'tileops-lsp' | 'tileops-bench'; args: string[] } {
  const paths = definition.paths ?? [];
  switch (definition.task) {
    case 'check':
    case 'rows': {
      const op = definition.op === undefined ? [] : ['--select-op', definition.op];
      const format = definition.task === 'check' ? ['--format', 'concise'] : [];
      return { program: 'tileops-lsp', args: [`--${definition.task}`, ...format, ...op, ...paths] };
    }
    case 'price':
    case 'bench': {
      const option = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
      const args = [
        ...(definition.task === 'price' ? ['--price'] : []),
        ...option('--manifest', definition.manifest),
        ...option('--op', definition.op),
        ...option('--out', definition.out),
      ];
      return { program: 'tileops-bench', args };
    }
  }
}
