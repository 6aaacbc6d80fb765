//! glTF: containers, accessors, nodes, buffers in other files, the eigenskin table.

use eigenskin_gltf::Document;
use eigenskin_gltf::internals::edit_table;
use serde_json::{Value, json};

use super::{Case, Input};
use crate::support::malformed::readers::seeds;

fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}

/// The seed's rig, changed.
fn rig(change: impl FnOnce(&mut Document)) -> Input {
    let mut document = document(&seeds::rig_of_model());
    change(&mut document);
    Input::Rig(document.to_glb().unwrap())
}

/// The seed's rig with one change at a place in its JSON.
fn rig_with(pointer: &str, value: Value) -> Input {
    rig(|d| set(&mut d.json, pointer, value))
}

fn set(json: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = json.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        _ => parent[key] = value,
    }
}

/// The accessor of an attribute of the first primitive.
fn accessor_of(document: &Document, attribute: &str) -> usize {
    document.json["meshes"][0]["primitives"][0]["attributes"][attribute].as_u64().unwrap() as usize
}

/// The seed's rig, with a member of an attribute's accessor changed.
fn with_accessor(attribute: &str, key: &str, value: Value) -> Input {
    rig(|d| {
        let accessor = accessor_of(d, attribute);
        d.json["accessors"][accessor][key] = value;
    })
}

/// The seed's rig, with a member of the view of its positions changed.
fn with_view(key: &str, value: Value) -> Input {
    rig(|d| {
        let view = d.json["accessors"][accessor_of(d, "POSITION")]["bufferView"].as_u64().unwrap() as usize;
        d.json["bufferViews"][view][key] = value;
    })
}

/// The seed's rig, with the numbers of an attribute's accessor overwritten from its start.
fn with_bytes(attribute: &str, bytes: &[u8]) -> Input {
    rig(|d| {
        let view = d.json["accessors"][accessor_of(d, attribute)]["bufferView"].as_u64().unwrap() as usize;
        let start = d.json["bufferViews"][view].get("byteOffset").map_or(0, |v| v.as_u64().unwrap() as usize);
        d.binary[start..start + bytes.len()].copy_from_slice(bytes);
    })
}

/// The bytes of the seed's rig, with a little-endian word changed.
fn with_word(at: usize, word: u32) -> Input {
    let mut bytes = seeds::rig_of_model();
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    Input::Rig(bytes)
}

