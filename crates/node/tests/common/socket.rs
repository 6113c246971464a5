//! A WebSocket client that is as simple as can be.

use std::{
    io::{BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

/// A WebSocket to a node.
pub struct Socket {
    pub stream: BufReader<TcpStream>,
}

impl Socket {
    /// Connects to a path.
    pub fn open(address: SocketAddr, path: &str) -> Socket {
        let mut stream = TcpStream::connect(address).expect("it listens");
        // A guard against hanging, no more.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        Socket { stream }
    }

    /// Sends a text.
    pub fn send(&mut self, text: &str) {
        self.frame(0x1, text.as_bytes());
    }

    fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | u8::try_from(short).unwrap()),
            middle @ 126..0x1_0000 => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(middle).unwrap().to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        // A mask of zeros is one too.
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.get_mut().write_all(&frame).expect("it is open");
    }

    /// The next message.
    pub fn next(&mut self) -> Value {
        self.next_or_close().unwrap_or_else(|(code, why)| panic!("closed, {code}: {why}"))
    }

    /// Reads to the end: the code and the reason of the close.
    pub fn closed(&mut self) -> (u16, String) {
        loop {
            if let Err(closed) = self.next_or_close() {
                return closed;
            }
        }
    }

    /// Whether a message was sent that is not read. Pings are answered meanwhile: our own tells that
    /// all before its answer has come.
    pub fn has_more(&mut self) -> bool {
        self.frame(0x9, b"all?");
        loop {
            let (opcode, payload) = self.part();
            match opcode & 0x0f {
                0x9 => self.frame(0xa, &payload),
                0xa => return false,
                _ => return true,
            }
        }
    }

    /// The next message, as it was written.
    pub fn next_text(&mut self) -> Vec<u8> {
        self.text_or_close().unwrap_or_else(|(code, why)| panic!("closed, {code}: {why}"))
    }

    fn next_or_close(&mut self) -> Result<Value, (u16, String)> {
        let text = self.text_or_close()?;
        Ok(serde_json::from_slice(&text).expect("JSON"))
    }

    fn text_or_close(&mut self) -> Result<Vec<u8>, (u16, String)> {
        let mut text = Vec::new();
        loop {
            let (head, payload) = self.part();
            match head & 0x0f {
                0x0 | 0x1 => text.extend(payload),
                0x8 => {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    return Err((code, String::from_utf8(payload[2..].to_vec()).unwrap()));
                }
                0x9 => self.frame(0xa, &payload),
                opcode => panic!("opcode {opcode}: {payload:?}"),
            }
            if head & 0x80 != 0 && head & 0x0f < 0x8 {
                return Ok(text);
            }
        }
    }

    /// The next part of a message: its first byte, and what is in it.
    fn part(&mut self) -> (u8, Vec<u8>) {
        let [head, length] = self.bytes();
        let length = match length {
            126 => u64::from(u16::from_be_bytes(self.bytes())),
            127 => u64::from_be_bytes(self.bytes()),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).expect("a whole message");
        (head, payload)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).expect("a message");
        bytes
    }

    /// Calls a method and gives the whole answer. There must be no news meanwhile.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(&request.to_string());
        self.next()
    }

    /// Calls a method and gives its result.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// What a subscription tells next.
    pub fn news(&mut self, method: &str, subscription: &Value) -> Value {
        let mut message = self.next();
        assert_eq!(message["method"], method, "{message}");
        assert_eq!(&message["params"]["subscription"], subscription, "{message}");
        message["params"]["result"].take()
    }
}
