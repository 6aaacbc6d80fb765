//! Numbers as people read them.

/// In which lengths are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthUnit {
    /// such as "mm"
    pub name: String,
    /// shown = model's · this
    pub per_model_unit: f64,
}

impl LengthUnit {
    /// The model's own unit, whatever it is.
    pub fn of_the_model() -> Self {
        Self { name: "model units".to_string(), per_model_unit: 1.0 }
    }

    /// The unit of a rig that was made in metres, centimetres or millimetres; metres and others go by the
    /// model's own.
    pub fn of_a_rig(metres_per_unit: f64) -> Self {
        let is = |metres: f64| (metres_per_unit / metres - 1.0).abs() < 1e-6;
        match [(0.01, "cm"), (0.001, "mm")].into_iter().find(|&(metres, _)| is(metres)) {
            Some((_, name)) => Self { name: name.to_string(), per_model_unit: 1.0 },
            None => Self::of_the_model(),
        }
    }

    /// Millimetres, for a model in metres.
    pub fn millimetres() -> Self {
        Self { name: "mm".to_string(), per_model_unit: 1000.0 }
    }

    /// A length of the model, with the unit's name.
    pub fn tell(&self, length: f64) -> String {
        format!("{} {}", self.show(length), self.name)
    }

    /// A length of the model, without the unit's name.
    pub(super) fn show(&self, length: f64) -> String {
        figure(self.per_model_unit * length)
    }
}

/// Three digits that matter, whatever the unit is.
pub fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    if !value.is_finite() {
        return "–".to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    if value.abs() < 1e-6 { format!("{value:.2e}") } else { format!("{value:.digits$}") }
}

/// A share as per cent, two digits that matter.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value >= 9.95 {
        0
    } else if value >= 0.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} %")
}

/// The ratio to skinning's error, or a dash where skinning is exact.
pub fn ratio(relative_error: Option<f64>) -> String {
    relative_error.map_or("–".to_string(), |error| format!("{error:.3}"))
}

/// Bytes in a readable unit.
pub fn bytes(count: usize) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{} kB", figure(count as f64 / 1e3)),
        _ => format!("{} MB", figure(count as f64 / 1e6)),
    }
}

/// "1 pose", "3 poses".
pub fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_what_matters() {
        assert_eq!(figure(0.001_234_5), "0.00123");
        assert_eq!(figure(1234.5), "1234");
        assert_eq!(percent(0.0612), "6.1 %");
        assert_eq!(percent(0.2931), "29 %");
        assert_eq!(percent(0.00123), "0.12 %");
        assert_eq!(percent(0.0996), "10 %");
        assert_eq!(bytes(1_675_864), "1.68 MB");
    }

    #[test]
    fn lengths_are_told_in_their_unit() {
        let unit = LengthUnit::millimetres();
        assert_eq!(unit.tell(0.001_234_5), "1.23 mm");
        assert_eq!(unit.tell(0.1), "100 mm");
        assert_eq!(unit.tell(0.0), "0 mm");
        assert_eq!(unit.tell(2e-10), "2.00e-7 mm");
    }
}
