//! HTTP messages, as far as the proxy must know them.

use std::io::{self, Read};

/// A message: head with its empty line, and body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Reads a request: its body has the announced length. Returns `None` if the connection is closed.
    pub(crate) fn read_request(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let Some((head, mut body)) = read_head(stream)? else { return Ok(None) };
        let message = Self { head, body: Vec::new() };
        let len = message.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        if message.header("transfer-encoding").is_some() {
            return Err(io::Error::other("requests with chunked bodies are not supported"));
        }
        let missing = usize::saturating_sub(len, body.len());
        stream.take(missing as u64).read_to_end(&mut body)?;
        Ok((body.len() == len).then_some(Self { body, ..message }))
    }

    /// Reads an answer until the connection is closed, or until the announced end.
    pub(crate) fn read_answer(stream: &mut impl Read, has_body: bool) -> io::Result<Option<Self>> {
        let Some((head, mut body)) = read_head(stream)? else { return Ok(None) };
        let message = Self { head, body: Vec::new() };
        let len: Option<usize> = message.header("content-length").and_then(|text| text.parse().ok());
        match len {
            _ if !has_body => body.clear(),
            Some(len) => _ = stream.take(len.saturating_sub(body.len()) as u64).read_to_end(&mut body)?,
            None => _ = stream.read_to_end(&mut body)?,
        }
        Ok(Some(Self { body, ..message }))
    }

    /// Returns the first line.
    pub(crate) fn first_line(&self) -> String {
        let end = self.head.iter().position(|&byte| byte == b'\r').unwrap_or(self.head.len());
        String::from_utf8_lossy(&self.head[..end]).into_owned()
    }

    /// Returns a header by its name in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        head.split("\r\n").skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    /// Replaces a header, or adds it.
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let is_other = |line: &&str| !line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        let mut lines: Vec<&str> = head.split("\r\n").filter(|line| !line.is_empty()).filter(is_other).collect();
        let line = format!("{name}: {value}");
        lines.push(&line);
        self.head = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
    }
}

/// Reads up to the empty line. Returns the head, and what was read of the body.
fn read_head(stream: &mut impl Read) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut read = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let body = read.split_off(end + 4);
            return Ok(Some((read, body)));
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}