/// A GLB of any text.
fn glb_of(json: &str) -> Vec<u8> {
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((20 + json.len() as u32).to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(json.as_bytes());
    bytes
}

macro_rules! cases {
    ($list:expr; $($name:literal: $input:expr => [$($says:literal),+];)*) => {
        $($list.push(Case { name: $name, input: $input, says: &[$($says),+] });)*
    };
}

pub fn containers(list: &mut Vec<Case>) {
    let json_length = u32::from_le_bytes(seeds::rig_of_model()[12..16].try_into().unwrap());
    cases! { list;
        "an empty file": Input::Rig(Vec::new()) => ["does not begin with", "export"];
        "another magic": Input::Rig(b"PK\x03\x04 no glb".to_vec()) => ["\"glTF\"", "export"];
        "container version 1": with_word(4, 1) => ["version 1", "export"];
        "a length beyond the end": with_word(8, u32::MAX) => ["4294967295 bytes", "export"];
        "a length within the header": with_word(8, 8) => ["no JSON chunk", "export"];
        "a JSON chunk beyond the end": with_word(12, u32::MAX) => ["4294967295 bytes is cut off"];
        "a JSON chunk that ends early": with_word(12, json_length - 8) => ["export the file again"];
        "no JSON chunk": with_word(16, 7) => ["no JSON chunk"];
        "JSON that is none": Input::Rig(glb_of("{\"asset\": }")) => ["JSON part cannot be read", "line 1"];
        "JSON of 100,000 levels": Input::Rig(glb_of(&"[".repeat(100_000))) => ["recursion limit"];
        "objects of 100,000 levels": Input::Rig(glb_of(&"{\"a\":".repeat(100_000))) => ["recursion limit"];
        "JSON that is a list": Input::Rig(glb_of("[]")) => ["glTF version"];
        "glTF 1.0": rig_with("/asset/version", json!("1.0")) => ["\"1.0\"", "export as glTF 2.0"];
        "a required extension": rig_with("/extensionsRequired", json!(["KHR_draco_mesh_compression"])) => ["KHR_draco", "export without"];
        "a missing binary chunk": Input::Rig(glb_of(&document(&seeds::rig_of_model()).json.to_string())) => ["buffer 0", "missing", "export"];
        "a buffer longer than the chunk": rig_with("/buffers/0/byteLength", json!(900_000_000)) => ["buffer 0", "900000000 bytes"];
        "a buffer of 2^60 bytes": rig_with("/buffers/0/byteLength", json!(1u64 << 60)) => ["buffer 0", "more than 1073741824"];
        "buffers that are an object": rig_with("/buffers", json!({})) => ["bufferViews[0].buffer", "there are only 0"];
    }
}

pub fn accessors(list: &mut Vec<Case>) {
    let sparse = |count: u64, index: u32| {
        rig(|d| {
            let accessor = accessor_of(d, "POSITION");
            let start = d.binary.len();
            d.binary.extend(index.to_le_bytes());
            d.binary.extend([0; 12]);
            let view = d.json["bufferViews"].as_array().unwrap().len();
            let views = d.json["bufferViews"].as_array_mut().unwrap();
            views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": 16}));
            d.json["buffers"][0]["byteLength"] = d.binary.len().into();
            d.json["accessors"][accessor]["sparse"] = json!({"count": count,
                "indices": {"bufferView": view, "componentType": 5125}, "values": {"bufferView": view, "byteOffset": 4}});
        })
    };
    let nan = f32::NAN.to_le_bytes();
    cases! { list;
        "2^31 positions": with_accessor("POSITION", "count", json!(1u64 << 31)) => ["accessor", "absurd number", "export"];
        "2^62 positions": with_accessor("POSITION", "count", json!(1u64 << 62)) => ["accessor", "absurd number"];
        "16 million positions": with_accessor("POSITION", "count", json!(16_000_000)) => ["accessor", "beyond the end"];
        "minus one position": with_accessor("POSITION", "count", json!(-1)) => [".count", "a whole number"];
        "half a position": with_accessor("POSITION", "count", json!(2.5)) => [".count", "a whole number"];
        "no positions at all": with_accessor("POSITION", "count", json!(0)) => ["vert"];
        "zeros without data": rig(|d| {
            let accessor = accessor_of(d, "POSITION");
            d.json["accessors"][accessor] = json!({"componentType": 5126, "type": "VEC3", "count": 20_000_000});
        }) => ["more elements than the file has bytes"];
        "an unknown number type": with_accessor("POSITION", "componentType", json!(5130)) => ["componentType", "known number type"];
        "positions of two numbers": with_accessor("POSITION", "type", json!("VEC2")) => ["\"VEC2\"", "expected VEC3"];
        "a type that is a number": with_accessor("POSITION", "type", json!(3)) => ["expected VEC3"];
        "an offset past the end": with_accessor("POSITION", "byteOffset", json!(1u64 << 40)) => ["beyond the end of its buffer view"];
        "an offset that overflows": with_accessor("POSITION", "byteOffset", json!(u64::MAX)) => ["beyond the end of its buffer view"];
        "a view past the end": with_view("byteOffset", json!(1u64 << 40)) => ["bufferViews", "reaches beyond its", "export"];
        "a view that overflows": with_view("byteOffset", json!(u64::MAX)) => ["reaches beyond its"];
        "a view without length": with_view("byteLength", Value::Null) => ["byteLength", "a whole number"];
        "a negative stride": with_view("byteStride", json!(-12)) => ["byteStride", "a whole number"];
        "a stride of zero": with_view("byteStride", json!(0)) => ["beyond the end of its buffer view"];
        "an odd stride": with_view("byteStride", json!(13)) => ["beyond the end of its buffer view"];
        "a stride that overflows": with_view("byteStride", json!(u64::MAX)) => ["beyond the end of its buffer view"];
        "a view of no buffer": with_view("buffer", json!(7)) => ["is 7, but there are only 1"];
        "an accessor of no view": with_accessor("POSITION", "bufferView", json!(99)) => ["bufferView is 99"];
        "a position that is NaN": with_bytes("POSITION", &nan) => ["element 0", "not finite"];
        "a weight that is infinite": with_bytes("WEIGHTS_0", &f32::INFINITY.to_le_bytes()) => ["element 0", "not finite"];
        "a negative weight": with_bytes("WEIGHTS_0", &(-1f32).to_le_bytes()) => ["vertex 0", "weight"];
        "a sparse index out of range": sparse(1, 4_000_000) => ["sparse indices", "out of range"];
        "more sparse values than elements": sparse(1 << 40, 0) => ["more sparse values than elements"];
        "sparse values past their view": sparse(2, 0) => ["beyond the end of its buffer view"];
    }
}

pub fn nodes_and_skins(list: &mut Vec<Case>) {
    let with_bind = |key: &'static str, value: Value| {
        rig(|d| {
            let binds = d.json["skins"][0]["inverseBindMatrices"].as_u64().unwrap() as usize;
            d.json["accessors"][binds][key] = value;
        })
    };
    let chain: Vec<Value> = (0..100_000).map(|i| json!({"children": [i + 1]})).chain([json!({})]).collect();
    cases! { list;
        "a ring of nodes": rig(|d| {
            let root = d.json["skins"][0]["joints"][0].clone();
            let last = d.json["skins"][0]["joints"].as_array().unwrap().last().unwrap().as_u64().unwrap() as usize;
            d.json["nodes"][last]["children"] = json!([root]);
        }) => ["node"];
        "a node that is its own child": rig(|d| {
            let nodes = d.json["nodes"].as_array_mut().unwrap();
            nodes.push(json!({"children": [nodes.len()]}));
        }) => ["its own ancestor", "export"];
        "a chain of 100,000 nodes without a mesh": rig_with("/nodes", chain.into()) => ["no mesh"];
        "a node that is a text": rig_with("/nodes/0", json!("x")) => ["nodes[0]", "an object"];
        "a child that is no node": rig_with("/nodes/0/children", json!([4_000_000_000u64])) => ["nodes[0].children is 4000000000"];
        "a rotation of zero": rig_with("/nodes/0/rotation", json!([0, 0, 0, 0])) => ["node 0", "rotation"];
        "a translation beyond all bounds": rig_with("/nodes/0/translation", json!([1e300, 0, 0])) => ["nodes[0].translation"];
        "a matrix of texts": rig_with("/nodes/0/matrix", vec!["x"; 16].into()) => ["nodes[0].matrix"];
        "inverse binds of another type": with_bind("type", json!("VEC4")) => ["\"VEC4\"", "expected MAT4"];
        "too few inverse binds": with_bind("count", json!(1)) => ["1 bind matrices"];
        "inverse binds that are bytes": with_bind("componentType", json!(5121)) => ["joint"];
        "a joint that is no node": rig_with("/skins/0/joints/0", json!(99)) => ["skins[0].joints is 99"];
        "a joint twice": rig(|d| d.json["skins"][0]["joints"][1] = d.json["skins"][0]["joints"][0].clone()) => ["listed twice"];
        "no joints": rig_with("/skins/0/joints", json!([])) => ["list of joints"];
        "weights of a joint that is not there": with_bytes("JOINTS_0", &[200; 4]) => ["vertex 0", "joint"];
        "a triangle beyond the vertices": rig(|d| {
            let indices = d.json["meshes"][0]["primitives"][0]["indices"].as_u64().unwrap() as usize;
            let view = d.json["accessors"][indices]["bufferView"].as_u64().unwrap() as usize;
            let start = d.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
            d.binary[start..start + 2].copy_from_slice(&[255; 2]);
        }) => ["primitive 0", "a triangle uses vertex", "export"];
        "no skin weights": rig(|d| {
            d.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap().remove("WEIGHTS_0");
        }) => ["skin weights", "bind the whole mesh"];
        "an attribute that is not there": rig_with("/meshes/0/primitives/0/attributes/POSITION", json!(99)) => ["POSITION is 99"];
        "several skins": rig(|d| {
            let node = d.json["nodes"].as_array().unwrap().iter().find(|n| n.get("skin").is_some()).unwrap().clone();
            let mut skin = d.json["skins"][0].clone();
            skin["joints"].as_array_mut().unwrap().reverse();
            d.json["skins"].as_array_mut().unwrap().push(skin);
            d.json["nodes"].as_array_mut().unwrap().push(node);
            d.json["nodes"].as_array_mut().unwrap().last_mut().unwrap()["skin"] = json!(1);
            d.json["scenes"][0]["extras"] = Value::Null;
            for node in d.json["nodes"].as_array_mut().unwrap() {
                node["extras"] = Value::Null;
            }
        }) => ["several skins", "choose one by name"];
    }
}

