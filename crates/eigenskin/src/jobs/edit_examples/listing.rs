//! The examples of a set, each with what it moves and how far it is from plain skinning.

use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::skinned_displacements;
use eigenskin_gltf::ExampleList;
use serde::Serialize;

/// What is in a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExampleListing {
    /// in the set's order
    pub examples: Vec<ListedExample>,
}

/// One example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedExample {
    /// its name
    pub name: String,
    /// whether nothing is learnt from it
    pub muted: bool,
    /// joints and controls away from rest
    pub moves: Vec<Moved>,
    /// largest displacement at rest, through linear blending, in the rest shape's unit
    pub largest_delta: f64,
    /// the vertex that has it
    pub vertex: u32,
}

/// A joint or control away from rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// the joint or control
    #[serde(skip)]
    pub mover: Mover,
    /// its name
    pub name: String,
    /// a joint's turn in degrees, a control's value
    pub amount: f64,
}

impl ExampleListing {
    /// Looks at all examples, muted ones too.
    pub fn of(list: &ExampleList, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let displacements = skinned_displacements(&list.set, BaseSkinning::LinearBlend, progress)?;
        let members = displacements.points.members();
        let listed = |(index, example): (usize, &eigenskin_core::examples::Example)| {
            let lengths = displacements.positions.held_of(index).iter().map(|d| f64::from(d.length()));
            let (point, largest_delta) =
                lengths.enumerate().fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst });
            ListedExample {
                name: example.name.clone(),
                muted: list.is_muted(&example.name),
                moves: moved(list.set.rig(), &example.pose),
                largest_delta,
                vertex: members[point].first().copied().unwrap_or_default(),
            }
        };
        Ok(Self { examples: list.set.examples().iter().enumerate().map(listed).collect() })
    }
}

fn moved(rig: &Rig, pose: &Pose) -> Vec<Moved> {
    let movers = Mover::all(rig).into_iter().filter(|mover| mover.is_moved(rig, pose));
    let amount = |mover: Mover| match mover {
        Mover::Joint(joint) => pose.motion_of(rig.skeleton(), joint).shortest_turn().length().to_degrees(),
        Mover::Control(control) => pose.controls[control],
    };
    movers.map(|mover| Moved { mover, name: mover.name(rig).to_string(), amount: amount(mover) }).collect()
}
