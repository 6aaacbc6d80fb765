//! Motion capture files (BVH): a skeleton by offsets, and channels per frame.
//!
//! At the *zero pose* all rotations are zero, so all joints have the axes of the world. Channels
//! apply in the order the file lists them: `world = parent · T · R1 · R2 · R3`, angles in degrees.
//! Position channels are the place itself, they replace the offset (as Blender and MotionBuilder
//! write them).

use std::path::Path;

use eigenskin_core::glam::{DQuat, DVec3};

use crate::whole_file;

/// A motion and the skeleton it was recorded on.
#[derive(Debug, Clone, PartialEq)]
pub struct Bvh {
    joints: Vec<BvhJoint>,
    /// seconds from frame to frame
    frame_time: f64,
    /// numbers per frame
    channel_count: usize,
    /// `frame × channel`
    values: Vec<f64>,
}

/// One joint of the file; parents come before children.
#[derive(Debug, Clone, PartialEq)]
pub struct BvhJoint {
    /// as the file has it
    pub name: String,
    /// the joint it hangs on; none for a root
    pub parent: Option<usize>,
    /// place relative to the parent at the zero pose
    pub offset: DVec3,
    /// what moves, in the order it applies
    channels: Vec<Channel>,
    /// where its numbers begin in a frame
    first_channel: usize,
}

/// Where the joints are at some time, all `joint`.
#[derive(Debug, Clone, PartialEq)]
pub struct BvhPose {
    /// rotation of the joint's axes, in the world; none at the zero pose
    pub rotations: Vec<DQuat>,
    /// in the world
    pub positions: Vec<DVec3>,
}

/// What can be wrong with a BVH file.
#[derive(Debug, thiserror::Error)]
pub enum BvhError {
    /// The operating system refused, or the file is no text.
    #[error("it cannot be read as text: {error}")]
    Io {
        /// what the system says
        error: std::io::Error,
    },
    /// Something else was expected.
    #[error("line {line}: {found} instead of {expected}; export the motion again")]
    Expected {
        /// counted from one
        line: usize,
        /// what belongs there
        expected: &'static str,
        /// what stands there
        found: String,
    },
    /// More than any character has.
    #[error("line {line}: more than {limit} {what}; give a file with one character")]
    TooMany {
        /// counted from one
        line: usize,
        /// what there is too much of
        what: &'static str,
        /// how many are read
        limit: usize,
    },
    /// Nothing that moves.
    #[error("the file has no {what}; export the motion again")]
    Empty {
        /// "joints", "channels" or "frames"
        what: &'static str,
    },
    /// The numbers do not fill the frames.
    #[error(
        "{announced} frames of {channels} numbers are announced, but there are {found} numbers; export the motion again"
    )]
    Length {
        /// frames according to the file
        announced: usize,
        /// numbers per frame
        channels: usize,
        /// numbers there are
        found: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Position(usize),
    Rotation(usize),
}

/// Bytes of one file at most.
const LARGEST_FILE: u64 = 1 << 28;
/// Joints of one file at most.
const MOST_JOINTS: usize = 10_000;
/// Larger numbers are no places and no angles.
const LARGEST_NUMBER: f64 = 1e9;

