// Writes a GLB again without meshopt compression; quantised numbers stay as they are.
//
//   node decompress.mjs compressed.glb plain.glb
import { NodeIO } from "@gltf-transform/core";
import { EXTMeshoptCompression, KHRMeshQuantization } from "@gltf-transform/extensions";
import { MeshoptDecoder } from "meshoptimizer";

const [compressed, plain] = process.argv.slice(2);
await MeshoptDecoder.ready;
const io = new NodeIO()
  .registerExtensions([EXTMeshoptCompression, KHRMeshQuantization])
  .registerDependencies({ "meshopt.decoder": MeshoptDecoder });
const document = await io.read(compressed);
for (const extension of document.getRoot().listExtensionsUsed()) {
  if (extension.extensionName === EXTMeshoptCompression.EXTENSION_NAME) extension.dispose();
}
await io.write(plain, document);
