//! A command on a pseudo-terminal, and what its screen shows.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use chronoxide_testkit::requirement::skip_or_fail;

/// Longest wait for a change of the screen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command on a terminal of 24 lines and 100 columns, made by script(1).
pub struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    /// All bytes that the terminal received.
    received: Vec<u8>,
}

impl Terminal {
    /// Starts a command of the shell. Returns `None` without script(1).
    pub fn start(shell: &str, variables: &[(&str, &str)]) -> Option<Self> {
        let shell = format!("stty rows 24 cols 100 && {shell}");
        let mut script = Command::new("script");
        script.args(["-qec", &shell, "/dev/null"]).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        script.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match script.spawn() {
            Ok(child) => child,
            Err(error) => {
                skip_or_fail("script(1)", error);
                return None;
            }
        };
        let (mut out, keys) = (child.stdout.take().unwrap(), child.stdin.take());
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, keys, output, received: Vec::new() })
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) {
        let stdin = self.keys.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits until the screen shows a text. Returns its lines.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> Vec<String> {
        self.wait(text, |screen| screen.lines().iter().any(|line| line.contains(text))).lines()
    }

    /// Waits until a line of the screen is a text. Returns the lines.
    #[track_caller]
    pub fn wait_for_line(&mut self, text: &str) -> Vec<String> {
        self.wait(text, |screen| screen.lines().iter().any(|line| line == text)).lines()
    }

    /// Waits until the screen is as expected.
    #[track_caller]
    pub fn wait(&mut self, what: &str, is_expected: impl Fn(&Screen) -> bool) -> Screen {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = Screen::new(&self.received);
            if is_expected(&screen) {
                return screen;
            }
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.received.extend(bytes),
                Err(error) => panic!("{error}: {what:?} is not on the screen:\n{}", screen.lines().join("\n")),
            }
        }
    }

    /// Takes the terminal away from the command, as a closed window does.
    pub fn close(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the command ends. Returns its status, the last screen, and everything that the terminal received.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, Screen, String) {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.received.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("the command does not end: {:?}", String::from_utf8_lossy(&self.received));
                }
            }
        }
        drop(self.keys.take());
        let screen = Screen::new(&self.received);
        (self.child.wait().unwrap(), screen, String::from_utf8(self.received).unwrap())
    }
}

/// The cells of a terminal after bytes that it received. Knows the sequences of `chronoxide-inspect top`, and panics on
/// all others: so no text of a block can be one.
pub struct Screen {
    cells: Vec<Vec<char>>,
    line: usize,
    column: usize,
    pub is_alternate: bool,
    pub has_been_alternate: bool,
    pub has_cursor: bool,
    pub has_colours: bool,
}

impl Screen {
    const LINES: usize = 24;
    const COLUMNS: usize = 100;

    pub fn new(received: &[u8]) -> Self {
        let mut screen = Self {
            cells: vec![vec![' '; Self::COLUMNS]; Self::LINES],
            line: 0,
            column: 0,
            is_alternate: false,
            has_been_alternate: false,
            has_cursor: true,
            has_colours: false,
        };
        // The last character or sequence may be incomplete.
        let text = match std::str::from_utf8(received) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&received[..error.valid_up_to()]).unwrap(),
            Err(error) => panic!("{error}: {received:?}"),
        };
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            rest = &rest[char.len_utf8()..];
            match char {
                '\u{1b}' => match rest.strip_prefix('[') {
                    Some(sequence) => match sequence.find(|c: char| c.is_ascii_alphabetic()) {
                        Some(end) => {
                            screen.control(&sequence[..end], sequence.as_bytes()[end]);
                            rest = &sequence[end + 1..];
                        }
                        None => break,
                    },
                    None if rest.is_empty() => break,
                    None => panic!("escape before {rest:?}"),
                },
                '\r' => screen.column = 0,
                '\n' => screen.line = (screen.line + 1).min(Self::LINES - 1),
                _ => screen.put(char),
            }
        }
        screen
    }

    /// Returns the lines without spaces at their ends.
    pub fn lines(&self) -> Vec<String> {
        self.cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
    }

    fn put(&mut self, char: char) {
        let steers = char.is_control() || "\u{202e}\u{feff}\u{200d}".contains(char);
        assert!(!steers, "{char:?} in {:?}", self.lines());
        if self.column < Self::COLUMNS {
            self.cells[self.line][self.column] = char;
            self.column += 1;
        }
    }

    fn control(&mut self, arguments: &str, end: u8) {
        match (arguments, end) {
            ("?1049", b'h') => (self.is_alternate, self.has_been_alternate) = (true, true),
            ("?1049", b'l') => self.is_alternate = false,
            ("?25", b'h' | b'l') => self.has_cursor = end == b'h',
            ("2", b'J') => self.cells = vec![vec![' '; Self::COLUMNS]; Self::LINES],
            (_, b'm') => {
                self.has_colours |= arguments
                    .split(';')
                    .any(|code| code.len() == 2 && code >= "30" && code != "39" && code != "49" && code != "59")
            }
            (place, b'H') => {
                let (line, column) = place.split_once(';').unwrap();
                (self.line, self.column) = (line.parse::<usize>().unwrap() - 1, column.parse::<usize>().unwrap() - 1);
            }
            _ => panic!("unexpected sequence {arguments:?} {:?}", char::from(end)),
        }
    }
}
