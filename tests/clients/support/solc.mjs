#!/usr/bin/env node
// The compiler from npm, with the options that forge calls a native one with.

import { readFileSync } from 'node:fs';
import solc from 'solc';

if (process.argv.includes('--standard-json')) {
  // Sources come in the request whole: there are no files to find.
  process.stdout.write(solc.compile(readFileSync(0, 'utf8')));
} else {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
}
