//! How is a node asked over HTTP, by a command that has nothing else to do meanwhile?
//!
//! HTTP/1.0: the answer ends with the connection and comes in one piece, so a socket is all it
//! takes.

use std::{
    fmt,
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

/// A place that answers HTTP.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endpoint {
    /// Host and port.
    host: String,
    /// Begins with a slash.
    path: String,
}

/// What one question may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the first packet to the last.
    pub(crate) patience: Duration,
    /// The head of the answer counts too.
    pub(crate) bytes_max: usize,
}

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// There is nobody, or he has gone in the middle of it.
    Unreachable(io::Error),
    /// Not within so long.
    Late(Duration),
    /// It has more bytes than this.
    TooLong(usize),
    /// It is not HTTP, or it was cut off.
    Nonsense,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Unreachable(why) => write!(f, "{why}"),
            NoAnswer::Late(patience) => {
                write!(f, "no whole answer within {} s", patience.as_secs_f32())
            }
            NoAnswer::TooLong(max) => write!(f, "the answer is longer than {max} bytes"),
            NoAnswer::Nonsense => write!(f, "the answer is not whole, or not HTTP"),
        }
    }
}

impl Endpoint {
    pub(crate) fn new(url: &str) -> Result<Endpoint, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(format!("`{url}`: give a URL that begins with http://"));
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !is_plain(host) || !is_plain(path) {
            return Err(format!("`{url}` is no URL of a node"));
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        Ok(Endpoint { host, path: format!("/{path}") })
    }

    /// Host and port.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The place below this one.
    pub(crate) fn below(&self, path: &str) -> Endpoint {
        let base = self.path.trim_end_matches('/');
        Endpoint { host: self.host.clone(), path: format!("{base}/{path}") }
    }

    pub(crate) fn get(&self, limits: Limits) -> Result<Answer, NoAnswer> {
        self.ask("GET", "", limits)
    }

    pub(crate) fn post_json(&self, body: &str, limits: Limits) -> Result<Answer, NoAnswer> {
        let length = body.len();
        let rest = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        self.ask("POST", &format!("{rest}\r\n{body}"), limits)
    }

    /// `rest` is what comes after the headers that every question has.
    fn ask(&self, method: &str, rest: &str, limits: Limits) -> Result<Answer, NoAnswer> {
        let deadline = Deadline::new(limits.patience);
        let Endpoint { host, path } = self;
        let mut socket = self.connect(&deadline)?;
        let end = if rest.is_empty() { "\r\n" } else { "" };
        let question = format!("{method} {path} HTTP/1.0\r\nhost: {host}\r\n{rest}{end}");
        socket.set_write_timeout(Some(deadline.left()?)).map_err(NoAnswer::Unreachable)?;
        let sent = socket.write_all(question.as_bytes());
        sent.map_err(|why| deadline.name(why))?;
        let mut bytes = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            socket.set_read_timeout(Some(deadline.left()?)).map_err(NoAnswer::Unreachable)?;
            match socket.read(&mut piece) {
                Ok(0) => return read(&bytes).ok_or(NoAnswer::Nonsense),
                Ok(n) if bytes.len() + n > limits.bytes_max => {
                    return Err(NoAnswer::TooLong(limits.bytes_max));
                }
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(deadline.name(why)),
            }
        }
    }

    /// A name may stand for several addresses; the first that takes us is the one.
    fn connect(&self, deadline: &Deadline) -> Result<TcpStream, NoAnswer> {
        let addresses = self.host.to_socket_addrs().map_err(NoAnswer::Unreachable)?;
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, deadline.left()?) {
                Ok(socket) => return Ok(socket),
                Err(why) => failure = why,
            }
        }
        Err(deadline.name(failure))
    }
}

/// Status and body, if it is all there.
fn read(bytes: &[u8]) -> Option<Answer> {
    const END: &[u8] = b"\r\n\r\n";
    let at = bytes.windows(END.len()).position(|window| window == END)?;
    let (head, body) = (std::str::from_utf8(&bytes[..at]).ok()?, &bytes[at + END.len()..]);
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let status = first.next()?.starts_with("HTTP/1.").then(|| first.next())??.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    for (name, value) in headers {
        let value = value.trim();
        let is_cut = name.eq_ignore_ascii_case("content-length") && value.parse() != Ok(body.len());
        if is_cut || name.eq_ignore_ascii_case("transfer-encoding") {
            return None;
        }
    }
    Some(Answer { status, body: body.to_vec() })
}

