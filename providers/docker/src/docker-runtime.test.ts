import { codeOf } from "@virtual-kubelet/errdefs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DockerRuntime } from "./docker-runtime.ts";
import type { DockerRuntimeSettings } from "./runtime-settings.ts";
import { inspected, type FakeContainer } from "./test-support/engine-containers.ts";
import { startFakeEngine, type FakeAnswer, type FakeEngine, type FakeEngineRoutes } from "./test-support/fake-engine-server.ts";
import { containerSpec, sandboxSpec } from "./test-support/specs.ts";
import { tempFolder } from "./test-support/temp-folder.ts";

const { signal: never } = new AbortController();
const spec = containerSpec();
const name = "vk_app_web_shop_u1_0";

function runtimeOf(
  { engine }: FakeEngine,
  more: Partial<DockerRuntimeSettings> = {},
  logLinks?: ConstructorParameters<typeof DockerRuntime>[0]["logLinks"],
): DockerRuntime {
  return new DockerRuntime({
    engine,
    logLinks,
    ownerLabels: {},
    gpus: () => Promise.resolve([]),
    settings: {
      namePrefix: "vk",
      sandboxImage: "pause:1",
      network: "bridge",
      networkFolder: "/nonexistent",
      log: { maxSize: "10m", maxFiles: 5 },
      runtimeClasses: {},
      devices: {},
      seccompFolder: "/none",
      imageFolder: "/none",
      parallelPulls: 5,
      pullProgressTimeoutMs: 60_000,
      ...more,
    },
  });
}

const created = (id: string): FakeAnswer => ({ status: 201, json: { Id: id, Warnings: [] } });
const done: FakeAnswer = { status: 204 };
const refused = (status: number, message: string): FakeAnswer => ({ status, json: { message } });
const taken = refused(409, `Conflict. The container name "/${name}" is already in use by container "c1"`);
const info: FakeEngineRoutes["answers"] = { "GET /info": () => ({ status: 200, json: {} }) };

/** Answers in turn; the last one stays. */
function inTurn(...answers: readonly FakeAnswer[]): () => FakeAnswer {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? done;
}

function asked({ requests }: FakeEngine): string[] {
  return requests
    .filter(({ path }) => path !== "/_ping" && path !== "/info")
    .map(({ path, query }) => [path, query.get("name")].filter(Boolean).join(" "));
}

async function create(
  held: Partial<FakeContainer>,
  creations: readonly FakeAnswer[],
): Promise<{ id: string | undefined; error: unknown; asked: string[] }> {
  const answer: FakeAnswer = {
    status: 200,
    json: inspected({ id: "c1", labels: { ...spec.labels, "io.kubernetes.sandbox.id": "s1" }, ...held }),
  };
  await using fake = await startFakeEngine({
    answers: {
      ...info,
      "POST /containers/create": inTurn(...creations),
      [`GET /containers/${name}/json`]: () => answer,
      "DELETE /containers/c1": () => done,
    },
  });
  try {
    return { id: await runtimeOf(fake).createContainer("s1", spec, never), error: undefined, asked: asked(fake) };
  } catch (error) {
    return { id: undefined, error, asked: asked(fake) };
  }
}

test("a container whose making was not heard of is taken over by its name and labels", async () => {
  expect(await create({ status: "created" }, [taken])).toMatchObject({ id: "c1", error: undefined });
});

test("one that could not join its sandbox, and one of an earlier sandbox, are made anew", async () => {
  const stuck = { status: "created", exitCode: 128, error: "cannot join network of a non running container" };
  const earlier = { labels: { ...spec.labels, "io.kubernetes.sandbox.id": "s0" } };

  for (const held of [stuck, earlier]) {
    const made = await create(held, [taken, created("c2")]);
    expect(made.id).toBe("c2");
    expect(made.asked).toEqual([
      // In which cgroup the sandbox of an earlier program is.
      "/containers/s1/json",
      `/containers/create ${name}`,
      `/containers/${name}/json`,
      "/containers/c1",
      `/containers/create ${name}`,
    ]);
  }
});

