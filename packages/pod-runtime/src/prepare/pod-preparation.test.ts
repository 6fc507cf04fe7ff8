import { VirtualClock } from "@virtual-kubelet/clock";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod, PodEvent, PodRef, PodSpec, ResolvedPod } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import type { ContainerMount, ContainerSpec, SandboxSpec } from "../runtime/runtime-spec.ts";
import { createPodPreparation, type PodPreparationSettings, type PreparationHost } from "./pod-preparation.ts";
import type { PodPreparation } from "../worker/preparation.ts";

const signal = new AbortController().signal;
let folder = "";
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "pod-preparation-"))));
afterEach(() => rm(folder, { recursive: true }));

class PreparationRig {
  readonly events: PodEvent[] = [];
  /** Resolved containers: UID of the pod, name of the container, and the pod's addresses. */
  readonly resolved: string[] = [];
  readonly images: Record<string, string> = {};
  volumeMounts: ContainerMount[] = [];
  settings: PodPreparationSettings = { clusterDNS: ["10.96.0.10"], resolvConf: "", memoryBytes: 2 ** 33 };
  readonly pods: PodRig;
  #made: PodPreparation | undefined;

  constructor(spec: Partial<PodSpec>, pod: Pod = podWith(spec)) {
    this.pods = new PodRig(pod);
  }

  /** Creates the pod's sandbox. */
  async up(): Promise<SandboxSpec> {
    const { attempt } = this.pods.take("createSandbox");
    const spec = await (this.#made ??= this.#preparation()).sandbox(this.pods.state, attempt, signal);
    this.pods.send({
      kind: "sandboxCreated",
      attempt,
      sandboxId: "s1",
      ips: this.pods.state.desired.pod.spec?.hostNetwork ? [] : ["10.0.0.1"],
    });
    return spec;
  }

  container(name = "app", attempt = 0): Promise<ContainerSpec> {
    const { state } = this.pods;
    const desired = state.desired.containers.find((candidate) => candidate.name === name);
    if (!desired) throw new Error(`no container ${name}`);
    return (this.#made ??= this.#preparation()).container({ state, desired, attempt, imageId: "app@sha256:1" }, signal);
  }

  /** The mounts of a container that the node provides, by path. */
  async mounted(name = "app"): Promise<Record<string, string>> {
    const { mounts } = await this.container(name);
    return Object.fromEntries(mounts.map(({ containerPath, hostPath }) => [containerPath, hostPath]));
  }

  #preparation(): PodPreparation {
    const host: PreparationHost = {
      clusterDomain: "cluster.local",
      logger: silentLogger,
      clock: new VirtualClock(),
      getSecret: () => Promise.reject(new NotFoundError("no secret")),
      resolvePod: (ref) => this.#resolver(ref),
      recordEvent: (_, event) => void this.events.push(event),
    };
    return createPodPreparation({
      host,
      runtime: {
        inspectImage: (image) => {
          const user = this.images[image];
          return user === undefined
            ? Promise.reject(new NotFoundError(`no image ${image}`))
            : Promise.resolve({ id: image, sizeBytes: 1, ...(user && { user }) });
        },
      },
      volumes: {
        mounts: (_, __, { environment }) => Promise.resolve(environment.length > 0 ? this.volumeMounts : []),
        podFolder: () => folder,
        createTerminationLog: (_, container, attempt) => Promise.resolve(join(folder, container, String(attempt))),
      },
      settings: this.settings,
    });
  }

  #resolver({ uid }: PodRef): ResolvedPod {
    const unused = (): never => {
      throw new Error("not asked for");
    };
    return {
      environment: (container, _, known) => {
        this.resolved.push(`${uid} ${container} ${known?.podIPs?.join(",") ?? "as the API server says"}`);
        return Promise.resolve([{ name: "A", value: "1" }]);
      },
      commandLine: (container) => Promise.resolve({ command: [`run-${container}`], args: ["1"] }),
      volume: unused,
      watchVolume: unused,
      configMap: unused,
      secret: unused,
      serviceVariables: unused,
    };
  }
}

