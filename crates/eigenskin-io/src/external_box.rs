//! A black box in another process (docs/use/deformers.md): started once, asked by a line of JSON and the
//! points, answered likewise.
//!
//! Three threads keep the pipes flowing, so that a program that hangs can be given up on. Whatever
//! goes wrong ends the program, and becomes one sentence that names it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use serde_json::{Value, json};

/// The protocol's version.
pub const PROTOCOL: u32 = 1;

/// How to start a program, and how long to wait for each of its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalCommand {
    /// the program and its arguments, at least the program
    pub words: Vec<String>,
    /// for each answer
    pub timeout: Duration,
}

/// A running program.
pub struct ExternalBox {
    command: ExternalCommand,
    rig: Arc<Rig>,
    calls: u64,
    /// none after it was stopped
    running: Option<Running>,
    /// why it was stopped
    failure: String,
}

impl ExternalBox {
    /// Starts the program, tells it the character and waits until it is ready.
    pub fn start(command: &ExternalCommand, rig: &Arc<Rig>) -> Result<Self, BlackBoxError> {
        let running = Running::start(command, rig.vertex_count()).map_err(|error| {
            BlackBoxError::Failed(format!("{} cannot be started: {error}", shown(command)))
        })?;
        let mut started = Self {
            command: command.clone(),
            rig: rig.clone(),
            calls: 0,
            running: Some(running),
            failure: String::new(),
        };
        match started.ask(line_of(&header(rig)), "the description of the character")? {
            Answer::Ready => Ok(started),
            Answer::Refused(error) => Err(started.fail(&format!("refused the character: {error}"))),
            _ => Err(started.fail("sent points before it was asked for any")),
        }
    }

    /// Sends a message and waits for what comes back.
    fn ask(&mut self, message: Vec<u8>, what: &str) -> Result<Answer, BlackBoxError> {
        let timeout = self.command.timeout;
        let Some(running) = &self.running else {
            return Err(BlackBoxError::Failed(self.failure.clone()));
        };
        // A program that no longer listens is noticed by its silence.
        if let Some(to_program) = &running.to_program {
            let _ = to_program.send(message);
        }
        match running.answers.recv_timeout(timeout) {
            Ok(Answer::Nonsense(problem)) => Err(self.fail(&problem)),
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Disconnected) => Err(self.fail_by_death(what)),
            Err(RecvTimeoutError::Timeout) => {
                Err(self.fail(&format!("did not answer {what} within {} s", timeout.as_secs_f64())))
            }
        }
    }

    /// Stops the program and says why.
    fn fail(&mut self, problem: &str) -> BlackBoxError {
        let last_words = self.running.take().map_or(String::new(), |running| running.stop(false).1);
        self.failure = format!("{} {problem}; it was stopped{last_words}", shown(&self.command));
        BlackBoxError::Failed(self.failure.clone())
    }

    fn fail_by_death(&mut self, what: &str) -> BlackBoxError {
        let stopped = self.running.take().map(|running| running.stop(true));
        let (status, last_words) = stopped.unwrap_or((None, String::new()));
        let how = status.map_or("closed its output".into(), |status| format!("ended ({status})"));
        self.failure = format!("{} {how} before it answered {what}{last_words}", shown(&self.command));
        BlackBoxError::Failed(self.failure.clone())
    }
}

impl BlackBox for ExternalBox {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        let expected = self.rig.vertex_count();
        if let Some(found) = [near_rest.len(), posed.len()].into_iter().find(|&found| found != expected) {
            return Err(BlackBoxError::VertexCount { found, expected });
        }
        self.calls += 1;
        let joints: Vec<_> = pose.posed_from_rest(self.rig.skeleton()).map(rows_of).collect();
        let mut message = line_of(&json!({
            "call": self.calls,
            "vertices": expected,
            "posed_from_rest": joints,
            "controls": pose.controls,
        }));
        message.extend(near_rest.iter().flat_map(DVec3::to_array).flat_map(f64::to_le_bytes));
        match self.ask(message, &format!("call {}", self.calls))? {
            Answer::Points(points) => posed.copy_from_slice(&points),
            // It can still answer for other poses.
            Answer::Refused(error) => {
                let problem = format!("{} says of call {}: {error}", shown(&self.command), self.calls);
                return Err(BlackBoxError::Failed(problem));
            }
            _ => return Err(self.fail("gave no points")),
        }
        match posed.iter().position(|p| !p.is_finite()) {
            Some(vertex) => {
                Err(self.fail(&format!("put vertex {vertex} at a place that is not a finite number")))
            }
            None => Ok(()),
        }
    }
}

