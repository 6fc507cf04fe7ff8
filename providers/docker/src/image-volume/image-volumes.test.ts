import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { labelNames, type ContainerMount } from "@virtual-kubelet/pod-runtime";
import { expect, test } from "vitest";
import { EngineObjects } from "../engine/engine-objects.ts";
import { EngineImages } from "../image/engine-images.ts";
import { archiveOf, type ArchiveEntry } from "../test-support/archive.ts";
import { startFakeEngine, type FakeAnswer, type FakeEngine, type FakeEngineRoutes } from "../test-support/fake-engine-server.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { ImageVolumes } from "./image-volumes.ts";

const never = new AbortController().signal;
const id = `sha256:${"1".repeat(64)}`;
const ownerLabels = { "virtual-kubelet.io/cluster": "c1", "virtual-kubelet.io/node": "n1" };
const exportPath = join("boot", id.replace(":", "-"));

const mount = (subPath = ""): ContainerMount => ({
  hostPath: "",
  image: { id: "data:1", subPath },
  containerPath: "/data",
  isReadOnly: true,
});
const plain: ContainerMount = { hostPath: "/etc", containerPath: "/e", isReadOnly: false };

interface Rig extends AsyncDisposable {
  readonly fake: FakeEngine;
  readonly volumes: ImageVolumes;
  readonly folder: string;
  /** The requests in order, without those that tell of versions. */
  asked(): string[];
}