/// Small files that name the same data again and again.
pub fn amplifiers(list: &mut Vec<Case>) {
    let big_rig = |change: &dyn Fn(&mut Document)| {
        rig(|d| {
            let count = d.json["accessors"][accessor_of(d, "POSITION")]["count"].clone();
            assert!(count.as_u64().unwrap() > 8);
            change(d);
        })
    };
    let primitives = |d: &mut Document| {
        // Zeros need no data.
        let count = d.binary.len();
        for attribute in ["POSITION", "NORMAL", "JOINTS_0", "WEIGHTS_0"] {
            let accessor = accessor_of(d, attribute);
            let kind = if attribute.ends_with("_0") { "VEC4" } else { "VEC3" };
            d.json["accessors"][accessor] = json!({"componentType": 5126, "type": kind, "count": count});
        }
        let first = d.json["meshes"][0]["primitives"][0].clone();
        // Unequal targets make unequal vertices.
        let many = (0..10_000u64).map(|i| {
            let mut copy = first.clone();
            copy["targets"] = json!([{"POSITION": i}]);
            copy
        });
        d.json["meshes"][0]["primitives"] = many.collect();
    };
    let weights = |d: &mut Document| {
        let attributes = d.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap();
        let (joints, weights) = (attributes["JOINTS_0"].clone(), attributes["WEIGHTS_0"].clone());
        for set in 1..5000 {
            attributes.insert(format!("JOINTS_{set}"), joints.clone());
            attributes.insert(format!("WEIGHTS_{set}"), weights.clone());
        }
    };
    let channels = |d: &mut Document| {
        let keys = 20_000u32;
        let start = d.binary.len();
        d.binary.extend((0..keys).flat_map(|key| (key as f32).to_le_bytes()));
        let view = d.json["bufferViews"].as_array().unwrap().len();
        let accessor = d.json["accessors"].as_array().unwrap().len();
        let views = d.json["bufferViews"].as_array_mut().unwrap();
        views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": 4 * keys}));
        d.json["buffers"][0]["byteLength"] = d.binary.len().into();
        let accessors = d.json["accessors"].as_array_mut().unwrap();
        accessors.push(json!({"bufferView": view, "componentType": 5126, "count": keys, "type": "SCALAR"}));
        let channel = json!({"sampler": 0, "target": {"node": 0, "path": "weights"}});
        d.json["animations"] = json!([{"samplers": [{"input": accessor, "output": accessor}],
                                       "channels": vec![channel; 5000]}]);
    };
    let many_examples = || {
        let mut d = document(&seeds::example_set_glb());
        edit_table(&mut d.json, |table| {
            let list = &mut table["examples"]["list"];
            *list = vec![list[0].clone(); 100_000].into();
        });
        Input::Examples(d.to_glb().unwrap())
    };
    let many_components = || {
        let mut d = document(&seeds::model_glb());
        edit_table(&mut d.json, |table| {
            let components = &mut table["model"]["layers"][0]["components"];
            *components = vec![components[0].clone(); 100_000].into();
        });
        Input::Model(d.to_glb().unwrap())
    };
    cases! { list;
        "10,000 primitives of the same vertices": big_rig(&primitives) => ["primitive", "more than 8388608", "simplify"];
        "5,000 sets of the same weights": big_rig(&weights) => ["more than 64 skin weights"];
        "5,000 channels of the same keys": big_rig(&channels) => ["more keys than can be read"];
        "100,000 examples of the same target": many_examples() => ["100000 examples", "write the example set again"];
        "100,000 components of the same target": many_components() => ["layer", "fit the model again"];
    }
}

