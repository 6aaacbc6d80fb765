//! Writes the conformance vectors into the folder given, `conformance` by default.

fn main() -> Result<(), eigenskin_io::conformance::ConformanceError> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "conformance".into());
    eigenskin_io::conformance::write(folder.as_ref()).map(|_| ())
}
