//! A Bevy app with characters in it, and what they must look like.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bevy::animation::AnimationPlugin;
use bevy::app::TaskPoolPlugin;
use bevy::asset::io::memory::{Dir, MemoryAssetReader};
use bevy::asset::io::{AssetSourceBuilder, AssetSourceId};
use bevy::gltf::GltfPlugin;
use bevy::mesh::MeshPlugin;
use bevy::mesh::morph::MorphWeights;
use bevy::prelude::*;
use bevy::time::{TimePlugin, TimeUpdateStrategy};
use bevy::transform::TransformPlugin;
use bevy::world_serialization::WorldSerializationPlugin;
use eigenskin_bevy::{EigenSkin, EigenSkinDrive, EigenSkinPlugin};
use eigenskin_core::glam::{DAffine3, DMat4, DVec3};
use eigenskin_gltf::Document;
use eigenskin_gltf::conformance::{Expectations, PoseExpectation};
use eigenskin_gltf::internals::table_of;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::SubscriberExt;

/// What may differ between expected and found weights.
pub const TOLERANCE: f32 = 1e-5;

pub struct Stage {
    pub app: App,
    pub files: Dir,
}

impl Stage {
    pub fn new() -> Self {
        listen();
        let files = Dir::default();
        let reader = MemoryAssetReader { root: files.clone() };
        let mut app = App::new();
        app.register_asset_source(
            AssetSourceId::Default,
            AssetSourceBuilder::new(move || Box::new(reader.clone())),
        )
        .add_plugins((
            TaskPoolPlugin::default(),
            TimePlugin,
            TransformPlugin,
            AssetPlugin::default(),
            WorldSerializationPlugin,
            MeshPlugin,
            AnimationPlugin,
            GltfPlugin::default(),
            EigenSkinPlugin,
        ))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(37)));
        app.finish();
        app.cleanup();
        Self { app, files }
    }

    /// With a file of the conformance folder under a name of its own, by which messages are told apart.
    pub fn with(case: &str, name: &str) -> Self {
        let stage = Self::new();
        stage.put(name, &glb(case));
        stage
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.files.insert_asset(Path::new(name), bytes.to_vec());
    }

    /// Spawns the scene of a file, without the plugin's component.
    pub fn spawn_plain(&mut self, name: &str) -> Entity {
        let scene = self.server().load(GltfAssetLabel::Scene(0).from_asset(name.to_string()));
        let root = self.app.world_mut().spawn(WorldAssetRoot(scene)).id();
        self.until(|world| world.get::<Children>(root).is_some());
        root
    }

    /// Spawns a character, and waits for all of it.
    pub fn spawn(&mut self, name: &str) -> Entity {
        let scene = self.server().load(GltfAssetLabel::Scene(0).from_asset(name.to_string()));
        let model = self.server().load(name.to_string());
        let root = self.app.world_mut().spawn((WorldAssetRoot(scene), EigenSkin { model })).id();
        self.until(|world| world.get::<EigenSkinDrive>(root).unwrap().is_bound());
        root
    }

    pub fn server(&self) -> AssetServer {
        self.app.world().resource::<AssetServer>().clone()
    }

    pub fn until(&mut self, is_done: impl Fn(&World) -> bool) {
        for _ in 0..2000 {
            self.app.update();
            if is_done(self.app.world()) {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        panic!("waited for nothing; messages: {:#?}", messages());
    }

    /// The entity of that name below another one.
    pub fn named(&self, root: Entity, name: &str) -> Entity {
        let world = self.app.world();
        let mut open = vec![root];
        while let Some(entity) = open.pop() {
            if world.get::<Name>(entity).is_some_and(|own| own.as_str() == name) {
                return entity;
            }
            open.extend(world.get::<Children>(entity).into_iter().flatten().copied());
        }
        panic!("nothing is called {name}");
    }

    pub fn weights(&self, root: Entity, mesh: &str) -> Vec<f32> {
        self.app.world().get::<MorphWeights>(self.named(root, mesh)).unwrap().weights().to_vec()
    }

    /// Moves joints and control nodes into a pose, the whole character placed anywhere.
    pub fn pose(&mut self, root: Entity, pose: &PoseExpectation, scene_from_mesh: DAffine3) {
        let joints: Vec<(Entity, DAffine3)> = pose
            .joints
            .iter()
            .map(|(name, rows)| (self.named(root, name), scene_from_mesh * affine_of(rows)))
            .collect();
        for &(entity, wanted) in &joints {
            let parent = self.app.world().get::<ChildOf>(entity).unwrap().parent();
            let above = joints.iter().find(|(joint, _)| *joint == parent);
            let scene_from_parent = above.map_or_else(|| self.global(parent), |&(_, wanted)| wanted);
            let local = scene_from_parent.inverse() * wanted;
            let columns = DMat4::from(local).to_cols_array().map(|value| value as f32);
            let local = Transform::from_matrix(Mat4::from_cols_array(&columns));
            *self.app.world_mut().get_mut::<Transform>(entity).unwrap() = local;
        }
        for (name, value) in &pose.controls {
            let node = self.named(root, &format!("control:{name}"));
            self.app.world_mut().get_mut::<Transform>(node).unwrap().translation.x = *value as f32;
        }
    }

    /// From the transforms as they are now, not from the last frame's.
    fn global(&self, entity: Entity) -> DAffine3 {
        let world = self.app.world();
        let local = world.get::<Transform>(entity).map_or(Mat4::IDENTITY, Transform::to_matrix);
        let local = DAffine3::from_mat4(DMat4::from_cols_array(&local.to_cols_array().map(f64::from)));
        match world.get::<ChildOf>(entity) {
            Some(parent) => self.global(parent.parent()) * local,
            None => local,
        }
    }
}

pub fn glb(case: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{case}.glb"))).unwrap()
}

pub fn expectations(case: &str) -> Expectations {
    let text = std::fs::read_to_string(folder().join(format!("{case}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The names of all conformance vectors.
pub fn cases() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "glb"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// A GLB with its JSON changed.
pub fn edited(glb: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut document = Document::from_bytes(glb, None).unwrap();
    edit(&mut document.json);
    document.to_glb().unwrap()
}

/// The weights that a table in a file asks for, read from its JSON: α⁺/scale and α⁻/scale.
pub fn expected_weights(glb: &[u8], coordinates: &[f32]) -> Vec<f32> {
    let json = Document::json_from_bytes(glb).unwrap().json;
    let model = &table_of(&json)["model"];
    let mut weights = vec![0.0; model["targets"].as_u64().unwrap() as usize];
    let mut written = 0;
    let layers = model["layers"].as_array().unwrap();
    // Layers after skinning have no targets; they stand last in these files.
    let components = layers.iter().flat_map(|layer| layer["components"].as_array().unwrap());
    for (component, &coordinate) in components.zip(coordinates) {
        for (half, value) in [("plus", coordinate.max(0.0)), ("minus", (-coordinate).max(0.0))] {
            if let Some(target) = component[half]["target"].as_u64() {
                weights[target as usize] = value / component[half]["scale"].as_f64().unwrap() as f32;
                written += 1;
            }
        }
    }
    assert_eq!(written, weights.len(), "each target has one driver");
    weights
}

pub fn assert_close(found: &[f32], wanted: &[f32], place: &str) {
    assert_eq!(found.len(), wanted.len(), "{place}");
    for (target, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= TOLERANCE, "{place}, target {target}: {found} is not {wanted}");
    }
}

/// Any place in the scene.
pub fn placement() -> DAffine3 {
    DAffine3::from_scale_rotation_translation(
        DVec3::splat(1.7),
        eigenskin_core::glam::DQuat::from_euler(eigenskin_core::glam::EulerRot::XYZ, 0.4, -1.1, 2.0),
        DVec3::new(3.0, -2.0, 5.0),
    )
}

fn affine_of(rows: &[[f64; 4]; 4]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}

/// Warnings and errors of all tests, which run in one process and load on other threads.
static MESSAGES: OnceLock<Arc<Mutex<Vec<String>>>> = OnceLock::new();

struct Listener(Arc<Mutex<Vec<String>>>);
struct Text(String);

fn listen() {
    MESSAGES.get_or_init(|| {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let all = tracing_subscriber::registry().with(Listener(Arc::clone(&messages)));
        tracing::subscriber::set_global_default(all).unwrap();
        messages
    });
}

fn messages() -> Vec<String> {
    MESSAGES.get().unwrap().lock().unwrap().clone()
}

/// What was said about a file.
pub fn messages_of(file: &str) -> Vec<String> {
    messages().into_iter().filter(|message| message.contains(file)).collect()
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Listener {
    fn on_event(&self, event: &tracing::Event, _: tracing_subscriber::layer::Context<S>) {
        if *event.metadata().level() <= tracing::Level::WARN {
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
