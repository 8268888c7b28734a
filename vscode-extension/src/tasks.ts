/** Tasks: judging manifests in a terminal, and running the rows of ops. */

import * as vscode from 'vscode';
import { commandLine, type Task } from './commandLine';
import { find } from './server';
import { folderOf } from './tools';

const TITLES = {
  check: 'check the manifests',
  rows: 'print the calls of the rows',
  price: 'price the rows',
  bench: 'bench the rows',
};

/** A task of `tasks.json`. */
type Definition = vscode.TaskDefinition & Task;

/** Registers the tasks. */
export function registerTasks(context: vscode.ExtensionContext): void {
  const provider: vscode.TaskProvider = {
    provideTasks() {
      const folders = vscode.workspace.workspaceFolders ?? [];
      const kinds = vscode.workspace.isTrusted
        ? (['check', 'rows', 'price', 'bench'] as const)
        : (['check', 'rows'] as const);
      return folders.flatMap((folder) =>
        kinds.flatMap((task) => make(context, { type: 'tileops', task }, folder) ?? []),
      );
    },
    resolveTask(task) {
      const folder = typeof task.scope === 'object' ? task.scope : folderOf(undefined);
      return folder && make(context, task.definition as Definition, folder);
    },
  };
  context.subscriptions.push(vscode.tasks.registerTaskProvider('tileops', provider));
}

/** The task of a definition; nothing where its program is not there. */
export function make(
  context: vscode.ExtensionContext,
  definition: Definition,
  folder: vscode.WorkspaceFolder,
): vscode.Task | undefined {
  const { program, args } = commandLine(definition);
  const found =
    program === 'tileops-lsp'
      ? find(context, program, 'server.path', 'TILEOPS_LSP')
      : find(context, program, 'tools.bench');
  if (found.file === undefined) return undefined;
  const options = { cwd: folder.uri.fsPath };
  const name = definition.op === undefined ? TITLES[definition.task] : `${TITLES[definition.task]} of ${definition.op}`;
  const matcher = definition.task === 'check' ? ['$tileops'] : [];
  const task = new vscode.Task(
    definition,
    folder,
    name,
    'tileops',
    new vscode.ProcessExecution(found.file, args, options),
    matcher,
  );
  if (definition.task === 'check') task.group = vscode.TaskGroup.Test;
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  return task;
}