test("a container is put in its sandbox's cgroup, whatever is settled now", async () => {
  const parents: unknown[] = [];
  await using fake = await startFakeEngine({
    answers: {
      ...info,
      "POST /containers/create": ({ body }) => {
        parents.push((body as { HostConfig: { CgroupParent?: string } }).HostConfig.CgroupParent);
        return created("c1");
      },
      ...Object.fromEntries(
        ["/vkpods/podu1", ""].map((parent, index) => {
          const container = inspected({ id: `s${index}`, labels: spec.labels });
          const json = { ...container, HostConfig: { ...container.HostConfig, CgroupParent: parent } };
          return [`GET /containers/s${index}/json`, () => ({ status: 200, json })];
        }),
      ),
    },
  });
  const runtime = runtimeOf(fake, { cgroupParent: "/settled" });

  await runtime.createContainer("s0", spec, never);
  await runtime.createContainer("s0", spec, never);
  await runtime.createContainer("s1", spec, never);

  expect(parents).toEqual(["/vkpods/podu1", "/vkpods/podu1", undefined]);
  expect(asked(fake).filter((request) => request === "/containers/s0/json")).toHaveLength(1);
});

test("a name that somebody else has is left to him", async () => {
  const made = await create({ labels: { of: "somebody else" } }, [taken, taken, created("c2")]);

  expect(made.id).toBe("c2");
  expect(made.asked.at(-1)).toBe(`/containers/create ${name}_s1`);
  expect(made.asked).not.toContain("/containers/c1");
});

test.for<[what: string, answer: FakeAnswer, code: string | undefined]>([
  ["a sandbox that is gone", refused(400, "No such container: s1"), "VK_CONFLICT"],
  ["a field that is refused", refused(400, "Minimum memory limit allowed is 6MB"), "VK_INVALID_INPUT"],
  ["an image that is gone", refused(404, "No such image: app@sha256:1"), "VK_NOT_FOUND"],
])("%s has its own code", async ([, answer, code]) => {
  expect(codeOf((await create({}, [answer])).error)).toBe(code);
});

test("a container that has ended is never begun a second time, and one that runs is begun", async () => {
  let status = "exited";
  await using fake = await startFakeEngine({
    answers: {
      "GET /containers/c1/json": () => ({ status: 200, json: inspected({ id: "c1", labels: spec.labels, status }) }),
      "POST /containers/c1/start": () => done,
    },
  });
  const runtime = runtimeOf(fake);
  const error: unknown = await runtime.startContainer("c1", never).catch((thrown: unknown) => thrown);
  status = "running";
  await runtime.startContainer("c1", never);

  expect(codeOf(error)).toBe("VK_CONFLICT");
  expect(asked(fake)).not.toContain("/containers/c1/start");
});

/** An engine whose first sandbox cannot be started. */
async function sandboxes(starts: readonly FakeAnswer[], oomScore = 0): Promise<FakeEngine> {
  const made = inTurn(created("s1"), created("s2"), created("s3"));
  return startFakeEngine({
    answers: {
      "POST /containers/create": made,
      ...Object.fromEntries(
        ["s1", "s2", "s3"].flatMap((id) => [
          [`GET /containers/${id}/json`, () => ({ status: 200, json: inspected({ id, labels: sandboxSpec().labels, oomScore }) })],
          [`DELETE /containers/${id}`, () => done],
        ]),
      ),
      ...(() => {
        const start = inTurn(...starts);
        return Object.fromEntries(["s1", "s2", "s3"].map((id) => [`POST /containers/${id}/start`, start]));
      })(),
    },
  });
}

function oomScores({ requests }: FakeEngine): unknown[] {
  const bodies = requests
    .filter(({ path }) => path === "/containers/create")
    .map(({ body }) => body as { HostConfig: { OomScoreAdj: number } });
  return bodies.map(({ HostConfig }) => HostConfig.OomScoreAdj);
}

test("an engine that may not lower OOM scores is found out by the first sandbox, and not asked again", async () => {
  await using fake = await sandboxes([refused(500, "OCI runtime create failed: can't get final child's PID from pipe: EOF"), done]);
  const runtime = runtimeOf(fake);

  expect(await runtime.createSandbox(sandboxSpec(), never)).toMatchObject({ id: "s2", isReady: true });
  expect(await runtime.createSandbox(sandboxSpec(), never)).toMatchObject({ id: "s3" });
  expect(oomScores(fake)).toEqual([-998, 0, 0]);
  expect(asked(fake)).toContain("/containers/s1");
});

