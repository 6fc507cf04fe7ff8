import type { RegistryCredentials } from "@virtual-kubelet/core";
import { codeOf } from "@virtual-kubelet/errdefs";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import {
  startFakeEngine,
  type FakeAnswer,
  type FakeEngine,
  type FakeEngineRoutes,
  type FakeRequest,
} from "../test-support/fake-engine-server.ts";
import { EngineImages } from "./engine-images.ts";

const { signal: never } = new AbortController();
const digest = `sha256:${"b".repeat(64)}`;

function imagesOf({ engine }: FakeEngine, progressTimeoutMs = 10_000): EngineImages {
  return new EngineImages({ engine, parallelPulls: 2, progressTimeoutMs, sandboxImage: "pause:1" });
}

/** Lines of a pull's progress, as engines write them. */
function progress(...lines: readonly object[]): FakeAnswer {
  return (response) => void response.writeHead(200).end(lines.map((line) => `${JSON.stringify(line)}\r\n`).join(""));
}

const inspected = (): FakeAnswer => ({
  status: 200,
  json: { Id: "sha256:1", Size: 42, RepoDigests: [`app@${digest}`], Config: { User: "1001" } },
});
const inspecting: FakeEngineRoutes["answers"] = { "GET /images/app%3A1/json": inspected };

test("an image is pulled by tag, and described by digest, size and user", async () => {
  const answers = { ...inspecting, "POST /images/create": () => progress({ status: "Pulling" }, { status: "Done" }) };
  await using fake = await startFakeEngine({ answers });

  expect(await imagesOf(fake).pullImage("app:1", [], never)).toEqual({ id: `app@${digest}`, sizeBytes: 42, user: "1001" });
  expect(fake.requests.find(({ path }) => path === "/images/create")?.query.get("fromImage")).toBe("app:1");
});

test.for<[said: string, code: string]>([
  ["pull access denied for app, repository does not exist or may require 'docker login'", "VK_FORBIDDEN"],
  ["unauthorized: authentication required", "VK_FORBIDDEN"],
  ["manifest for app:1 not found: manifest unknown: manifest unknown", "VK_NOT_FOUND"],
  ["no matching manifest for linux/amd64 in the manifest list entries", "VK_NOT_FOUND"],
  ["toomanyrequests: You have reached your pull rate limit", "VK_UNAVAILABLE"],
  ["dial tcp 127.0.0.1:9: connect: connection refused", "VK_UNAVAILABLE"],
  ["invalid reference format", "VK_INVALID_INPUT"],
])("a pull that fails with %j, before or after the answer has begun, is %s", async ([said, code]) => {
  const failures = [
    () => progress({ status: "Pulling" }, { errorDetail: { message: said }, error: said }),
    () => ({ status: 500, json: { message: said } }),
  ];
  for (const failure of failures) {
    await using fake = await startFakeEngine({ answers: { "POST /images/create": failure } });
    const error: unknown = await imagesOf(fake)
      .pullImage("app:1", [], never)
      .catch((thrown: unknown) => thrown);

    expect(codeOf(error)).toBe(code);
    expect(String(error)).toContain(`pull image "app:1": ${said}`);
  }
});

test("each of the credentials is tried in turn, padded as engines want it, and at last none", async () => {
  const header = ({ headers }: FakeRequest): unknown => {
    const text = headers["x-registry-auth"];
    return typeof text === "string" ? JSON.parse(Buffer.from(text, "base64url").toString()) : undefined;
  };
  const answers = { ...inspecting, "POST /images/create": () => progress({ error: "unauthorized" }) };
  await using fake = await startFakeEngine({ answers });
  const credentials: RegistryCredentials[] = [{ username: "ann", password: "a?>b~" }, { identityToken: "t" }, { registryToken: "r" }];

  await expect(imagesOf(fake).pullImage("registry.example/app:1", credentials, never)).rejects.toThrow("unauthorized");
  const pulls = fake.requests.filter(({ path }) => path === "/images/create");
  expect(pulls.map(header)).toEqual([
    { username: "ann", password: "a?>b~", serveraddress: "registry.example" },
    { identitytoken: "t", serveraddress: "registry.example" },
    { registrytoken: "r", serveraddress: "registry.example" },
    undefined,
  ]);
  for (const { headers } of pulls) expect(String(headers["x-registry-auth"] ?? "").length % 4).toBe(0);
});

