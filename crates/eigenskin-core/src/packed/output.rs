//! Where shapes go: arrays in the caller's vertex order, a vertex buffer, or blocks as they were packed.

use glam::{Vec3, Vec4};

use super::PackedModel;
use super::lanes::{Block, LANES};

/// Where a shape goes. Normals and tangents are of length one; tangents are perpendicular to normals and
/// have the handedness of rest in w.
#[derive(Debug)]
pub enum Output<'a> {
    /// one array each, `vertex`
    Arrays {
        /// posed positions
        positions: &'a mut [Vec3],
        /// posed normals
        normals: Option<&'a mut [Vec3]>,
        /// posed tangents; only with normals, and if the model was packed with tangents
        tangents: Option<&'a mut [Vec4]>,
    },
    /// all of a vertex together, `vertex × stride`; what lies between is left as it is
    Interleaved {
        /// the buffer
        floats: &'a mut [f32],
        /// what stands where
        layout: VertexLayout,
    },
    /// in packed order, each `block`: fastest, since nothing has to be put back in order
    /// ([`PackedModel::vertices`] says which vertex is where)
    Blocks {
        /// posed positions
        positions: &'a mut [Block],
        /// posed normals
        normals: Option<&'a mut [Block]>,
        /// posed tangents, without their handedness
        tangents: Option<&'a mut [Block]>,
    },
}

/// Where the parts of a vertex stand in a buffer, in floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexLayout {
    /// from one vertex to the next
    pub stride: usize,
    /// of three floats
    pub position: usize,
    /// of three floats
    pub normal: Option<usize>,
    /// of four floats
    pub tangent: Option<usize>,
}

/// Why an output does not fit a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// An array of another length.
    #[error("there is room for {found} {what}, but the model needs {needed}")]
    WrongSize {
        /// positions, normals, tangents or floats
        what: &'static str,
        /// room
        found: usize,
        /// what is needed
        needed: usize,
    },
    /// A part of a vertex that reaches into the next vertex.
    #[error("the {what} at float {offset} does not fit in a vertex of {stride} floats")]
    OutsideVertex {
        /// position, normal or tangent
        what: &'static str,
        /// where it starts
        offset: usize,
        /// floats per vertex
        stride: usize,
    },
    /// Tangents cannot be had.
    #[error("tangents need normals and a model that was packed with tangents")]
    NoTangents,
}