/** An engine that has one image with these files. */
async function rigOf(files: readonly ArchiveEntry[], routes: Partial<FakeEngineRoutes> = {}): Promise<Rig> {
  const folder = await tempFolder();
  const archive = await archiveOf(files);
  const fake = await startFakeEngine({
    ...routes,
    answers: {
      "GET /images/data%3A1/json": () => ({ status: 200, json: { Id: id } }),
      "POST /containers/create": () => ({ status: 201, json: { Id: "x1", Warnings: [] } }),
      "GET /containers/x1/json": () => ({ status: 200, json: { Created: "2026-01-01T00:00:00Z" } }),
      "GET /containers/x1/export": () => (response) => void response.end(archive),
      "DELETE /containers/x1": () => ({ status: 204 }),
      "GET /containers/json": () => ({ status: 200, json: [] }),
      ...routes.answers,
    },
  });
  const { engine } = fake;
  const images = new EngineImages({ engine, parallelPulls: 1, progressTimeoutMs: 60_000, sandboxImage: "pause:1" });
  const path = join(folder.path, "images");
  const bootId = async (): Promise<string> => "boot";
  const volumes = new ImageVolumes({ engine, objects: new EngineObjects(engine), images, ownerLabels, folder: path, bootId });
  return {
    fake,
    volumes,
    folder: path,
    asked: () => fake.requests.filter(({ path: each }) => each !== "/_ping").map(({ path: each }) => each),
    async [Symbol.asyncDispose]() {
      await volumes[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("an engine that cannot mount images is given a folder with the image's files, taken out once", async () => {
  await using rig = await rigOf([
    { name: "models/", type: "directory" },
    { name: "models/weights", content: "42" },
    { name: ".dockerenv", mtime: new Date("2026-01-01T00:00:00Z") },
  ]);
  const make = (mounts: readonly ContainerMount[], ids: readonly string[]): Promise<unknown> => Promise.resolve({ mounts, ids });

  const made = await rig.volumes.withMounts([plain, mount(), mount("models")], make, never);
  await rig.volumes.withMounts([mount()], make, never);

  const path = join(rig.folder, exportPath);
  const placed = { containerPath: "/data", isReadOnly: true, image: undefined };
  expect(made).toEqual({ mounts: [plain, { ...placed, hostPath: path }, { ...placed, hostPath: join(path, "models") }], ids: [id] });
  expect(await readdir(path)).toEqual(["models"]);
  expect(await readFile(join(path, "models/weights"), "utf8")).toBe("42");
  expect(rig.asked().filter((each) => !each.startsWith("/images"))).toEqual([
    "/containers/create",
    "/containers/x1/json",
    "/containers/x1/export",
    "/containers/x1",
  ]);
});

test("the container that is read belongs to no pod, whatever the image's labels say, and is known as ours", async () => {
  await using rig = await rigOf([]);

  await rig.volumes.withMounts([mount()], async () => {}, never);

  const body = rig.fake.requests.find(({ path }) => path === "/containers/create")?.body as { readonly Labels: object };
  expect(body).toMatchObject({ Image: id, HostConfig: { NetworkMode: "none" } });
  expect(body.Labels).toMatchObject({
    [labelNames.podUid]: "",
    [labelNames.cluster]: "",
    [labelNames.node]: "",
    "virtual-kubelet.io/image-export": "c1/n1",
    "virtual-kubelet.io/image-export-of": id,
  });
});

test("an engine of API 1.48 mounts images itself, by its own id", async () => {
  await using rig = await rigOf([], { version: () => "1.48" });

  const made = await rig.volumes.withMounts([mount("models"), plain], async (mounts, ids) => ({ mounts, ids }), never);

  expect(made).toEqual({ mounts: [{ ...mount(), image: { id, subPath: "models" } }, plain], ids: [id] });
  expect(rig.asked()).toEqual(["/images/data%3A1/json"]);
});

test("containers without images cost no request", async () => {
  await using rig = await rigOf([]);

  expect(await rig.volumes.withMounts([plain], async (mounts, ids) => ({ mounts, ids }), never)).toEqual({ mounts: [plain], ids: [] });
  expect(rig.asked()).toEqual([]);
});

test.each<[string, FakeEngineRoutes["answers"], string]>([
  ["a part that the image has not", {}, 'failed to ensure image subpath "gone": no such file or directory'],
  ["an image that is gone", { "GET /images/data%3A1/json": () => notFound }, "no such image"],
  [
    "an answer that breaks off",
    { "GET /containers/x1/export": () => (response) => void response.write("x", () => response.destroy()) },
    "",
  ],
])("%s is told in the words of a container runtime", async (_, answers, message) => {
  await using rig = await rigOf([], { answers });

  const making = rig.volumes.withMounts([mount("gone")], async () => {}, never);

  await expect(making).rejects.toThrow(/^ImageVolumeMountFailed: /);
  await expect(making).rejects.toThrow(message);
});

const notFound: FakeAnswer = { status: 404, json: { message: "no such image" } };

test("a failure keeps its code, and the container that was read is removed all the same", async () => {
  await using rig = await rigOf([{ name: "../out" }]);

  await expect(rig.volumes.withMounts([mount()], async () => {}, never)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
  expect(rig.asked().at(-1)).toBe("/containers/x1");
  expect(await readdir(join(rig.folder, "boot"))).toEqual([]);

  await using without = await rigOf([], { answers: { "GET /images/data%3A1/json": () => notFound } });
  await expect(without.volumes.withMounts([mount()], async () => {}, never)).rejects.toSatisfy(isNotFound);
});

test("what the maker of the container throws is left as it is", async () => {
  await using rig = await rigOf([]);
  const failure = new NotFoundError("no sandbox");

  await expect(rig.volumes.withMounts([mount()], () => Promise.reject(failure), never)).rejects.toBe(failure);
});

test("files stay as long as a container of the engine mounts them, and so does a container that is being read", async () => {
  let mounted = [{ Id: "c1", Labels: { "virtual-kubelet.io/volume-images": `${id},sha256:nonsense` } }];
  const left = [{ Id: "x0", Labels: { "virtual-kubelet.io/image-export-of": id } }];
  await using rig = await rigOf([], {
    answers: {
      "GET /containers/json": ({ query }) => ({ status: 200, json: query.get("filters")?.includes("image-export") ? left : mounted }),
      "DELETE /containers/x0": () => ({ status: 204 }),
    },
  });
  await rig.volumes.withMounts([mount()], () => rig.volumes.collect(never), never);
  expect(rig.asked()).toContain("/containers/x0");

  await rig.volumes.collect(never);
  expect(await readdir(join(rig.folder, "boot"))).toEqual([id.replace(":", "-")]);
  mounted = [];
  await rig.volumes.collect(never);

  expect(await readdir(join(rig.folder, "boot"))).toEqual([]);
  const [filters] = rig.fake.requests.flatMap(({ query }) => query.get("filters") ?? []);
  expect(JSON.parse(filters ?? "")).toEqual({ label: ["virtual-kubelet.io/image-export=c1/n1"] });
});
