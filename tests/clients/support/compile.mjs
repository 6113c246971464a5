// What are the contracts in contracts/ as bytes? Writes them with their interfaces into
// contracts.json, for the suites of all languages.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import solc from 'solc';

const here = dirname(fileURLToPath(import.meta.url));
const home = join(here, '..');
const sources = {};
for (const file of readdirSync(join(home, 'contracts')).sort()) {
  sources[file] = { content: readFileSync(join(home, 'contracts', file), 'utf8') };
}
const output = JSON.parse(solc.compile(JSON.stringify({
  language: 'Solidity',
  sources,
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  },
})));
// Warnings are no errors: that selfdestruct is on its way out is why it is compared.
const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
if (errors.length > 0) {
  console.error(errors.map((error) => error.formattedMessage).join('\n'));
  process.exit(1);
}
const contracts = {};
for (const file of Object.values(output.contracts)) {
  for (const [name, contract] of Object.entries(file)) {
    contracts[name] = { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` };
  }
}
writeFileSync(join(home, 'contracts.json'), JSON.stringify(contracts, null, 1));
console.log(`${Object.keys(contracts).length} contracts compiled by solc ${solc.version()}`);
