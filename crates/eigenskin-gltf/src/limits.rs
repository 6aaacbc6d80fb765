//! What engines can take, as measured or as their makers document it.

use std::fmt;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// morph targets of a mesh
    Targets,
    /// skin weights of a vertex
    Influences,
    /// morph targets times morphed attributes
    MorphedAttributes,
}

/// One limit of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimit {
    /// the engine
    pub engine: &'static str,
    /// what it limits
    pub quantity: Quantity,
    /// how many it takes
    pub limit: usize,
    /// what happens beyond
    pub beyond: &'static str,
    /// whether it bites in the engine's usual mode; else it is only good to know
    pub usual: bool,
}

/// All known limits.
pub const LIMITS: [EngineLimit; 10] = [
    EngineLimit {
        engine: "Bevy",
        quantity: Quantity::Targets,
        limit: 256,
        beyond: "it does not show the mesh with more",
        usual: true,
    },
    EngineLimit {
        engine: "Filament",
        quantity: Quantity::Targets,
        limit: 256,
        beyond: "it does not show the mesh with more",
        usual: true,
    },
    EngineLimit {
        engine: "three.js",
        quantity: Quantity::Targets,
        limit: 256,
        beyond: "graphics cards only promise 256 texture layers, one per target",
        usual: true,
    },
    EngineLimit {
        engine: "Babylon.js",
        quantity: Quantity::Targets,
        limit: 256,
        beyond: "graphics cards only promise 256 texture layers, one per target",
        usual: true,
    },
    EngineLimit {
        engine: "Babylon.js without texture mode",
        quantity: Quantity::Targets,
        limit: 8,
        beyond: "further targets do not act",
        usual: false,
    },
    EngineLimit {
        engine: "the glTF specification",
        quantity: Quantity::MorphedAttributes,
        limit: 8,
        beyond: "viewers need not support more, though all common ones do",
        usual: false,
    },
    EngineLimit {
        engine: "Bevy",
        quantity: Quantity::Influences,
        limit: 4,
        beyond: "further influences are ignored and the skin bends otherwise",
        usual: true,
    },
    EngineLimit {
        engine: "Godot 3",
        quantity: Quantity::Influences,
        limit: 4,
        beyond: "further influences are ignored and the skin bends otherwise",
        usual: true,
    },
    EngineLimit {
        engine: "three.js",
        quantity: Quantity::Influences,
        limit: 4,
        beyond: "further influences are ignored and the skin bends otherwise",
        usual: true,
    },
    EngineLimit {
        engine: "the glTF specification",
        quantity: Quantity::Influences,
        limit: 4,
        beyond: "viewers need not support more",
        usual: false,
    },
];

/// What a file has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// morph targets of the mesh that has most
    pub targets: usize,
    /// skin weights of the vertex that has most
    pub influences: usize,
    /// targets times morphed attributes (positions, normals)
    pub morphed_attributes: usize,
}

/// A limit that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitWarning {
    /// which one
    pub limit: EngineLimit,
    /// what the file has
    pub found: usize,
}

impl Counts {
    /// How many of something the file has.
    pub fn of(&self, quantity: Quantity) -> usize {
        match quantity {
            Quantity::Targets => self.targets,
            Quantity::Influences => self.influences,
            Quantity::MorphedAttributes => self.morphed_attributes,
        }
    }
}

/// The limits that a file with these counts exceeds.
pub fn check(counts: &Counts) -> Vec<LimitWarning> {
    let warnings = LIMITS.iter().map(|&limit| LimitWarning { limit, found: counts.of(limit.quantity) });
    warnings.filter(|warning| warning.found > warning.limit.limit).collect()
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Targets => "morph targets",
            Self::Influences => "influences per vertex",
            Self::MorphedAttributes => "morphed attributes",
        })
    }
}

impl fmt::Display for LimitWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineLimit { engine, quantity, limit, beyond, .. } = self.limit;
        write!(f, "{} {quantity}, and {engine} takes {limit}: {beyond}", self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_the_engine() {
        let counts = Counts { targets: 300, influences: 6, morphed_attributes: 600 };
        let text: Vec<String> = check(&counts).iter().map(ToString::to_string).collect();
        assert!(
            text.iter().any(|t| t.contains("Bevy") && t.contains("300") && t.contains("256")),
            "{text:?}"
        );
        assert!(text.iter().any(|t| t.contains("Bevy") && t.contains("6 influences")), "{text:?}");
        assert!(check(&Counts { targets: 4, influences: 4, morphed_attributes: 8 }).is_empty());
    }
}