test("a sandbox that cannot be started in either way leaves nothing behind, and proves nothing", async () => {
  const failure = refused(500, "OCI runtime create failed: no space left on device");
  await using fake = await sandboxes([failure, failure, done]);
  const runtime = runtimeOf(fake);

  await expect(runtime.createSandbox(sandboxSpec(), never)).rejects.toThrow("no space left on device");
  expect(asked(fake).filter((path) => /^\/containers\/s\d$/.test(path))).toEqual(["/containers/s1", "/containers/s2"]);
  await runtime.createSandbox(sandboxSpec(), never);
  expect(oomScores(fake)).toEqual([-998, 0, -998]);
});

test("a sandbox image that is not there is pulled", async () => {
  await using fake = await startFakeEngine({
    answers: {
      "POST /containers/create": inTurn(refused(404, "No such image: pause:1"), created("s1")),
      "POST /images/create": () => ({ status: 200, json: { status: "Done" } }),
      "GET /images/pause%3A1/json": () => ({ status: 200, json: { Id: "sha256:1" } }),
      "POST /containers/s1/start": () => done,
      "GET /containers/s1/json": () => ({ status: 200, json: inspected({ id: "s1", labels: sandboxSpec().labels }) }),
    },
  });

  expect(await runtimeOf(fake).createSandbox(sandboxSpec(), never)).toMatchObject({ id: "s1", ips: ["172.17.0.2"] });
  expect(asked(fake)).toContain("/images/create");
});

test("a port that is taken is a conflict, and the sandbox of an earlier try is taken over", async () => {
  await using port = await sandboxes([
    refused(500, "driver failed programming external connectivity: Bind for 0.0.0.0:80 failed: port is already allocated"),
  ]);
  const error: unknown = await runtimeOf(port)
    .createSandbox(sandboxSpec(), never)
    .catch((thrown: unknown) => thrown);
  expect(codeOf(error)).toBe("VK_CONFLICT");

  await using fake = await startFakeEngine({
    answers: {
      "POST /containers/create": () => taken,
      "GET /containers/vk_POD_web_shop_u1_0/json": () => ({ status: 200, json: inspected({ id: "s1", labels: sandboxSpec().labels }) }),
      "POST /containers/s1/start": () => ({ status: 304 }),
      "GET /containers/s1/json": () => ({ status: 200, json: inspected({ id: "s1", labels: sandboxSpec().labels }) }),
    },
  });
  expect(await runtimeOf(fake).createSandbox(sandboxSpec(), never)).toMatchObject({ id: "s1" });
});

test.each([
  ["has no such request", {}],
  ["has no control groups, as a rootless one", { MemoryLimit: false, CpuCfsQuota: false, CPUShares: false }],
])("an engine that %s says that it cannot change resources in place", async (_, json) => {
  await using fake = await startFakeEngine({ answers: { "GET /info": () => ({ status: 200, json }) } });
  const error: unknown = await runtimeOf(fake)
    .resizeContainer("c1", { memoryBytes: 1 }, never)
    .catch((thrown: unknown) => thrown);

  expect(codeOf(error)).toBe("VK_UNSUPPORTED");
  expect(asked(fake)).toEqual("MemoryLimit" in json ? [] : ["/containers/c1/update"]);
});

test("a removal that somebody else has begun is waited for", async () => {
  await using fake = await startFakeEngine({
    answers: {
      "DELETE /containers/c1": () => refused(409, "removal of container c1 is already in progress"),
      "GET /containers/c1/json": inTurn(
        { status: 200, json: inspected({ id: "c1", labels: {}, status: "removing" }) },
        refused(404, "No such container: c1"),
      ),
    },
  });

  await runtimeOf(fake).removeContainer("c1", never);
  expect(asked(fake)).toEqual(["/containers/c1", "/containers/c1/json", "/containers/c1/json"]);
});