test("a registry that is away is not asked again with other credentials", async () => {
  await using fake = await startFakeEngine({
    answers: { "POST /images/create": () => ({ status: 500, json: { message: "connection refused" } }) },
  });

  await expect(imagesOf(fake).pullImage("app:1", [{ identityToken: "t" }], never)).rejects.toThrow("connection refused");
  expect(fake.requests.filter(({ path }) => path === "/images/create")).toHaveLength(1);
});

test("a pull that shows no progress has failed, and one that is aborted ends at the engine, too", async () => {
  const open: ServerResponse[] = [];
  const silent = (): FakeAnswer => (response) => {
    open.push(response);
    response.writeHead(200).write('{"status":"Downloading"}\r\n');
  };
  await using fake = await startFakeEngine({ answers: { "POST /images/create": silent } });

  await expect(imagesOf(fake, 50).pullImage("app:1", [], never)).rejects.toThrow("no progress for 0.05 s");
  const abort = new AbortController();
  const tried = open.length;
  const pulling = imagesOf(fake).pullImage("app:1", [], abort.signal);
  await expect.poll(() => open.length).toBeGreaterThan(tried);
  abort.abort(new Error("enough"));
  await expect(pulling).rejects.toThrow("enough");
  await expect.poll(() => open.every((response) => response.destroyed)).toBe(true);
});

test("an image in use, as a volume and the sandbox's among them, is said to be so; one is removed by all its names, never by force", async () => {
  const mounted = `sha256:${"4".repeat(64)}`;
  const containers = [{ ImageID: "sha256:2" }, { ImageID: "sha256:2", Labels: { "virtual-kubelet.io/volume-images": mounted } }];
  const listed = [
    { Id: "sha256:1", RepoTags: ["app:1", "app:2"], RepoDigests: [`app@${digest}`], Size: 5 },
    { Id: "sha256:2", RepoTags: ["<none>:<none>"], RepoDigests: null, Size: 6 },
    { Id: "sha256:3", RepoTags: ["pause:1"], RepoDigests: [], Size: 7 },
    { Id: mounted, RepoTags: ["data:1"], RepoDigests: [], Size: 8 },
  ];
  const gone = (): FakeAnswer => ({ status: 200, json: [] });
  await using fake = await startFakeEngine({
    answers: {
      "GET /images/json": () => ({ status: 200, json: listed }),
      "GET /containers/json": () => ({ status: 200, json: containers }),
      "GET /images/pause%3A1/json": () => ({ status: 200, json: { Id: "sha256:3" } }),
      "DELETE /images/app%3A1": gone,
      "DELETE /images/app%3A2": gone,
    },
  });
  const images = imagesOf(fake);

  expect(await images.listImages(never)).toEqual([
    { id: "sha256:1", names: ["app:1", "app:2", `app@${digest}`], sizeBytes: 5, isInUse: false },
    { id: "sha256:2", names: [], sizeBytes: 6, isInUse: true },
    { id: "sha256:3", names: ["pause:1"], sizeBytes: 7, isInUse: true },
    { id: mounted, names: ["data:1"], sizeBytes: 8, isInUse: true },
  ]);
  await images.removeImage("sha256:1", never);
  await images.removeImage("sha256:9", never);
  const removed = fake.requests.filter(({ url }) => url.includes("/images/app"));
  expect(removed.map(({ path, query }) => [path, query.get("force")])).toEqual([
    ["/images/app%3A1", null],
    ["/images/app%3A2", null],
    [`/images/${encodeURIComponent(`app@${digest}`)}`, null],
  ]);
});
