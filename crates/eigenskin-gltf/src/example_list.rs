//! An example set as it is edited: order is kept, muted examples stay in the file.

use std::collections::BTreeSet;

use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::nearest_name;

use crate::simulation_record::SimulationRecord;

/// Examples with what else their file says of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleList {
    /// all of them, muted ones too
    pub set: ExampleSet,
    /// names of those that are kept but not learnt from
    pub muted: BTreeSet<String>,
    /// how they were simulated, those that were
    pub simulation: Option<SimulationRecord>,
}

/// Why examples cannot be edited so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EditError {
    /// No example of that name.
    #[error("there is no example {name:?}{hint}")]
    Unknown {
        /// the name given
        name: String,
        /// what may have been meant, or what there is
        hint: String,
    },
    /// A name that another example has.
    #[error("there is an example {name:?} already; choose another name, or replace it")]
    Taken {
        /// the name
        name: String,
    },
    /// The same pose with the same shape.
    #[error("example {name:?} has the pose and the shape of {twin:?}, so it says nothing new")]
    Repeats {
        /// the new example
        name: String,
        /// the one there was
        twin: String,
    },
    /// Rest is known.
    #[error(
        "example {name:?} is the rest shape in the rest pose, so it says nothing new; give the pose it was sculpted in"
    )]
    IsRest {
        /// the new example
        name: String,
    },
    /// The last one.
    #[error("no example would be left; remove the file instead, or mute the examples")]
    NothingLeft,
    /// The examples were refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

impl ExampleList {
    /// A set, nothing muted.
    pub fn new(set: ExampleSet) -> Self {
        Self { set, muted: BTreeSet::new(), simulation: None }
    }

    /// The place of an example.
    pub fn find(&self, name: &str) -> Result<usize, EditError> {
        let names = || self.set.examples().iter().map(|example| example.name.as_str());
        names().position(|known| known == name).ok_or_else(|| {
            let hint = match nearest_name::nearest(name, names()) {
                Some(near) => format!("; did you mean {near:?}?"),
                None => format!("; there are {}", few(names())),
            };
            EditError::Unknown { name: name.to_string(), hint }
        })
    }

    /// Whether an example is muted.
    pub fn is_muted(&self, name: &str) -> bool {
        self.muted.contains(name)
    }

    /// Adds an example at the end. It must say something new: a pose of its own, other than rest.
    pub fn add(&mut self, example: Example) -> Result<(), EditError> {
        if self.set.examples().iter().any(|known| known.name == example.name) {
            return Err(EditError::Taken { name: example.name });
        }
        self.check_news(&example)?;
        let mut examples = self.set.examples().to_vec();
        examples.push(example);
        self.put(examples)
    }

    /// Puts an example in the place of the one of that name, which it takes over. It stays muted if
    /// it was.
    pub fn replace(&mut self, name: &str, example: Example) -> Result<(), EditError> {
        let place = self.find(name)?;
        let example = Example { name: name.to_string(), ..example };
        self.check_news(&example)?;
        let mut examples = self.set.examples().to_vec();
        examples[place] = example;
        self.put(examples)?;
        self.forget_simulation(name);
        Ok(())
    }

    /// Gives an example another name, which must be free.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), EditError> {
        let place = self.find(from)?;
        let mut examples = self.set.examples().to_vec();
        if examples.iter().enumerate().any(|(index, example)| index != place && example.name == to) {
            return Err(EditError::Taken { name: to.to_string() });
        }
        examples[place].name = to.to_string();
        self.put(examples)?;
        if self.muted.remove(from) {
            self.muted.insert(to.to_string());
        }
        let poses = self.simulation.iter_mut().flat_map(|record| &mut record.poses);
        for pose in poses.filter(|pose| pose.name == from) {
            pose.name = to.to_string();
        }
        Ok(())
    }

    /// Takes examples out.
    pub fn delete(&mut self, names: &[String]) -> Result<(), EditError> {
        let places = names.iter().map(|name| self.find(name)).collect::<Result<BTreeSet<usize>, _>>()?;
        if places.len() == self.set.len() {
            return Err(EditError::NothingLeft);
        }
        let examples = self.set.examples().iter().enumerate();
        let left = examples.filter(|(place, _)| !places.contains(place)).map(|(_, e)| e.clone()).collect();
        self.put(left)?;
        for name in names {
            self.muted.remove(name);
            self.forget_simulation(name);
        }
        Ok(())
    }

    /// Mutes examples, or lets them be learnt from again.
    pub fn set_muted(&mut self, names: &[String], muted: bool) -> Result<(), EditError> {
        for name in names {
            let place = self.find(name)?;
            if muted {
                self.muted.insert(name.clone());
            } else if self.muted.contains(name) {
                self.check_news(&self.set.examples()[place])?;
                self.muted.remove(name);
            }
        }
        Ok(())
    }

    /// Checks that an example has a pose of its own among those that are not muted.
    pub fn check_news(&self, example: &Example) -> Result<(), EditError> {
        let name = || example.name.clone();
        let rig = self.set.rig();
        let others = self.set.examples().iter();
        let others: Vec<&Example> =
            others.filter(|other| other.name != example.name && !self.is_muted(&other.name)).collect();
        let (alone, _) = match ExampleSet::new(rig.clone(), vec![example.clone()])?.for_training(false) {
            // Without any example that is not at rest the set would be empty.
            Err(ExamplesError::Empty) => return Err(EditError::IsRest { name: name() }),
            other => other?,
        };
        for other in others {
            let pair = ExampleSet::new(rig.clone(), vec![other.clone(), alone.examples()[0].clone()])?;
            let merged = match pair.for_training(false) {
                Ok((_, merged)) => merged,
                Err(error @ ExamplesError::SamePose { .. }) => return Err(error.into()),
                // What is wrong with the other one is not this example's fault.
                Err(_) => continue,
            };
            if merged.iter().any(|merged| merged.name == example.name) {
                return Err(EditError::Repeats { name: name(), twin: other.name.clone() });
            }
        }
        Ok(())
    }

    fn put(&mut self, examples: Vec<Example>) -> Result<(), EditError> {
        self.set = ExampleSet::new(self.set.rig().clone(), examples)?;
        Ok(())
    }

    /// What was said of the simulation of a shape that is gone.
    fn forget_simulation(&mut self, name: &str) {
        if let Some(record) = &mut self.simulation {
            record.poses.retain(|pose| pose.name != name);
        }
    }
}

/// The first of some names, and how many more.
fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
