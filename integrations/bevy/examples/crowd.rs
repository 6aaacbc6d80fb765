//! What the plugin costs: characters whose joints all move in every frame, without window or GPU.
//! `crowd FILE.glb [CHARACTERS]`
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::{Duration, Instant};

use bevy::animation::AnimationPlugin;
use bevy::app::TaskPoolPlugin;
use bevy::gltf::GltfPlugin;
use bevy::mesh::MeshPlugin;
use bevy::mesh::skinning::SkinnedMesh;
use bevy::prelude::*;
use bevy::transform::TransformPlugin;
use bevy::world_serialization::WorldSerializationPlugin;
use eigenskin_bevy::{EigenSkin, EigenSkinDrive, EigenSkinPlugin, EigenSkinSystems};

#[derive(Resource)]
struct Began(Instant, Vec<Duration>);

#[derive(Component)]
struct Joint;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(file) = arguments.get(1).and_then(|file| Path::new(file).canonicalize().ok()) else {
        println!("usage: crowd FILE.glb [CHARACTERS]");
        return;
    };
    let count = arguments.get(2).and_then(|count| count.parse().ok()).unwrap_or(100);
    let (folder, name) = (file.parent().unwrap_or(Path::new("/")), file.file_name().unwrap_or_default());
    let name = name.to_string_lossy().to_string();
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TransformPlugin,
        AssetPlugin { file_path: folder.to_string_lossy().to_string(), ..default() },
        WorldSerializationPlugin,
        MeshPlugin,
        AnimationPlugin,
        GltfPlugin::default(),
        EigenSkinPlugin,
    ))
    .init_resource::<Time>()
    .insert_resource(Began(Instant::now(), Vec::new()))
    .add_systems(Update, turn)
    .add_systems(PostUpdate, begin.before(EigenSkinSystems::Bind).after(TransformSystems::Propagate))
    .add_systems(PostUpdate, end.after(EigenSkinSystems::Drive));
    app.finish();
    app.cleanup();

    let loading = Instant::now();
    let server = app.world().resource::<AssetServer>().clone();
    for _ in 0..count {
        let scene = server.load(GltfAssetLabel::Scene(0).from_asset(name.clone()));
        let model = server.load(name.clone());
        app.world_mut().spawn((WorldAssetRoot(scene), EigenSkin { model }));
    }
    let is_ready = |world: &mut World| {
        let mut characters = world.query::<&EigenSkinDrive>();
        characters.iter(world).all(EigenSkinDrive::is_bound)
    };
    while !is_ready(app.world_mut()) {
        if loading.elapsed() > Duration::from_mins(1) {
            println!("{name} has no model, or does not load");
            return;
        }
        app.update();
    }
    println!("loaded and found: {:?}", loading.elapsed());
    let mut skins = app.world_mut().query::<&SkinnedMesh>();
    let joints: Vec<Entity> = skins.iter(app.world()).flat_map(|skin| skin.joints.clone()).collect();
    let are_joints =
        |world: &mut World| joints.iter().for_each(|&joint| _ = world.entity_mut(joint).insert(Joint));

    for (title, moves) in [("all joints at rest", false), ("all joints move", true)] {
        if moves {
            are_joints(app.world_mut());
        }
        app.world_mut().resource_mut::<Began>().1.clear();
        for _ in 0..300 {
            app.update();
        }
        let mut times = app.world().resource::<Began>().1.clone();
        times.sort();
        let median = times[times.len() / 2];
        let mut characters = app.world_mut().query::<&EigenSkinDrive>();
        let weights = characters.iter(app.world()).next().map_or(&[][..], EigenSkinDrive::target_weights);
        let (sum, targets): (f32, usize) = (weights.iter().sum(), weights.len());
        println!("{targets} morph targets, sum of weights {sum}");
        println!("{title}: {median:?} for {count} characters, {:?} each (median)", median / count);
    }
}

fn turn(mut joints: Query<&mut Transform, With<Joint>>) {
    for mut joint in &mut joints {
        joint.rotate_local_x(0.001);
    }
}

fn begin(mut began: ResMut<Began>) {
    began.0 = Instant::now();
}

fn end(mut began: ResMut<Began>) {
    let elapsed = began.0.elapsed();
    began.1.push(elapsed);
}
