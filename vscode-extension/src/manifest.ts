/** Telling op manifests from other YAML, before a server is there to ask. */

const ENTRY = /^[A-Z][A-Za-z0-9]*Op[ \t]*:/m;
const SIGNATURE = /^[ \t]+signature[ \t]*:/m;
const FIELD = /^[ \t]+(?:family|workloads|roofline)[ \t]*:/m;

/** How much of a text is looked at. */
const LOOKED_AT = 64 * 1024;

/** Whether a YAML text looks like an op manifest: an entry whose name ends in `Op`, with a signature and another field of
 * an entry. Other tools' YAML never does, so that nothing is started for it. */
export function looksLikeManifest(text: string): boolean {
  const start = text.slice(0, LOOKED_AT);
  return ENTRY.test(start) && SIGNATURE.test(start) && FIELD.test(start);
}

/** The text of a new `tileops.toml` whose manifests are in `folders`. */
export function configText(folders: string[]): string {
  const list = folders.map((folder) => JSON.stringify(folder)).join(', ');
  return `# The folders that hold manifests, relative to this file. Every YAML file in them is one.
manifest = [${list}]

# [formulas]
# What the path of every \`func\` begins with, and the Python or Rust sources that define the functions.
# package = "tileops.perf.formulas"
# sources = ["python/tileops/perf"]

# [codes]
# How a defect is reported: "error", "advisory" or "ignore".
# optional-coverage = "advisory"
`;
}
