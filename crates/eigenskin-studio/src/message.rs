//! Messages of the pose stream: JSON objects of a few fields, checked against the rig.

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, DVec4};
use eigenskin_core::nearest_name;
use eigenskin_core::rig::Rig;
use serde_json::{Map, Value};

/// What the names in messages can be.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// joints and controls
    pub rig: Arc<Rig>,
    /// clips of the file, and how long they last in seconds
    pub clips: Vec<(String, f64)>,
    /// poses of the true shapes
    pub examples: Vec<String>,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// seconds since the start of a recording
    pub at: Option<f64>,
    /// what to do, in this order
    pub steps: Vec<Step>,
}

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// back to rest
    Reset,
    /// show a clip: at a time, or playing from its start
    Clip {
        /// its index
        clip: usize,
        /// seconds; the clip then stands still
        time: Option<f64>,
    },
    /// go to a time of the clip that is shown, and freeze
    Time(f64),
    /// take the pose of a true shape
    Example(usize),
    /// where all joints are, `joint`
    World(Vec<DAffine3>),
    /// rotations away from rest
    Joints(Vec<(usize, DQuat)>),
    /// values of controls
    Controls(Vec<(usize, f64)>),
    /// what to show
    View(Shown),
    /// lines along the edges
    Wireframe(bool),
    /// angles in degrees, and zoom
    Camera {
        /// around the vertical
        yaw: Option<f64>,
        /// above the horizon
        pitch: Option<f64>,
        /// 1 fills the view
        zoom: Option<f64>,
    },
    /// look at the whole character
    Frame,
    /// show or hide the panel
    Panel(bool),
    /// write a picture of the window
    Screenshot(PathBuf),
    /// close the window
    Quit,
}

/// What is shown of the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// the model: skinning and corrections
    Model,
    /// plain skinning
    Skinning,
    /// the true shape
    Truth,
    /// distances as colours
    Heat,
}

/// Why a message cannot be followed. Nothing of it is done then.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MessageError {
    /// Not JSON.
    #[error("the message is not JSON: {problem}")]
    NotJson {
        /// what the parser says
        problem: String,
    },
    /// A list, a number, a text.
    #[error(
        "the message is no JSON object; send one such as {{\"joints\": {{\"elbow\": [0, 0, 0.38, 0.92]}}}}"
    )]
    NoObject,
    /// A field that means nothing.
    #[error("there is no field {field:?}{hint}")]
    UnknownField {
        /// the field
        field: String,
        /// what may have been meant
        hint: String,
    },
    /// A name that is not there.
    #[error("there is no {what} {name:?}{hint}")]
    UnknownName {
        /// joint, control, clip, pose or view
        what: &'static str,
        /// the name
        name: String,
        /// what may have been meant
        hint: String,
    },
    /// A value of another form.
    #[error("{place} must be {form}")]
    Form {
        /// field and name
        place: String,
        /// what it takes
        form: String,
    },
}

const FIELDS: [&str; 15] = [
    "at",
    "reset",
    "clip",
    "time",
    "example",
    "world_from_joint",
    "joints",
    "controls",
    "view",
    "wireframe",
    "camera",
    "frame",
    "panel",
    "screenshot",
    "quit",
];

/// Largest number in a message: what is larger cannot be meant, and its square must be finite.
const LARGEST: f64 = 1e9;

impl Shown {
    /// All of them, with their names in messages.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Model, "model"), (Self::Skinning, "skinning"), (Self::Truth, "truth"), (Self::Heat, "heat")];
}

impl Message {
    /// Reads one message.
    pub fn parse(text: &str, known: &Vocabulary) -> Result<Self, MessageError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| MessageError::NotJson { problem: error.to_string() })?;
        let Value::Object(fields) = value else { return Err(MessageError::NoObject) };
        if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            let hint = nearest_name::hint(field, FIELDS.into_iter());
            let hint = if hint.is_empty() { format!("; there are {}", FIELDS.join(", ")) } else { hint };
            return Err(MessageError::UnknownField { field: field.clone(), hint });
        }
        let reader = Reader { fields: &fields, known };
        Ok(Self { at: reader.number("at")?, steps: reader.steps()? })
    }
}