struct Deadline {
    at: Instant,
    patience: Duration,
}

#[expect(clippy::disallowed_methods, reason = "a socket of the binary, in no runtime")]
impl Deadline {
    fn new(patience: Duration) -> Deadline {
        Deadline { at: Instant::now() + patience, patience }
    }

    /// More than nothing, which a socket would take for "no limit".
    fn left(&self) -> Result<Duration, NoAnswer> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(NoAnswer::Late(self.patience)) } else { Ok(left) }
    }

    fn name(&self, why: io::Error) -> NoAnswer {
        match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => NoAnswer::Late(self.patience),
            _ => NoAnswer::Unreachable(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    const LIMITS: Limits = Limits { patience: Duration::from_secs(60), bytes_max: 200 };

    /// What a server that says `answer` is asked, and what that comes to.
    fn ask(
        answer: &'static [u8],
        limits: Limits,
        question: impl Fn(&Endpoint, Limits) -> Result<Answer, NoAnswer>,
    ) -> (String, Result<Answer, NoAnswer>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::new(&format!("http://{}/base/", listener.local_addr().unwrap()));
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                let mut socket = listener.accept().unwrap().0;
                let mut asked = Vec::new();
                let end =
                    |asked: &[u8]| if asked.starts_with(b"P") { b"}" } else { &b"\r\n\r\n"[..] };
                while !asked.ends_with(end(&asked)) {
                    let mut byte = [0];
                    socket.read_exact(&mut byte).unwrap();
                    asked.push(byte[0]);
                }
                socket.write_all(answer).unwrap();
                String::from_utf8(asked).unwrap()
            });
            let answer = question(&endpoint.unwrap().below("state"), limits);
            (server.join().unwrap(), answer)
        })
    }

    #[test]
    fn questions_and_answers_are_http() {
        let whole = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
        let (asked, answer) = ask(whole, LIMITS, Endpoint::get);
        assert!(asked.starts_with("GET /base/state HTTP/1.0\r\nhost: 127.0.0.1:"), "{asked}");
        assert_eq!(answer.unwrap(), Answer { status: 404, body: b"no".to_vec() });
        let (asked, answer) =
            ask(b"HTTP/1.0 200 OK\r\n\r\n", LIMITS, |place, limits| place.post_json("{}", limits));
        assert!(asked.starts_with("POST /base/state HTTP/1.0\r\nhost: "), "{asked}");
        assert!(asked.ends_with("\r\ncontent-length: 2\r\n\r\n{}"), "{asked}");
        assert_eq!(answer.unwrap(), Answer { status: 200, body: vec![] });
    }

    #[test]
    fn what_is_cut_off_or_no_http_is_no_answer() {
        for nonsense in [
            &b""[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nno",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 fine\r\n\r\n",
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"\xff\xff\r\n\r\n",
        ] {
            let answer = ask(nonsense, LIMITS, Endpoint::get).1;
            assert!(matches!(answer, Err(NoAnswer::Nonsense)), "{nonsense:?}: {answer:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_read_to_its_end() {
        let answer = ask(&[b'x'; 201], LIMITS, Endpoint::get).1;
        assert!(matches!(answer, Err(NoAnswer::TooLong(200))), "{answer:?}");
    }

    /// The listener's queue takes the connection; nobody ever reads.
    #[test]
    fn who_says_nothing_is_late() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::new(&format!("http://{}", listener.local_addr().unwrap()));
        let limits = Limits { patience: Duration::from_millis(10), bytes_max: 1 };
        let answer = endpoint.unwrap().get(limits);
        assert!(matches!(answer, Err(NoAnswer::Late(_))), "{answer:?}");
    }

    #[test]
    fn a_url_names_a_host_and_a_place() {
        let parsed = |url| Endpoint::new(url).map(|place| (place.host.clone(), place.path));
        assert_eq!(parsed("http://a"), Ok(("a:80".to_owned(), "/".to_owned())));
        assert_eq!(parsed("http://[::1]:85/x/y"), Ok(("[::1]:85".to_owned(), "/x/y".to_owned())));
        for wrong in ["https://a", "a:1", "http://", "http:///x", "http://a b", "http://u:p@h"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
