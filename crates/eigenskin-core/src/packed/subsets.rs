//! Drivers of [`Combine::Subsets`]: Π_g (1 + weight_g · k_g) − 1.
//!
//! Layers differ in how much a group matters to them, not in what they compare: their centres are the same poses.
//! So k_g of every group is worked out once for all layers, again only when its joint, control or contact has
//! changed, and not at all where it is at rest. It is zero for centres that are at rest: most poses move one joint,
//! and few press one bone into another. Rows of such centres are left out.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use super::Path;
use super::radial::{GroupTable, ROW, Row, plus_times, rows_of};
use crate::driver::features::Measured;
use crate::driver::{Combine, Driver, FeatureGroup, Interpolant, Kernel};

/// The tables of all drivers of subsets of a model.
#[derive(Debug)]
pub(super) struct SubsetTables {
    columns: Vec<Column>,
    /// `layer`; none for other drivers
    layers: Vec<Option<SubsetLayer>>,
    /// moved rows of all columns
    row_count: usize,
}

/// One feature group against the centres.
#[derive(Debug)]
struct Column {
    /// of weight one
    group: FeatureGroup,
    kernel: Kernel,
    /// `centre × feature`
    centres: Vec<f64>,
    /// `centre`
    widths: Vec<f64>,
    /// rows of centres of which some are not at rest, rising
    moved_rows: Vec<usize>,
    /// of the moved rows
    table: GroupTable,
    /// `moved row`: 1/width²
    inverse_squares: Vec<Row>,
    /// place of the first moved row among those of all columns
    first_row: usize,
}

#[derive(Debug)]
struct SubsetLayer {
    /// columns and how much each matters
    factors: Vec<(usize, f64)>,
    rows: usize,
    /// `output × row`, zero beyond the last centre
    coefficients: Vec<Row>,
}

/// What the columns of a model are for the last pose.
#[derive(Debug)]
pub(super) struct ColumnValues {
    /// of all columns, `moved row`
    values: Vec<Row>,
    states: Vec<ColumnState>,
    /// features of one column
    scratch: Vec<f64>,
    /// of one layer, `row`
    products: Vec<Row>,
}

#[derive(Debug)]
struct ColumnState {
    /// last seen
    features: Vec<f64>,
    is_at_rest: bool,
    has_changed: bool,
}

