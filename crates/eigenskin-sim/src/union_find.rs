//! Things that turn out to be the same, or to hang together.

/// Disjoint sets of `0..count`. The smallest member stands for its set, so results do not depend
/// on the order of the unions.
pub(crate) struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    pub(crate) fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// The smallest member of the set of `item`.
    pub(crate) fn find(&mut self, item: usize) -> usize {
        let mut at = item;
        while self.parents[at] as usize != at {
            let up = self.parents[at] as usize;
            self.parents[at] = self.parents[up];
            at = up;
        }
        at
    }

    pub(crate) fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b) as u32;
    }

    /// `item` → number of its set, counted in the order of their smallest members; and their count.
    pub(crate) fn numbered(&mut self) -> (Vec<u32>, usize) {
        let mut number_of = vec![0; self.parents.len()];
        let mut count = 0;
        for item in 0..self.parents.len() {
            let first = self.find(item);
            if first == item {
                number_of[item] = count as u32;
                count += 1;
            } else {
                number_of[item] = number_of[first];
            }
        }
        (number_of, count)
    }
}
