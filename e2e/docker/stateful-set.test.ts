import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Running } from "../interop/support/kubectl-runner.ts";
import { podTimeout } from "./support/docker-node.ts";
import { ServiceCluster } from "./support/service-cluster.ts";
import type { ServiceNode } from "./support/service-node.ts";
import { contentOf, DatabaseClient, importDatabase, type DatabaseContent } from "./support/stand-in-database.ts";

const patience = { timeoutMs: 300_000, intervalMs: 250 };
// A host port allows one pod per node, so three replicas need three nodes.
const nodeNames = ["stateful-1", "stateful-2", "stateful-3"];

let cluster: ServiceCluster;
let nodes: ReadonlyMap<string, ServiceNode>;
/** Every observed state of a pod, as lines with name, UID, phase and reason. */
let seen: Running;
/** System ID and acknowledged rows of each database, by pod. */
const written = new Map<string, { readonly systemId: string; readonly rows: string[] }>();

interface PodView {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses: readonly { readonly containerID: string; readonly restartCount: number; readonly ready: boolean }[];
  };
}

async function allPods(): Promise<readonly PodView[]> {
  return (JSON.parse(await cluster.say("get", "pods", "-o", "json")) as { items: PodView[] }).items;
}

async function podNamed(name: string): Promise<PodView> {
  return JSON.parse(await cluster.say("get", "pod", name, "-o", "json")) as PodView;
}

function nodeOf({ spec }: PodView): ServiceNode {
  const found = nodes.get(spec.nodeName);
  if (!found) throw new Error(`there is no node ${spec.nodeName}`);
  return found;
}

/** Client of a pod's database from outside the cluster, through its host port. */
async function clientOf(name: string): Promise<DatabaseClient> {
  return new DatabaseClient(`${nodeOf(await podNamed(name)).address}:5432`);
}

/** Response of the primary's Service to a process on the primary's machine, where kube-proxy forwards it to the pod. */
async function throughService(): Promise<string> {
  const { machine } = nodeOf(await podNamed("db-0"));
  const ip = await cluster.say("get", "service", "db-primary", "-o", "jsonpath={.spec.clusterIP}");
  const request = "printf 'GET /cgi-bin/select_all HTTP/1.0\\r\\n\\r\\n'";
  const answer = machine.run(`${request} | busybox nc -w 5 ${ip} 5432 || true`);
  return answer.slice(answer.search(/\r?\n\r?\n/)).trimStart();
}

/** Writes a row, and records it when it is acknowledged. */
async function insert(name: string, value: string): Promise<void> {
  const client = await clientOf(name);
  if (!written.has(name)) written.set(name, { systemId: (await client.selectAll()).systemId, rows: [] });
  await client.insert(value);
  written.get(name)?.rows.push(value);
}

