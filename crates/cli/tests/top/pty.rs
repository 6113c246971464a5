//! How does a test run a program in a terminal, and read its screen?

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZeroU16,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

/// A guard against hanging, no more: a screen that is as expected is seen at once.
const GUARD: Duration = Duration::from_secs(120);

/// A program in a terminal of its own. Dropped, it is killed.
pub(crate) struct Pty {
    master: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// How the terminal was when the program got it.
    modes: LocalModes,
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn some(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has rows and columns")
}

impl Pty {
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Pty {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let terminal = File::from(ioctl_tiocgptpeer(&master, flags).unwrap());
        tcsetwinsize(&terminal, size(columns, rows)).unwrap();
        let modes = tcgetattr(&terminal).unwrap().local_modes;
        command
            .env("TERM", "xterm-256color")
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal);
        // SAFETY: both are one system call each, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                // Standard input is the terminal: now it is ours, and tells us when it is resized.
                rustix::process::ioctl_tiocsctty(std::io::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        // It holds the terminal, whose end is seen when nobody does.
        drop(command);
        let master = File::from(master);
        let mut from = master.try_clone().unwrap();
        let (tell, output) = mpsc::channel();
        let read = move || {
            let mut piece = [0; 4096];
            // An error is how a terminal ends.
            while let Ok(n @ 1..) = from.read(&mut piece) {
                if tell.send(piece[..n].to_vec()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(read).unwrap();
        let screen = vt100::Parser::new(some(rows), some(columns), 0);
        Pty { master, child, output, screen, modes }
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    pub(crate) fn text(&self) -> String {
        self.screen().contents()
    }

    /// Waits until the screen is so.
    #[track_caller]
    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        while !is_so(&self.text()) {
            match self.output.recv_timeout(GUARD) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(why) => panic!("{why}: never {what}:\n{}", self.text()),
            }
        }
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.screen_mut().set_size(some(rows), some(columns));
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for the end of the program, and checks that it leaves the terminal as it was.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.output.recv_timeout(GUARD) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.text()),
            }
        }
        let status = self.child.wait().unwrap();
        let text = self.text();
        assert!(!self.screen().alternate_screen(), "the other screen was left on:\n{text}");
        assert!(!self.screen().hide_cursor(), "the cursor was left hidden:\n{text}");
        assert_eq!(tcgetattr(&self.master).unwrap().local_modes, self.modes, "echo and lines");
        (status, text)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