test("a container whose image asks for a signal that is none is stopped all the same", async () => {
  await using fake = await startFakeEngine({
    answers: {
      "GET /containers/c1/json": () => ({ status: 200, json: inspected({ id: "c1", labels: spec.labels, stopSignal: "SIGFOO" }) }),
      "POST /containers/c1/kill": ({ query }) => (query.get("signal") === "SIGFOO" ? refused(400, "Invalid signal: SIGFOO") : done),
      "POST /containers/c1/wait": () => ({ status: 200, json: { StatusCode: 143 } }),
    },
  });

  await runtimeOf(fake).stopContainer("c1", { graceMs: 60_000 }, never);

  expect(fake.requests.flatMap(({ query }) => query.get("signal") ?? [])).toEqual(["SIGFOO", "SIGTERM"]);
});

test("a stop that is given up while its signal is on the way has sent it: the next one does not", async () => {
  const [asked, answered] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  await using fake = await startFakeEngine({
    answers: {
      "GET /containers/c1/json": () => ({ status: 200, json: inspected({ id: "c1", labels: spec.labels }) }),
      "POST /containers/c1/kill": () => (response) => {
        asked.resolve(undefined);
        void answered.promise.then(() => response.writeHead(204).end());
      },
      "POST /containers/c1/wait": () => ({ status: 200, json: { StatusCode: 143 } }),
    },
  });
  const runtime = runtimeOf(fake);
  const first = new AbortController();
  const stopping = runtime.stopContainer("c1", { graceMs: 60_000 }, first.signal);
  await asked.promise;
  first.abort(new Error("less grace"));
  await expect(stopping).rejects.toThrow("less grace");

  const again = runtime.stopContainer("c1", { graceMs: 30_000 }, never);
  answered.resolve(undefined);
  await again;

  expect(fake.requests.flatMap(({ query }) => query.get("signal") ?? [])).toEqual(["SIGTERM"]);
});

test("a container's log is linked when it is first seen begun, and let go of when the engine has removed it", async () => {
  const statuses = ["created", "running"];
  const told: string[] = [];
  await using fake = await startFakeEngine({
    answers: {
      "GET /containers/c1/json": () => ({
        status: 200,
        json: { ...inspected({ id: "c1", labels: spec.labels, status: statuses.shift() ?? "exited" }), LogPath: "/engine/c1.log" },
      }),
      "DELETE /containers/c1": () => (told.push("removed"), done),
    },
  });
  const runtime = runtimeOf(
    fake,
    {},
    {
      link: ({ id, logPath }) => Promise.resolve(void told.push(`link ${id} to ${logPath}`)),
      unlink: (id) => Promise.resolve(void told.push(`unlink ${id}`)),
    },
  );

  await runtime.inspectContainer("c1", never);
  expect(told).toEqual([]);
  await runtime.inspectContainer("c1", never);
  await runtime.removeContainer("c1", never);

  expect(told).toEqual(["link c1 to /engine/c1.log", "removed", "unlink c1"]);
});

test("a sandbox that is gone and whose network cannot be freed does not keep others' from being freed", async () => {
  await using folder = await tempFolder();
  const [records, binDir] = [join(folder.path, "records"), join(folder.path, "bin")];
  for (const each of [records, binDir]) await mkdir(each);
  await writeFile(join(binDir, "works"), "#!/bin/sh\nexec cat >/dev/null\n", { mode: 0o755 });
  const record = (type: string): string =>
    JSON.stringify({ list: { name: "pods", cniVersion: "1.0.0", plugins: [{ type }] }, binDirs: [binDir], args: [], capabilityArgs: {} });
  await writeFile(join(records, "a-cut.json"), record("works").slice(0, 20));
  await writeFile(join(records, "b-uninstalled.json"), record("uninstalled"));
  await writeFile(join(records, "c-works.json"), record("works"));
  await using fake = await startFakeEngine({ answers: { "GET /containers/json": () => ({ status: 200, json: [] }) } });

  const collecting = runtimeOf(fake, { networkFolder: records }).collectNetworks(never);

  // The folder's order is the file system's.
  const problems = [/^free 2 of 3 networks /, /read \S+a-cut\.json: /, /there is no program uninstalled in /];
  for (const problem of problems) await expect(collecting).rejects.toThrow(problem);
  expect((await readdir(records)).toSorted()).toEqual(["a-cut.json", "b-uninstalled.json"]);
});
