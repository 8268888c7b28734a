/** The other programs: the one that prices records comes with the extension, the one that runs rows does not. */

import * as vscode from 'vscode';
import { find } from './server';

/** The program that prices records, or nothing, and the user knows. */
export function rooflineProgram(context: vscode.ExtensionContext): string | undefined {
  return program(context, 'tileops-roofline', 'tools.roofline');
}

/** The program that prices and times rows, or nothing, and the user knows. */
export function benchProgram(context: vscode.ExtensionContext): string | undefined {
  return program(context, 'tileops-bench', 'tools.bench');
}

function program(context: vscode.ExtensionContext, name: string, setting: string): string | undefined {
  const found = find(context, name, setting);
  for (const warning of found.warnings) void vscode.window.showWarningMessage(warning);
  if (found.file !== undefined) return found.file;
  const help = vscode.workspace.isTrusted
    ? `Put it on PATH (\`cargo install\` builds it), or name it in the setting \`tileops.${setting}\`.`
    : 'This workspace is not trusted, so that nothing of it is started.';
  void vscode.window.showErrorMessage(`\`${name}\` was not found. ${help}`, 'Open Settings').then((chosen) => {
    if (chosen) void vscode.commands.executeCommand('workbench.action.openSettings', `tileops.${setting}`);
  });
  return undefined;
}

/** The workspace folder that a file is in, or the first. */
export function folderOf(uri: vscode.Uri | undefined): vscode.WorkspaceFolder | undefined {
  return (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? vscode.workspace.workspaceFolders?.[0];
}