impl Bvh {
    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, BvhError> {
        let path = path.as_ref();
        let bytes = whole_file::read(path, LARGEST_FILE).map_err(|error| BvhError::Io { error })?;
        // Names in old encodings are no reason to refuse a motion.
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, BvhError> {
        let mut words = Words::new(text);
        let (joints, channel_count) = read_hierarchy(&mut words)?;
        words.keyword("MOTION", "MOTION")?;
        let frames = read_frame_count(&mut words)?;
        words.keyword("Frame", "Frame Time:")?;
        let frame_time = words.after_colon("Time:", "Frame Time:")?;
        if frame_time <= 0.0 {
            return Err(words.wrong("a frame time above zero", &frame_time.to_string()));
        }
        if channel_count == 0 {
            return Err(BvhError::Empty { what: "channels" });
        }
        let mut values = Vec::new();
        while words.peek().is_some() {
            values.push(words.number("a number of a frame")?);
        }
        if frames == 0 {
            return Err(BvhError::Empty { what: "frames" });
        }
        if frames.checked_mul(channel_count) != Some(values.len()) {
            let found = values.len();
            return Err(BvhError::Length { announced: frames, channels: channel_count, found });
        }
        Ok(Self { joints, frame_time, channel_count, values })
    }

    /// All joints, parents before children.
    pub fn joints(&self) -> &[BvhJoint] {
        &self.joints
    }

    /// Number of frames, at least one.
    pub fn frame_count(&self) -> usize {
        self.values.len() / self.channel_count
    }

    /// Seconds from frame to frame.
    pub fn frame_time(&self) -> f64 {
        self.frame_time
    }

    /// Where the joints are when all rotations are zero, `joint`; roots at their offsets.
    pub fn zero_positions(&self) -> Vec<DVec3> {
        let mut positions: Vec<DVec3> = Vec::with_capacity(self.joints.len());
        for joint in &self.joints {
            let parent = joint.parent.map_or(DVec3::ZERO, |parent| positions[parent]);
            positions.push(parent + joint.offset);
        }
        positions
    }

    /// The pose at a time in seconds: frame n is at n · frame time; in between each joint turns the
    /// short way from frame to frame. It stands still before the first and after the last.
    pub fn pose_at(&self, time: f64) -> BvhPose {
        let last = self.frame_count() - 1;
        let at = (time / self.frame_time).clamp(0.0, last as f64);
        // A time that is a frame up to rounding is that frame.
        let at = if (at - at.round()).abs() < 1e-6 { at.round() } else { at };
        let (before, share) = (at.floor() as usize, at.fract());
        let after = (before + 1).min(last);
        let mut pose = BvhPose { rotations: Vec::new(), positions: Vec::new() };
        for joint in &self.joints {
            let (place, turn) = self.local(joint, before);
            let (next_place, next_turn) = self.local(joint, after);
            let place = place.lerp(next_place, share);
            let turn = if share == 0.0 { turn } else { turn.slerp(next_turn, share) };
            let (position, rotation) = match joint.parent {
                Some(parent) => {
                    let axes = pose.rotations[parent];
                    (pose.positions[parent] + axes * place, (axes * turn).normalize())
                }
                None => (place, turn),
            };
            pose.positions.push(position);
            pose.rotations.push(rotation);
        }
        pose
    }

    /// Place and rotation relative to the parent.
    fn local(&self, joint: &BvhJoint, frame: usize) -> (DVec3, DQuat) {
        let first = frame * self.channel_count + joint.first_channel;
        let mut place = joint.offset;
        let mut turn = DQuat::IDENTITY;
        for (channel, &value) in joint.channels.iter().zip(&self.values[first..]) {
            match *channel {
                Channel::Position(axis) => place[axis] = value,
                Channel::Rotation(axis) => {
                    turn *= DQuat::from_axis_angle(DVec3::AXES[axis], value.to_radians());
                }
            }
        }
        (place, turn)
    }
}

fn read_hierarchy(words: &mut Words) -> Result<(Vec<BvhJoint>, usize), BvhError> {
    words.keyword("HIERARCHY", "HIERARCHY")?;
    let mut joints: Vec<BvhJoint> = Vec::new();
    // Joints whose brace is open, the innermost last.
    let mut open: Vec<usize> = Vec::new();
    let mut channel_count = 0;
    loop {
        let Some((_, word)) = words.peek() else {
            return if joints.is_empty() {
                Err(BvhError::Empty { what: "joints" })
            } else {
                Err(words.wrong("MOTION or }", "the end of the file"))
            };
        };
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        match open.last().copied() {
            None if is("MOTION") && !joints.is_empty() => return Ok((joints, channel_count)),
            None if is("ROOT") => read_joint(words, &mut joints, &mut open, &mut channel_count)?,
            None => return Err(words.unexpected("ROOT, or MOTION after the last root")),
            Some(_) if is("JOINT") => read_joint(words, &mut joints, &mut open, &mut channel_count)?,
            Some(_) if is("End") => skip_end_site(words)?,
            Some(_) if word == "}" => {
                words.next();
                open.pop();
            }
            Some(_) => return Err(words.unexpected("JOINT, End Site or }")),
        }
    }
}

/// ROOT or JOINT up to its channels.
fn read_joint(
    words: &mut Words,
    joints: &mut Vec<BvhJoint>,
    open: &mut Vec<usize>,
    channel_count: &mut usize,
) -> Result<(), BvhError> {
    words.next();
    if joints.len() == MOST_JOINTS {
        return Err(BvhError::TooMany { line: words.line, what: "joints", limit: MOST_JOINTS });
    }
    let name = words.rest_of_line();
    if name.is_empty() {
        return Err(words.unexpected("the name of a joint"));
    }
    words.keyword("{", "{")?;
    let offset = words.offset()?;
    let mut channels = Vec::new();
    if words.peek().is_some_and(|(_, word)| word.eq_ignore_ascii_case("CHANNELS")) {
        words.next();
        let count = words.count("the number of channels")?;
        if count > 6 {
            return Err(words.wrong("at most 6 channels", &count.to_string()));
        }
        for _ in 0..count {
            channels.push(words.channel()?);
        }
    }
    let first_channel = *channel_count;
    *channel_count += channels.len();
    joints.push(BvhJoint { name, parent: open.last().copied(), offset, channels, first_channel });
    open.push(joints.len() - 1);
    Ok(())
}

fn skip_end_site(words: &mut Words) -> Result<(), BvhError> {
    words.next();
    words.keyword("Site", "End Site")?;
    words.rest_of_line();
    words.keyword("{", "{")?;
    words.offset()?;
    words.keyword("}", "}")
}

fn read_frame_count(words: &mut Words) -> Result<usize, BvhError> {
    let frames = words.after_colon("Frames:", "Frames:")?;
    if frames < 0.0 || frames.fract() != 0.0 {
        return Err(words.wrong("a whole number of frames", &frames.to_string()));
    }
    Ok(frames as usize)
}

/// Words of a text, with the line each stands in.
struct Words<'a> {
    words: std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'a str)> + 'a>>,
    /// of the last word taken
    line: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        // Some programs begin text with an invisible mark.
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let words: Box<dyn Iterator<Item = (usize, &'a str)> + 'a> = Box::new(
            lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line + 1, word))),
        );
        Self { words: words.peekable(), line: 1 }
    }

    fn peek(&mut self) -> Option<(usize, &'a str)> {
        self.words.peek().copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let (line, word) = self.words.next()?;
        self.line = line;
        Some(word)
    }

    /// The words before the end of the line or a brace.
    fn rest_of_line(&mut self) -> String {
        let mut rest = Vec::new();
        while let Some((line, word)) = self.peek() {
            if line != self.line || word == "{" {
                break;
            }
            rest.push(word);
            self.next();
        }
        rest.join(" ")
    }

    fn keyword(&mut self, keyword: &str, expected: &'static str) -> Result<(), BvhError> {
        match self.peek() {
            Some((_, word)) if word.eq_ignore_ascii_case(keyword) => {
                self.next();
                Ok(())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn number(&mut self, expected: &'static str) -> Result<f64, BvhError> {
        let number = self.peek().and_then(|(_, word)| word.parse::<f64>().ok());
        match number.filter(|number| number.abs() < LARGEST_NUMBER) {
            Some(number) => {
                self.next();
                Ok(number)
            }
            None => Err(self.unexpected(expected)),
        }
    }

    fn count(&mut self, expected: &'static str) -> Result<usize, BvhError> {
        match self.peek().and_then(|(_, word)| word.parse().ok()) {
            Some(count) => {
                self.next();
                Ok(count)
            }
            None => Err(self.unexpected(expected)),
        }
    }

    /// The number after "Frames:", with or without space in between.
    fn after_colon(&mut self, keyword: &str, expected: &'static str) -> Result<f64, BvhError> {
        let Some((_, word)) = self.peek() else { return Err(self.unexpected(expected)) };
        let fits = word.get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword));
        if !fits {
            return Err(self.unexpected(expected));
        }
        if word.len() == keyword.len() {
            self.next();
            return self.number(expected);
        }
        let number = word[keyword.len()..].parse::<f64>().ok().filter(|n| n.abs() < LARGEST_NUMBER);
        let number = number.ok_or_else(|| self.unexpected(expected))?;
        self.next();
        Ok(number)
    }

    fn offset(&mut self) -> Result<DVec3, BvhError> {
        self.keyword("OFFSET", "OFFSET")?;
        let mut offset = DVec3::ZERO;
        for axis in 0..3 {
            offset[axis] = self.number("three numbers of an offset")?;
        }
        Ok(offset)
    }

    fn channel(&mut self) -> Result<Channel, BvhError> {
        let word = self.peek().map_or(String::new(), |(_, word)| word.to_ascii_lowercase());
        let axis = match word.bytes().next() {
            Some(b'x') => 0,
            Some(b'y') => 1,
            Some(b'z') => 2,
            _ => return Err(self.unexpected("a channel such as Zrotation")),
        };
        let channel = match &word[1..] {
            "position" => Channel::Position(axis),
            "rotation" => Channel::Rotation(axis),
            _ => return Err(self.unexpected("a channel such as Zrotation")),
        };
        self.next();
        Ok(channel)
    }

    /// An error about the next word.
    fn unexpected(&mut self, expected: &'static str) -> BvhError {
        match self.peek() {
            Some((line, word)) => {
                // A binary file has very long words.
                let found = format!("{:?}", word.chars().take(40).collect::<String>());
                BvhError::Expected { line, expected, found }
            }
            None => self.wrong(expected, "the end of the file"),
        }
    }

    /// An error about the last word.
    fn wrong(&self, expected: &'static str, found: &str) -> BvhError {
        BvhError::Expected { line: self.line, expected, found: found.into() }
    }
}