pub fn external(list: &mut Vec<Case>) {
    let with_uri = |uri: &str, beside: Vec<(&'static str, Vec<u8>)>| {
        let mut d = document(&seeds::rig_of_model());
        d.json["buffers"][0]["uri"] = uri.into();
        let mut files = vec![("a.gltf", serde_json::to_vec(&d.json).unwrap())];
        files.extend(beside);
        Input::Folder(files)
    };
    let twice = {
        let mut d = document(&seeds::rig_of_model());
        d.json["buffers"] = vec![json!({"uri": "a.bin", "byteLength": 1_000_000}); 2000].into();
        Input::Folder(vec![("a.gltf", serde_json::to_vec(&d.json).unwrap()), ("a.bin", vec![0; 1_000_000])])
    };
    cases! { list;
        "a buffer that is missing": with_uri("b.bin", vec![]) => ["buffer 0", "cannot read \"b.bin\""];
        "a buffer that is too short": with_uri("b.bin", vec![("b.bin", vec![0; 10])]) => ["buffer 0", "only 10 are there"];
        "a buffer above the folder": with_uri("../b.bin", vec![]) => ["leaves the folder", "export as GLB"];
        "a buffer above the folder, disguised": with_uri("x/%2e%2E/%2e./b.bin", vec![]) => ["leaves the folder"];
        "a device by way of the root": with_uri("../../../../../../dev/zero", vec![]) => ["leaves the folder"];
        "an absolute buffer": with_uri("/dev/zero", vec![]) => ["not relative"];
        "a buffer on the net": with_uri("https://example.org/b.bin", vec![]) => ["not relative"];
        "a buffer that is the folder": with_uri(".", vec![]) => ["is no file"];
        "percent signs without digits": with_uri("b%zz.bin", vec![]) => ["b%zz.bin", "damaged"];
        "a percent sign at the end": with_uri("b%2", vec![]) => ["damaged"];
        "a name with a zero": with_uri("b%00.bin", vec![]) => ["cannot read"];
        "base64 that is none": with_uri("data:application/octet-stream;base64,%%%", vec![]) => ["base64 data is damaged", "export"];
        "data that is not base64": with_uri("data:,hello", vec![]) => ["not base64"];
        "base64 that is too short": with_uri("data:;base64,AAAA", vec![]) => ["only 3 are there"];
        "an address that is a number": Input::Folder(vec![("a.gltf", br#"{"asset":{"version":"2.0"},"buffers":[{"uri":5,"byteLength":4}]}"#.to_vec())]) => ["buffers[0].uri", "a text"];
        "2,000 times the same buffer": twice => ["buffer 1", "the same file", "export as GLB"];
    }
}

pub fn tables(list: &mut Vec<Case>) {
    let changed = |bytes: &[u8], pointer: &str, value: Value| {
        let mut d = document(bytes);
        edit_table(&mut d.json, |table| set(table, pointer, value));
        d.to_glb().unwrap()
    };
    let model = |pointer: &str, value: Value| Input::Model(changed(&seeds::model_glb(), pointer, value));
    let examples =
        |pointer: &str, value: Value| Input::Examples(changed(&seeds::example_set_glb(), pointer, value));
    cases! { list;
        "a table of a newer program": model("/version", json!(4)) => ["newer eigenskin", "update"];
        "a table version that is a text": model("/version", json!("1")) => ["newer eigenskin"];
        "an unknown kind": model("/kind", json!("film")) => ["\"film\"", "update"];
        "a rig where a model is wanted": Input::Model(seeds::rig_of_model()) => ["not a model", "eigenskin fit"];
        "joints that are a number": model("/joints", json!(5)) => ["table is not readable", "invalid type"];
        "no model in the table": model("/model", Value::Null) => ["it has no model"];
        "an unknown base": model("/model/base", json!("magic")) => ["\"magic\"", "update"];
        "layers that are texts": model("/model/layers", json!(["x"])) => ["table is not readable"];
        "an unknown interpolant": model("/model/layers/0/driver/interpolant/type", json!("spline")) => ["spline"];
        "an unknown kernel": model("/model/layers/0/driver/interpolant/kernel", json!("gauss")) => ["\"gauss\"", "update"];
        "values of another shape": model("/model/features/0/values", json!([1.0])) => ["a feature has 1 values"];
        "more centres than values": model("/model/features/0/centres", json!(u32::MAX)) => ["layer", "memory"];
        "few values of more centres than fit into memory": model("/model/features/0", json!({"source": {"type": "control", "control": "none", "rest": 0.0}, "representation": {"type": "scalar"}, "scale": {"type": "one", "factor": 1.0}, "centres": 1u64 << 60, "at": []})) => ["layer", "memory"];
        "a feature that is not there": model("/model/layers/0/driver/groups/0/feature", json!(999)) => ["feature 999"];
        "coefficients of another shape": model("/model/layers/0/driver/interpolant/coefficients", json!([])) => ["driver"];
        "a clamp of another length": model("/model/layers/0/driver/clamp", json!({"type": "range", "lowest": [], "highest": []})) => ["driver"];
        "a width of zero": model("/model/layers/0/driver/interpolant/widths/0", json!(0.0)) => ["driver"];
        "a driver of no joint": model("/model/features/0/source/joint", json!("tail")) => ["\"tail\""];
        "a component without targets": model("/model/layers/0/components/0", json!({})) => ["no morph target"];
        "a component of a target that is not there": model("/model/layers/0/components/0", json!({"plus": {"target": u64::MAX, "scale": 1.0}})) => ["no morph target 18446744073709551615"];
        "a component of scale zero": model("/model/layers/0/components/0", json!({"plus": {"target": 0, "scale": 0.0}})) => ["scale zero"];
        "own targets beyond all bounds": model("/ownTargets", json!([u64::MAX])) => ["no morph target"];
        "own targets of other meshes": model("/ownTargets", json!([0, 0, 0])) => ["3 meshes"];
        "examples without a list": examples("/examples", json!({"clip": "examples"})) => ["missing field `list`"];
        "examples of another clip": examples("/examples/clip", json!("dance")) => ["\"dance\"", "missing"];
        "normals in no accessor": examples("/examples/list/0/normals", json!({"in": "accessor", "name": "lost"})) => ["\"lost\""];
        "two examples of one name": examples("/examples/list/1/name", json!("example 0")) => ["example 0"];
    }
}
