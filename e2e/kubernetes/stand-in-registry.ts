import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { extract } from "tar-stream";
import type { EngineApi } from "../docker/support/engine-api.ts";

/** The registry of the tests' images, and its address here. Engines use plain HTTP with every address in 127.0.0.0/8. */
const [registry, address] = ["registry.k8s.io", "127.0.0.80"];

const mediaTypes = {
  manifest: "application/vnd.docker.distribution.manifest.v2+json",
  config: "application/vnd.docker.container.image.v1+json",
  layer: "application/vnd.docker.image.rootfs.diff.tar",
} as const;

/**
 * Replaces the registry, so that images with the pull policy Always can be pulled: it serves the engine's image of the same name. It
 * changes the hosts file, so it must run in a private mount namespace. It ends with the program.
 */
export async function serveStandIns(engine: EngineApi): Promise<void> {
  nameAddress();
  const blobs = new Map<string, Buffer>();
  const keep = (bytes: Buffer): string => {
    const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    blobs.set(digest, bytes);
    return digest;
  };
  const answer = async ({ url = "" }: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Open connections would delay the end of the program.
    response.setHeader("connection", "close");
    const [, name = "", kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    if (kind === undefined) return void response.end("{}");
    const isTag = kind === "manifests" && !reference.startsWith("sha256:");
    const digest = isTag ? keep(await manifestOf(engine, `${registry}/${name}:${reference}`, keep)) : reference;
    const bytes = blobs.get(digest);
    if (!bytes) return void response.writeHead(404).end();
    const type = kind === "manifests" ? mediaTypes.manifest : "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": bytes.length, "docker-content-digest": digest }).end(bytes);
  };
  const server = createServer((asked, response) => {
    answer(asked, response).catch((error: unknown) => response.writeHead(404).end(JSON.stringify({ message: String(error) })));
  });
  server.listen(80, address).unref();
  await once(server, "listening");
}

/** Manifest of an image as the engine saves it. @throws Error if the engine has no image with that name */
async function manifestOf(engine: EngineApi, image: string, keep: (bytes: Buffer) => string): Promise<Buffer> {
  const files = await savedFiles(engine, image);
  const [saved] = JSON.parse(String(files.get("manifest.json"))) as { readonly Config: string; readonly Layers: readonly string[] }[];
  const describe = (path: string, mediaType: string): object => {
    const bytes = files.get(path);
    if (!bytes) throw new Error(`read image ${image}: the engine has not saved ${path}`);
    return { mediaType, size: bytes.length, digest: keep(bytes) };
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: describe(saved?.Config ?? "", mediaTypes.config),
    layers: saved?.Layers.map((path) => describe(path, mediaTypes.layer)),
  };
  return Buffer.from(JSON.stringify(manifest));
}

async function savedFiles(engine: EngineApi, image: string): Promise<ReadonlyMap<string, Buffer>> {
  const sent = request({ socketPath: engine.socketPath, path: `/images/${image}/get`, headers: { host: "docker" }, agent: false });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`read image ${image}: ${response.statusCode}`);
  const files = new Map<string, Buffer>();
  for await (const entry of response.pipe(extract())) files.set(entry.header.name, await buffer(entry as AsyncIterable<Uint8Array>));
  return files;
}

/** Adds the registry's address to the hosts file of this mount namespace. */
function nameAddress(): void {
  const folder = mkdtempSync(join(tmpdir(), "vk-hosts-"));
  const path = join(folder, "hosts");
  writeFileSync(path, `${readFileSync("/etc/hosts", "utf8").trimEnd()}\n${address} ${registry}\n`);
  execFileSync("mount", ["--bind", path, "/etc/hosts"]);
  // The file must exist until then, because a deleted file cannot be mounted into pods.
  process.once("exit", () => rmSync(folder, { recursive: true }));
}