struct Reader<'a> {
    fields: &'a Map<String, Value>,
    known: &'a Vocabulary,
}

impl Reader<'_> {
    fn steps(&self) -> Result<Vec<Step>, MessageError> {
        let mut steps = Vec::new();
        steps.extend(self.flag("reset")?.filter(|&on| on).map(|_| Step::Reset));
        let time = self.number("time")?;
        if let Some(name) = self.text("clip")? {
            let clip = index("clip", name, self.known.clips.iter().map(|(name, _)| name.as_str()))?;
            steps.push(Step::Clip { clip, time });
        } else if let Some(time) = time {
            if self.known.clips.is_empty() {
                return Err(form("time", "left out: the file has no clips"));
            }
            steps.push(Step::Time(time));
        }
        if let Some(name) = self.text("example")? {
            let names = self.known.examples.iter().map(String::as_str);
            steps.push(Step::Example(index("pose of a true shape", name, names)?));
        }
        steps.extend(self.world()?);
        steps.extend(self.joints()?);
        steps.extend(self.controls()?);
        if let Some(name) = self.text("view")? {
            let view = index("view", name, Shown::ALL.into_iter().map(|(_, name)| name))?;
            let view = Shown::ALL[view].0;
            if view == Shown::Truth && self.known.examples.is_empty() {
                return Err(form("view", "another: there is no truth; start with --truth FILE.glb"));
            }
            steps.push(Step::View(view));
        }
        steps.extend(self.flag("wireframe")?.map(Step::Wireframe));
        steps.extend(self.camera()?);
        steps.extend(self.flag("frame")?.filter(|&on| on).map(|_| Step::Frame));
        steps.extend(self.flag("panel")?.map(Step::Panel));
        if let Some(path) = self.text("screenshot")? {
            let path = PathBuf::from(path);
            if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
                return Err(form("screenshot", "the name of a .png file"));
            }
            steps.push(Step::Screenshot(path));
        }
        steps.extend(self.flag("quit")?.filter(|&on| on).map(|_| Step::Quit));
        Ok(steps)
    }

    fn world(&self) -> Result<Option<Step>, MessageError> {
        let Some(value) = self.fields.get("world_from_joint") else { return Ok(None) };
        let count = self.known.rig.skeleton().joint_count();
        let Some(list) = value.as_array().filter(|list| list.len() == count) else {
            return Err(form("world_from_joint", format!("a list of {count} matrices, one per joint")));
        };
        let matrices = list.iter().enumerate().map(|(joint, value)| {
            let name = &self.known.rig.skeleton().joints()[joint].name;
            let place = format!("world_from_joint[{joint}] ({name:?})");
            let m: [f64; 16] = numbers(value).ok_or_else(|| form(&place, "16 numbers, column by column"))?;
            let column = |first: usize| DVec4::from_slice(&m[first..first + 4]);
            let [x, y, z, at] = [0, 4, 8, 12].map(column);
            let last = DVec4::new(x.w, y.w, z.w, at.w);
            if last.distance(DVec4::W) > 1e-6 {
                return Err(form(&place, "a matrix whose last row is 0 0 0 1, column by column"));
            }
            let matrix3 = DMat3::from_cols(x.truncate(), y.truncate(), z.truncate());
            if matrix3.determinant().abs() < 1e-30 {
                return Err(form(&place, "a matrix that keeps three dimensions"));
            }
            Ok(DAffine3 { matrix3, translation: at.truncate() })
        });
        Ok(Some(Step::World(matrices.collect::<Result<_, _>>()?)))
    }

    fn joints(&self) -> Result<Option<Step>, MessageError> {
        let Some(entries) = self.object("joints", "an object of joint names and quaternions")? else {
            return Ok(None);
        };
        let skeleton = self.known.rig.skeleton();
        let rotations = entries.iter().map(|(name, value)| {
            let joint = index("joint", name, skeleton.joints().iter().map(|joint| joint.name.as_str()))?;
            let place = format!("joints[{name:?}]");
            let parts: [f64; 4] = numbers(value).ok_or_else(|| form(&place, "a quaternion [x, y, z, w]"))?;
            let quaternion = DQuat::from_array(parts);
            if quaternion.length() < 1e-6 {
                return Err(form(&place, "a quaternion [x, y, z, w] that is not zero"));
            }
            Ok((joint, quaternion.normalize()))
        });
        Ok(Some(Step::Joints(rotations.collect::<Result<_, _>>()?)))
    }

    fn controls(&self) -> Result<Option<Step>, MessageError> {
        let Some(entries) = self.object("controls", "an object of control names and numbers")? else {
            return Ok(None);
        };
        let controls = self.known.rig.controls();
        let values = entries.iter().map(|(name, value)| {
            let control = index("control", name, controls.iter().map(|control| control.name.as_str()))?;
            let value = number(value).ok_or_else(|| form(format!("controls[{name:?}]"), "a number"))?;
            Ok((control, value))
        });
        Ok(Some(Step::Controls(values.collect::<Result<_, _>>()?)))
    }

    fn camera(&self) -> Result<Option<Step>, MessageError> {
        let wanted = "an object of yaw, pitch (degrees) and zoom";
        let Some(entries) = self.object("camera", wanted)? else { return Ok(None) };
        let mut found = [None; 3];
        for (name, value) in entries {
            let place = index("part of the camera", name, ["yaw", "pitch", "zoom"].into_iter())?;
            found[place] = Some(number(value).ok_or_else(|| form(format!("camera[{name:?}]"), "a number"))?);
        }
        let [yaw, pitch, zoom] = found;
        Ok(Some(Step::Camera { yaw, pitch, zoom }))
    }

    fn flag(&self, field: &str) -> Result<Option<bool>, MessageError> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| form(field, "true or false"))
    }

    fn number(&self, field: &str) -> Result<Option<f64>, MessageError> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        number(value).filter(|&x| x >= 0.0).map(Some).ok_or_else(|| form(field, "a number of seconds"))
    }

    fn text(&self, field: &str) -> Result<Option<&str>, MessageError> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| form(field, "a text"))
    }

    fn object(&self, field: &str, wanted: &str) -> Result<Option<&Map<String, Value>>, MessageError> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        value.as_object().map(Some).ok_or_else(|| form(field, wanted))
    }
}