describe("a sandbox", () => {
  test("has the pod's host name, DNS and host aliases, and no labels of its own", async () => {
    const hostAliases = [{ ip: "10.1.1.1", hostnames: ["a", "b"] }];
    const rig = new PreparationRig({ subdomain: "db", setHostnameAsFQDN: true, hostAliases });

    expect(await rig.up()).toEqual({
      labels: {},
      hostname: "web.db.default.svc.cluster.local",
      dns: {
        servers: ["10.96.0.10"],
        searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
        options: ["ndots:5"],
      },
      hosts: hostAliases,
      pod: rig.pods.state.desired.pod,
    });
    expect(rig.events).toEqual([]);
  });

  test("on the node's network has the node's host name and DNS", async () => {
    const rig = new PreparationRig({ hostNetwork: true, hostname: "own" });
    rig.settings = { clusterDNS: ["10.96.0.10"], resolvConf: join(folder, "node-resolv.conf") };
    await writeFile(join(folder, "node-resolv.conf"), "nameserver 192.0.2.53\n");

    expect(await rig.up()).toMatchObject({ hostname: "", dns: { servers: ["192.0.2.53"] } });
  });

  test("with changed DNS settings causes an event on the pod", async () => {
    const rig = new PreparationRig({});
    rig.settings = { resolvConf: "" };
    await rig.up();
    expect(rig.events).toMatchObject([{ type: "Warning", reason: "MissingClusterDNS" }]);
  });

  test("is not prepared while the file with the node's DNS cannot be read", async () => {
    const rig = new PreparationRig({ dnsPolicy: "Default" });
    rig.settings = { resolvConf: join(folder, "missing") };
    await expect(rig.up()).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("a container", () => {
  test("has environment, command line, limits and the other settings of its start", async () => {
    const app = { name: "app", image: "app:1", resources: { requests: { memory: "1Gi" }, limits: { cpu: "1" } } };
    const pod = podWith({ containers: [app] });
    const rig = new PreparationRig({}, { ...pod, status: { qosClass: "Burstable" } });
    await rig.up();

    expect(await rig.container()).toMatchObject({
      labels: {},
      imageId: "app@sha256:1",
      command: ["run-app"],
      args: ["1"],
      environment: [{ name: "A", value: "1" }],
      limits: { cpuShares: 1024, cpuQuotaMicros: 100_000, cpuPeriodMicros: 100_000 },
      oomScoreAdjustment: 875,
      container: app,
      targetContainerId: undefined,
    });
    expect(rig.resolved).toEqual(["u1 app 10.0.0.1"]);
  });

  test("mounts its volumes, and a kubelet's files at the paths that no volume takes", async () => {
    const rig = new PreparationRig({ containers: [{ name: "app", image: "app:1", terminationMessagePath: "/dev/termination-log" }] });
    await rig.up();
    rig.volumeMounts = [{ hostPath: "/v", containerPath: "/data", isReadOnly: true }];

    expect(await rig.mounted()).toEqual({
      "/data": "/v",
      "/etc/hosts": join(folder, "etc-hosts"),
      "/etc/resolv.conf": join(folder, "resolv.conf"),
      "/dev/termination-log": join(folder, "app", "0"),
    });
    expect(await readFile(join(folder, "etc-hosts"), "utf8")).toMatch(/^# Kubernetes-managed hosts file\.\n[^]*\n10\.0\.0\.1\tweb\n$/);
    expect(await readFile(join(folder, "resolv.conf"), "utf8")).toMatch(/\nnameserver 10\.96\.0\.10\noptions ndots:5\n$/);
    expect((await stat(join(folder, "etc-hosts"))).mode & 0o777).toBe(0o644);

    rig.volumeMounts = ["/etc/hosts/", "/etc/resolv.conf", "/dev/termination-log"].map((containerPath) => ({
      hostPath: "/v",
      containerPath,
      isReadOnly: false,
    }));
    expect(await rig.mounted()).toEqual({ "/etc/hosts/": "/v", "/etc/resolv.conf": "/v", "/dev/termination-log": "/v" });
  });

  test("on the node's network has the node's hosts file, and its address from the API server", async () => {
    const rig = new PreparationRig({ hostNetwork: true, hostAliases: [{ ip: "10.1.1.1", hostnames: ["a"] }] });
    rig.settings = { ...rig.settings, hostsFile: join(folder, "node-hosts") };
    await writeFile(join(folder, "node-hosts"), "127.0.0.1 node\n");
    await rig.up();
    const { "/etc/hosts": hosts = "" } = await rig.mounted();

    expect(await readFile(hosts, "utf8")).toBe(
      "# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n\n# Entries added by HostAliases.\n10.1.1.1\ta\n",
    );
    expect(rig.resolved).toEqual(["u1 app as the API server says"]);
  });

  test("shares files with earlier containers unless the content has changed; earlier containers keep the old file", async () => {
    const rig = new PreparationRig({});
    await rig.up();
    const { "/etc/hosts": path = "" } = await rig.mounted();
    const { ino } = await stat(path);
    await Promise.all([rig.mounted(), rig.mounted()]);
    expect((await stat(path)).ino).toBe(ino);

    await writeFile(path, "changed by a container\n");
    await chmod(path, 0o600);
    await Promise.all([rig.mounted(), rig.mounted()]);
    const { ino: inoAfter, mode } = await stat(path);
    expect(inoAfter).not.toBe(ino);
    expect(mode & 0o777).toBe(0o644);
    expect(await readFile(path, "utf8")).toMatch(/^# Kubernetes-managed/);
  });

  test("gets a resolv.conf even if another program has created its sandbox", async () => {
    const rig = new PreparationRig({});
    await rig.up();
    await rm(join(folder, "resolv.conf"));

    const { "/etc/resolv.conf": path = "" } = await rig.mounted();
    expect(await readFile(path, "utf8")).toMatch(/nameserver 10\.96\.0\.10/);
  });

  test("with runAsNonRoot is checked against its image's user, which is inspected only then", async () => {
    const rig = new PreparationRig({ containers: [{ name: "app", image: "app:1", securityContext: { runAsNonRoot: true } }] });
    await rig.up();
    rig.images["app@sha256:1"] = "";
    await expect(rig.container()).rejects.toThrow(
      `container has runAsNonRoot and image will run as root (pod: "web_default(u1)", container: app)`,
    );
    rig.images["app@sha256:1"] = "1000";
    await expect(rig.container()).resolves.toBeDefined();

    const careless = new PreparationRig({});
    await careless.up();
    await expect(careless.container()).resolves.toBeDefined();
  });

  test("that is ephemeral joins the processes of its target, if the target runs", async () => {
    const ephemeralContainers = [{ name: "debug", image: "debug:1", targetContainerName: "app" }];
    const rig = new PreparationRig({ ephemeralContainers });
    await rig.up();
    await expect(rig.container("debug")).rejects.toThrow("target container app is not running");
    rig.pods.answerAll();
    expect(await rig.container("debug")).toMatchObject({ targetContainerId: rig.pods.idOf("app") });

    const astray = new PreparationRig({ ephemeralContainers: [{ name: "debug", image: "debug:1", targetContainerName: "other" }] });
    await astray.up();
    await expect(astray.container("debug")).rejects.toThrow("unable to find target container other");
  });
});
