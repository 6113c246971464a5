// How is a node reached through something in between: below a path, or with a feed of our own?

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { WebSocketServer } from 'ws';

/**
 * Hands on what is below `prefix` to the node at `target`. Where `feed` is given, it gets the
 * WebSockets of the dashboard instead of the node.
 */
export async function startProxy(target, { prefix = '', feed = null } = {}) {
  const { hostname, port } = new URL(target);
  const inside = (url) => (url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : null);
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((incoming, outgoing) => {
    const path = inside(incoming.url);
    if (path === null) {
      outgoing.writeHead(404).end('not below the path');
      return;
    }
    const { method, headers } = incoming;
    const onward = request({ hostname, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', (error) => outgoing.writeHead(502).end(error.message));
    incoming.pipe(onward);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const path = inside(incoming.url);
    if (feed && path === '/dashboard/feed') {
      sockets.handleUpgrade(incoming, socket, head, (client) => feed.take(client));
      return;
    }
    const onward = connect(port, hostname, () => {
      const lines = [`${incoming.method} ${path ?? '/'} HTTP/1.1`];
      for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
        lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
      }
      onward.write(`${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}${prefix}`,
    async stop() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
