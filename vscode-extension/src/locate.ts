/** Where a program that the extension starts is found. Plain functions: everything that they know is passed in. */

import * as path from 'node:path';

/** What says where a program is. */
export type Origin = 'setting' | 'environment' | 'path' | 'bundled';

/** What is known about where a program may be. */
export interface Places {
  /** The program's name, without an extension. */
  name: string;
  /** The user's setting; empty where there is none. */
  setting: string;
  /** The setting's name, for messages. */
  settingName: string;
  /** The folder that a relative setting is relative to. */
  folder: string | undefined;
  /** The environment variable that names the program, and its value. */
  variable: { name: string; value: string | undefined } | undefined;
  /** `PATH`. */
  path: string | undefined;
  /** The folder of the programs that come with the extension. */
  bundle: string;
  /** Whether the workspace may say which programs are started. */
  trusted: boolean;
  platform: NodeJS.Platform;
  home: string;
  isProgram: (file: string) => boolean;
}

/** A program that was found. */
export interface Located {
  file: string;
  origin: Origin;
  /** What a setting or a variable says that is not so. */
  warnings: string[];
}

/** Finds a program by setting, environment variable, `PATH` and bundle, in this order; in an untrusted workspace in the
 * bundle alone. */
export function locate(places: Places): Located | { file: undefined; warnings: string[] } {
  const warnings: string[] = [];
  const bundled = path.join(places.bundle, executable(places.name, places.platform));
  if (places.trusted) {
    if (places.setting !== '') {
      const file = expand(places.setting, places);
      if (places.isProgram(file)) return { file, origin: 'setting', warnings };
      warnings.push(`The setting \`${places.settingName}\` names ${file}, which is not a program.`);
    }
    if (places.variable?.value) {
      const file = expand(places.variable.value, places);
      if (places.isProgram(file)) return { file, origin: 'environment', warnings };
      warnings.push(`The environment variable ${places.variable.name} names ${file}, which is not a program.`);
    }
    const delimiter = places.platform === 'win32' ? ';' : ':';
    for (const folder of (places.path ?? '').split(delimiter)) {
      // An empty or relative item of PATH would be looked up in the workspace.
      if (!path.isAbsolute(folder)) continue;
      const file = path.join(folder, executable(places.name, places.platform));
      if (places.isProgram(file)) return { file, origin: 'path', warnings };
    }
  }
  if (places.isProgram(bundled)) return { file: bundled, origin: 'bundled', warnings };
  return { file: undefined, warnings };
}

/** What `origin` is in words. */
export function origin(origin: Origin): string {
  switch (origin) {
    case 'setting':
      return 'named by the setting';
    case 'environment':
      return 'named by the environment';
    case 'path':
      return 'found on PATH';
    case 'bundled':
      return 'comes with the extension';
  }
}

function executable(name: string, platform: NodeJS.Platform): string {
  return platform === 'win32' ? `${name}.exe` : name;
}

function expand(file: string, places: Places): string {
  const expanded = file
    .replace(/^~(?=[/\\]|$)/, places.home)
    .replace(/\$\{workspaceFolder\}/g, places.folder ?? '')
    .replace(/\$\{userHome\}/g, places.home);
  return path.isAbsolute(expanded) ? expanded : path.join(places.folder ?? places.home, expanded);
}
