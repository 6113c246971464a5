// How does the page hear of the node, and what if the node goes away?
//
// The node sends a frame and waits until it is acknowledged. We acknowledge what has been painted:
// so a page that is slow, or that nobody looks at, gets few frames, and none of them are old.

/** Between two attempts: twice as long each time, up to this. */
const PAUSE_MAX_MS = 5_000;
const PAUSE_MIN_MS = 250;
/** A node that lives sends at least once a second. */
const SILENCE_MAX_MS = 10_000;
/** A page in the background is painted seldom or never; then this often is enough. */
const HIDDEN_MS = 1_000;

/** One connection at a time, for ever. */
export class Feed {
  /** `onFrame` takes what was sent, `onPaint` shows it, `onStatus` is told `live`, or `reconnecting` and why. */
  constructor({ onFrame, onPaint, onStatus }) {
    Object.assign(this, { onFrame, onPaint, onStatus });
    this.attempts = 0;
    this.wantsTimeline = false;
    this.url = new URL('feed', document.baseURI);
    this.url.protocol = this.url.protocol.replace('http', 'ws');
    this.url.hash = '';
    // Whoever comes back to the page does not want to wait for the next attempt.
    const hurry = () => { if (!document.hidden && this.timer) this.connect(); };
    addEventListener('online', hurry);
    document.addEventListener('visibilitychange', hurry);
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = null;
    const socket = new WebSocket(this.url);
    this.socket = socket;
    this.watch();
    socket.onopen = () => { if (this.wantsTimeline) this.send({ timeline: true }); };
    socket.onmessage = ({ data }) => this.take(socket, data);
    socket.onclose = ({ reason }) => { if (this.socket === socket) this.again(reason); };
  }

  take(socket, data) {
    if (this.socket !== socket) return;
    this.watch();
    const frame = JSON.parse(data);
    this.attempts = 0;
    this.onStatus('live');
    this.onFrame(frame);
    painted().then(() => {
      // What can not be shown must not be the last that is heard.
      try {
        this.onPaint();
      } finally {
        if (this.socket === socket) this.send({ ack: frame.seq });
      }
    });
  }

  /** Whether slices of workers are wanted. The node records them only for those who look. */
  timeline(wanted) {
    if (this.wantsTimeline === wanted) return;
    this.wantsTimeline = wanted;
    this.send({ timeline: wanted });
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** A connection that says nothing is no connection, whatever the network thinks of it. */
  watch() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => { this.socket.close(); this.again(); }, SILENCE_MAX_MS);
  }

  /** The node may have said why it has closed the connection. */
  again(why = '') {
    clearTimeout(this.silence);
    clearTimeout(this.timer);
    this.socket = { readyState: WebSocket.CLOSED };
    this.onStatus('reconnecting', why);
    const pause = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** this.attempts);
    this.attempts += 1;
    // Many pages that lost one node do not come back in the same moment.
    this.timer = setTimeout(() => this.connect(), pause * (0.5 + Math.random() / 2));
  }
}

/** The next time the browser paints, or a second later where it does not. */
function painted() {
  return new Promise((resolve) => {
    const timer = setTimeout(() => { cancelAnimationFrame(request); resolve(); }, HIDDEN_MS);
    const request = requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
  });
}
