// How is a client run that is a program?

import { execFile } from 'node:child_process';

/** What it printed, or an exception with what it said instead. CAST and FORGE say where they are. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: '1', FOUNDRY_DISABLE_NIGHTLY_WARNING: '1' };
    const file = process.env[program.toUpperCase()];
    execFile(file, args, { timeout: 60_000, maxBuffer: 64 << 20, env, ...options }, (error, stdout, stderr) => {
      if (error) {
        const how = error.killed ? 'was stopped after a minute' : `ended with ${error.code}`;
        reject(new Error(`${program} ${args.join(' ')}\n${how}:\n${stdout}${stderr}`));
      } else {
        resolve(stdout.trim());
      }
    });
  });
}
