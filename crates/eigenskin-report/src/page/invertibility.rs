//! Where poses collapse the skin: what is sculpted there cannot be pulled back to rest.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::skinning::{BaseSkinning, EXACT_FROM, PosedSkinning};

use super::figures::counted;
use super::pictures::{HEIGHT, PictureLegend, PicturePanel, PictureRow, Shot, WIDTH};
use crate::picture::{HeatScale, Panel, PictureError, PictureParams, Surface, draw_cutouts};

/// Examples that are shown.
const SHOWN: usize = 3;

/// The examples whose skin `skinning` collapses most, coloured by how much of the stretch is lost.
pub fn invertibility_pictures(
    set: &ExampleSet,
    skinning: BaseSkinning,
    shot: Shot,
) -> Result<PictureRow, PictureError> {
    let mesh = set.rig().mesh();
    let mut maps: Vec<(usize, Vec<f32>)> = Vec::with_capacity(set.len());
    for (index, example) in set.examples().iter().enumerate() {
        let posed = PosedSkinning::new(skinning, set.rig(), &example.pose);
        let lost = |vertex| 1.0 - posed.conditioning(vertex).kept().min(1.0) as f32;
        maps.push((index, (0..mesh.vertex_count()).map(lost).collect()));
    }
    let most = |map: &[f32]| map.iter().copied().fold(0.0, f32::max);
    maps.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)).then(a.0.cmp(&b.0)));
    let limit = 1.0 - EXACT_FROM as f32;
    let collapsed = maps.iter().filter(|(_, map)| most(map) > limit).count();
    maps.truncate(SHOWN);

    let normals: Vec<_> = maps.iter().map(|(index, _)| set.normals_of(*index)).collect();
    let panels: Vec<Panel> = maps
        .iter()
        .zip(&normals)
        .map(|((index, lost), normals)| Panel {
            caption: String::new(),
            positions: &set.examples()[*index].positions,
            normals,
            surface: Surface::Heat { errors: lost },
        })
        .collect();
    let params = PictureParams {
        panel_width: WIDTH,
        panel_height: HEIGHT,
        view: shot.view,
        heat: HeatScale { maximum: Some(1.0), ..HeatScale::default() },
        ..PictureParams::default()
    };
    let cutouts = draw_cutouts(shot.painter, mesh, &panels, &params)?;
    let panel = |((index, lost), png): (&(usize, Vec<f32>), Vec<u8>)| {
        let name = &set.examples()[*index].name;
        let below = lost.iter().filter(|&&lost| lost > limit).count();
        PicturePanel {
            caption: name.clone(),
            detail: format!(
                "least kept {:.2}, {} below {EXACT_FROM}",
                1.0 - most(lost),
                counted(below, "vertex", "vertices")
            ),
            alt: format!("{name}: how much {} skinning collapses the skin", skinning.name()),
            png,
            width: WIDTH,
            height: HEIGHT,
        }
    };
    let verdict = if collapsed == 0 {
        "All examples can be pulled back to rest everywhere.".to_string()
    } else {
        format!(
            "In {} the skin collapses somewhere: what is observed across it is added after skinning, which stock viewers leave out.",
            counted(collapsed, "example", "examples")
        )
    };
    Ok(PictureRow {
        title: "Where skinning can be undone".to_string(),
        note: format!(
            "Corrections act before skinning, so shapes are pulled back through it. Where skinning shrinks a direction, corrections must be larger; where it collapses one, they cannot reach. {verdict}"
        ),
        panels: maps.iter().zip(cutouts.files).map(panel).collect(),
        legend: PictureLegend::Heat { maximum: 1.0, unit: "stretch lost".to_string() },
    })
}
