import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import oniguruma from 'vscode-oniguruma';
import textmate from 'vscode-textmate';
import packageJson from '../../package.json';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** VS Code's own grammar of YAML: it comes with the workbench that the end-to-end tests drive. */
const CODE = path.resolve(process.env.TILEOPS_VSCODE ?? path.join(ROOT, '../target/ci/vscode/vscode'));
const YAML = path.join(CODE, 'extensions/yaml/syntaxes');

function grammars(): Map<string, string> {
  const files = new Map(packageJson.contributes.grammars.map((one) => [one.scopeName, path.join(ROOT, one.path)]));
  for (const name of fs.readdirSync(YAML)) {
    const scope = name.replace(/^yaml/, 'source.yaml').replace('-', '.').replace('.tmLanguage.json', '');
    files.set(scope, path.join(YAML, name));
  }
  return files;
}

async function yaml(injected: boolean): Promise<textmate.IGrammar> {
  const wasm = fs.readFileSync(createRequire(import.meta.url).resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer as ArrayBuffer).catch(() => undefined);
  const files = grammars();
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => {
      const file = files.get(scope);
      return file === undefined ? null : textmate.parseRawGrammar(fs.readFileSync(file, 'utf8'), file);
    },
    getInjections: (scope) =>
      injected && scope === 'source.yaml' ? packageJson.contributes.grammars.map((one) => one.scopeName) : undefined,
  });
  const grammar = await registry.loadGrammar('source.yaml');
  if (grammar === null) throw new Error(`no grammar of YAML in ${YAML}`);
  return grammar;
}

/** A text with the scopes of its tokens, those alone that say something. */
function scopes(grammar: textmate.IGrammar, text: string, wanted: (scope: string) => boolean): string {
  let stack = textmate.INITIAL;
  const out: string[] = [];
  for (const line of text.split('\n')) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    out.push(`> ${line}`.trimEnd());
    for (const token of tokens) {
      const found = token.scopes.filter(wanted);
      if (found.length > 0) out.push(`  ${line.slice(token.startIndex, token.endIndex)}  ${found.join(' ')}`);
    }
  }
  return `${out.join('\n')}\n`;
}

const ours = (scope: string) => scope.endsWith('.tileops') && scope !== 'meta.entry.tileops';
const all = () => true;

const MANIFEST = `# A comment with "if x else y".
GatherFwdOp: # behind the name
  family: index
  status: spec-only
  ref_api: torch.gather
  signature:
    types:
      Stored:
        params: {transposed: Bool, R: Dim, C: Dim}
        cases:
        - {when: false, is: "[R, C]"}
    forall: {M: Dim, B: Shape, T: "DType[float16 | float8_e4m3fn]"}
    params:
      mode: {type: "'sum' | 'mean'", default: 'sum'}
    inputs:
      x: {dtype: T, shape: "Stored[mode == 'sum', M, 8]"}
      index: {dtype: int32, shape: "[M]", values: "random_ids(M, 16)", requires: ["in_range(0, M)"]}
    let:
      blocks: "ceil_div(M, 128) + conv.out(M, 3, 1)"
      layout: 'x.max_m if mode == ''sum'' else 1'
    shape_rules:
    - "not (M % 16 == 0 and None in B)"
    - "M > 0" # a comment
  roofline:
    flops: >-
      2 * M
    bytes: "bytes(x) + 1.5e3 * prod(B)"

NextFwdOp:
  roofline: {flops: "M", bytes: 'M // 2'}
other: "if not in a manifest"
`;

describe('the expression language in strings', () => {
  it('is highlighted in an entry', async () => {
    expect(scopes(await yaml(true), MANIFEST, ours)).toMatchSnapshot();
  });

  it('leaves what the grammar of YAML says of an entry', async () => {
    const [plain, injected] = [await yaml(false), await yaml(true)];
    const keys = (scope: string) => scope.startsWith('entity.name.tag') || scope.startsWith('comment');
    const names = (text: string) => text.replaceAll(/ {2}(entity|comment)\S*( \S+)*$/gm, '');
    expect(names(scopes(injected, MANIFEST, keys))).toBe(names(scopes(plain, MANIFEST, keys)));
  });

  it('changes nothing in other YAML', async () => {
    const [plain, injected] = [await yaml(false), await yaml(true)];
    const texts = fs
      .readdirSync(path.join(ROOT, 'test/e2e/workspace/k8s'))
      .map((name) => fs.readFileSync(path.join(ROOT, 'test/e2e/workspace/k8s', name), 'utf8'));
    texts.push(
      'shape: "[M, N]"\nflops: "2 * M if x else 1"\nop:\n  AddFwdOp:\n    flops: "2 * M"\n',
      'FooOp: "2 * M"\n',
    );
    for (const text of texts) expect(scopes(injected, text, all)).toBe(scopes(plain, text, all));
  });
});
