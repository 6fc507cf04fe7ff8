import { systemClock } from "@virtual-kubelet/clock";
import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ClientUser } from "@virtual-kubelet/embedded-apiserver";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type EndpointSlice, type KubeClient, type Service } from "@virtual-kubelet/kube-client";
import { kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { eventually } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "virtual-kubelet";
import { apiConnection } from "../../providers/kubernetes/src/test-support/api-connection.ts";
import { testContext } from "../../packages/cli/src/test-support/test-context.ts";
import type { Program } from "../support/program.ts";
import { accountOf } from "./support/printed-rights.ts";
import { ProgramRig, soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const farAccount: ClientUser = { user: "system:serviceaccount:team:virtual-kubelet-far-1", groups: ["system:serviceaccounts"] };
const team = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
const config = {
  namespaces: { mode: "one", name: "team" },
  node: { capacity: { cpu: "8", memory: "16Gi", pods: "100", "ephemeral-storage": "10Gi" } },
  services: { namespaces: ["team"] },
};

/** Two API servers that allow exactly what the program prints, and the program between them. */
class TwoClusters implements AsyncDisposable {
  readonly home: ProgramRig;
  readonly far: ProgramRig;

  private constructor(home: ProgramRig, far: ProgramRig) {
    this.home = home;
    this.far = far;
  }

  static async open(): Promise<TwoClusters> {
    const file = await ProgramRig.open();
    await writeFile(join(file.folder, "far.json"), JSON.stringify({ cluster: { kubeconfig: "far.kubeconfig" }, ...config }));
    const home = await ProgramRig.open([team, ...(await printed("rbac", file.folder))]);
    const far = await ProgramRig.open([team, ...(await printed("far", file.folder))]);
    await file[Symbol.asyncDispose]();
    await writeFile(join(home.folder, "home.kubeconfig"), home.server.kubeconfig(accountOf("far-1")));
    await writeFile(join(home.folder, "far.kubeconfig"), far.server.kubeconfig(farAccount));
    return new TwoClusters(home, far);
  }

  async run(change: object = {}): Promise<Program> {
    const { folder } = this.home;
    const providerConfig = { cluster: { kubeconfig: join(folder, "far.kubeconfig") }, ...config, ...change };
    await writeFile(join(folder, "far.json"), JSON.stringify(providerConfig));
    return this.home.run("--provider kubernetes --provider-config far.json --nodename far-1 --kubeconfig home.kubeconfig", {
      env: { KUBECONFIG: join(folder, "home.kubeconfig") },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
    await this.far[Symbol.asyncDispose]();
  }
}

/** Objects that the program prints for this configuration. */
async function printed(which: "rbac" | "far", folder: string): Promise<object[]> {
  const context = { ...testContext(systemClock), cwd: folder };
  const runAs = which === "rbac" ? ["--run-as=service-account"] : [];
  const words = ["--provider", "kubernetes", "--provider-config", join(folder, "far.json"), "--nodename", "far-1", "-o", "json"];
  const code = await runProgram(["manifests", which, ...runAs, ...words], context);
  expect(code, context.stderr.text).toBe(0);
  return (JSON.parse(context.stdout.text) as { items: object[] }).items;
}

async function offer(client: KubeClient, name: string, address: string): Promise<void> {
  const service: Service = { metadata: { namespace: "team", name }, spec: { ports: [{ port: 80 }] } };
  await client.create(resources.services, service, { signal });
  const slice: EndpointSlice = {
    metadata: { namespace: "team", name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ port: 8080 }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
  await client.create(resources.endpointSlices, slice, { signal });
}

async function addressesOf(client: KubeClient, name: string): Promise<string[]> {
  await client.get(resources.services, { namespace: "team", name }, { signal });
  const query = { namespace: "team", labelSelector: `kubernetes.io/service-name=${name}` };
  const { items } = await client.list(resources.endpointSlices, query, { signal });
  return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
}

async function isGone(client: KubeClient, name: string): Promise<boolean> {
  return addressesOf(client, name).then(
    () => false,
    (error: unknown) => {
      if (isNotFound(error)) return true;
      throw error;
    },
  );
}

test("with exactly the printed rights the program mirrors both ways, continues after a restart, and removes its copies when the option is off", async () => {
  await using clusters = await TwoClusters.open();
  const { home, far } = clusters;
  await offer(home.client, "web", "10.1.0.5");
  await offer(far.client, "db", "10.2.0.7");
  {
    await using program = await clusters.run();
    await home.nodeIsReady("far-1");
    await eventually(async () => expect(await addressesOf(far.client, "web")).toEqual(["10.1.0.5"]), soon);
    await eventually(async () => expect(await addressesOf(home.client, "db")).toEqual(["10.2.0.7"]), soon);
    expect(await program.end("SIGTERM")).toBe(0);
  }
  await far.client.delete(resources.services, { namespace: "team", name: "db" }, {}, { signal });
  await offer(home.client, "api", "10.1.0.6");
  {
    await using program = await clusters.run();
    await eventually(async () => expect(await isGone(home.client, "db")).toBe(true), soon);
    await eventually(async () => expect(await addressesOf(far.client, "api")).toEqual(["10.1.0.6"]), soon);
    expect(await addressesOf(far.client, "web")).toEqual(["10.1.0.5"]);
    await offer(far.client, "cache", "10.2.0.8");
    await eventually(async () => expect(await addressesOf(home.client, "cache")).toEqual(["10.2.0.8"]), soon);
    expect(await program.end("SIGTERM")).toBe(0);
  }
  await using _program = await clusters.run({ services: { namespaces: [] } });
  await eventually(async () => expect(await isGone(home.client, "cache")).toBe(true), soon);
  await eventually(async () => expect([await isGone(far.client, "web"), await isGone(far.client, "api")]).toEqual([true, true]), soon);
  expect(await addressesOf(home.client, "web")).toEqual(["10.1.0.5"]);
});

test("a copy of the program that stands by mirrors nothing until it has the node", async () => {
  await using home = await startApiServer({ listen: false, objects: [team] });
  await using far = await startApiServer({ listen: false, objects: [team] });
  const homeClient = createKubeClient(home.transport());
  const farClient = createKubeClient(far.transport());
  await offer(homeClient, "web", "10.1.0.5");
  const mirroring = new Set<string>();
  const start = async (identity: string) => {
    const end = new AbortController();
    const connection = apiConnection(farClient, "team");
    const provider = kubernetesProvider({
      env: {},
      connect: () => Promise.resolve(connection),
      connectHome() {
        mirroring.add(identity);
        return Promise.resolve({
          client: homeClient,
          server: home.url,
          [Symbol.asyncDispose]: () => Promise.resolve(void mirroring.delete(identity)),
        });
      },
    });
    const node = new VirtualNode({
      client: createKubeClient(home.transport()),
      provider,
      providerConfig: config,
      clusterId: "home-1",
      node: { name: "far-1", leaseDurationSeconds: 4, instance: { identity, standby: true } },
    });
    const running = node.run(end.signal);
    return {
      node,
      async stop() {
        end.abort();
        await running;
      },
    };
  };
  const first = await start("first");
  await first.node.ready;
  await eventually(async () => expect(await addressesOf(farClient, "web")).toEqual(["10.1.0.5"]), soon);
  const second = await start("second");
  try {
    await eventually(() => expect(second.node.health.standingBy).toBe(true), soon);
    expect([...mirroring]).toEqual(["first"]);
    await first.stop();
    expect([...mirroring]).toEqual([]);
    await second.node.ready;
    await offer(homeClient, "api", "10.1.0.6");
    await eventually(async () => expect(await addressesOf(farClient, "api")).toEqual(["10.1.0.6"]), soon);
    expect([...mirroring]).toEqual(["second"]);
  } finally {
    await second.stop();
  }
});
