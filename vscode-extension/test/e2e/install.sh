#!/usr/bin/env bash
# Installs what the end-to-end tests drive under a folder: the VS Code server and web workbench that npm's code-server
# carries. usage: install.sh DIR [VERSION]; the major version of Node decides which: 4.90 to 4.100 run on Node 20.
set -euo pipefail
dir=${1:?a folder}
version=${2:-4.100.3}
[ -e "$dir/$version.complete" ] && exit
mkdir -p "$dir"
cd "$dir"
npm pack --silent "code-server@$version" >/dev/null
rm -rf vscode unpacked
mkdir unpacked
tar -xzf "code-server-$version.tgz" -C unpacked package/lib/vscode
mv unpacked/package/lib/vscode vscode
rm -r unpacked "code-server-$version.tgz"
cd vscode
# The versions are pinned by the shrinkwrap that comes with it. Nothing is downloaded by scripts.
npm ci --silent --no-audit --no-fund --omit=dev --ignore-scripts || npm install --silent --no-audit --no-fund --omit=dev --ignore-scripts
ln -sfn node_modules node_modules.asar
# The two that every log line and every file watcher need are built here; the headers come with Node.
nodedir=$(npm config get nodedir)
[ -d "$nodedir" ] || nodedir=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
gyp="$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js"
for module in @vscode/spdlog native-watchdog node-pty; do
  [ -f "node_modules/$module/binding.gyp" ] || continue
  (cd "node_modules/$module" && npm_config_nodedir="$nodedir" node "$gyp" rebuild --jobs 2 --silent >/dev/null 2>&1) ||
    echo "$module could not be built: the log is noisier, or terminals are missing" >&2
done
# Searching for files is ripgrep's, whose own package would download it.
if command -v rg >/dev/null && [ -d node_modules/@vscode/ripgrep ]; then
  mkdir -p node_modules/@vscode/ripgrep/bin
  ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
fi
touch "$dir/$version.complete"