impl SubsetTables {
    pub fn new<'a>(drivers: impl Iterator<Item = &'a Driver>) -> Self {
        let mut tables = Self { columns: Vec::new(), layers: Vec::new(), row_count: 0 };
        for driver in drivers {
            let layer = tables.layer(driver);
            tables.layers.push(layer);
        }
        tables
    }

    fn layer(&mut self, driver: &Driver) -> Option<SubsetLayer> {
        let Interpolant::Rbf { kernel, centres, widths, coefficients, .. } = &driver.interpolant else {
            return None;
        };
        if driver.combine != Combine::Subsets || widths.is_empty() {
            return None;
        }
        let feature_count = driver.feature_count();
        let mut first = 0;
        let factors = driver.groups.iter().map(|group| {
            let own = first..first + group.feature_count();
            first = own.end;
            let of_group = centres.chunks_exact(feature_count).flat_map(|centre| &centre[own.clone()]);
            (self.column(group, *kernel, of_group.copied().collect(), widths), group.weight)
        });
        let factors = factors.collect();
        let outputs = coefficients.len() / widths.len();
        let coefficient = |centre: usize, output: usize| {
            if centre < widths.len() { coefficients[centre * outputs + output] } else { 0.0 }
        };
        let rows = widths.len().div_ceil(ROW);
        let row = |output: usize, row: usize| std::array::from_fn(|i| coefficient(row * ROW + i, output));
        Some(SubsetLayer {
            factors,
            rows,
            coefficients: (0..outputs).flat_map(|o| (0..rows).map(move |r| row(o, r))).collect(),
        })
    }

    /// The column of a group, shared with layers that have the same one.
    fn column(&mut self, group: &FeatureGroup, kernel: Kernel, centres: Vec<f64>, widths: &[f64]) -> usize {
        let group = FeatureGroup { weight: 1.0, ..group.clone() };
        let known = self.columns.iter().position(|known| {
            known.group == group
                && known.kernel == kernel
                && known.widths == widths
                && known.centres == centres
        });
        if let Some(known) = known {
            return known;
        }
        let features = group.feature_count();
        let of_centre = |centre: usize| &centres[centre * features..][..features];
        let of_row = |row: usize| row * ROW..((row + 1) * ROW).min(widths.len());
        let is_moved = |row: &usize| of_row(*row).any(|c| group.distance_to_rest(of_centre(c)) != 0.0);
        let moved_rows: Vec<usize> = (0..widths.len().div_ceil(ROW)).filter(is_moved).collect();
        let moved: Vec<usize> = moved_rows.iter().flat_map(|&row| of_row(row)).collect();
        let moved_widths: Vec<f64> = moved.iter().map(|&centre| widths[centre]).collect();
        let table = GroupTable::new(&group, kernel, &moved_widths, |place| of_centre(moved[place]));
        let inverse_squares = rows_of(moved.len(), |place| moved_widths[place].powi(-2));
        let first_row = self.row_count;
        self.row_count += moved_rows.len();
        let widths = widths.to_vec();
        self.columns.push(Column {
            group,
            kernel,
            centres,
            widths,
            moved_rows,
            table,
            inverse_squares,
            first_row,
        });
        self.columns.len() - 1
    }

    /// What the columns look at.
    pub fn groups(&self) -> impl Iterator<Item = &FeatureGroup> {
        self.columns.iter().map(|column| &column.group)
    }

    /// Whether a layer has such a driver.
    pub fn has(&self, layer: usize) -> bool {
        self.layers[layer].is_some()
    }

    /// Works out again the columns whose features are others than before; `measured` says what a column's source
    /// does now, or nothing where that is what it did before.
    pub fn update<'a>(
        &self,
        path: Path,
        values: &mut ColumnValues,
        measured: impl Fn(usize) -> Option<&'a Measured>,
    ) {
        for (index, column) in self.columns.iter().enumerate() {
            let state = &mut values.states[index];
            state.has_changed = false;
            let Some(measured) = measured(index) else { continue };
            let features = &mut values.scratch[..column.group.feature_count()];
            column.group.write_features(measured, features);
            if *features == state.features[..] {
                continue;
            }
            state.has_changed = true;
            state.features.copy_from_slice(features);
            column.table.prepare(features);
            state.is_at_rest = column.table.is_at_rest(features);
            if state.is_at_rest {
                continue;
            }
            let rows = &mut values.values[column.first_row..][..column.inverse_squares.len()];
            column.fill(path, features, rows);
        }
    }

    /// Whether a layer sees something else than before.
    pub fn has_changed(&self, layer: usize, values: &ColumnValues) -> bool {
        let factors = self.layers[layer].iter().flat_map(|layer| &layer.factors);
        factors.into_iter().any(|&(column, _)| values.states[column].has_changed)
    }

    /// What the centres of a layer contribute to its outputs.
    pub fn evaluate(&self, path: Path, layer: usize, values: &mut ColumnValues, outputs: &mut [f64]) {
        let Some(layer) = &self.layers[layer] else { return };
        #[cfg(target_arch = "x86_64")]
        if path == Path::Avx2 {
            #[allow(unsafe_code, reason = "instructions were asked for when the path was chosen")]
            // SAFETY: a path is only taken from `Path::available`, which lists this one only where the
            // processor has both extensions.
            unsafe {
                self.evaluate_avx2(layer, values, outputs);
            }
            return;
        }
        let _ = path;
        self.evaluate_rows::<false>(layer, values, outputs);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn evaluate_avx2(&self, layer: &SubsetLayer, values: &mut ColumnValues, outputs: &mut [f64]) {
        self.evaluate_rows::<true>(layer, values, outputs);
    }

    #[inline(always)]
    fn evaluate_rows<const FUSED: bool>(
        &self,
        layer: &SubsetLayer,
        values: &mut ColumnValues,
        outputs: &mut [f64],
    ) {
        let ColumnValues { values, states, products, .. } = values;
        let products = &mut products[..layer.rows];
        products.fill([1.0; ROW]);
        for &(column, amount) in layer.factors.iter().filter(|(column, _)| !states[*column].is_at_rest) {
            let Column { moved_rows, first_row, .. } = &self.columns[column];
            for (&row, factor) in moved_rows.iter().zip(&values[*first_row..]) {
                let (mut product, mut factor) = (products[row], *factor);
                for i in 0..ROW {
                    factor[i] = plus_times::<FUSED>(1.0, amount, factor[i]);
                }
                for i in 0..ROW {
                    product[i] *= factor[i];
                }
                products[row] = product;
            }
        }
        for product in &mut *products {
            let mut value = *product;
            for i in 0..ROW {
                value[i] -= 1.0;
            }
            *product = value;
        }
        for (output, coefficients) in outputs.iter_mut().zip(layer.coefficients.chunks_exact(layer.rows)) {
            let mut sum = [0.0; ROW];
            for (product, coefficients) in products.iter().zip(coefficients) {
                let (product, coefficients) = (*product, *coefficients);
                for i in 0..ROW {
                    sum[i] = plus_times::<FUSED>(sum[i], product[i], coefficients[i]);
                }
            }
            *output = sum_of(sum);
        }
    }
}

/// The sum of a row, by halves: the same bits with all instructions, and no number waits for the last one.
#[inline(always)]
fn sum_of(mut row: Row) -> f64 {
    let mut count = ROW;
    while count > 1 {
        count /= 2;
        for i in 0..count {
            row[i] += row[count + i];
        }
    }
    row[0]
}

impl Column {
    fn fill(&self, path: Path, features: &[f64], values: &mut [Row]) {
        #[cfg(target_arch = "x86_64")]
        if path == Path::Avx2 {
            #[allow(unsafe_code, reason = "instructions were asked for when the path was chosen")]
            // SAFETY: as above.
            unsafe {
                self.fill_avx2(features, values);
            }
            return;
        }
        let _ = path;
        self.fill_rows::<false>(features, values);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn fill_avx2(&self, features: &[f64], values: &mut [Row]) {
        self.fill_rows::<true>(features, values);
    }

    #[inline(always)]
    fn fill_rows<const FUSED: bool>(&self, features: &[f64], values: &mut [Row]) {
        self.table.write_moved::<FUSED>(self.kernel, features, &self.inverse_squares, values);
    }
}

impl ColumnValues {
    pub fn new(tables: &SubsetTables) -> Self {
        let state = |column: &Column| ColumnState {
            features: vec![f64::NAN; column.group.feature_count()],
            is_at_rest: true,
            has_changed: false,
        };
        Self {
            values: vec![[0.0; ROW]; tables.row_count],
            states: tables.columns.iter().map(state).collect(),
            scratch: vec![0.0; 4],
            products: vec![[0.0; ROW]; tables.layers.iter().flatten().map(|l| l.rows).max().unwrap_or(0)],
        }
    }
}