impl Output<'_> {
    /// Whether this fits a model.
    pub fn check(&self, packed: &PackedModel) -> Result<(), OutputError> {
        let vertices = packed.rig().vertex_count();
        let fits = |what, found: usize, needed: usize| {
            if found == needed { Ok(()) } else { Err(OutputError::WrongSize { what, found, needed }) }
        };
        match self {
            Self::Arrays { positions, normals, tangents } => {
                fits("positions", positions.len(), vertices)?;
                fits("normals", normals.as_ref().map_or(vertices, |list| list.len()), vertices)?;
                fits("tangents", tangents.as_ref().map_or(vertices, |list| list.len()), vertices)?;
            }
            Self::Blocks { positions, normals, tangents } => {
                let blocks = packed.block_count();
                fits("blocks of positions", positions.len(), blocks)?;
                fits("blocks of normals", normals.as_ref().map_or(blocks, |list| list.len()), blocks)?;
                fits("blocks of tangents", tangents.as_ref().map_or(blocks, |list| list.len()), blocks)?;
            }
            Self::Interleaved { floats, layout } => layout.check(floats.len(), vertices)?,
        }
        let [_, normals, tangents] = self.wanted();
        if tangents && !(normals && packed.has_tangents()) {
            return Err(OutputError::NoTangents);
        }
        Ok(())
    }

    /// Positions, normals, tangents.
    pub(super) fn wanted(&self) -> [bool; 3] {
        match self {
            Self::Arrays { normals, tangents, .. } => [true, normals.is_some(), tangents.is_some()],
            Self::Blocks { normals, tangents, .. } => [true, normals.is_some(), tangents.is_some()],
            Self::Interleaved { layout, .. } => [true, layout.normal.is_some(), layout.tangent.is_some()],
        }
    }

    /// Puts consecutive blocks, from `first_block` on, in the caller's order.
    pub(super) fn scatter(&mut self, packed: &PackedModel, first_block: usize, shape: [&[Block]; 3]) {
        let tables = &packed.tables;
        let [positions, normals, tangents] = shape;
        let vertices = &tables.vertices[first_block..][..positions.len()];
        let handedness = tables.handedness.get(first_block..).unwrap_or_default();
        match self {
            Self::Arrays { positions: to, normals: to_normals, tangents: to_tangents } => {
                scatter(positions, vertices, |vertex, position| to[vertex] = position);
                if let Some(to) = to_normals {
                    scatter(normals, vertices, |vertex, normal| to[vertex] = normal);
                }
                if let Some(to) = to_tangents {
                    for ((block, vertices), sides) in tangents.iter().zip(vertices).zip(handedness) {
                        for lane in 0..LANES {
                            to[vertices[lane] as usize] = block.get(lane).extend(sides.0[lane]);
                        }
                    }
                }
            }
            Self::Interleaved { floats, layout } => {
                for (block, vertices) in vertices.iter().enumerate() {
                    for lane in 0..LANES {
                        let vertex = &mut floats[vertices[lane] as usize * layout.stride..];
                        positions[block].get(lane).write_to_slice(&mut vertex[layout.position..]);
                        if let Some(at) = layout.normal {
                            normals[block].get(lane).write_to_slice(&mut vertex[at..]);
                        }
                        if let Some(at) = layout.tangent {
                            let tangent = tangents[block].get(lane).extend(handedness[block].0[lane]);
                            tangent.write_to_slice(&mut vertex[at..]);
                        }
                    }
                }
            }
            Self::Blocks { .. } => unreachable!("blocks are written where they belong"),
        }
    }

    /// The same output in parts of that many vertices.
    #[cfg(feature = "rayon")]
    pub(super) fn parts(self, vertices: usize) -> Vec<Self> {
        match self {
            Self::Arrays { positions, normals, tangents } => {
                let mut normals = normals.map(|normals| normals.chunks_mut(vertices));
                let mut tangents = tangents.map(|tangents| tangents.chunks_mut(vertices));
                let part = |positions| Self::Arrays {
                    positions,
                    normals: normals.as_mut().and_then(Iterator::next),
                    tangents: tangents.as_mut().and_then(Iterator::next),
                };
                positions.chunks_mut(vertices).map(part).collect()
            }
            Self::Interleaved { floats, layout } => {
                let parts = floats.chunks_mut(vertices * layout.stride);
                parts.map(|floats| Self::Interleaved { floats, layout }).collect()
            }
            Self::Blocks { .. } => unreachable!("blocks are written where they belong"),
        }
    }

    /// Vertices from the lanes where they are, `vertex`, of all blocks.
    #[cfg(feature = "rayon")]
    pub(super) fn gather(&mut self, packed: &PackedModel, lanes: &[u32], shape: [&[Block]; 3]) {
        let [positions, normals, tangents] = shape;
        let at = |blocks: &[Block], lane: u32| blocks[lane as usize / LANES].get(lane as usize % LANES);
        let tangent_at = |lane: u32| {
            let sides = &packed.tables.handedness[lane as usize / LANES];
            at(tangents, lane).extend(sides.0[lane as usize % LANES])
        };
        match self {
            Self::Arrays { positions: to, normals: to_normals, tangents: to_tangents } => {
                for (to, &lane) in to.iter_mut().zip(lanes) {
                    *to = at(positions, lane);
                }
                for (to, &lane) in to_normals.iter_mut().flat_map(|to| to.iter_mut()).zip(lanes) {
                    *to = at(normals, lane);
                }
                for (to, &lane) in to_tangents.iter_mut().flat_map(|to| to.iter_mut()).zip(lanes) {
                    *to = tangent_at(lane);
                }
            }
            Self::Interleaved { floats, layout } => {
                for (vertex, &lane) in floats.chunks_mut(layout.stride).zip(lanes) {
                    at(positions, lane).write_to_slice(&mut vertex[layout.position..]);
                    if let Some(offset) = layout.normal {
                        at(normals, lane).write_to_slice(&mut vertex[offset..]);
                    }
                    if let Some(offset) = layout.tangent {
                        tangent_at(lane).write_to_slice(&mut vertex[offset..]);
                    }
                }
            }
            Self::Blocks { .. } => unreachable!("blocks are written where they belong"),
        }
    }
}

fn scatter(blocks: &[Block], vertices: &[[u32; LANES]], mut put: impl FnMut(usize, Vec3)) {
    for (block, vertices) in blocks.iter().zip(vertices) {
        for lane in 0..LANES {
            put(vertices[lane] as usize, block.get(lane));
        }
    }
}

impl VertexLayout {
    fn check(&self, floats: usize, vertices: usize) -> Result<(), OutputError> {
        let stride = self.stride;
        let mut end = 0;
        for (what, offset, width) in
            [("position", Some(self.position), 3), ("normal", self.normal, 3), ("tangent", self.tangent, 4)]
        {
            let Some(offset) = offset else { continue };
            match offset.checked_add(width) {
                Some(part_end) if part_end <= stride => end = end.max(part_end),
                _ => return Err(OutputError::OutsideVertex { what, offset, stride }),
            }
        }
        // The last vertex need not have what follows its last part.
        let needed = match vertices.checked_sub(1) {
            Some(before) => before.saturating_mul(stride).saturating_add(end),
            None => 0,
        };
        if floats < needed {
            return Err(OutputError::WrongSize { what: "floats", found: floats, needed });
        }
        Ok(())
    }
}
