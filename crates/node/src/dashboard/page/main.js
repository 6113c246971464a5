"use strict";

const feed = new WebSocket(new URL("feed", location.href).href.replace(/^http/, "ws"));
feed.onmessage = (message) => {
    const frame = JSON.parse(message.data);
    document.getElementById("state").textContent = JSON.stringify(frame.node, null, 2);
    feed.send(JSON.stringify({ ack: frame.seq }));
};
