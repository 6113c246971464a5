//! The least of HTTP that a generator needs: prepared bytes out, the end of the answer in.

use std::{
    borrow::Cow,
    io::{self, ErrorKind, Read, Write},
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
    socket: TcpStream,
    answer: Answer,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Connection, String> {
        let socket = TcpStream::connect(address).map_err(|why| format!("no connection: {why}"))?;
        socket.set_nodelay(true).map_err(|why| why.to_string())?;
        // A guard against hanging, no more.
        socket.set_read_timeout(Some(Duration::from_secs(120))).map_err(|why| why.to_string())?;
        Ok(Connection { socket, answer: Answer::default() })
    }

    /// Sends a request and gives the body of the answer.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Cow<'_, [u8]>, String> {
        let broke = |why| format!("the connection broke: {why}");
        self.answer.clear();
        self.socket.write_all(request).map_err(broke)?;
        while self.answer.body().is_none() {
            self.answer.read(&mut self.socket).map_err(broke)?;
        }
        Ok(self.answer.body().expect("it is whole"))
    }
}

/// As much of an answer as is there.
#[derive(Default)]
pub(super) struct Answer {
    room: Vec<u8>,
    length: usize,
}

impl Answer {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Reads what can be read at once.
    pub(super) fn read(&mut self, mut from: impl Read) -> io::Result<()> {
        // More than most answers have. Room is cleared once, and not for each of them.
        if self.room.len() - self.length < 4 << 10 {
            self.room.resize(self.length + (16 << 10), 0);
        }
        match from.read(&mut self.room[self.length..])? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.length += count;
                Ok(())
            }
        }
    }

    /// The body, if the answer is whole.
    pub(super) fn body(&self) -> Option<Cow<'_, [u8]>> {
        let mut rest = &self.room[..self.length];
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = line(&mut rest)?;
            if line.is_empty() {
                break;
            }
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"content-length") {
                length = number(value, 10);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                chunked = value.eq_ignore_ascii_case(b"chunked");
            }
        }
        if !chunked {
            return rest.get(..length).map(Cow::Borrowed);
        }
        let mut body = Vec::new();
        loop {
            let length = number(line(&mut rest)?, 16);
            body.extend(rest.get(..length)?);
            rest = &rest[length..];
            line(&mut rest)?;
            if length == 0 {
                return Some(Cow::Owned(body));
            }
        }
    }
}

/// Takes a line off the front, if there is a whole one.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = rest[..end].trim_ascii_end();
    *rest = &rest[end + 1..];
    Some(line)
}

fn number(text: &[u8], radix: u32) -> usize {
    str::from_utf8(text).ok().and_then(|text| usize::from_str_radix(text, radix).ok()).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these as it comes, byte by byte: the body after the last one, and not before.
    #[test]
    fn an_answer_is_whole_when_its_last_byte_is_there() {
        let plain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                       3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
        for text in [plain, chunked] {
            let mut answer = Answer::default();
            for byte in text.as_bytes() {
                assert!(answer.body().is_none(), "{text}");
                answer.read([*byte].as_slice()).unwrap();
            }
            assert_eq!(answer.body().as_deref(), Some(b"hello".as_slice()), "{text}");
        }
    }

    #[test]
    fn an_answer_of_any_length_is_read() {
        let body = "7".repeat(100_000);
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{body}");
        let (mut answer, mut from) = (Answer::default(), text.as_bytes());
        while answer.body().is_none() {
            answer.read(&mut from).unwrap();
        }
        assert_eq!(answer.body().unwrap().len(), 100_000);
        answer.clear();
        assert!(answer.body().is_none());
    }
}