/** Writes rows into the primary while the function runs. */
async function whileWriting(happens: () => Promise<unknown>): Promise<void> {
  const client = await clientOf("db-0");
  const rows = written.get("db-0")?.rows ?? [];
  let isOver = false;
  const writing = (async () => {
    for (let count = 0; !isOver; count++) {
      const value = `${rows.length}-try-${count}`;
      await client.insert(value).then(
        () => rows.push(value),
        () => undefined,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  await happens().finally(() => (isOver = true));
  await writing;
}

/** Waits until this number of replicas is ready, and checks their data through every path. */
async function isWhole(replicas: number): Promise<void> {
  const names = Array.from({ length: replicas }, (_, index) => `db-${index}`);
  await eventually(
    async () => {
      const pods = await allPods();
      expect(pods.map(({ metadata }) => metadata.name)).toEqual(names);
      expect(pods.map(({ status }) => [status.phase, status.containerStatuses[0]?.ready])).toEqual(names.map(() => ["Running", true]));
      for (const name of names) await expectWritten(name, async () => (await clientOf(name)).selectAll());
      await expectWritten("db-0", async () => contentOf(await throughService()));
      await expectNothingElse(pods);
    },
    { ...patience, describe: `${replicas} whole databases and nothing else` },
  );
}

/** Expects all acknowledged rows. */
async function expectWritten(name: string, select: () => Promise<DatabaseContent>): Promise<void> {
  const known = written.get(name);
  const before = [...(known?.rows ?? [])];
  const { systemId, rows } = await select();
  if (known) expect(systemId, `${name} has another database`).toBe(known.systemId);
  expect(before.filter((row) => !rows.includes(row))).toEqual([]);
}

/** Expects exactly a running sandbox and a running container per pod on every node. */
async function expectNothingElse(pods: readonly PodView[]): Promise<void> {
  for (const node of nodes.values()) {
    const uids = pods.filter(({ spec }) => spec.nodeName === node.name).map(({ metadata }) => metadata.uid);
    expect(await readdir(join(node.rootDirectory, "pods"))).toEqual(uids);
    const running = encodeURIComponent(JSON.stringify({ status: ["running"] }));
    const found = (await node.engine.api.json("GET", `/containers/json?filters=${running}`)) as { Labels: Record<string, string> }[];
    expect(found.map(({ Labels }) => Labels[labelNames.podUid]).toSorted()).toEqual(uids.flatMap((uid) => [uid, uid]).toSorted());
  }
}

async function restartsOf(name: string): Promise<number | undefined> {
  return (await podNamed(name)).status.containerStatuses[0]?.restartCount;
}

beforeAll(async () => {
  cluster = await ServiceCluster.start(3);
  const made = await Promise.all(
    nodeNames.map((name, index) =>
      cluster.addNode(name, { number: 2 + index, providerConfig: { localPath: {} }, prepare: (_, { api }) => importDatabase(api) }),
    ),
  );
  nodes = new Map(made.map((node) => [node.name, node]));
  const columns = "{.metadata.name} {.metadata.uid} {.status.phase} {.status.reason}{'\\n'}";
  seen = cluster.kubectl.start("get", "pods", "--watch", "-o", `jsonpath=${columns}`);
  const manifest = await readFile(join(import.meta.dirname, "support/stand-in-database.yaml"), "utf8");
  expect(await cluster.kubectl.run(["apply", "-f", "-"], manifest)).toMatchObject({ code: 0 });
});

afterAll(async () => {
  seen?.child.kill("SIGKILL");
  await cluster?.[Symbol.asyncDispose]();
});

// Each test continues from the state of the previous one.

test("a StatefulSet with a claim, a host port and a Service runs, and accepts writes through both", async () => {
  await cluster.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
  await insert("db-0", "first");
  await isWhole(1);
});

test("a rollout restart ends the server cleanly, and its successor gets the host port and the data", async () => {
  const before = await podNamed("db-0");
  await whileWriting(async () => {
    await cluster.say("rollout", "restart", "statefulset/db");
    await cluster.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
  });

  await isWhole(1);
  const after = await podNamed("db-0");
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(await restartsOf("db-0")).toBe(0);
  // Two concurrent servers on one claim, or a killed server, would have left the database interrupted.
  expect(await cluster.say("logs", "db-0")).toBe("LOG: database system was shut down\n");
});

test("after a restart of the engine the same pod continues, with one restart of its container", async () => {
  const { metadata, ...before } = await podNamed("db-0");
  const { engine } = nodeOf({ metadata, ...before });
  await whileWriting(async () => {
    await engine.stopDaemon();
    await engine.startDaemon();
    await eventually(async () => expect(await restartsOf("db-0")).toBe(1), patience);
    await isWhole(1);
  });

  await isWhole(1);
  expect((await podNamed("db-0")).metadata.uid).toBe(metadata.uid);
  expect(await restartsOf("db-0")).toBe(1);
});

test("a kill and restart of the program does not affect the server", async () => {
  const before = await podNamed("db-0");
  const node = nodeOf(before);
  await whileWriting(async () => {
    await node.killProgram();
    await insert("db-0", "without-a-node");
    node.startProgram();
    await isWhole(1);
  });

  const after = await podNamed("db-0");
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(after.status.containerStatuses).toMatchObject([
    { containerID: before.status.containerStatuses[0]?.containerID, restartCount: 1, ready: true },
  ]);
});

test("after a sudden reboot of the machine the same pod continues, with one restart of its container", async () => {
  const before = await podNamed("db-0");
  await whileWriting(async () => {
    await nodeOf(before).reboot();
    await eventually(async () => expect(await restartsOf("db-0")).toBe(2), patience);
    await isWhole(1);
  });

  await isWhole(1);
  expect((await podNamed("db-0")).metadata.uid).toBe(before.metadata.uid);
  expect(await restartsOf("db-0")).toBe(2);
  expect(await cluster.say("logs", "db-0")).toBe("LOG: database system was interrupted\n");
});

test("scaled to three and restarted, each pod has its own node and database; scaled to one, the others' data is kept", async () => {
  await cluster.say("scale", "statefulset/db", "--replicas=3");
  await cluster.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
  for (const name of ["db-0", "db-1", "db-2"]) await insert(name, `of-${name}`);
  await isWhole(3);
  expect(new Set((await allPods()).map(({ spec }) => spec.nodeName)).size).toBe(3);
  expect(new Set([...written.values()].map(({ systemId }) => systemId)).size).toBe(3);
  await cluster.say("rollout", "restart", "statefulset/db");
  await cluster.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
  await isWhole(3);

  await cluster.say("scale", "statefulset/db", "--replicas=1");
  await isWhole(1);
  for (const claim of ["data-db-1", "data-db-2"])
    expect(await cluster.say("get", "persistentvolumeclaim", claim, "-o", "jsonpath={.status.phase}")).toBe("Bound");
  await cluster.say("scale", "statefulset/db", "--replicas=3");
  await isWhole(3);
  await cluster.say("scale", "statefulset/db", "--replicas=1");
  await isWhole(1);
});

test("no pod has ever failed, and none was created unnecessarily", () => {
  const lines = seen.output.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "));
  // A server that was told to stop has succeeded in the end, as with a kubelet.
  expect(lines.filter(([, , phase = ""]) => !["Pending", "Running", "Succeeded"].includes(phase))).toEqual([]);
  const uidsOf = (name: string): number => new Set(lines.flatMap(([each, uid]) => (each === name ? [uid] : []))).size;
  // The first pod, and one for each rollout; db-1 and db-2 were also scaled down and up again.
  expect(["db-0", "db-1", "db-2"].map(uidsOf)).toEqual([3, 3, 3]);
  expect(seen.child.exitCode).toBeNull();
});
