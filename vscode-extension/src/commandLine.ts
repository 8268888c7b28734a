/** Which programs tasks run, with which arguments. */

/** What a task of `tasks.json` says. */
export interface Task {
  task: 'check' | 'rows' | 'price' | 'bench';
  paths?: string[];
  op?: string;
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
      const op = definition.op === undefined ? [] : ['--op', definition.op];
      return { program: 'tileops-bench', args: [...(definition.task === 'price' ? ['--price'] : []), ...op, ...paths] };
    }
  }
}
