//! The least of HTTP that a generator needs: prepared bytes out, the end of the answer in.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// A request, ready to be sent.
pub(super) type Prepared = Box<[u8]>;

pub(super) fn prepare(path: &str, body: &str) -> Prepared {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat().into()
}

/// A connection that is kept.
pub(super) struct Connection {
    socket: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Connection, String> {
        let socket = TcpStream::connect(address).map_err(|why| format!("no connection: {why}"))?;
        socket.set_nodelay(true).map_err(|why| why.to_string())?;
        // A guard against hanging, no more.
        socket.set_read_timeout(Some(Duration::from_secs(120))).map_err(|why| why.to_string())?;
        let socket = BufReader::with_capacity(64 << 10, socket);
        Ok(Connection { socket, line: String::new(), body: Vec::new() })
    }

    /// Sends a request and gives the body of the answer.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<&[u8], String> {
        self.exchange(request).map_err(|why| format!("the connection broke: {why}"))?;
        Ok(&self.body)
    }

    fn exchange(&mut self, request: &[u8]) -> std::io::Result<()> {
        self.socket.get_mut().write_all(request)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            self.line.clear();
            if self.socket.read_line(&mut self.line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap_or(0);
                } else if name.eq_ignore_ascii_case("transfer-encoding") {
                    chunked = value.trim().eq_ignore_ascii_case("chunked");
                }
            }
        }
        self.body.clear();
        if chunked {
            return self.chunks();
        }
        self.body.resize(length, 0);
        self.socket.read_exact(&mut self.body)
    }

    fn chunks(&mut self) -> std::io::Result<()> {
        loop {
            self.line.clear();
            self.socket.read_line(&mut self.line)?;
            let length = usize::from_str_radix(self.line.trim(), 16).unwrap_or(0);
            let start = self.body.len();
            self.body.resize(start + length, 0);
            self.socket.read_exact(&mut self.body[start..])?;
            self.line.clear();
            self.socket.read_line(&mut self.line)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// Whether an answer, or each of a batch, has a result. `"error"` occurs in no result of ours.
pub(super) fn check(answer: &[u8]) -> Result<(), String> {
    let has = |what: &[u8]| answer.windows(what.len()).any(|window| window == what);
    if has(b"\"result\"") && !has(b"\"error\"") {
        return Ok(());
    }
    let start = &answer[..answer.len().min(400)];
    Err(format!("it was refused: {}", String::from_utf8_lossy(start)))
}