/// The program with its arguments as a message names it: one line, not too long.
fn shown(command: &ExternalCommand) -> String {
    let line = command.words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(LONGEST_SHOWN).collect();
    let cut = if short.len() < line.len() { "…" } else { "" };
    format!("the external program `{short}{cut}`")
}

/// Letters of a command in messages.
const LONGEST_SHOWN: usize = 160;

/// What the program is told first.
fn header(rig: &Rig) -> Value {
    let joints: Vec<Value> = rig
        .skeleton()
        .joints()
        .iter()
        .zip(rig.skeleton().rest_from_joint())
        .map(|(joint, &rest)| json!({"name": joint.name, "parent": joint.parent, "rest_from_joint": rows_of(rest)}))
        .collect();
    let controls: Vec<Value> =
        rig.controls().iter().map(|c| json!({"name": c.name, "default": c.default})).collect();
    let weights: Vec<Vec<(u32, f32)>> = (0..rig.vertex_count())
        .map(|vertex| rig.weights().of(vertex).iter().map(|i| (i.joint, i.weight)).collect())
        .collect();
    let rest: Vec<[f32; 3]> = rig.mesh().positions().iter().map(Vec3::to_array).collect();
    json!({
        "eigenskin": "black box",
        "protocol": PROTOCOL,
        "vertices": rig.vertex_count(),
        "joints": joints,
        "controls": controls,
        "triangles": rig.mesh().triangles(),
        "rest": rest,
        "weights": weights,
    })
}

fn line_of(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Rows of a 3 × 4 matrix on column vectors.
fn rows_of(transform: DAffine3) -> [[f64; 4]; 3] {
    let rows = transform.matrix3.transpose();
    let t = transform.translation;
    [rows.x_axis.extend(t.x), rows.y_axis.extend(t.y), rows.z_axis.extend(t.z)].map(|row| row.to_array())
}

/// What came from the program.
enum Answer {
    /// it has read the character
    Ready,
    /// `vertex`
    Points(Vec<DVec3>),
    /// its own error message
    Refused(String),
    /// what it did instead of answering
    Nonsense(String),
}

struct Running {
    child: Child,
    /// none once it is told to end
    to_program: Option<Sender<Vec<u8>>>,
    answers: Receiver<Answer>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    listens_to_errors: JoinHandle<()>,
}

/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// Lines of its error output that are kept for messages.
const LAST_LINES: usize = 3;
/// Bytes of a line that are looked at.
const LONGEST_LINE: u64 = 65_536;

impl Running {
    fn start(command: &ExternalCommand, vertex_count: usize) -> std::io::Result<Self> {
        let (program, arguments) = command.words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut starter = Command::new(program);
        starter.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what it starts can be stopped with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut starter, 0);
        let mut child = starter.spawn()?;
        let (to_program, messages) = channel::<Vec<u8>>();
        let (to_us, answers) = channel();
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(mut stdin) = child.stdin.take() {
            std::thread::spawn(move || {
                for message in messages {
                    if stdin.write_all(&message).and_then(|()| stdin.flush()).is_err() {
                        break;
                    }
                }
            });
        }
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || read_answers(stdout, vertex_count, &to_us));
        }
        let (stderr, kept) = (child.stderr.take(), last_lines.clone());
        let listens_to_errors = std::thread::spawn(move || {
            if let Some(stderr) = stderr {
                keep_last_lines(BufReader::new(stderr), &kept);
            }
        });
        Ok(Self { child, to_program: Some(to_program), answers, last_lines, listens_to_errors })
    }

    /// Ends the program and gives its last words. One that `is_ending` by itself gets a moment for
    /// that: its exit status tells why.
    fn stop(mut self, is_ending: bool) -> (Option<ExitStatus>, String) {
        self.to_program = None;
        let status = if is_ending { self.wait(GRACE) } else { None };
        if status.is_none() {
            self.kill();
        }
        let patience = Instant::now() + GRACE / 5;
        while !self.listens_to_errors.is_finished() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
        let lines = self.last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let last_words =
            if said.is_empty() { String::new() } else { format!("; its last words: {}", said.join(" / ")) };
        (status, last_words)
    }

    /// Its exit status, if it ends in time.
    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }

    /// Ends it and what it started, and waits until it is gone.
    fn kill(&mut self) {
        let id = self.child.id();
        let mut end_all = if cfg!(windows) {
            let mut command = Command::new("taskkill");
            command.args(["/F", "/T", "/PID", &id.to_string()]);
            command
        } else {
            let mut command = Command::new("kill");
            command.args(["-KILL", "--", &format!("-{id}")]);
            command
        };
        // Where there is no such command, the program itself still ends.
        let _ = end_all.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its input ends, which tells it to end.
        self.to_program = None;
        if matches!(self.child.try_wait(), Ok(None)) && self.wait(GRACE).is_none() {
            self.kill();
        }
    }
}