/// The place of a name among those that are known.
fn index<'n>(
    what: &'static str,
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, MessageError> {
    names.clone().position(|known| known == name).ok_or_else(|| {
        let mut hint = nearest_name::hint(name, names.clone());
        let few: Vec<&str> = names.take(12).collect();
        if hint.is_empty() && !few.is_empty() {
            hint = format!("; there are {}", few.join(", "));
        }
        MessageError::UnknownName { what, name: name.to_string(), hint }
    })
}

fn form(place: impl Into<String>, form: impl Into<String>) -> MessageError {
    MessageError::Form { place: place.into(), form: form.into() }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|x| x.is_finite() && x.abs() <= LARGEST)
}

fn numbers<const N: usize>(value: &Value) -> Option<[f64; N]> {
    let list = value.as_array()?;
    let mut found = [0.0; N];
    if list.len() != N {
        return None;
    }
    for (to, value) in found.iter_mut().zip(list) {
        *to = number(value)?;
    }
    Some(found)
}

/// A pose's joints as the numbers of a message, column by column.
pub fn matrix_numbers(world_from_joint: &DAffine3) -> [f64; 16] {
    let [x, y, z] = [0, 1, 2].map(|axis| world_from_joint.matrix3.col(axis));
    let t: DVec3 = world_from_joint.translation;
    [x.x, x.y, x.z, 0.0, y.x, y.y, y.z, 0.0, z.x, z.y, z.z, 0.0, t.x, t.y, t.z, 1.0]
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
