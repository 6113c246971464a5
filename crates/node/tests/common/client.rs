//! A client of HTTP that may misbehave.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// A connection that sends whatever it is told to.
pub struct Client {
    pub stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The lines of the head, in small letters.
    pub head: Vec<String>,
    pub body: String,
}

impl Client {
    pub fn open(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("it listens");
        // A guard against hanging, no more.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Client {
        self.stream.get_mut().write_all(bytes.as_ref()).expect("it is open");
        self
    }

    /// Sends a request with these lines in its head.
    pub fn request(&mut self, line: &str, headers: &[&str], body: &str) -> Answer {
        let mut head = format!("{line} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|header| header.starts_with("host:")) {
            head += "host: localhost\r\n";
        }
        for header in headers {
            head += &format!("{header}\r\n");
        }
        self.send(head + "\r\n" + body).answer()
    }

    pub fn answer(&mut self) -> Answer {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a head");
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_lowercase()),
            }
        }
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let length =
            head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("text");
        Answer { status: status.expect("a status"), head, body }
    }

    /// Waits until there is something to read. Whether it is the end.
    pub fn is_closed(&mut self) -> bool {
        self.stream.fill_buf().map_or(true, <[u8]>::is_empty)
    }

    /// Waits until the node closes the connection. What it said before.
    pub fn closed(&mut self) -> String {
        let mut rest = Vec::new();
        // Closed with something unread, or just closed.
        let _ = self.stream.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.body))
    }

    /// The message of the error.
    pub fn error(&self) -> String {
        self.json()["error"]["message"].as_str().expect("an error").to_owned()
    }
}
