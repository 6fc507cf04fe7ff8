import { freePort, startControlPlane, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { importImages } from "../../docker/support/busybox-image.ts";
import { PrivateEngine } from "../../docker/support/private-engine.ts";
import { startNode } from "../../kubernetes/node.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folders of the control planes that all test files share, for `openControlPlane`. */
    homeControlPlane: string;
    farControlPlane: string;
    /** The far cluster's Docker engine, such as `unix:///tmp/docker.sock`. */
    dockerHost: string;
    /** Path of metrics-server. */
    metricsServer: string;
    /** A non-loopback address of the machine that containers and the control planes can reach. */
    nodeAddress: string;
    /** Path of the log of the far cluster's node that runs containers. */
    farNodeLog: string;
  }
}

const resources = new AsyncDisposableStack();

/** Name of the far cluster's node that runs containers. */
const farNode = "far-docker";

/**
 * Starts two control planes: a home cluster without nodes, and a far cluster whose node runs containers on a Docker engine of its own.
 *
 * @throws Error outside of the level's namespaces
 */
export async function setup(project: TestProject): Promise<void> {
  const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
  const metricsServer = process.env["METRICS_SERVER"];
  if (nodeAddress === undefined || metricsServer === undefined)
    throw new Error("these tests need private namespaces and metrics-server: run make test LEVEL=clusters");
  const directory = await mkdtemp(join(tmpdir(), "vk-clusters-"));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const start = (): ReturnType<typeof startControlPlane> =>
    startControlPlane({
      flags: { "kube-apiserver": { "advertise-address": nodeAddress, "enable-aggregator-routing": "true" } },
      onBuild: (how) => console.error(how),
    });
  const { api } = resources.use(await PrivateEngine.start());
  resources.use(await importImages(api));
  const far = resources.use(await start());
  const home = resources.use(await start());
  resources.use(
    await startNode({
      controlPlane: far,
      name: farNode,
      dockerHost: api.host,
      sandboxImage: "registry.k8s.io/pause:3.10",
      address: nodeAddress,
      kubeletPort: await freePort(),
      directory,
      isMachine: true,
      more: { volumeDrivers: ["local"], localPath: { root: join(directory, "local-path") } },
    }),
  );
  await keepNodesApart(far);
  project.provide("homeControlPlane", home.directory);
  project.provide("farControlPlane", far.directory);
  project.provide("dockerHost", api.host);
  project.provide("metricsServer", metricsServer);
  project.provide("nodeAddress", nodeAddress);
  project.provide("farNodeLog", join(directory, `${farNode}.log`));
}

/** From now on a node that joins the far cluster has a taint, because pods of all files would run on it otherwise. */
async function keepNodesApart(far: ControlPlaneAccess): Promise<void> {
  const metadata = { name: "nodes-of-one-test-file" };
  const kind = "ValidatingAdmissionPolicy";
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["nodes"], operations: ["CREATE"] };
  // The API server itself gives each new node one of these keys.
  const own = "t.effect == 'NoSchedule' && !t.key.startsWith('node.kubernetes.io/')";
  const validation = {
    expression: `has(object.spec.taints) && object.spec.taints.exists(t, ${own})`,
    message: "all test files share the far cluster: start the node with startFarNode",
  };
  const objects = [
    { kind, spec: { matchConstraints: { resourceRules: [rule] }, validations: [validation] } },
    { kind: `${kind}Binding`, spec: { policyName: metadata.name, validationActions: ["Deny"] } },
  ];
  for (const object of objects) {
    const stdin = JSON.stringify({ apiVersion: "admissionregistration.k8s.io/v1", metadata, ...object });
    const { code, stderr } = await far.kubectl(["create", "-f", "-"], { stdin });
    if (code !== 0) throw new Error(stderr);
  }
}

/** Stops everything. */
export async function teardown(): Promise<void> {
  await resources.disposeAsync();
}
