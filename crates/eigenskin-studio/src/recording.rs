//! A pose stream from a file: JSON lines, each a message of the stream.

use crate::message::{Message, MessageError, Step, Vocabulary};

/// Seconds from line to line where a file does not say.
const STEP: f64 = 1.0 / 30.0;

/// A recorded stream and how far it was played.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// seconds, rising, and what comes then
    messages: Vec<(f64, Vec<Step>)>,
    played: usize,
}

/// A line that cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecordingError {
    /// A message is wrong.
    #[error("line {line}: {error}")]
    Line {
        /// counted from 1
        line: usize,
        /// what is wrong
        error: MessageError,
    },
    /// Time runs backward.
    #[error("line {line}: \"at\" is {at}, before the line above ({before}); sort the lines")]
    Backward {
        /// counted from 1
        line: usize,
        /// its time
        at: f64,
        /// the time before
        before: f64,
    },
}

impl Recording {
    /// Reads the lines of a file; empty ones are skipped.
    pub fn parse(text: &str, known: &Vocabulary) -> Result<Self, RecordingError> {
        let mut messages: Vec<(f64, Vec<Step>)> = Vec::new();
        for (index, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            let line = index + 1;
            let message =
                Message::parse(text, known).map_err(|error| RecordingError::Line { line, error })?;
            let before = messages.last().map(|(at, _)| *at);
            let at = message.at.unwrap_or_else(|| before.map_or(0.0, |before| before + STEP));
            if let Some(before) = before.filter(|&before| at < before) {
                return Err(RecordingError::Backward { line, at, before });
            }
            messages.push((at, message.steps));
        }
        Ok(Self { messages, played: 0 })
    }

    /// What has come due since it was last asked, `seconds` after the start.
    pub fn due(&mut self, seconds: f64) -> Vec<Step> {
        let until = self.messages.partition_point(|(at, _)| *at <= seconds).max(self.played);
        let due = &self.messages[self.played..until];
        self.played = until;
        due.iter().flat_map(|(_, steps)| steps.iter().cloned()).collect()
    }

    /// When the next message comes, seconds after the start.
    pub fn next(&self) -> Option<f64> {
        self.messages.get(self.played).map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use eigenskin_characters::square_bar;

    use super::*;

    fn parse(text: &str) -> Result<Recording, RecordingError> {
        let known = Vocabulary { rig: square_bar().unwrap().rig, clips: vec![], examples: vec![] };
        Recording::parse(text, &known)
    }

    #[test]
    fn lines_come_when_they_are_due_and_once() {
        let text =
            "{\"reset\":true}\n\n{\"view\":\"heat\"}\n{\"at\":1,\"wireframe\":true}\n{\"quit\":true}\n";
        let mut recording = parse(text).unwrap();
        assert_eq!(recording.due(0.0), [Step::Reset]);
        assert!(recording.due(0.02).is_empty());
        assert_eq!(recording.next(), Some(STEP));
        assert_eq!(recording.due(1.01).len(), 2);
        assert_eq!(recording.due(f64::INFINITY), [Step::Quit]);
        assert!(recording.due(f64::INFINITY).is_empty() && recording.next().is_none());
    }

    #[test]
    fn errors_name_the_line() {
        let error = parse("{}\n{\"view\":\"heet\"}").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("heat"), "{error}");
        let error = parse("{\"at\":2}\n{\"at\":1}").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("before"), "{error}");
    }
}
