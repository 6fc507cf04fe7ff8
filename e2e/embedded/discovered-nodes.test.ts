import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askKubelet } from "../support/kubelet-request.ts";
import { Program } from "../support/program.ts";
import { accountOf } from "./support/printed-rights.ts";
import { ProgramRig, soon } from "./support/program-rig.ts";

const { signal } = new AbortController();

/** A provider whose back end has the nodes that the file `names.json` lists, and does not answer while it is no JSON. */
const source = `
import { readFile } from "node:fs/promises";
const notFound = () => Object.assign(new Error("no such pod"), { code: "VK_NOT_FOUND" });
const names = async () => JSON.parse(await readFile("names.json", "utf8"));
export const provider = {
  name: "fleet",
  capabilities: { env: true, restarts: true },
  configSchema: { safeParse: (data) => ({ success: true, data }) },
  discoverNodes: ({ clock }) => ({
    async *discover(signal) {
      for (let last; ; await clock.sleep(100, signal)) {
        const listed = await names();
        if (String(listed) !== last) yield listed.map((name) => ({ name }));
        last = String(listed);
      }
    },
    configOf: (counterpart) => ({ counterpart }),
  }),
  create: ({ nodeName, clusterId }, { counterpart }) => {
    const held = new Map();
    const get = ({ uid }) => { if (!held.has(uid)) throw notFound(); return held.get(uid); };
    return {
      configureNode: async () => ({ labels: { counterpart }, capacity: { pods: "7" } }),
      async createPod({ metadata: { namespace, name, uid }, spec }) {
        const containerStatuses = spec.containers.map((container) => ({ name: container.name, ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } }));
        held.set(uid, { ref: { namespace, name, uid }, owner: { clusterId, nodeName }, status: { phase: "Running", containerStatuses } });
      },
      async updatePod() {},
      async deletePod(ref) { get(ref); held.delete(ref.uid); },
      async getPod(ref) { return get(ref); },
      async getPodStatus(ref) { return get(ref).status; },
      async getPods() { return { pods: [...held.values()], complete: true }; },
    };
  },
};
`;

async function rigWith(names: string): Promise<ProgramRig> {
  const rig = await ProgramRig.open();
  await writeFile(join(rig.folder, "fleet.mjs"), source);
  await writeFile(join(rig.folder, "names.json"), names);
  return rig;
}

test("a program has a node for each node of its back end, at one port, and one more for a new one", async () => {
  await using rig = await rigWith('["a"]');
  const [port, healthPort] = [await freePort(), await freePort()];
  const open = "--anonymous-auth --authorization-mode AlwaysAllow --kubelet-address 127.0.0.1";
  const words = `--provider ./fleet.mjs --nodename far --kubelet-port ${port} --health-addr 127.0.0.1:${healthPort} ${open}`;
  await using _program = rig.run(words);
  await rig.nodeIsReady("far-a");

  await writeFile(join(rig.folder, "names.json"), '["a", "b"]');
  await rig.nodeIsReady("far-b");
  await rig.createPod("web", "far-b");
  await rig.podIsRunning("web");

  const { metadata, status } = await rig.node("far-b");
  expect(metadata?.labels).toMatchObject({ counterpart: "b", "virtual-kubelet.io/discovered-by": "far" });
  expect(metadata?.annotations).toMatchObject({ "metrics.k8s.io/resource-metrics-path": "/nodes/far-b/metrics/resource" });
  expect(status).toMatchObject({ capacity: { pods: "7" }, daemonEndpoints: { kubeletEndpoint: { Port: port } } });
  const pods = async (path: string): Promise<unknown> => JSON.parse((await askKubelet(port, { path })).body) as unknown;
  expect(await pods("/nodes/far-b/pods")).toMatchObject({ items: [{ metadata: { name: "web" } }] });
  expect(await pods("/nodes/far-a/pods")).toMatchObject({ items: [] });
  expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200);
  await using shown = new Program(["status", "--nodename", "far"], { cwd: rig.folder });
  expect(await shown.exit).toBe(0);
  expect(shown.stdout).toMatch(/node far-a ready[^]*node far-b ready/);
});

test("the printed rights of a service account suffice", async () => {
  await using rig = await rigWith('["a"]');
  const words = ["--provider", "./fleet.mjs", "--nodename", "far"];
  await using printing = new Program(["manifests", "rbac", "--run-as=service-account", "-o", "json", ...words], { cwd: rig.folder });
  expect(await printing.exit).toBe(0);
  const { items } = JSON.parse(printing.stdout) as { items: object[] };
  await using server = await startApiServer({ objects: items });
  await server.writeKubeconfig(join(rig.folder, "account"), accountOf("far"));
  await using program = new Program(["--kubeconfig", "account", "--health-addr", "off", "--kubelet-port", "0", ...words], {
    cwd: rig.folder,
  });
  await eventually(() => expect(program.logs.map(({ msg }) => msg)).toContain("ready"), soon);

  await writeFile(join(rig.folder, "names.json"), '["a", "b"]');

  const client = createKubeClient(server.transport());
  await eventually(async () => {
    const { items: nodes } = await client.list(resources.nodes, {}, { signal });
    expect(nodes.map(({ metadata }) => metadata?.name).sort()).toEqual(["far-a", "far-b"]);
  }, soon);
  const refused = program.logs.filter(({ level }) => level === "warn" || level === "error");
  expect(refused.filter((line) => JSON.stringify(line).includes("forbidden"))).toEqual([]);
});

test("a node that vanishes is NotReady, and a program that starts while the back end is away goes on with the nodes that it had", async () => {
  await using rig = await rigWith('["a", "b"]');
  const words = "--provider ./fleet.mjs --nodename far";
  await using first = rig.run(words);
  await Promise.all(["far-a", "far-b"].map((name) => rig.nodeIsReady(name)));

  await writeFile(join(rig.folder, "names.json"), '["b"]');
  const readiness = async (name: string): Promise<string | undefined> =>
    (await rig.node(name)).status?.conditions?.find(({ type }) => type === "Ready")?.message;
  await eventually(async () => expect(await readiness("far-a")).toContain("node a is gone at the back end since"), soon);
  expect(await readiness("far-b")).toBe("kubelet is posting ready status");
  first.kill("SIGTERM");
  expect(await first.exit).toBe(0);

  await writeFile(join(rig.folder, "names.json"), "away");
  const port = await freePort();
  await using second = rig.run(`${words} --health-addr 127.0.0.1:${port}`);
  await Promise.all(["far-a", "far-b"].map((name) => rig.nodeIsReady(name)));

  const health = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
  expect([health.status, await health.text()]).toEqual([500, expect.stringContaining("the back end has not listed its nodes yet")]);
  // Its log arrives through a pipe.
  await eventually(
    () => expect(second.logs.map(({ msg }) => msg)).toContain("the provider could not list the nodes of its back end; trying again"),
    soon,
  );
});
