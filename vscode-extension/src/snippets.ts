/** Snippets of a manifest's larger parts. They are offered in manifests alone: a contributed snippet is in all YAML. */

import * as fs from 'node:fs/promises';
import * as vscode from 'vscode';
import { type Place, placeOf } from './place';
import type { Server } from './server';

/** One snippet of `snippets/manifest.json`. */
export interface Snippet {
  prefix: string;
  place: Exclude<Place, undefined>;
  description: string;
  body: string[];
}

/** Registers the snippets. */
export function registerSnippets(context: vscode.ExtensionContext, server: Server): void {
  let snippets: Promise<Record<string, Snippet>> | undefined;
  const provider: vscode.CompletionItemProvider = {
    async provideCompletionItems(document, position) {
      // An empty file is anybody's until the server has said what it is.
      if (!server.file(document.uri)?.manifest && !(document.isUntitled && server.wanted)) return [];
      const lines = document.getText(new vscode.Range(0, 0, position.line, position.character)).split(/\r\n|\r|\n/);
      const place = placeOf(lines);
      if (place === undefined) return [];
      snippets ??= load(context);
      const hasDash = /^ *-/.test(lines.at(-1) ?? '');
      return Object.entries(await snippets)
        .filter(([, snippet]) => snippet.place === place)
        .map(([name, snippet]) => {
          const item = new vscode.CompletionItem(snippet.prefix, vscode.CompletionItemKind.Snippet);
          const body = snippet.body.join('\n');
          item.insertText = new vscode.SnippetString(hasDash ? body.replace(/^- /, '') : body);
          item.detail = name;
          item.documentation = new vscode.MarkdownString(snippet.description);
          item.sortText = `~${snippet.prefix}`;
          return item;
        });
    },
  };
  const selector = [
    { language: 'yaml', scheme: 'file' },
    { language: 'yaml', scheme: 'untitled' },
  ];
  context.subscriptions.push(vscode.languages.registerCompletionItemProvider(selector, provider));
}

async function load(context: vscode.ExtensionContext): Promise<Record<string, Snippet>> {
  const file = context.asAbsolutePath('snippets/manifest.json');
  return JSON.parse(await fs.readFile(file, 'utf8'));
}