impl std::fmt::Debug for ExternalBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalBox")
            .field("command", &self.command)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

fn read_answers(stdout: ChildStdout, vertex_count: usize, to_us: &Sender<Answer>) {
    let mut stdout = BufReader::new(stdout);
    let mut first = true;
    let mut line = Vec::new();
    // The end of its output is told by hanging up.
    while next_line(&mut stdout, &mut line) {
        let answer = answer_of(&line, &mut stdout, vertex_count, first);
        first = false;
        let last = matches!(answer, Answer::Nonsense(_));
        if to_us.send(answer).is_err() || last {
            return;
        }
    }
}

/// Reads a line, or the first part of a long one; whether there was any.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    from.by_ref().take(LONGEST_LINE).read_until(b'\n', line).is_ok_and(|bytes| bytes > 0)
}

/// The answer that starts with `line`; its points follow in `stdout`.
fn answer_of(line: &[u8], stdout: &mut impl Read, vertex_count: usize, first: bool) -> Answer {
    let Ok(Value::Object(answer)) = serde_json::from_slice(line) else {
        let text: String = String::from_utf8_lossy(line).trim_end().chars().take(60).collect();
        return Answer::Nonsense(format!(
            "answered {text:?}, which is no line of JSON (messages for people belong on the error output)"
        ));
    };
    if let Some(error) = answer.get("error") {
        return Answer::Refused(error.as_str().map_or_else(|| error.to_string(), str::to_string));
    }
    if answer.get("ok") != Some(&Value::Bool(true)) {
        return Answer::Nonsense("answered without \"ok\": true or an \"error\"".into());
    }
    if first {
        return Answer::Ready;
    }
    match answer.get("vertices").and_then(Value::as_u64) {
        Some(found) if found == vertex_count as u64 => {}
        Some(found) => {
            return Answer::Nonsense(format!(
                "moved {found} vertices where the character has {vertex_count}"
            ));
        }
        None => return Answer::Nonsense("did not say how many \"vertices\" it moved".into()),
    }
    let mut bytes = vec![0; 24 * vertex_count];
    if stdout.read_exact(&mut bytes).is_err() {
        return Answer::Nonsense("ended in the middle of its points".into());
    }
    let number = |bytes: &[u8]| f64::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
    let point = |b: &[u8]| DVec3::new(number(&b[..8]), number(&b[8..16]), number(&b[16..]));
    Answer::Points(bytes.chunks_exact(24).map(point).collect())
}

fn keep_last_lines(mut stderr: impl BufRead, kept: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    while next_line(&mut stderr, &mut line) {
        let text: String = String::from_utf8_lossy(&line).chars().take(300).collect();
        if !text.trim().is_empty() {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(text);
            if kept.len() > LAST_LINES {
                kept.pop_front();
            }
        }
    }
}
