/** Tasks: judging manifests in a terminal, and running the rows of ops. */

import * as vscode from 'vscode';
import { commandLine, type Task } from './commandLine';
import { find, message, type Server } from './server';
import { folderOf } from './tools';

const TITLES = {
  check: 'check the manifests',
  rows: 'print the calls of the rows',
  price: 'price the rows',
  bench: 'bench the rows',
};

/** A task of `tasks.json`. */
type Definition = vscode.TaskDefinition & Task;

/** How the server says that rows are run. */
interface Answer {
  args: string[];
  cwd: string;
}

/** Registers the tasks. */
export function registerTasks(context: vscode.ExtensionContext, server: Server): void {
  const provider: vscode.TaskProvider = {
    async provideTasks() {
      const tasks: (vscode.Task | undefined)[] = [];
      for (const folder of vscode.workspace.workspaceFolders ?? []) {
        tasks.push(make(context, { type: 'tileops', task: 'check' }, folder));
        tasks.push(make(context, { type: 'tileops', task: 'rows' }, folder));
        if (!vscode.workspace.isTrusted) continue;
        tasks.push(await taskOfRows(context, server, 'price', undefined, folder.uri, folder));
        tasks.push(await taskOfRows(context, server, 'bench', undefined, folder.uri, folder));
      }
      return tasks.filter((task) => task !== undefined);
    },
    resolveTask(task) {
      const folder = typeof task.scope === 'object' ? task.scope : folderOf(undefined);
      return folder && make(context, task.definition as Definition, folder);
    },
  };
  context.subscriptions.push(vscode.tasks.registerTaskProvider('tileops', provider));
}

/** The task that runs the rows of an op, or of every op, as the server says: it knows where the project's manifests and
 * records are. `uri` is a manifest, or the folder of a project. */
export async function taskOfRows(
  context: vscode.ExtensionContext,
  server: Server,
  task: 'price' | 'bench',
  op: string | undefined,
  uri: vscode.Uri,
  folder: vscode.WorkspaceFolder,
): Promise<vscode.Task | undefined> {
  const command = task === 'price' ? 'tileops.priceRows' : 'tileops.benchRows';
  const definition: Definition = { type: 'tileops', task, ...(op === undefined ? {} : { op }) };
  let answer: Answer | undefined;
  try {
    answer = await server.ask<Answer>('workspace/executeCommand', { command, arguments: [op ?? null, uri.toString()] });
  } catch (error) {
    // A folder that has no manifest, or an op that is not there any more: what was asked for says so itself when it runs.
    server.output.debug(`${command}: ${message(error)}`);
  }
  if (answer === undefined) return make(context, definition, folder);
  return make(context, { ...definition, ...parsed(answer.args) }, folder, answer.cwd);
}

/** What a command line says, as a definition does. */
function parsed(args: readonly string[]): Pick<Task, 'manifest' | 'op' | 'out'> {
  const of = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const all = { manifest: of('--manifest'), op: of('--op'), out: of('--out') };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** The task of a definition; nothing where its program is not there. */
function make(
  context: vscode.ExtensionContext,
  definition: Definition,
  folder: vscode.WorkspaceFolder,
  cwd = folder.uri.fsPath,
): vscode.Task | undefined {
  const { program, args } = commandLine(definition);
  const found =
    program === 'tileops-lsp'
      ? find(context, program, 'server.path', 'TILEOPS_LSP')
      : find(context, program, 'tools.bench');
  if (found.file === undefined) return undefined;
  const name = definition.op === undefined ? TITLES[definition.task] : `${TITLES[definition.task]} of ${definition.op}`;
  const matcher = definition.task === 'check' ? ['$tileops'] : [];
  const execution = new vscode.ProcessExecution(found.file, args, { cwd });
  const task = new vscode.Task(definition, folder, name, 'tileops', execution, matcher);
  if (definition.task === 'check') task.group = vscode.TaskGroup.Test;
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  return task;
}
